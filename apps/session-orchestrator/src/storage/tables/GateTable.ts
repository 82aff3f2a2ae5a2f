/**
 * Exchanges news of endpoints and use of limits between runners (rules X5, X6).
 *
 * GateTable.T1. There is a row an endpoint. The newest news of each kind stays, regardless of its writer. Nothing is fenced: a wrong row
 *     wastes a call.
 * GateTable.T2. A runner's use of a provider's limits is a row of its own. A row that was not written for `STALE_MS` belongs to a runner
 *     that has died: its calls are no longer under way, and the calls that it began still count for their minute.
 */
import { DatabaseWait, Rows, SqlDatabase } from "@holdfast/journal/sql"
import type { Allowance, News } from "@holdfast/policy"
import { Failure } from "@holdfast/wire"
import { Context, Effect, Layer, Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"

/** News of one endpoint. */
export interface Posted extends News.News {
  readonly endpoint: string
}

/** A runner's use of a provider's limits. */
export interface Used extends Allowance.Use {
  readonly provider: string
  readonly runner: string
}

/** The age in milliseconds after which a runner counts as dead. A runner with calls under way writes every second (GateTable.T2). */
export const STALE_MS = 15_000

/** The age after which a row has no effect and is deleted. */
const FORGOTTEN_MS = 120_000

/** The rows through which runners share what they know about endpoints. */
export class GateTable extends Context.Service<GateTable, Effect.Success<ReturnType<typeof make>>>()(
  "@holdfast/session-orchestrator/storage/GateTable"
) {}

/**
 * On a database whose tables exist (`SqlStore`) at the first exchange.
 *
 * @param database names the database in errors
 */
export const layer = (database: string): Layer.Layer<GateTable, never, SqlClient.SqlClient> =>
  Layer.effect(GateTable, make(database))

// --- internal

const make = Effect.fnUntraced(function* (database: string) {
  const { answered, failed, sql } = yield* SqlDatabase.make({ database })
  const soon = answered(DatabaseWait.SILENCE_LIMIT)
  return {
    /** Writes this runner's news, and returns the newest news of these endpoints. */
    exchange: (own: ReadonlyArray<Posted>, endpoints: ReadonlyArray<string>) =>
      Effect.andThen(post(sql, own), find(sql, endpoints)).pipe(soon, failed("exchange news of endpoints")),
    /** Writes this runner's use, and returns the use of all runners of these providers; `now` in epoch milliseconds. */
    share: (own: ReadonlyArray<Used>, providers: ReadonlyArray<string>, now: number) =>
      Effect.andThen(write(sql, own, now), read(sql, providers, now)).pipe(
        soon,
        failed("share what is used of providers' limits")
      )
  }
})

const post = (sql: SqlClient.SqlClient, own: ReadonlyArray<Posted>): Effect.Effect<void, SqlError.SqlError> => {
  const rows = own.map(({ answeredAt, endpoint, failedAt, failure, n, triedAt }) => ({
    endpoint,
    tried_at: triedAt,
    answered_at: answeredAt,
    failed_at: failedAt,
    n,
    failure: failure === undefined ? null : JSON.stringify(failure)
  }))
  // GateTable.T1
  const newest = (column: string) => {
    const by = column === "failure" || column === "n" ? "failed_at" : column
    return `CASE WHEN excluded.${by} > gates.${by} THEN excluded.${column} ELSE gates.${column} END`
  }
  // `failure` and `n` come before `failed_at`, because some databases would compare with the changed value.
  const columns = ["failure", "n", "failed_at", "answered_at", "tried_at"]
  return Effect.asVoid(Rows.insertAll(sql, "gates", rows, Rows.replacing(sql, "endpoint", columns, newest)))
}

const find = (sql: SqlClient.SqlClient, endpoints: ReadonlyArray<string>) =>
  Effect.flatMap(
    sql<Omit<Posted, "failure"> & { readonly failure: string | null }>`
      SELECT endpoint, tried_at AS "triedAt", answered_at AS "answeredAt", failed_at AS "failedAt", failure, n
      FROM gates WHERE ${sql.in("endpoint", endpoints)}`,
    Effect.forEach(({ failure, ...row }) =>
      Effect.map(failure === null ? Effect.undefined : decodeFailure(failure), (failure) => ({ ...row, failure }))
    )
  )

const decodeFailure = Schema.decodeUnknownEffect(Schema.fromJsonString(Failure.Failure))

const write = (sql: SqlClient.SqlClient, own: ReadonlyArray<Used>, now: number) => {
  if (own.length === 0) return Effect.void
  const rows = own.map(({ seconds, ...use }) => ({ ...use, noted_at: now, seconds: JSON.stringify(seconds) }))
  return Effect.andThen(
    sql`DELETE FROM provider_use WHERE noted_at < ${now - FORGOTTEN_MS}`,
    Rows.insertAll(
      sql,
      "provider_use",
      rows,
      Rows.replacing(sql, "provider, runner", ["noted_at", "underway", "seconds"])
    )
  )
}

const read = (sql: SqlClient.SqlClient, providers: ReadonlyArray<string>, now: number) =>
  Effect.flatMap(
    sql<Omit<Used, "seconds"> & { readonly notedAt: number; readonly seconds: string }>`
      SELECT provider, runner, noted_at AS "notedAt", underway, seconds FROM provider_use WHERE ${sql.in("provider", providers)}`,
    Effect.forEach(({ notedAt, seconds, ...use }) =>
      Effect.map(decodeSeconds(seconds), (seconds) => ({
        ...use,
        seconds,
        underway: notedAt > now - STALE_MS ? use.underway : 0
      }))
    )
  )

const decodeSeconds = Schema.decodeUnknownEffect(
  Schema.fromJsonString(
    Schema.Array(Schema.Struct({ at: Schema.Finite, requests: Schema.Finite, tokens: Schema.Finite }))
  )
)
