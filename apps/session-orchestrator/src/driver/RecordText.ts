/**
 * Writes records as text, on the spot.
 *
 * RecordText.R1. It is what `JournalCheckpoint` writes of the same values, which may give way to others and so takes a fiber.
 */
import { Records } from "@holdfast/kernel"
import { Schema } from "effect"
import type { Record } from "../storage/Journal.ts"

/** A record as the journal keeps it. */
export const of = ({ kind, number, step, value }: Records.TurnRecord): Record => ({
  name: Records.nameOf(kind, step, number),
  value: JSON.stringify(encoders[kind](value))
})

// --- internal

const encoderOf = (kind: Records.Kind) => Schema.encodeUnknownSync(Schema.toCodecJson(Records.kinds[kind].schema))

const encoders = {
  Final: encoderOf("Final"),
  Route: encoderOf("Route"),
  Content: encoderOf("Content"),
  Attempt: encoderOf("Attempt"),
  Decision: encoderOf("Decision"),
  Wake: encoderOf("Wake"),
  Compaction: encoderOf("Compaction"),
  Begun: encoderOf("Begun"),
  Tool: encoderOf("Tool"),
  Seal: encoderOf("Seal")
}
