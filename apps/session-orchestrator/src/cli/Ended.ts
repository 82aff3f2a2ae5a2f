/** Defines the ends of a command other than success. */
import { Data } from "effect"
import type { ExitCode } from "./ExitCode.ts"

/** Ends the command with an exit code; its message was already printed. */
export class Ended extends Data.TaggedError("Ended")<{ readonly exitCode: ExitCode }> {}

/** Ends the command with a paragraph for the person, without secrets, and an exit code. */
export class Refused extends Data.TaggedError("Refused")<{
  readonly message: string
  readonly exitCode: ExitCode
}> {}
