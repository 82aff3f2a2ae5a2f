/**
 * Encodes the driver's records as JSON, synchronously.
 *
 * RecordText.R1. The text equals that of `JournalCheckpoint`, which also checks the values and may yield to other fibers.
 */
import { Records } from "@holdfast/kernel"
import { Schema } from "effect"

/** An attempt that failed before content, the decision about one, or the end of a wait. */
type Written = Records.RecordOf<"Attempt"> | Records.RecordOf<"Decision"> | Records.RecordOf<"Wake">

/** A record as the journal keeps it; `part` is that of a wait that was changed. */
export const of = ({ kind, number, step, value }: Written, part?: number): Records.Stored => ({
  name: Records.nameOf(kind, step, number, part),
  value: JSON.stringify(
    "_tag" in value && value._tag === "Retry" && !Number.isFinite(value.retryAt) ? encoded(value) : value
  )
})

// --- internal

/** JSON has no number for a wait without end. */
const encoded = Schema.encodeSync(Schema.toCodecJson(Records.Directive))
