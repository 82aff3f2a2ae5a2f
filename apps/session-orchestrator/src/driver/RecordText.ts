/**
 * Writes records as text, on the spot.
 *
 * RecordText.R1. It is what `JournalCheckpoint` writes of the same values, which checks them and may give way to others.
 */
import { Records } from "@holdfast/kernel"
import { Schema } from "effect"
import type { Record } from "../storage/Journal.ts"

/** An attempt that failed before content, or the decision about one. */
export type Written = Records.RecordOf<"Attempt"> | Records.RecordOf<"Decision">

/** A record as the journal keeps it. */
export const of = ({ kind, number, step, value }: Written): Record => ({
  name: Records.nameOf(kind, step, number),
  value: JSON.stringify(value._tag === "Retry" && !Number.isFinite(value.retryAt) ? encoded(value) : value)
})

// --- internal

/** JSON has no number for a wait without end. */
const encoded = Schema.encodeSync(Schema.toCodecJson(Records.Directive))
