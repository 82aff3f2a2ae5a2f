/** What an `UnrulyThread` is told, and says. */

export const NONE = 0
/** Halt when the next commit is about to be made. */
export const BEFORE_COMMIT = 1
/** Halt when the next commit has been made, and nobody has been told. */
export const AFTER_COMMIT = 2
/** It has halted. */
export const HALTED = 3
/** Give something that is no list of rows to the next read: a bug of the driver's. */
export const NO_ROWS = 4
