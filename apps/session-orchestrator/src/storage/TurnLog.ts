/**
 * The log of turns: their records and their persisted events, in two tables that one writer writes.
 *
 * TurnLog.W1. A write that has succeeded survives `kill -9` and a power cut. An append is stored whole or not at all, beside whatever the appends of
 *     other turns come to.
 * TurnLog.W2. (turn, seq) is the fence: of two processes that believe they run a turn, one collides on its next append, even if both append
 *     the same. So does each that is late: a sealed turn takes nothing more. The same append again, by the same process, changes nothing: its
 *     first result may have been lost.
 * TurnLog.W3. Events are stored once per (turn, position), and a turn's positions have no gap. A `message` event and the message in the history
 *     are one write; so are `turn-end` and the turn's end. Transient events cannot be stored (rule D6): the types refuse them.
 */
import { type Journal, JournalConflict, type StorageError } from "@holdfast/journal"
import { DatabaseWait, JournalTable, SqlDatabase, type TableError } from "@holdfast/journal/sql"
import { type Records, TurnStopped } from "@holdfast/kernel"
import type { Engine } from "@holdfast/kernel/host"
import { defined, type Ids, LongJson, TurnEvent } from "@holdfast/wire"
import { Cause, Context, Duration, Effect, Exit, Option, Scheduler, Stream } from "effect"
import type { SqlClient } from "effect/sql"
import { isDeepStrictEqual } from "node:util"
import * as Outbox from "./Outbox.ts"
import type { Histories } from "./sql/Histories.ts"
import { type Acceptance, openingOf, type StoredEvent, type Turn, type Unsealed } from "./Stored.ts"
import * as ConversationTable from "./tables/ConversationTable.ts"
import * as EventTable from "./tables/EventTable.ts"
import * as LabelTable from "./tables/LabelTable.ts"
import * as RecordTable from "./tables/RecordTable.ts"
import * as SealTable from "./tables/SealTable.ts"
import * as TurnTable from "./tables/TurnTable.ts"

/** Records of a turn, and the events that follow from them. */
export interface Append extends Omit<Engine.Append, "_tag"> {
  /** The conversation of the turn: its runner has the lock of that (`Fence`). */
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  /** The number of the first record in its turn, 0-based; without records, the number of records that the turn has. */
  readonly seq: number
}

/** What became of an append: its events with their ids, those of an earlier append among them. */
export type Outcome = Exit.Exit<ReadonlyArray<StoredEvent>, Journal.AppendError>

/** Keeps the records and events of turns. */
export class TurnLog extends Context.Service<TurnLog, Effect.Success<ReturnType<typeof make>>>()(
  "@holdfast/session-orchestrator/storage/TurnLog"
) {}

/** Makes one append. */
export const one = (
  { append }: Pick<TurnLog["Service"], "append">,
  entry: Append
): Effect.Effect<ReadonlyArray<StoredEvent>, Journal.AppendError> =>
  Effect.flatMap(append([entry]), ([outcome = NO_OUTCOME]) => outcome)

const NO_OUTCOME = Exit.die(new Error("An append has no outcome"))

/** Events a page: some hundred kilobytes of an ordinary conversation. */
export const PAGE = 256

/**
 * The log in a database.
 *
 * @param writer names this process in each record, where several processes write to the same database
 * @param accepts fails while the database takes no new turn
 */
export const make = Effect.fnUntraced(function* (
  database: SqlDatabase.SqlDatabase,
  writer: string | undefined,
  accepts: Effect.Effect<void, StorageError>,
  history: Histories
) {
  const { each, explained, failed, lane, read, reads, sql, writes } = database
  const accept = writes(({ turn }: Arrival) => `record turn ${turn.turnId}`, accepted(sql))
  const append = lane(written(sql, writer))
  const records = yield* reads(
    (id) => `the journal of turn ${id}`,
    (ids: ReadonlyArray<Ids.TurnId>) => RecordTable.load(sql, ids)
  )
  const unsealed = yield* reads(
    (id) => `the unsealed turns of conversation ${id}`,
    (ids: ReadonlyArray<Ids.ConversationId>) =>
      Effect.map(SealTable.unsealed(sql, ids), (turns) => Map.groupBy(turns, ({ conversationId }) => conversationId))
  )
  return {
    /**
     * Stores a turn, before the client receives its acceptance; with `isOpened`, its first events too, in the same write. Those events get the
     * next ids of the conversation, so no other turn of it may be about to write events: a turn behind an unsealed one, which another process
     * has accepted since, is not opened.
     *
     * With `isNew` the id is new, and no stored turn is looked for.
     */
    accept: Effect.fnUntraced(function* (
      turn: Omit<Turn, "end">,
      { isNew = false, isOpened = false }: { readonly isOpened?: boolean | undefined; readonly isNew?: boolean } = {}
    ): Effect.fn.Return<Acceptance, StorageError> {
      yield* accepts
      // Encoded here, outside the transaction that others wait for.
      const opening = isOpened ? yield* Effect.forEach(openingOf(turn), encodeEvent) : undefined
      return yield* accept({ turn, opening, isNew })
    }),
    /** Appends for many turns in one commit, each with an outcome of its own, in their order (TurnLog.W1, TurnLog.W2). */
    append: Effect.fnUntraced(
      function* (appends: ReadonlyArray<Append>): Effect.fn.Return<ReadonlyArray<Outcome>> {
        const encoded = yield* Effect.forEach(appends, (append) => Effect.exit(encode(append)))
        const outcomes = (yield* append.all(encoded.filter(Exit.isSuccess).map(({ value }) => value))).values()
        return encoded.map((exit, i): Outcome => {
          if (!Exit.isSuccess(exit)) return Exit.failCause(exit.cause)
          const outcome = outcomes.next().value ?? NO_OUTCOME
          const { records, turnId } = appends[i] ?? exit.value
          if (Exit.isSuccess(outcome))
            return outcome.value === undefined
              ? Exit.fail(new JournalConflict({ turnId }))
              : Exit.succeed(outcome.value)
          const names = records.map(({ name }) => name).join(", ") || "the events"
          return Exit.failCause(
            Cause.map(outcome.cause, (error) => explained(`record ${names} of turn ${turnId}`, error))
          )
        })
      },
      // Without long texts they are queued at once: the appends of a later call do not pass them.
      Effect.provideService(Scheduler.PreventSchedulerYield, true)
    ),
    /** All records of a turn, oldest first; none for an unknown turn. */
    load: (id: Ids.TurnId) => Effect.map(records(id), Option.getOrElse(none)),
    /**
     * The turns without a seal, oldest first, each with its newest record: of a conversation, of those that are meant, or of all, which a start
     * takes up. Of conversations that are not meant the id alone is read.
     */
    tail: (
      of?: Ids.ConversationId | ((id: Ids.ConversationId) => boolean)
    ): Effect.Effect<ReadonlyArray<Unsealed>, StorageError> =>
      typeof of !== "string"
        ? // Many rows, for which a start or a take-over waits.
          SealTable.unsealedOf(sql, of).pipe(
            DatabaseWait.whileBusy(SqlDatabase.isBusy),
            database.answered(LONG_READ_LIMIT),
            failed("read the turns that are not sealed")
          )
        : Effect.map(unsealed(of), Option.getOrElse(none)),
    /** The events of a conversation after an id (0: all), oldest first, read in pages. */
    events: (of: Ids.ConversationId, after: number): Stream.Stream<StoredEvent, StorageError> =>
      Stream.paginate(after, (after) =>
        EventTable.page(sql, of, after, PAGE).pipe(
          read(`the events of conversation ${of}`),
          Effect.map((page) => {
            const last = page.length < PAGE ? undefined : page.at(-1)
            return [page, Option.map(Option.fromUndefinedOr(last), (event) => event.id)] as const
          })
        )
      ),
    /** The messages of a conversation, oldest first. */
    history: (of: Ids.ConversationId) => history(of).pipe(failed(`read the messages of conversation ${of}`)),
    /** Deletes the records of turns that were sealed long ago, as `Journal.forget` does. */
    forget: each("delete the journals of old turns", (sealedBefore: number, after: Ids.TurnId | undefined) =>
      Effect.flatMap(SealTable.sealed(sql, after), (page) =>
        JournalTable.forget(sql, RecordTable.TABLES, page, sealedBefore)
      )
    )
  }
})

// --- internal

const none = (): ReadonlyArray<never> => []

/** A hundred thousand turns are read in seconds. */
const LONG_READ_LIMIT = Duration.minutes(2)

/** A turn to accept. */
interface Arrival {
  readonly turn: TurnTable.NewTurn
  /** Its first events, in the same write: one sync of the disk less before its provider is called. Absent: they are written later. */
  readonly opening: ReadonlyArray<EventTable.EncodedEvent> | undefined
  /** No turn has its id yet. */
  readonly isNew: boolean
}

/** Writes turns whose ids are free, and returns each turn's outcome. Of two turns of a group with one id the first gets it. */
const accepted = (sql: SqlClient.SqlClient) =>
  Effect.fnUntraced(function* (
    arrivals: ReadonlyArray<Arrival>
  ): Effect.fn.Return<ReadonlyArray<Acceptance>, TableError> {
    const ids = arrivals.flatMap(({ isNew, turn }) => (isNew ? [] : [turn.turnId]))
    const known = new Map<Ids.TurnId, Turn>(ids.length === 0 ? [] : yield* TurnTable.findWhole(sql, ids))
    const answers = arrivals.map(({ turn }): Acceptance | undefined => {
      const first = known.get(turn.turnId)
      if (first !== undefined) return { _tag: isSame(first, turn) ? "Known" : "Conflict", turn: first }
      known.set(turn.turnId, { ...turn, end: undefined })
      return undefined
    })
    const added = arrivals.filter((_, i) => answers[i] === undefined)
    const openings = added.length === 0 ? undefined : yield* add(sql, added)
    return arrivals.map(
      ({ turn }, i) => answers[i] ?? { _tag: "Accepted", ...defined({ opening: openings?.get(turn.turnId) }) }
    )
  })

/** Writes new turns with what belongs to them, and returns the events of those that have an opening. */
const add = Effect.fnUntraced(function* (sql: SqlClient.SqlClient, arrivals: ReadonlyArray<Arrival>) {
  const turns = arrivals.map(({ turn }) => turn)
  const of = turns.map(({ conversationId }) => conversationId)
  const tails = yield* ConversationTable.tails(sql, of)
  const ends = yield* TurnTable.insert(sql, turns, tails)
  const rows = turns.map((turn) => ({ ...turn, number: ends.get(turn.turnId)?.number ?? 0 }))
  yield* LabelTable.insert(sql, "turn", rows)
  yield* Outbox.add(
    sql,
    rows.flatMap(({ conversationId, notify = [], number, turnId }) =>
      notify.map((receiver) => ({
        id: `turn-end/${turnId}/${receiver}`,
        lane: `turn-end/${conversationId}/${receiver}`,
        receiver,
        turn: number,
        dueAt: Outbox.NOT_YET
      }))
    )
  )
  const openings = arrivals.flatMap(({ opening: events, turn: { conversationId, turnId } }) =>
    events === undefined || tails.get(conversationId)?.isTaken === 1 ? [] : [{ turnId, position: 0, events }]
  )
  const opened = yield* EventTable.append(sql)(openings, ends, new Map(turns.map((turn) => [turn.turnId, turn])))
  return new Map(openings.map(({ turnId }, i) => [turnId, opened[i] ?? []]))
})

const isSame = (known: TurnTable.NewTurn, turn: TurnTable.NewTurn): boolean =>
  known.conversationId === turn.conversationId &&
  (known.content === undefined && turn.content === undefined
    ? known.prompt === turn.prompt
    : isDeepStrictEqual(known.content, turn.content))

/** An append as the tables take it. */
interface Encoded extends Omit<Append, "records" | "events"> {
  readonly records: ReadonlyArray<Records.Stored>
  readonly events: EventTable.Append["events"]
}

const encode = (append: Append): Effect.Effect<Encoded> =>
  Effect.zipWith(
    Effect.forEach(append.records, storedOf),
    Effect.forEach(append.events, encodeEvent),
    (records, events) => ({ ...append, records: records.map(RecordTable.pack({ ...append, events })), events })
  )

/** A record as it is stored. */
export const storedOf = ({ name, record }: Engine.Named): Effect.Effect<Records.Stored> =>
  LongJson.stringify(record.value).pipe(
    Effect.map((value) => ({ name, value })),
    Effect.catchDefect((defect) =>
      Effect.die(new Error(`The record ${name} cannot be written as text: ${TurnStopped.describe(defect)}`))
    )
  )

/** D6: only a caller that bypasses the types can pass a transient event. */
const encodeEvent = (event: TurnEvent.PersistedEvent) =>
  Effect.suspend(() => {
    const { type } = event
    if (!TurnEvent.isPersisted(event)) throw new Error(`${type} is transient: it is never stored`)
    return Effect.map(LongJson.stringify(event), (json) => ({ event, json }))
  })

/**
 * Writes the appends of a group, and returns the events of each; `undefined`: another process is ahead (TurnLog.W2), and nothing of it is written.
 * A sealed turn takes nothing that it does not have.
 */
const written =
  (sql: SqlClient.SqlClient, writer: string | undefined) =>
  (appends: ReadonlyArray<Encoded>): Effect.Effect<ReadonlyArray<ReadonlyArray<StoredEvent> | undefined>, TableError> =>
    Effect.gen(function* () {
      const ends = yield* JournalTable.ends<TurnTable.End>(sql, RecordTable.TABLES, appends, EventTable.ends(sql))
      const open = appends.filter((append) => !isLate(append, ends.get(append.turnId)))
      const holds = yield* JournalTable.append(sql, RecordTable.TABLES, writer)(open, ends)
      const held = open.filter((_, i) => holds[i])
      const withEvents = held.filter(({ events }) => events.length > 0)
      const stored = withEvents.length === 0 ? [] : yield* EventTable.append(sql)(withEvents, ends)
      const found = new Map(withEvents.map((append, i) => [append, stored[i]]))
      return appends.map((append) => found.get(append) ?? (held.includes(append) ? [] : undefined))
    })

const isLate = ({ events, position, records, seq }: Encoded, end: TurnTable.End | undefined): boolean =>
  end !== undefined &&
  end.endEventId !== null &&
  (seq + records.length > (end.lastSeq ?? -1) + 1 || position + events.length > (end.lastPosition ?? -1) + 1)
