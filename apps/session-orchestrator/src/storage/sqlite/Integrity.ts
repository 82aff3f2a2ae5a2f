/** Reads a SQLite file from end to end (`QuickCheck`) in a thread: a gigabyte takes seconds, and turns run meanwhile. */
import { Effect } from "effect"
import { Worker } from "node:worker_threads"

/** The damage of a file, in SQLite's words; `undefined` without damage, and for a file that cannot be checked. */
export const faultOf = (file: string): Effect.Effect<string | undefined> =>
  Effect.callback((resume) => {
    const worker = new Worker(new URL("./IntegrityThread.ts", import.meta.url), { workerData: file })
    worker.once("message", (fault: unknown) => resume(Effect.succeed(typeof fault === "string" ? fault : undefined)))
    // A thread that could not be started, or stopped early, has no result.
    worker.once("error", () => resume(Effect.succeed(undefined)))
    worker.once("exit", () => resume(Effect.succeed(undefined)))
    return Effect.promise(() => worker.terminate())
  })
