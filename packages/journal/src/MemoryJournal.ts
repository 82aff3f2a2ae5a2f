/**
 * A `Journal` in memory, for tests and for turns that may end with their process.
 *
 * - It has the laws of `Journal` except Journal.J1: its records are gone with the process.
 */
import { Records } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import { Journal, JournalConflict } from "./Journal.ts"

/** Turns a call of `forget` reads. */
const FORGOTTEN_AT_ONCE = 32

/** An empty journal. */
export const make = (): Journal["Service"] => {
  const turns = new Map<Ids.TurnId, Array<Records.Stored>>()
  return {
    load: (turnId) => Effect.sync(() => [...(turns.get(turnId) ?? [])]),
    append: (turnId, seq, ...records) =>
      Effect.suspend(() => {
        const stored = turns.get(turnId) ?? []
        if (seq > stored.length) return Effect.die(new Error(`Turn ${turnId} has ${stored.length} records, not ${seq}`))
        const isFree = records.every((record, i) => isSame(stored[seq + i] ?? record, record))
        if (!isFree) return Effect.fail(new JournalConflict({ turnId })) // Journal.J2
        stored.push(...records.slice(stored.length - seq))
        turns.set(turnId, stored)
        return Effect.void
      }),
    forget: (sealedBefore, after) =>
      Effect.sync(() => {
        const ids = Array.from(turns.keys()).filter((id) => after === undefined || id > after)
        const read = ids.toSorted().slice(0, FORGOTTEN_AT_ONCE)
        const old = read.filter((id) => (sealedAt(turns.get(id)) ?? Infinity) < sealedBefore)
        for (const id of old) turns.delete(id)
        return { forgotten: old.length, next: read.length < FORGOTTEN_AT_ONCE ? undefined : read.at(-1) }
      })
  }
}

/** An empty journal for the life of the layer. */
export const layer: Layer.Layer<Journal> = Layer.sync(Journal, make)

// --- internal

const isSame = (a: Records.Stored, b: Records.Stored): boolean => a.name === b.name && a.value === b.value

/** The time of a turn's seal, in epoch milliseconds. */
const sealedAt = (records: ReadonlyArray<Records.Stored> = []): number | undefined => {
  const last = records.at(-1)
  return last && Records.valueOf("Seal", last)?.at
}
