/** A module that notices when its code runs. */
throw new Error("its code ran")
