/** Defines how a command ends: its exit codes, on which scripts rely (docs/cli.md lists them), and its ends other than success. */
import { Data, Effect } from "effect"

/** The exit codes of Holdfast. */
export const ExitCode = {
  /** The turn was answered; the service was stopped; the configuration is good; the backup is whole. */
  COMPLETED: 0,
  /** The turn failed, the service could not run, or there is no backup. */
  FAILED: 1,
  /** The command line or the configuration is wrong. */
  USAGE: 2,
  /** The turn is not answered yet: it waits, runs or is queued. */
  PENDING: 3,
  /** The program that `with` runs is not there, as in shells. */
  NOT_FOUND: 127,
  /** Ended by Ctrl-C or SIGTERM before the answer, or by a second signal: 128 plus the number of SIGINT, as in shells. */
  ABORTED: 130
} as const

/** An exit code of Holdfast, or of the program that `with` runs. */
export type ExitCode = number

/** Ends the command with an exit code; its message was already printed. */
export class Ended extends Data.TaggedError("Ended")<{ readonly exitCode: ExitCode }> {
  /** Ends the command with an exit code, if it is not that of success. */
  static by(exitCode: ExitCode): Effect.Effect<void, Ended> {
    return exitCode === ExitCode.COMPLETED ? Effect.void : Effect.fail(new Ended({ exitCode }))
  }
}

/** Ends the command with a paragraph for the person, without secrets, and an exit code. */
export class Refused extends Data.TaggedError("Refused")<{
  readonly message: string
  readonly exitCode: ExitCode
}> {
  /** The command line or the configuration is wrong. */
  static usage(message: string): Refused {
    return new Refused({ message, exitCode: ExitCode.USAGE })
  }

  /** What was asked for cannot be done. */
  static failed(message: string): Refused {
    return new Refused({ message, exitCode: ExitCode.FAILED })
  }
}
