import { Schema } from "effect"

/**
 * The turn cannot be recorded, or is no longer this process's to run: it stops where it is, unsealed, and may be taken
 * up again from its records.
 */
export class TurnStopped extends Schema.TaggedError<TurnStopped>()("TurnStopped", {
  message: Schema.String
}) {}
