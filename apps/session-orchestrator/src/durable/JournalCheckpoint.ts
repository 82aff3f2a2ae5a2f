/**
 * The kernel's `Checkpoint` over a turn's journal.
 *
 * K1. What has succeeded under a name is never run again for that turn: its record is given instead.
 * K2. A result is on disk before anybody acts on it, so a turn that is run again from its start reaches the point where it
 *     was.
 * K3. Records are handed in one by one, and a number is used up when its record is on disk: whatever dies when, there is no
 *     gap. Behind one, a turn that is taken up again would find its next number taken, and stop for good.
 * K4. An attempt that failed before any content is recorded together with the decision about it, which the kernel makes on the
 *     spot: nobody acts on the one without the other. A process that dies between the two has lost an attempt that showed
 *     nothing, and makes it again.
 * K8. An attempt that was answered, and the decision to give up, are recorded together with the events that follow from them: no
 *     client sees the one without the other. This holds where the events are handed over through `carrying`.
 * K5. Whoever listens hears of an effect before it is run, and of its record when it is on disk.
 * K6. A defect while a record is encoded, written or decoded stops the turn, and the service counts it (C10): the recording failed, and
 *     not what was to be recorded.
 * K7. The seal is not recorded: the turn's last event says the same, and is on the same disk.
 */
import { type Checkpoint, Records, TurnStopped } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Array as Arr, Effect, Schema, Semaphore } from "effect"
import type { Events, Journal, JournalConflict, Record } from "./Journal.ts"
import type { StorageError, StoredEvent } from "../storage/Store.ts"
import * as LongJson from "../text/LongJson.ts"

/** How an append is made to succeed, or to stop the turn. */
export type Persist = <A>(
  append: Effect.Effect<A, StorageError | JournalConflict>
) => Effect.Effect<A, TurnStopped.TurnStopped>

/** Somebody who follows what a turn does (K5). What is on record already when the turn is taken up is not told. */
export interface Listener {
  /** An effect without a record is about to be run. */
  readonly begins: (name: string) => void
  /** Its record is on disk. */
  readonly recorded: (record: Record) => void
}

export interface Options {
  readonly listener?: Listener
  /** All events of the turn are handed over through `carrying`, so records are held back for them (K8). */
  readonly isJoined?: boolean
}

/** What a turn goes on with. */
export interface Resumed {
  readonly checkpoint: Checkpoint.Checkpoint["Service"]
  /** Records events, with the records that were held back for them (K8); where there are none, by `alone`. */
  readonly carrying: (
    events: Events,
    alone: Effect.Effect<ReadonlyArray<StoredEvent>, StorageError>
  ) => Effect.Effect<ReadonlyArray<StoredEvent>, TurnStopped.TurnStopped>
  /** Commands that are on record, so that they are not taken again (X4). */
  readonly commandIds: ReadonlyArray<string>
}

/** Commands that are on record (X4). */
export const commandIdsOf = (known: ReadonlyArray<Record>): ReadonlyArray<string> => known.flatMap(commandIdOf)

/** A checkpoint over what has been recorded of a turn until now. */
export const make = (
  journal: Journal["Service"],
  turnId: Ids.TurnId,
  persist: Persist,
  options?: Options
): Effect.Effect<Resumed, StorageError> =>
  Effect.map(journal.load(turnId), (known) => over(journal, turnId, known, persist, options))

/** The same, of a turn whose records are known. */
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
  /** Makes a write of the records that are held back, and of more. */
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

/** A mark says that it was reached, and nothing else. */
const MARKED = "true"

interface Codec<A> {
  readonly decode: (value: string) => Effect.Effect<A, Schema.SchemaError>
  readonly encode: (result: A) => Effect.Effect<string, Schema.SchemaError>
}

const codecs = new WeakMap<object, unknown>()

/** A codec compiles its parsers once, and there is a handful of schemas in all. */
const codecOf = <A, I>(schema: Schema.Codec<A, I>): Codec<A> => {
  const known = codecs.get(schema)
  if (known !== undefined) return known as Codec<A> // what was put there for this very schema
  const codec = Schema.toCodecJson(schema)
  const encode = Schema.encodeEffect(codec)
  const made = {
    decode: Schema.decodeEffect(Schema.fromJsonString(codec)),
    encode: (result: A) => Effect.flatMap(encode(result), LongJson.stringify)
  }
  codecs.set(schema, made)
  return made
}
