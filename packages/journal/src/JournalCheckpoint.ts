/**
 * The kernel's `Checkpoint` over a turn's journal.
 *
 * JournalCheckpoint.K1. An effect that has succeeded under a name is never run again for that turn: its record is returned instead.
 * JournalCheckpoint.K2. A result is on disk before the turn continues with it, and a number is used when its record is on disk: records are
 *     written one after the other, without a gap at which a resumed turn would stop for good.
 * JournalCheckpoint.K3. A defect while a record is encoded, written or decoded stops the turn, and the host counts it (rule C10): the
 *     recording failed, not the recorded effect.
 */
import { Checkpoint, type Records, TurnStopped } from "@holdfast/kernel"
import { type Ids, JsonShape, LongJson } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import { Journal } from "./Journal.ts"
import type { StorageError } from "./StorageError.ts"

/** A checkpoint over the records of a turn, which it loads. */
export const load = (turnId: Ids.TurnId): Effect.Effect<Checkpoint.Checkpoint["Service"], StorageError, Journal> =>
  Effect.flatMap(Journal, (journal) => Effect.map(journal.load(turnId), (known) => over(journal, turnId, known)))

/** The same as a layer: everything that an embedded turn needs of its journal. */
export const layer = (turnId: Ids.TurnId): Layer.Layer<Checkpoint.Checkpoint, StorageError, Journal> =>
  Layer.effect(Checkpoint.Checkpoint, load(turnId))

/**
 * A checkpoint over records that were loaded before. The first append that fails stops the turn, which can be run again from its records. A
 * journal of the application's own may fail with errors of its own.
 */
export const over = (
  journal: {
    readonly append: (
      turnId: Ids.TurnId,
      seq: number,
      record: Records.Stored
    ) => Effect.Effect<void, { readonly message: string }>
  },
  turnId: Ids.TurnId,
  known: ReadonlyArray<Records.Stored>
): Checkpoint.Checkpoint["Service"] => {
  const recorded = new Map(known.map(({ name, value }) => [name, value]))
  const inOrder = Semaphore.makeUnsafe(1).withPermits(1)
  let next = known.length
  const append = (record: Records.Stored): Effect.Effect<void, TurnStopped.TurnStopped> =>
    Effect.suspend(() => journal.append(turnId, next, record)).pipe(
      Effect.mapError(({ message }) => new TurnStopped.TurnStopped({ message })),
      Effect.map(() => void next++),
      inOrder, // K2
      counted,
      Effect.uninterruptible // a number is used with its record
    )
  return {
    known,
    mark: (name) => append({ name, value: MARKED }),
    run: <A, I, E, R>(name: string, schema: Schema.Codec<A, I>, effect: Effect.Effect<A, E, R>) => {
      const { decode, encode } = codecOf(schema)
      const value = recorded.get(name)
      if (value !== undefined) return counted(Effect.orDie(decode(value))) // K1
      return Effect.flatMapEager(effect, (result) =>
        Effect.suspend(() => Effect.flatMap(Effect.orDie(encode(result)), (value) => append({ name, value }))).pipe(
          Effect.as(result),
          counted,
          Effect.uninterruptible
        )
      )
    }
  }
}

// --- internal

/** K3 */
const counted = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | TurnStopped.TurnStopped> =>
  Effect.catchDefect(effect, (defect) => Effect.fail(TurnStopped.ofDefect(defect)))

/** The value of a mark: it was reached. */
const MARKED = "true"

interface Codec<A> {
  readonly decode: (value: string) => Effect.Effect<A, Schema.SchemaError>
  readonly encode: (result: A) => Effect.Effect<string, Schema.SchemaError>
}

const codecs = new WeakMap<object, unknown>()

/** The codec of a schema. It compiles its parsers once; there are about ten schemas. */
const codecOf = <A, I>(schema: Schema.Codec<A, I>): Codec<A> => {
  const known = codecs.get(schema)
  if (known !== undefined) return known as Codec<A> // stored below under this schema
  const encode = Schema.encodeEffect(schema)
  const decode = Schema.decodeUnknownEffect(schema)
  const made = {
    decode: (value: string) => decode(JsonShape.parse(value)),
    encode: (result: A) => Effect.flatMapEager(encode(result), LongJson.stringify)
  }
  codecs.set(schema, made)
  return made
}
