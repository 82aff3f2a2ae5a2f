/**
 * The `Journal` on a SQL database, and with it an application's own statements in the same commit.
 *
 * SqlJournal.S1. An append and its statements are one write (`JournalWrites.A1`). Statements of many appends run together, so an
 *     application can insert their rows at once.
 */
import type { Ids } from "@holdfast/wire"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { type AppendError, type AppendWith, type Journal, JournalConflict, type JournalWith } from "../Journal.ts"
import type * as GroupCommit from "./GroupCommit.ts"
import * as JournalTable from "./JournalTable.ts"
import * as JournalWrites from "./JournalWrites.ts"
import type { SqlDatabase } from "./SqlDatabase.ts"
import type { TableError, Tables } from "./Tables.ts"

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
  const write = lane(JournalWrites.write(append, statements))
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

const writeOf = <In>({ records, seq, statements, turnId }: AppendWith<In>): JournalWrites.JournalWrite<In> => ({
  records: Arr.isReadonlyArrayNonEmpty(records) ? { turnId, seq, records } : undefined,
  statements
})

/** J2 */
const unlessTaken =
  (turnId: Ids.TurnId) =>
  <Out>(written: JournalWrites.Written<Out>): Exit.Exit<Out | undefined, JournalConflict> =>
    Option.isNone(written) ? Exit.fail(new JournalConflict({ turnId })) : Exit.succeed(written.value)

/** The result of statements, which a write with statements has. */
const resultOf = <Out>(written: JournalWrites.Written<Out>): Out => Option.getOrThrow(written) as Out
