/** How a command ends other than well. */
import { Data } from "effect"
import type { ExitCode } from "./ExitCode.ts"

/** Everything has been said; this is the number. */
export class Ended extends Data.TaggedError("Ended")<{ readonly exitCode: ExitCode }> {}

/** One clear paragraph for the person, free of secrets, and the number. */
export class Refused extends Data.TaggedError("Refused")<{
  readonly message: string
  readonly exitCode: ExitCode
}> {}
