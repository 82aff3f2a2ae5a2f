/** Defines the exit codes. Scripts rely on them; docs/cli.md lists them. */

/** The turn was answered; the service was stopped; the configuration is good; the backup is whole. */
export const COMPLETED = 0

/** The turn failed, the service could not run, or there is no backup. */
export const FAILED = 1

/** The command line or the configuration is wrong. */
export const USAGE = 2

/** The turn is not answered yet: it waits, runs or is queued. */
export const PENDING = 3

/** Ended by Ctrl-C or SIGTERM before the answer, or by a second signal: 128 plus the number of SIGINT, as in shells. */
export const ABORTED = 130

/** The program that `with` runs is not there, as in shells. */
export const NOT_FOUND = 127

/** An exit code of Holdfast, or of the program that `with` runs. */
export type ExitCode = number
