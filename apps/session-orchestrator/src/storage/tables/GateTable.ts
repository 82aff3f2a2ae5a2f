/**
 * Exchanges news of endpoints and use of limits between runners (rules X5, X6).
 *
 * GateTable.T1. There is a row an endpoint. The newest news of each kind stays, regardless of its writer. Nothing is fenced: a wrong row
 *     wastes a call.
 * GateTable.T2. A runner's use of a provider's limits is a row of its own. A row that was not written for `STALE_MS` belongs to a runner
 *     that has died: its calls are no longer under way, and the calls that it began still count for their minute.
 */
import { DatabaseWait, StorageFailure } from "@holdfast/journal/sql"
import type { StorageError } from "@holdfast/journal"
import type { Allowance, News } from "@holdfast/policy"
import { Failure } from "@holdfast/wire"
import { Array as Arr, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlError } from "effect/sql"

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
export class GateTable extends Context.Service<
  GateTable,
  {
    /** Writes this runner's news, and returns the newest news of these endpoints. */
    readonly exchange: (
      own: ReadonlyArray<Posted>,
      endpoints: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<Posted>, StorageError>
    /** Writes this runner's use, and returns the use of all runners of these providers; `now` in epoch milliseconds. */
    readonly share: (
      own: ReadonlyArray<Used>,
      providers: ReadonlyArray<string>,
      now: number
    ) => Effect.Effect<ReadonlyArray<Used>, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/GateTable") {}

/**
 * On a database whose tables exist (`SqlStore`) at the first exchange.
 *
 * @param database names the database in errors
 */
export const layer = (database: string): Layer.Layer<GateTable, never, SqlClient.SqlClient> =>
  Layer.effect(
    GateTable,
    Effect.map(SqlClient.SqlClient, (sql) => ({
      exchange: (own, endpoints) =>
        explained(Effect.andThen(post(sql, own), find(sql, endpoints)), database, "exchange news of endpoints"),
      share: (own, providers, now) =>
        explained(
          Effect.andThen(write(sql, own, now), read(sql, providers, now)),
          database,
          "share what is used of providers' limits"
        )
    }))
  )

// --- internal

const explained = <A>(
  effect: Effect.Effect<A, SqlError.SqlError | Schema.SchemaError>,
  database: string,
  what: string
): Effect.Effect<A, StorageError> =>
  effect.pipe(
    DatabaseWait.within<SqlError.SqlError | Schema.SchemaError>(DatabaseWait.SILENCE_LIMIT, () =>
      StorageFailure.silence(DatabaseWait.SILENCE_LIMIT)
    ),
    Effect.mapError((error) =>
      SqlError.isSqlError(error)
        ? StorageFailure.explain(database, what, error)
        : StorageFailure.damaged(database, what, error.message)
    )
  )

const post = (sql: SqlClient.SqlClient, own: ReadonlyArray<Posted>): Effect.Effect<void, SqlError.SqlError> => {
  if (!Arr.isReadonlyArrayNonEmpty(own)) return Effect.void
  const rows = Arr.map(own, ({ answeredAt, endpoint, failedAt, failure, n, triedAt }) => ({
    endpoint,
    tried_at: triedAt,
    answered_at: answeredAt,
    failed_at: failedAt,
    n,
    failure: failure === undefined ? null : JSON.stringify(failure)
  }))
  const newest = (column: string, by: string) =>
    sql.literal(`${column} = CASE WHEN excluded.${by} > gates.${by} THEN excluded.${column} ELSE gates.${column} END`)
  // `failure` and `n` come before `failed_at`, because some databases would compare with the changed value. GateTable.T1
  return Effect.asVoid(sql`
    INSERT INTO gates ${sql.insert(rows)} ON CONFLICT (endpoint) DO UPDATE SET
      ${newest("failure", "failed_at")}, ${newest("n", "failed_at")}, ${newest("failed_at", "failed_at")},
      ${newest("answered_at", "answered_at")}, ${newest("tried_at", "tried_at")}`)
}

const find = (sql: SqlClient.SqlClient, endpoints: ReadonlyArray<string>) =>
  sql`SELECT endpoint, tried_at, answered_at, failed_at, failure, n FROM gates WHERE ${sql.in("endpoint", endpoints)}`.pipe(
    Effect.flatMap((rows) => decode(rows)),
    Effect.map((rows) =>
      rows.map(({ answered_at, endpoint, failed_at, failure, n, tried_at }) => ({
        endpoint,
        triedAt: tried_at,
        answeredAt: answered_at,
        failedAt: failed_at,
        failure: failure ?? undefined,
        n
      }))
    )
  )

const Row = Schema.Struct({
  endpoint: Schema.String,
  tried_at: Schema.Finite,
  answered_at: Schema.Finite,
  failed_at: Schema.Finite,
  failure: Schema.NullOr(Schema.fromJsonString(Failure.Failure)),
  n: Schema.Finite
})

const decode = Schema.decodeUnknownEffect(Schema.Array(Row))

const write = (
  sql: SqlClient.SqlClient,
  own: ReadonlyArray<Used>,
  now: number
): Effect.Effect<void, SqlError.SqlError> => {
  if (!Arr.isReadonlyArrayNonEmpty(own)) return Effect.void
  const rows = Arr.map(own, ({ provider, runner, seconds, underway }) => ({
    provider,
    runner,
    noted_at: now,
    underway,
    seconds: JSON.stringify(seconds)
  }))
  return Effect.andThen(
    sql`DELETE FROM provider_use WHERE noted_at < ${now - FORGOTTEN_MS}`,
    Effect.asVoid(sql`
      INSERT INTO provider_use ${sql.insert(rows)} ON CONFLICT (provider, runner) DO UPDATE SET
        noted_at = excluded.noted_at, underway = excluded.underway, seconds = excluded.seconds`)
  )
}

const read = (sql: SqlClient.SqlClient, providers: ReadonlyArray<string>, now: number) =>
  sql`SELECT provider, runner, noted_at, underway, seconds FROM provider_use WHERE ${sql.in("provider", providers)}`.pipe(
    Effect.flatMap((rows) => decodeUsed(rows)),
    Effect.map((rows) =>
      rows.map(({ noted_at, underway, ...used }) => ({ ...used, underway: noted_at > now - STALE_MS ? underway : 0 }))
    )
  )

const UsedRow = Schema.Struct({
  provider: Schema.String,
  runner: Schema.String,
  noted_at: Schema.Finite,
  underway: Schema.Finite,
  seconds: Schema.fromJsonString(
    Schema.Array(Schema.Struct({ at: Schema.Finite, requests: Schema.Finite, tokens: Schema.Finite }))
  )
})

const decodeUsed = Schema.decodeUnknownEffect(Schema.Array(UsedRow))
