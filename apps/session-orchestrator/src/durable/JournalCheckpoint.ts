/**
 * The kernel's `Checkpoint` over a turn's journal.
 *
 * JournalCheckpoint.K1. An effect that has succeeded under a name is never run again for that turn: its record is returned instead.
 * JournalCheckpoint.K2. A result is on disk before the turn continues with it, so a turn that is run again from its start reaches the
 *     point where it was.
 * JournalCheckpoint.K3. Records are written one after the other, and a number is used when its record is on disk, so a crash at any moment
 *     leaves no gap. Behind a gap, a resumed turn would find its next number taken, and stop for good.
 * JournalCheckpoint.K4. An attempt that failed before any content is recorded together with the decision about it, which the kernel makes
 *     synchronously: the turn continues with neither before both are on disk. A process that dies between the two has lost an attempt
 *     that showed nothing, and makes it again.
 * JournalCheckpoint.K5. The listener is called before an effect runs, and again when its record is on disk.
 * JournalCheckpoint.K6. A defect while a record is encoded, written or decoded stops the turn, and the service counts it (rule C10): the
 *     recording failed, not the recorded effect.
 * JournalCheckpoint.K7. The seal is not recorded: the turn's last event has the same facts, and is on the same disk.
 * JournalCheckpoint.K8. An attempt that was answered, and the decision to give up, are recorded together with the events that follow from
 *     them: no client sees the one without the other. This holds where the events are written through `carrying`.
 */
import { type Checkpoint, Records, TurnStopped } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Array as Arr, Effect, Schema, Semaphore } from "effect"
import type { Events, Journal, JournalConflict, Record } from "./Journal.ts"
import type { StorageError, StoredEvent } from "../storage/Store.ts"
import * as LongJson from "../text/LongJson.ts"

/** Makes an append succeed, by retrying it where that helps, or stops the turn. */
export type Persist = <A>(
  append: Effect.Effect<A, StorageError | JournalConflict>
) => Effect.Effect<A, TurnStopped.TurnStopped>

/** Follows a turn (K5). It is not called for records of earlier lives. */
export interface Listener {
  /** An effect without a record is about to run. */
  readonly begins: (name: string) => void
  /** Its record is on disk. */
  readonly recorded: (record: Record) => void
}

/** Options of a checkpoint. */
export interface Options {
  readonly listener?: Listener
  /** All events of the turn are written through `carrying`, so records wait for them (K8). */
  readonly isJoined?: boolean
}

/** A checkpoint, and what belongs to the same journal. */
export interface Resumed {
  readonly checkpoint: Checkpoint.Checkpoint["Service"]
  /** Writes events together with the records that waited for them (K8); without such records it runs `alone`. */
  readonly carrying: (
    events: Events,
    alone: Effect.Effect<ReadonlyArray<StoredEvent>, StorageError>
  ) => Effect.Effect<ReadonlyArray<StoredEvent>, TurnStopped.TurnStopped>
  /** Ids of recorded commands, so that the same command again does nothing (rule X4). */
  readonly commandIds: ReadonlyArray<string>
}

/** The ids of the commands in some records (rule X4). */
export const commandIdsOf = (known: ReadonlyArray<Record>): ReadonlyArray<string> => known.flatMap(commandIdOf)

/** A checkpoint over the records of a turn, which it loads. */
export const make = (
  journal: Journal["Service"],
  turnId: Ids.TurnId,
  persist: Persist,
  options?: Options
): Effect.Effect<Resumed, StorageError> =>
  Effect.map(journal.load(turnId), (known) => over(journal, turnId, known, persist, options))

/** A checkpoint over records that were loaded before. */
export const over = (
  journal: Pick<Journal["Service"], "append" | "appendWith">,
  turnId: Ids.TurnId,
  known: ReadonlyArray<Record>,
  persist: Persist,
  { isJoined = false, listener }: Options = {}
): Resumed => {
  const recorded = new Map(known.map(({ name, value }) => [name, value]))
  const inOrder = Semaphore.makeUnsafe(1)
  let next = known.length
  let held: ReadonlyArray<Record> = []
  /** Writes the records that were held back, and more. */
  const writing = <A>(
    more: ReadonlyArray<Record>,
    write: (records: ReadonlyArray<Record>) => Effect.Effect<A, StorageError | JournalConflict>
  ) =>
    Effect.suspend(() => {
      const records = [...held, ...more]
      held = []
      return Effect.map(persist(write(records)), (result) => {
        next += records.length
        for (const each of records) listener?.recorded(each)
        return result
      })
    }).pipe(inOrder.withPermits(1)) // K3
  const append = (record: Record) =>
    writing([record], ([first = record, ...rest]) => journal.append(turnId, next, first, ...rest))
  const isHeld = (result: unknown) => Records.isKeptForDecision(result) || (isJoined && Records.isKeptForEvents(result))

  const checkpoint: Checkpoint.Checkpoint["Service"] = {
    known,
    mark: (name) => counted(append({ name, value: MARKED })),
    run: <A, I, E, R>(name: string, schema: Schema.Codec<A, I>, effect: Effect.Effect<A, E, R>) => {
      if (Records.isInEvents(name)) return effect // K7
      const { decode, encode } = codecOf(schema)
      const value = recorded.get(name)
      if (value !== undefined) return counted(Effect.orDie(decode(value)))
      const record = (result: A) =>
        Effect.suspend(() => Effect.orDie(encode(result))).pipe(
          Effect.flatMap((value) => {
            if (!isHeld(result)) return append({ name, value })
            held = [...held, { name, value }]
            return Effect.void
          }),
          counted,
          Effect.uninterruptible
        )
      return Effect.suspend(() => {
        listener?.begins(name)
        return Effect.tap(effect, record)
      })
    }
  }
  return {
    checkpoint,
    carrying: (events, alone) =>
      counted(
        writing([], (records) =>
          Arr.isReadonlyArrayNonEmpty(records) ? journal.appendWith(turnId, next, records, events) : alone
        )
      ),
    commandIds: commandIdsOf(known)
  }
}

// --- internal

/** K6 */
const counted = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | TurnStopped.TurnStopped> =>
  Effect.catchDefect(effect, (defect) => Effect.fail(TurnStopped.ofDefect(defect)))

const commandIdOf = (record: Record): ReadonlyArray<string> => {
  const id = Records.valueOf("Wake", record)?.by?.commandId
  return id === undefined ? [] : [id]
}

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
  const codec = Schema.toCodecJson(schema)
  const encode = Schema.encodeEffect(codec)
  const made = {
    decode: Schema.decodeEffect(Schema.fromJsonString(codec)),
    encode: (result: A) => Effect.flatMap(encode(result), LongJson.stringify)
  }
  codecs.set(schema, made)
  return made
}
