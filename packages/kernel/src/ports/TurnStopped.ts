/** How a life of a turn ends unsealed, other than at a wait. */
import * as Data from "effect/Data"

/** The turn cannot be recorded, or another process owns it: it stops unsealed, and can resume from its records. */
export class TurnStopped extends Data.TaggedError("TurnStopped")<{
  readonly message: string
  /** A defect of the host stopped it: the host counts it, and may give up without waiting for an outside change (C10). */
  readonly defect?: true
}> {}

/** Makes the stop of a turn by a defect of its host (C10). */
export const ofDefect = (defect: unknown): TurnStopped =>
  new TurnStopped({ message: `Holdfast failed: ${describe(defect)}`, defect: true })

/** Describes a defect in one line, for a person. */
export const describe = (defect: unknown): string =>
  defect instanceof Error ? `${defect.name}: ${defect.message}` : String(defect)
