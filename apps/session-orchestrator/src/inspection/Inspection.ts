/**
 * Reads the turns of a database from outside, with or without a running service.
 *
 * Inspection.I1. Nothing in the database is changed: it is opened for reading alone. SQLite may leave its log files beside it, empty.
 * Inspection.I2. Turns and evidence show one moment: everything is read in one transaction. A period is read page by page.
 */
import { InterruptionTable, JournalTable, DatabaseWait, SchemaVersion, StorageFailure } from "@holdfast/journal/sql"
import { SqliteClient } from "@holdfast/journal/sqlite"
import { StorageError } from "@holdfast/journal"
import type { Records } from "@holdfast/kernel"
import { History } from "@holdfast/kernel/host"
import { defined, type Ids, type PeriodReport } from "@holdfast/wire"
import { Clock, Context, Effect, Layer, Option, type Schema } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import * as fs from "node:fs"
import * as Holders from "./Holders.ts"
import type { Defaults } from "../conversation/Defaults.ts"
import * as TurnSetting from "../turn/TurnSetting.ts"
import * as ConversationTable from "../storage/tables/ConversationTable.ts"
import * as EventTable from "../storage/tables/EventTable.ts"
import * as DatabaseSchema from "../storage/DatabaseSchema.ts"
import type { Conversation, Turn } from "../storage/Store.ts"
import * as SealTable from "../storage/tables/SealTable.ts"
import * as Tenancy from "../storage/sqlite/Tenancy.ts"
import * as AnsweredCalls from "../storage/AnsweredCalls.ts"
import * as TurnListTable from "../storage/tables/TurnListTable.ts"
import * as TurnTable from "../storage/tables/TurnTable.ts"
import * as PeriodRows from "./period/PeriodRows.ts"
import type { Period } from "./period/PeriodTally.ts"
import * as Recording from "../storage/Recording.ts"
import type { StoredTurn } from "./StoredTurn.ts"
import * as TurnReport from "./TurnReport.ts"

/** Whether a service runs the turns: one process or several, none, or unknown. */
export type Service =
  | { readonly _tag: "Runs"; readonly who: string }
  | { readonly _tag: "None" }
  | { readonly _tag: "Unknown" }

/** Reads one database. */
export class Inspection extends Context.Service<
  Inspection,
  {
    /** The turns that are not sealed, or all of them, in the order of acceptance. */
    readonly turns: (options: {
      readonly all: boolean
    }) => Effect.Effect<ReadonlyArray<TurnReport.TurnReport>, StorageError>
    /** The database: a file, or an address without its password. */
    readonly database: string
    /** The stored data of one turn, for its explanation; none if there is no such turn. */
    readonly evidence: (turnId: Ids.TurnId) => Effect.Effect<Option.Option<StoredTurn>, StorageError>
    /** The report of a period, read page by page: turns that change meanwhile count as they were read. */
    readonly period: (period: Period) => Effect.Effect<PeriodReport.PeriodReport, StorageError>
    /** When the first turn of a conversation was accepted, in epoch milliseconds; absent: it has none. */
    readonly beginning: (conversationId: Ids.ConversationId) => Effect.Effect<number | undefined, StorageError>
    /** The record of turns since a moment, in epoch milliseconds: what a replay follows (X10). */
    readonly recording: (since: number) => Effect.Effect<Recording.Recording, StorageError>
    /** The service that runs the turns. */
    readonly service: Effect.Effect<Service>
  }
>()("@holdfast/session-orchestrator/inspection/Inspection") {}

/** Settings of an inspection. */
interface Options {
  /** Settings of conversations that set none themselves. */
  readonly defaults: Defaults["Service"]
}

/** Reads a SQLite file. Fails if it does not exist. */
export const layerSqlite = (path: string, options: Options): Layer.Layer<Inspection, StorageError> =>
  Layer.suspend(() =>
    fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === false
      ? layer(path, ownerOf(path), options).pipe(
          Layer.provide(
            Layer.catch(SqliteClient.layer({ filename: path, readonly: true }), (error) =>
              Layer.effectContext(Effect.fail(StorageFailure.explain(path, "open the database", error)))
            )
          )
        )
      : Layer.effectContext(
          Effect.fail(
            new StorageError({
              message:
                `There is no database at ${path}${fs.existsSync(path) ? ", which is a directory" : ""}. ` +
                "Name the service's configuration with --config, or start `holdfast serve` once, which makes it."
            })
          )
        )
  )

/**
 * Reads a database that runners share.
 *
 * @param database its address without a password
 */
export const layerShared = (
  database: string,
  options: Options
): Layer.Layer<Inspection, StorageError, SqlClient.SqlClient> =>
  Layer.unwrap(SqlClient.SqlClient.useSync((sql) => layer(database, runnersOf(sql), options)))

// --- internal

/** The most turns of one recording. */
const MOST_RECORDED = 5_000

/** @param database names it in errors */
const layer = (
  database: string,
  service: Effect.Effect<Service>,
  { defaults }: Options
): Layer.Layer<Inspection, StorageError, SqlClient.SqlClient> =>
  Layer.effect(
    Inspection,
    Effect.gen(function* () {
      const sql = yield* SqlClient.SqlClient
      const read = <A>(what: string, effect: Effect.Effect<A, Failure>): Effect.Effect<A, StorageError> =>
        effect.pipe(
          DatabaseWait.whileBusy((error) => SqlError.isSqlError(error) && StorageFailure.scopeOf(error) === "busy"),
          DatabaseWait.within<Failure>(DatabaseWait.SILENCE_LIMIT, () =>
            StorageFailure.silence(DatabaseWait.SILENCE_LIMIT)
          ),
          Effect.mapError((error) => explain(database, `read ${what}`, error))
        )
      yield* read(
        "its version",
        Effect.provideService(SchemaVersion.refuseOther(database, DatabaseSchema.versions), SqlClient.SqlClient, sql)
      )
      return {
        database,
        service,
        period: (period) =>
          PeriodRows.report(
            {
              turns: (...query) => read("a page of turns", TurnListTable.page(sql, ...query)),
              answeredCalls: (...between) => read("the answered calls", AnsweredCalls.between(sql, ...between)),
              records: (ids) => read("records of turns", JournalTable.load(sql, SealTable.TABLES)(ids))
            },
            period
          ),
        beginning: (conversationId) =>
          PeriodRows.beginning(
            (...query) => read("a page of turns", TurnListTable.page(sql, ...query)),
            conversationId
          ),
        recording: (since) => read("the record", sql.withTransaction(Recording.read(sql, since, MOST_RECORDED))), // Inspection.I2
        evidence: (turnId) => read("the turn", sql.withTransaction(evidenceOf(sql, turnId))), // Inspection.I2
        turns: ({ all }) =>
          Effect.flatMap(
            Clock.currentTimeMillis,
            (now) => read("the turns", sql.withTransaction(reports(sql, defaults, all, now))) // Inspection.I2
          )
      }
    })
  )

type Failure = SqlError.SqlError | Schema.SchemaError | StorageError

const explain = (database: string, attempted: string, error: Failure): StorageError => {
  if (error instanceof StorageError) return error
  return SqlError.isSqlError(error)
    ? StorageFailure.explain(database, attempted, error)
    : StorageFailure.damaged(database, attempted, error.message)
}

const reports = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  defaults: Defaults["Service"],
  all: boolean,
  now: number
): Effect.fn.Return<ReadonlyArray<TurnReport.TurnReport>, Failure> {
  const conversations = new Map<string, Conversation>()
  /** Conversations whose head turn has been read. */
  const begun = new Set<string>()
  const found: Array<TurnReport.TurnReport> = []
  const turns = yield* all ? TurnTable.all(sql) : TurnTable.unsealed(sql)
  const holders = yield* Holders.read(sql)
  const openReport = (report: TurnReport.TurnReport): TurnReport.TurnReport =>
    holders === undefined ? report : { ...report, runner: holders.of(report.conversationId) }
  const endings = yield* all ? endingsOf(sql, turns) : Effect.succeed(new Map<Ids.TurnId, TurnReport.Ending>())
  for (const turn of turns) {
    const conversation = conversations.get(turn.conversationId) ?? (yield* conversationOf(sql, turn))
    if (conversation === undefined) continue
    conversations.set(turn.conversationId, conversation)
    if (turn.end !== undefined) {
      found.push(TurnReport.ofSealed(turn, turn.end, conversation, endings.get(turn.turnId)))
    } else if (begun.has(turn.conversationId)) {
      found.push(openReport(TurnReport.ofQueued(turn, conversation, now)))
    } else {
      begun.add(turn.conversationId)
      const history = History.of(yield* recordsOf(sql, turn.turnId))
      const policy = TurnSetting.policyOf(conversation, defaults)
      found.push(openReport(TurnReport.ofOpen(turn, history, conversation, policy, now)))
    }
  }
  return found
})

/** The targets of the turns' last attempts, and their manual retries: from all turns, in the order of acceptance. */
const endingsOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  turns: ReadonlyArray<Turn>
): Effect.fn.Return<ReadonlyMap<Ids.TurnId, TurnReport.Ending>, Failure> {
  const changes = yield* EventTable.modelChanges(sql)
  /** For each conversation: the target in use, until a person changes the model, and the previous turn. */
  const conversations = new Map<Ids.ConversationId, { model?: string; before?: Turn }>()
  const endings = new Map<Ids.TurnId, { model: string | undefined; retriedBy?: Ids.TurnId }>()
  for (const turn of turns) {
    const conversation = conversations.get(turn.conversationId) ?? {}
    const { before } = conversation
    const model = changes.get(turn.turnId) ?? (before?.model === turn.model ? conversation.model : undefined)
    const retried = turn.prompt === undefined && before !== undefined ? endings.get(before.turnId) : undefined
    if (retried !== undefined) retried.retriedBy = turn.turnId
    endings.set(turn.turnId, { model })
    conversations.set(turn.conversationId, { ...defined({ model }), before: turn })
  }
  return endings
})

const evidenceOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  turnId: Ids.TurnId
): Effect.fn.Return<Option.Option<StoredTurn>, Failure> {
  const turn = yield* TurnTable.find(sql, turnId)
  if (Option.isNone(turn)) return Option.none()
  const conversation = yield* conversationOf(sql, turn.value)
  if (conversation === undefined) return Option.none()
  const events = (yield* EventTable.ofTurn(sql, turnId)).map(({ event }) => event)
  const records = yield* recordsOf(sql, turnId)
  const interruption = Option.getOrUndefined(yield* InterruptionTable.find(sql, SealTable.TABLES, turnId))
  const deaths = yield* SealTable.deaths(sql, turn.value.acceptedAt)
  return Option.some({ turn: turn.value, conversation, events, records, interruption, deaths })
})

/** `undefined`: it was deleted after the turn's row had been read, which PostgreSQL allows within a transaction. */
const conversationOf = (sql: SqlClient.SqlClient, turn: Turn): Effect.Effect<Conversation | undefined, Failure> =>
  Effect.map(ConversationTable.findAll(sql, [turn.conversationId]), (found) => found.get(turn.conversationId))

const recordsOf = (
  sql: SqlClient.SqlClient,
  turnId: Ids.TurnId
): Effect.Effect<ReadonlyArray<Records.Stored>, Failure> =>
  Effect.map(JournalTable.load(sql, SealTable.TABLES)([turnId]), ([records = []]) => records)

const UNKNOWN: Service = { _tag: "Unknown" }

const runnersOf = (sql: SqlClient.SqlClient): Effect.Effect<Service> =>
  Holders.read(sql).pipe(
    Effect.map((holders): Service => {
      const runners = holders?.runners ?? []
      return runners.length === 0 ? { _tag: "None" } : { _tag: "Runs", who: `runners ${runners.join(", ")}` }
    }),
    DatabaseWait.within<SqlError.SqlError>(DatabaseWait.SILENCE_LIMIT, () =>
      StorageFailure.silence(DatabaseWait.SILENCE_LIMIT)
    ),
    Effect.orElseSucceed(() => UNKNOWN)
  )

const ownerOf = (path: string): Effect.Effect<Service> =>
  Tenancy.ownerOf(path).pipe(
    Effect.map((owner): Service =>
      owner === undefined
        ? { _tag: "None" }
        : { _tag: "Runs", who: owner === "unnamed" ? "a process" : Tenancy.describe(owner) }
    ),
    // A user who may read the database may lack the right to try its lock.
    Effect.orElseSucceed(() => UNKNOWN)
  )
