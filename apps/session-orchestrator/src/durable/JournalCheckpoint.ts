/**
 * The kernel's `Checkpoint` over a turn's journal.
 *
 * K1. What has succeeded under a name is never run again for that turn: its record is given instead.
 * K2. A result is on disk before anybody acts on it, so a turn that is run again from its start reaches the point where it
 *     was.
 * K3. Records are handed in one by one, and a number is used up when its record is on disk: whatever dies when, there is no
 *     gap. Behind one, a turn that is taken up again would find its next number taken, and stop for good.
 */
import type { Checkpoint, TurnStopped } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Effect, Schema, Semaphore } from "effect"
import type { Journal, JournalConflict, Record } from "../storage/Journal.ts"
import type { StorageError } from "../storage/Store.ts"
import * as TurnRecord from "./TurnRecord.ts"

/** How an append is made to succeed, or to stop the turn. */
export type Persist = <A>(
  append: Effect.Effect<A, StorageError | JournalConflict>
) => Effect.Effect<A, TurnStopped.TurnStopped>

/** What a turn goes on with. */
export interface Resumed {
  readonly checkpoint: Checkpoint.Checkpoint["Service"]
  /** Commands that are on record, so that they are not taken again (X4). */
  readonly commandIds: ReadonlyArray<string>
}

/** A checkpoint over what has been recorded of a turn until now. */
export const make = Effect.fnUntraced(function* (
  journal: Journal["Service"],
  turnId: Ids.TurnId,
  persist: Persist
): Effect.fn.Return<Resumed, StorageError> {
  const known = yield* journal.load(turnId)
  const recorded = new Map(known.map(({ name, value }) => [name, value]))
  const inOrder = Semaphore.makeUnsafe(1)
  let next = known.length
  const append = (name: string, value: string) =>
    Effect.suspend(() => persist(journal.append(turnId, next, { name, value }))).pipe(
      Effect.tap(Effect.sync(() => next++)),
      inOrder.withPermits(1) // K3
    )

  const checkpoint: Checkpoint.Checkpoint["Service"] = {
    isRecorded: (name) => recorded.has(name),
    run: <A, I, E, R>(name: string, schema: Schema.Codec<A, I>, effect: Effect.Effect<A, E, R>) => {
      const codec = codecOf(schema)
      const value = recorded.get(name)
      if (value !== undefined) return Effect.orDie(Schema.decodeUnknownEffect(codec)(value))
      const record = (result: A) =>
        Effect.orDie(Schema.encodeEffect(codec)(result)).pipe(
          Effect.flatMap((value) => append(name, value)),
          Effect.uninterruptible
        )
      return Effect.tap(effect, record)
    }
  }
  return { checkpoint, commandIds: known.flatMap(commandIdOf) }
})

// --- internal

const commandIdOf = (record: Record): ReadonlyArray<string> => {
  const id = TurnRecord.wakeOf(record)?.by?.commandId
  return id === undefined ? [] : [id]
}

const codecs = new WeakMap<object, unknown>()

/** A codec compiles its parser once, and there is a handful of schemas in all. */
const codecOf = <A, I>(schema: Schema.Codec<A, I>): Schema.Codec<A, string> => {
  const known = codecs.get(schema)
  if (known !== undefined) return known as Schema.Codec<A, string> // what was put there for this very schema
  const codec = Schema.fromJsonString(Schema.toCodecJson(schema))
  codecs.set(schema, codec)
  return codec
}
