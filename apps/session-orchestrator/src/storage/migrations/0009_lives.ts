/**
 * The record that a tool call begins names the life of the turn that begins it. No table changes; a Holdfast that could not read such a
 * record is refused, also beside this one on the same database.
 */
import { Effect } from "effect"

export const migration = Effect.void
