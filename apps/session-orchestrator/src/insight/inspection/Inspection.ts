/**
 * Reads a database from outside, with or without a running service, by the ports of the service.
 *
 * Nothing in the database is changed: it is opened for reading alone. SQLite may leave its log files beside it, empty.
 */
import { StorageError } from "@holdfast/journal"
import { SqlDatabase } from "@holdfast/journal/sql"
import { SqliteClient } from "@holdfast/journal/sqlite"
import { History } from "@holdfast/kernel/host"
import type { Ids } from "@holdfast/wire"
import { Clock, Context, Effect, Layer, Option, Predicate, Stream } from "effect"
import * as fs from "node:fs"
import type { Values } from "../../config/Config.ts"
import { Lists, rowsOf } from "../../storage/Lists.ts"
import type { TurnFilter, TurnRow } from "../../storage/ListPage.ts"
import * as SqlStore from "../../storage/sql/SqlStore.ts"
import * as Tenancy from "../../storage/sqlite/Tenancy.ts"
import { Store } from "../../storage/Store.ts"
import * as TurnSetting from "../../engine/turn/TurnSetting.ts"
import * as Holders from "./Holders.ts"
import * as TurnReport from "./TurnReport.ts"

/** Reads one database. */
export class Inspection extends Context.Service<Inspection, Effect.Success<ReturnType<typeof make>>>()(
  "@holdfast/session-orchestrator/inspection/Inspection"
) {}

/** The settings of conversations that set none themselves, and the prices. */
type Settings = Pick<Values, "prices" | "retry">

/** Reads a SQLite file. Fails if it does not exist. */
export const layerSqlite = (
  path: string,
  settings: Settings
): Layer.Layer<Inspection | SqlStore.Storage, StorageError> =>
  Layer.suspend(() =>
    fs.statSync(path, { throwIfNoEntry: false })?.isDirectory() === false
      ? layer(path, settings, Tenancy.ownerOf(path)).pipe(
          Layer.provide(SqliteClient.layerExplained({ filename: path, readonly: true })),
          Layer.provide(Layer.effectDiscard(Tenancy.refuseForeign(path)))
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
 * Reads a database.
 *
 * @param database names it in errors: its address, without a password
 * @param owner the process that has it; absent: runners share it
 */
export const layer = (database: string, settings: Settings, owner?: Effect.Effect<unknown, unknown>) =>
  Layer.effect(Inspection, make(database, settings, owner)).pipe(Layer.provideMerge(SqlStore.layerReading(database)))

// --- internal

/** Turns of one page, and turns whose records are read at once. */
const PAGE = 500

const make = Effect.fnUntraced(function* (
  database: string,
  settings: Settings,
  owner?: Effect.Effect<unknown, unknown>
) {
  const { read, sql } = yield* SqlDatabase.make({ database })
  const lists = yield* Lists
  const store = yield* Store
  const holders = read("its runners")(Holders.read(sql))
  return {
    /** The database: a file, or an address without its password. */
    database,
    /** Whether no service runs the turns. A user who may read the database may lack the right to find that out: `false` then. */
    isUnserved: Effect.map(owner ?? Effect.map(holders, (found) => found?.runners[0]), Predicate.isUndefined).pipe(
      Effect.orElseSucceed(() => false)
    ),
    /** The turns that are not sealed, or all of them, in the order of acceptance. */
    turns: Effect.fnUntraced(function* ({ all }: { readonly all: boolean }) {
      const now = yield* Clock.currentTimeMillis
      const filter: TurnFilter = all ? {} : { status: "open" }
      const newest = yield* Stream.runCollect(rowsOf((after) => lists.turns(filter, after, PAGE)))
      const rows = Array.from(newest).toSorted((a, b) => a.position.number - b.position.number)
      const { of: holderOf } = (yield* holders) ?? {}
      const found = yield* Effect.forEach(
        linked(rows),
        Effect.fnUntraced(function* ({ retriedBy, row }) {
          const { conversationId, end, turnId } = row.turn
          const report = (history: History.History, more: Parameters<typeof TurnReport.of>[2]) => {
            const known = TurnReport.ofRow(row, history, (text) => text, settings.prices)
            return [TurnReport.of(known, now, more)]
          }
          if (end !== undefined) return report(TurnReport.NO_RECORDS, { retriedBy })
          const history = History.of(yield* store.recordOutline(turnId))
          const conversation = Option.getOrUndefined(yield* store.conversation(conversationId))
          if (conversation === undefined) return [] // it was deleted meanwhile
          const budget = TurnReport.budgetOf(history, TurnSetting.policyOf(conversation, settings), now)
          return report(history, { budget, runner: holderOf?.(conversationId) })
        }),
        { concurrency: PAGE }
      )
      const reports: ReadonlyArray<TurnReport.TurnReport> = found.flat()
      return reports
    })
  }
})

interface Linked {
  readonly row: TurnRow
  retriedBy: Ids.TurnId | undefined
}

/** Turns with what follows from the turn before in their conversation: the target in use, until a person changes the model, and retries (M1). */
const linked = (rows: ReadonlyArray<TurnRow>): ReadonlyArray<Linked> => {
  const last = new Map<Ids.ConversationId, Linked>()
  return rows.map((row) => {
    const { changedFrom, turn } = row
    const before = last.get(turn.conversationId)
    const isSame = changedFrom === undefined && before?.row.turn.model === turn.model
    const model = isSame ? (before?.row.model ?? row.model) : row.model
    if (turn.prompt === undefined && before !== undefined) before.retriedBy = turn.turnId
    const one = { row: { ...row, model }, retriedBy: undefined }
    last.set(turn.conversationId, one)
    return one
  })
}
