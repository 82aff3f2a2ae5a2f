import { Cause, Schema } from "effect"

/**
 * The turn cannot be recorded, or is no longer this process's to run: it stops where it is, unsealed, and may be taken
 * up again from its records.
 */
export class TurnStopped extends Schema.TaggedError<TurnStopped>()("TurnStopped", {
  message: Schema.String,
  /** A defect of the host stopped it: nothing outside has to change before the host may count it and give up (C10). */
  defect: Schema.optionalKey(Schema.Literal(true))
}) {}

/** The stop of a turn by a defect of its host (C10). */
export const ofDefect = (defect: unknown): TurnStopped =>
  new TurnStopped({ message: `Holdfast failed: ${describe(defect)}`, defect: true })

/** A defect in one line, for a person. */
export const describe = (defect: unknown): string =>
  defect instanceof Error ? `${defect.name}: ${defect.message}` : String(defect)

/** The defect that a failed turn died of, where it was one; an interruption is none. */
export const defectIn = (cause: Cause.Cause<TurnStopped>): TurnStopped | undefined => {
  const die = cause.reasons.find(Cause.isDieReason)
  return die === undefined ? undefined : ofDefect(die.defect)
}
