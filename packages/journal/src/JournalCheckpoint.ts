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
 * JournalCheckpoint.K6. A defect while a record is encoded, written or decoded stops the turn, and the host counts it (rule C10): the
 *     recording failed, not the recorded effect.
 * JournalCheckpoint.K7. `joined` does not record the seal: the turn's last event has the same facts, and is on the same disk. `over` does.
 * JournalCheckpoint.K8. `joined` records an attempt that was answered, and the decision to give up, together with the events that follow
 *     from them: no client sees the one without the other.
 */
import { Checkpoint, Records, TurnStopped } from "@holdfast/kernel"
import { type Ids, JsonShape, LongJson } from "@holdfast/wire"
import * as Arr from "effect/Array"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Schema from "effect/Schema"
import * as Semaphore from "effect/Semaphore"
import { type AppendError, Journal, type JournalWith } from "./Journal.ts"
import type { StorageError } from "./StorageError.ts"

/** Makes an append succeed, by retrying it where that helps, or stops the turn. */
export type Persist<E = AppendError> = <A>(append: Effect.Effect<A, E>) => Effect.Effect<A, TurnStopped.TurnStopped>

/** Stops the turn at the first append that fails. The turn can be run again from its records. */
export const stopping: Persist<{ readonly message: string }> = (append) =>
  Effect.mapError(append, ({ message }) => new TurnStopped.TurnStopped({ message }))

/** Follows a turn (K5). It is not called for records of earlier lives. */
export interface Listener {
  /** An effect without a record is about to run. */
  readonly begins: (name: string) => void
  /** Its record is on disk. */
  readonly recorded: (record: Records.Stored) => void
}

/** Options of a checkpoint. */
export interface Options<E = AppendError> {
  /** Absent: `stopping`. */
  readonly persist?: Persist<E>
  readonly listener?: Listener
}

/** A checkpoint over the records of a turn, which it loads. */
export const load = (
  turnId: Ids.TurnId,
  options?: Options
): Effect.Effect<Checkpoint.Checkpoint["Service"], StorageError, Journal> =>
  Effect.flatMap(Journal, (journal) =>
    Effect.map(journal.load(turnId), (known) => over(journal, turnId, known, options))
  )

/** The same as a layer: everything that an embedded turn needs of its journal. */
export const layer = (
  turnId: Ids.TurnId,
  options?: Options
): Layer.Layer<Checkpoint.Checkpoint, StorageError, Journal> =>
  Layer.effect(Checkpoint.Checkpoint, load(turnId, options))

/** A checkpoint over records that were loaded before. It records the seal too: nothing else on the disk has it. */
export const over = (
  journal: Pick<Journal["Service"], "append">,
  turnId: Ids.TurnId,
  known: ReadonlyArray<Records.Stored>,
  { listener, persist = stopping }: Options = {}
): Checkpoint.Checkpoint["Service"] => {
  const writer = writerOf(known, persist, listener)
  return checkpointOf(known, listener, {
    isLeftOut: () => false,
    isHeld: Records.isKeptForDecision,
    hold: writer.hold,
    append: (record) =>
      writer.write([record], (seq, [first = record, ...rest]) => journal.append(turnId, seq, first, ...rest))
  })
}

/** A checkpoint whose records are committed together with an application's own statements: its events, in the service. */
export interface Joined<In, Out, E = AppendError> {
  readonly checkpoint: Checkpoint.Checkpoint["Service"]
  /** Runs statements together with the records that waited for them (K8); without such records it runs `alone`. */
  readonly carrying: (statements: In, alone: Effect.Effect<Out, E>) => Effect.Effect<Out, TurnStopped.TurnStopped>
}

/** Appends as `Journal` does, and with an application's own statements. */
export interface JoinedJournal<In, Out, E = AppendError> extends Pick<JournalWith<In, Out, E>, "appendWith"> {
  readonly append: (...args: Parameters<Journal["Service"]["append"]>) => Effect.Effect<void, E>
}

/**
 * A checkpoint for an application that stores a turn's persisted events in the database of the journal, and writes all of them through
 * `carrying` (K7, K8). A journal of the application's own may fail with errors of its own.
 */
export const joined = <In, Out, E extends { readonly message: string }>(
  journal: JoinedJournal<In, Out, E>,
  turnId: Ids.TurnId,
  known: ReadonlyArray<Records.Stored>,
  { listener, persist = stopping }: Options<E> = {}
): Joined<In, Out, E> => {
  const writer = writerOf(known, persist, listener)
  return {
    checkpoint: checkpointOf(known, listener, {
      isLeftOut: Records.isInEvents, // K7
      isHeld: (result) => Records.isKeptForDecision(result) || Records.isKeptForEvents(result),
      hold: writer.hold,
      append: (record) =>
        writer.write([record], (seq, [first = record, ...rest]) => journal.append(turnId, seq, first, ...rest))
    }),
    carrying: (statements, alone) =>
      counted(
        writer.write([], (seq, records) =>
          Arr.isReadonlyArrayNonEmpty(records) ? journal.appendWith(turnId, seq, records, statements) : alone
        )
      )
  }
}

/** The ids of the commands in some records, so that the same command again does nothing (rule X4). */
export const commandIdsOf = (known: ReadonlyArray<Records.Stored>): ReadonlyArray<string> => known.flatMap(commandIdOf)

// --- internal

/** Writes records one after the other (K3). */
interface Writer<E> {
  /** Keeps a record back until the next write. */
  readonly hold: (record: Records.Stored) => void
  /** Writes the records that were held back, and more; the first of them has number `seq`. */
  readonly write: <A>(
    more: ReadonlyArray<Records.Stored>,
    write: (seq: number, records: ReadonlyArray<Records.Stored>) => Effect.Effect<A, E>
  ) => Effect.Effect<A, TurnStopped.TurnStopped>
}

const writerOf = <E>(
  known: ReadonlyArray<Records.Stored>,
  persist: Persist<E>,
  listener: Listener | undefined
): Writer<E> => {
  const inOrder = Semaphore.makeUnsafe(1).withPermits(1)
  let next = known.length
  let held: ReadonlyArray<Records.Stored> = []
  return {
    hold: (record) => {
      held = [...held, record]
    },
    write: (more, write) =>
      Effect.suspend(() => {
        const records = held.length === 0 ? more : [...held, ...more]
        held = []
        return Effect.map(persist(write(next, records)), (result) => {
          next += records.length
          for (const each of records) listener?.recorded(each)
          return result
        })
      }).pipe(inOrder) // K3
  }
}

/** The part of a checkpoint that differs between `over` and `joined`. */
interface Recording {
  /** The effect of this name is not recorded. */
  readonly isLeftOut: (name: string) => boolean
  /** A result's record waits for the next one. */
  readonly isHeld: (result: unknown) => boolean
  readonly hold: (record: Records.Stored) => void
  readonly append: (record: Records.Stored) => Effect.Effect<void, TurnStopped.TurnStopped>
}

const checkpointOf = (
  known: ReadonlyArray<Records.Stored>,
  listener: Listener | undefined,
  { append, hold, isHeld, isLeftOut }: Recording
): Checkpoint.Checkpoint["Service"] => {
  const recorded = new Map(known.map(({ name, value }) => [name, value]))
  return {
    known,
    mark: (name) => Effect.uninterruptible(counted(append({ name, value: MARKED }))), // K3: its number is used with it
    run: <A, I, E, R>(name: string, schema: Schema.Codec<A, I>, effect: Effect.Effect<A, E, R>) => {
      if (isLeftOut(name)) return effect
      const { decode, encode } = codecOf(schema)
      const value = recorded.get(name)
      if (value !== undefined) return counted(Effect.orDie(decode(value))) // K1
      const record = (result: A) =>
        Effect.suspend(() => {
          const written = Effect.flatMap(Effect.orDie(encode(result)), (value) => {
            if (!isHeld(result)) return append({ name, value })
            hold({ name, value })
            return Effect.void
          })
          return Effect.as(written, result)
        }).pipe(counted, Effect.uninterruptible)
      return Effect.suspend(() => {
        listener?.begins(name)
        return Effect.flatMapEager(effect, record)
      })
    }
  }
}

/** K6 */
const counted = <A, E>(effect: Effect.Effect<A, E>): Effect.Effect<A, E | TurnStopped.TurnStopped> =>
  Effect.catchDefect(effect, (defect) => Effect.fail(TurnStopped.ofDefect(defect)))

const commandIdOf = (record: Records.Stored): ReadonlyArray<string> => {
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
  const encode = Schema.encodeEffect(schema)
  const decode = Schema.decodeUnknownEffect(schema)
  const made = {
    decode: (value: string) => decode(JsonShape.parse(value)),
    encode: (result: A) => Effect.flatMapEager(encode(result), LongJson.stringify)
  }
  codecs.set(schema, made)
  return made
}
