/**
 * The `Journal` on a SQL database, and with it an application's own statements in the same commit.
 *
 * SqlJournal.S1. An append and its statements are stored both or neither: when the records collide (`Journal.J2`), the statements do not run.
 * SqlJournal.S2. The writes of a group are made together. When a write is refused, each is made in a savepoint of its own
 *     (`GroupCommit.G2`), so S1 holds for each, and the refused write leaves the others alone.
 */
import type { Ids } from "@holdfast/wire"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import {
  type Append,
  type AppendError,
  type AppendWith,
  type Journal,
  JournalConflict,
  type JournalWith
} from "../Journal.ts"
import type * as GroupCommit from "./GroupCommit.ts"
import * as JournalTable from "./JournalTable.ts"
import type { SqlDatabase } from "./SqlDatabase.ts"
import type { TableError, Tables } from "./JournalTable.ts"

/** Small rows a query. */
const READS_AT_ONCE = 64

/** Turns whose journals are deleted in one commit: some hundred rows, some milliseconds of the thread. */
const FORGOTTEN_AT_ONCE = 32

/** A turn that has records and a seal. */
export interface SealedTurn {
  readonly turnId: Ids.TurnId
  /** Epoch milliseconds. */
  readonly endedAt: number
}

/** What a journal needs to know of its database. */
export interface Options<In, Out> {
  readonly tables: Tables
  /** Runs the statements of a group of writes, in the transaction of their records and behind them, with one result for each. */
  readonly statements: GroupCommit.Apply<In, Out, TableError>
  /** Runs before the records of a group are appended. Absent: the application adds the rows of turns itself. */
  readonly beforeAppend?: (turnIds: ReadonlyArray<Ids.TurnId>) => Effect.Effect<void, TableError>
  /** The next turns after an id that have records and a seal, at most `limit`, in the order of their rows. */
  readonly sealed: (
    after: Ids.TurnId | undefined,
    limit: number
  ) => Effect.Effect<ReadonlyArray<SealedTurn>, TableError>
  /** Names this process in the column `writer`, where several processes write to the same database. */
  readonly writer?: string | undefined
}

/** A journal on a database. */
export interface SqlJournal<In, Out> {
  readonly journal: Journal["Service"] & JournalWith<In, Out>
  /** Runs statements without records, behind the turn's earlier writes. */
  readonly run: (statements: In) => Effect.Effect<Out, TableError>
}

/** Adds a journal's lanes to a database. */
export const make = Effect.fnUntraced(function* <In, Out>(
  { explained, failed, lane, sql, together }: SqlDatabase,
  { beforeAppend, sealed, statements, tables, writer }: Options<In, Out>
): Effect.fn.Return<SqlJournal<In, Out>> {
  const appendRows = JournalTable.append(sql, tables, writer)
  const append: typeof appendRows = (appends) =>
    beforeAppend === undefined
      ? appendRows(appends)
      : Effect.andThen(beforeAppend(appends.map(({ turnId }) => turnId)), appendRows(appends))
  const write = lane(writes(append, statements))
  const forget = lane(JournalTable.forget(sql, tables))
  const one = (append: AppendWith<In>) =>
    write(writeOf(append)).pipe(failed(recording(append)), Effect.flatMap(unlessTaken(append.turnId)))
  const load = yield* together(READS_AT_ONCE, JournalTable.load(sql, tables))
  return {
    run: (statements) => Effect.map(write({ statements }), resultOf),
    journal: {
      load: (turnId) => load(turnId).pipe(failed(`read the journal of turn ${turnId}`)),
      append: (turnId, seq, ...records) => Effect.asVoid(one({ turnId, seq, records })),
      appendAll: (appends) =>
        Effect.map(write.all(appends.map(writeOf)), (outcomes) =>
          appends.map((append, i): Exit.Exit<Out | undefined, AppendError> => {
            const outcome = outcomes[i] ?? Exit.die(new Error("An append has no outcome"))
            if (Exit.isSuccess(outcome)) return unlessTaken(append.turnId)(outcome.value)
            return Exit.failCause(Cause.map(outcome.cause, (error) => explained(recording(append), error)))
          })
        ),
      appendWith: (turnId, seq, records, statements) =>
        Effect.map(one({ turnId, seq, records, statements }), (out) => resultOf(Option.some(out))),
      forget: (sealedBefore, after) =>
        Effect.gen(function* () {
          const found = yield* sealed(after, FORGOTTEN_AT_ONCE)
          const old = found.filter(({ endedAt }) => endedAt < sealedBefore).map(({ turnId }) => turnId)
          if (old.length > 0) yield* forget(old)
          return { forgotten: old.length, next: found.at(-1)?.turnId }
        }).pipe(failed("delete the journals of old turns"))
    }
  }
})

// --- internal

const recording = ({ records, turnId }: Pick<AppendWith<unknown>, "turnId" | "records">): string =>
  `record ${records.map(({ name }) => name).join(", ") || "what follows"} of turn ${turnId}`

const writeOf = <In>({ records, seq, statements, turnId }: AppendWith<In>): JournalWrite<In> => ({
  records: Arr.isReadonlyArrayNonEmpty(records) ? { turnId, seq, records } : undefined,
  statements
})

/** J2 */
const unlessTaken =
  (turnId: Ids.TurnId) =>
  <Out>(written: Written<Out>): Exit.Exit<Out | undefined, JournalConflict> =>
    Option.isNone(written) ? Exit.fail(new JournalConflict({ turnId })) : Exit.succeed(written.value)

/** The result of statements, which a write with statements has. */
const resultOf = <Out>(written: Written<Out>): Out => Option.getOrThrow(written) as Out

/** One write of a turn. */
interface JournalWrite<In> {
  readonly records?: Append | undefined
  readonly statements?: In | undefined
}

/** The result of a write's statements, if it had any; none: another process has written records under its numbers, and nothing was written. */
type Written<Out> = Option.Option<Out | undefined>

/**
 * Makes the writes of a group.
 *
 * @param append writes records, and returns for each append whether the table holds it now
 * @param run runs the statements of the writes that have some
 */
const writes =
  <In, Out>(
    append: (appends: ReadonlyArray<Append>) => Effect.Effect<ReadonlyArray<boolean>, TableError>,
    run: GroupCommit.Apply<In, Out, TableError>
  ) =>
  (writes: Arr.NonEmptyReadonlyArray<JournalWrite<In>>): Effect.Effect<ReadonlyArray<Written<Out>>, TableError> =>
    Effect.gen(function* () {
      const isHeld = yield* partOf(
        writes.map(({ records }) => records),
        append
      )
      const results = yield* partOf(
        writes.map(({ statements }, i) => (isHeld[i] === false ? undefined : statements)), // SqlJournal.S1
        run
      )
      return writes.map((_, i) => (isHeld[i] === false ? Option.none() : Option.some(results[i])))
    })

/** Makes the parts that are there, and returns the result of each in its place. */
const partOf = <Part, Out>(
  parts: ReadonlyArray<Part | undefined>,
  make: (parts: Arr.NonEmptyReadonlyArray<Part>) => Effect.Effect<ReadonlyArray<Out>, TableError>
): Effect.Effect<ReadonlyArray<Out | undefined>, TableError> => {
  const present = parts.filter((part) => part !== undefined)
  if (!Arr.isReadonlyArrayNonEmpty(present)) return Effect.succeed([])
  return Effect.map(make(present), (outs) => {
    let next = 0
    return parts.map((part) => (part === undefined ? undefined : outs[next++]))
  })
}
