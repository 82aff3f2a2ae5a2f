/**
 * Reads the turns of a database from outside, with or without a running service.
 *
 * Inspection.I1. Nothing in the database is changed: it is opened for reading alone. SQLite may leave its log files beside it, empty.
 * Inspection.I2. Turns and evidence show one moment: everything is read in one transaction. A period is read page by page.
 */
import { InterruptionTable, SchemaVersion, SqlDatabase, StorageFailure, type TableError } from "@holdfast/journal/sql"
import { SqliteClient } from "@holdfast/journal/sqlite"
import { StorageError } from "@holdfast/journal"
import { History } from "@holdfast/kernel/host"
import { defined, type Ids } from "@holdfast/wire"
import { Clock, Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import * as fs from "node:fs"
import * as Holders from "./Holders.ts"
import type { Defaults } from "../conversation/Defaults.ts"
import * as TurnSetting from "../turn/TurnSetting.ts"
import * as ConversationTable from "../storage/tables/ConversationTable.ts"
import * as EventTable from "../storage/tables/EventTable.ts"
import * as DatabaseSchema from "../storage/DatabaseSchema.ts"
import type { Conversation, Turn } from "../storage/Store.ts"
import * as RecordTable from "../storage/tables/RecordTable.ts"
import * as SealTable from "../storage/tables/SealTable.ts"
import * as Tenancy from "../storage/sqlite/Tenancy.ts"
import * as AnsweredCalls from "../storage/AnsweredCalls.ts"
import * as TurnListTable from "../storage/tables/TurnListTable.ts"
import * as TurnTable from "../storage/tables/TurnTable.ts"
import type * as PeriodReports from "./period/PeriodReports.ts"
import * as Recording from "../storage/Recording.ts"
import * as StoredTurns from "./StoredTurns.ts"
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
    /** A conversation, with what it was opened with; none if there is no such conversation. */
    readonly conversation: (id: Ids.ConversationId) => Effect.Effect<Option.Option<Conversation>, StorageError>
    /** The stored data of one turn, for its explanation; `undefined`: there is no such turn. */
    readonly evidence: (turnId: Ids.TurnId) => Effect.Effect<TurnReport.StoredTurn | undefined, StorageError>
    /** What the report of a period is made of, read page by page: turns that change meanwhile count as they were read. */
    readonly sources: PeriodReports.Sources
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
      ? layer(path, options, ownerOf(path)).pipe(
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
): Layer.Layer<Inspection, StorageError, SqlClient.SqlClient> => layer(database, options)

// --- internal

/** The most turns of one recording. */
const MOST_RECORDED = 5_000

/**
 * @param database names it in errors
 * @param owner the process that has it; absent: runners share it
 */
const layer = (
  database: string,
  { defaults }: Options,
  owner?: Effect.Effect<Service>
): Layer.Layer<Inspection, StorageError, SqlClient.SqlClient> =>
  Layer.effect(
    Inspection,
    Effect.gen(function* () {
      const { read, sql } = yield* SqlDatabase.make({ database, isServer: true })
      const refusal = yield* read("its version")(
        SchemaVersion.refuseOther(database, DatabaseSchema.versions).pipe(
          Effect.catchTag("StorageError", Effect.succeed),
          Effect.provideService(SqlClient.SqlClient, sql)
        )
      )
      if (refusal !== undefined) return yield* refusal
      const recordsOf = RecordTable.load(sql)
      return {
        database,
        service: owner ?? runnersOf(read("its runners")(Holders.read(sql))),
        sources: {
          turns: (...query) => read("a page of turns")(TurnListTable.page(sql, ...query)),
          answeredCalls: (...between) => read("the answered calls")(AnsweredCalls.between(sql, ...between)),
          records: (ids) => read("records of turns")(recordsOf(ids))
        },
        recording: (since) => read("the record")(sql.withTransaction(Recording.read(sql, since, MOST_RECORDED))), // Inspection.I2
        evidence: (turnId) => read("the turn")(sql.withTransaction(evidence(sql)(turnId))), // Inspection.I2
        conversation: (id) => read("the conversation")(conversationOf(sql, id)),
        turns: ({ all }) =>
          Effect.flatMap(
            Clock.currentTimeMillis,
            (now) => read("the turns")(sql.withTransaction(reports(sql, defaults, all, now))) // Inspection.I2
          )
      }
    })
  )

const evidence = (sql: SqlClient.SqlClient) =>
  StoredTurns.reader(
    { turn: (id) => TurnTable.find(sql, id), conversation: (id) => conversationOf(sql, id) },
    ({ acceptedAt, turnId }) =>
      Effect.all({
        events: Effect.map(EventTable.ofTurn(sql, turnId), (stored) => stored.map(({ event }) => event)),
        records: recordsOf(sql, turnId),
        interruption: Effect.map(InterruptionTable.find(sql, RecordTable.TABLES, turnId), Option.getOrUndefined),
        deaths: SealTable.deaths(sql, acceptedAt)
      })
  )

const reports = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  defaults: Defaults["Service"],
  all: boolean,
  now: number
): Effect.fn.Return<ReadonlyArray<TurnReport.TurnReport>, TableError> {
  /** By their ids; a conversation was deleted if it is none. */
  const conversations = new Map<Ids.ConversationId, Option.Option<Conversation>>()
  /** Conversations whose head turn has been read. */
  const begun = new Set<Ids.ConversationId>()
  const found: Array<TurnReport.TurnReport> = []
  const turns = yield* all ? TurnTable.all(sql) : TurnTable.unsealed(sql)
  const holders = yield* Holders.read(sql)
  const endings = yield* all ? endingsOf(sql, turns) : Effect.succeed(new Map<Ids.TurnId, TurnReport.Findings>())
  for (const turn of turns) {
    const { conversationId, end, turnId } = turn
    const known = conversations.get(conversationId) ?? (yield* conversationOf(sql, conversationId))
    conversations.set(conversationId, known)
    if (Option.isNone(known)) continue
    const conversation = known.value
    if (end !== undefined) {
      found.push(TurnReport.of(turn, conversation, now, endings.get(turnId)))
      continue
    }
    const head = begun.has(conversationId)
      ? {}
      : {
          history: History.of(yield* recordsOf(sql, turnId)),
          policy: TurnSetting.policyOf(conversation, defaults)
        }
    begun.add(conversationId)
    const report = TurnReport.of(turn, conversation, now, head)
    found.push(holders === undefined ? report : { ...report, runner: holders.of(conversationId) })
  }
  return found
})

/** The targets of the turns' last attempts, and their manual retries: from all turns, in the order of acceptance. */
const endingsOf = Effect.fnUntraced(function* (
  sql: SqlClient.SqlClient,
  turns: ReadonlyArray<Turn>
): Effect.fn.Return<ReadonlyMap<Ids.TurnId, TurnReport.Findings>, TableError> {
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

/** None: it was deleted after the turn's row had been read, which PostgreSQL allows within a transaction. */
const conversationOf = (sql: SqlClient.SqlClient, id: Ids.ConversationId) =>
  Effect.map(ConversationTable.findAll(sql, [id]), (found) => Option.fromUndefinedOr(found.get(id)))

const recordsOf = (sql: SqlClient.SqlClient, turnId: Ids.TurnId) =>
  Effect.map(RecordTable.load(sql)([turnId]), ([records = []]) => records)

const UNKNOWN: Service = { _tag: "Unknown" }

const runnersOf = (holders: Effect.Effect<Holders.Holders | undefined, StorageError>): Effect.Effect<Service> =>
  holders.pipe(
    Effect.map((holders): Service => {
      const runners = holders?.runners ?? []
      return runners.length === 0 ? { _tag: "None" } : { _tag: "Runs", who: `runners ${runners.join(", ")}` }
    }),
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
