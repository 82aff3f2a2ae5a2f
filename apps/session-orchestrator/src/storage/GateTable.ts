/**
 * Where runners tell each other what they have found out about endpoints: a row an endpoint (X5, X6).
 *
 * T1. Of each kind of news the newest stays, whoever wrote it and whenever. Nothing is fenced: a wrong row wastes a call.
 */
import type { News } from "@holdfast/policy"
import { Failure } from "@holdfast/wire"
import { Array as Arr, Context, Effect, Layer, Schema } from "effect"
import { SqlClient, SqlError } from "effect/sql"
import * as Patience from "./Patience.ts"
import * as StorageFailure from "./StorageFailure.ts"
import type { StorageError } from "./Store.ts"

/** News of one endpoint. */
export interface Posted extends News.News {
  readonly endpoint: string
}

export class GateTable extends Context.Service<
  GateTable,
  {
    /** Tells what this runner knows, and returns what is known of these endpoints by now. */
    readonly exchange: (
      own: ReadonlyArray<Posted>,
      endpoints: ReadonlyArray<string>
    ) => Effect.Effect<ReadonlyArray<Posted>, StorageError>
  }
>()("@holdfast/session-orchestrator/storage/GateTable") {}

/**
 * On a database whose tables are there (`SqlStore`) by the first exchange.
 *
 * @param database names the database in errors
 */
export const layer = (database: string): Layer.Layer<GateTable, never, SqlClient.SqlClient> =>
  Layer.effect(
    GateTable,
    Effect.map(SqlClient.SqlClient, (sql) => ({
      exchange: (own, endpoints) =>
        Effect.andThen(post(sql, own), find(sql, endpoints)).pipe(
          Patience.within<SqlError.SqlError | Schema.SchemaError>(Patience.SILENCE_LIMIT, () =>
            StorageFailure.silence(Patience.SILENCE_LIMIT)
          ),
          Effect.mapError((error) =>
            SqlError.isSqlError(error)
              ? StorageFailure.explain(database, "exchange news of endpoints", error)
              : StorageFailure.damaged(database, "exchange news of endpoints", error.message)
          )
        )
    }))
  )

// --- internal

const post = (sql: SqlClient.SqlClient, own: ReadonlyArray<Posted>): Effect.Effect<void, SqlError.SqlError> => {
  if (!Arr.isReadonlyArrayNonEmpty(own)) return Effect.void
  const rows = Arr.map(own, ({ answeredAt, endpoint, failedAt, failure, triedAt }) => ({
    endpoint,
    tried_at: triedAt,
    answered_at: answeredAt,
    failed_at: failedAt,
    failure: failure === undefined ? null : JSON.stringify(failure)
  }))
  const newest = (column: string, by: string) =>
    sql.literal(`${column} = CASE WHEN excluded.${by} > gates.${by} THEN excluded.${column} ELSE gates.${column} END`)
  // `failure` before what it is compared by, for databases that would see it changed. T1
  return Effect.asVoid(sql`
    INSERT INTO gates ${sql.insert(rows)} ON CONFLICT (endpoint) DO UPDATE SET
      ${newest("failure", "failed_at")}, ${newest("failed_at", "failed_at")},
      ${newest("answered_at", "answered_at")}, ${newest("tried_at", "tried_at")}`)
}

const find = (sql: SqlClient.SqlClient, endpoints: ReadonlyArray<string>) =>
  sql`SELECT endpoint, tried_at, answered_at, failed_at, failure FROM gates WHERE ${sql.in("endpoint", endpoints)}`.pipe(
    Effect.flatMap((rows) => decode(rows)),
    Effect.map((rows) =>
      rows.map(({ answered_at, endpoint, failed_at, failure, tried_at }) => ({
        endpoint,
        triedAt: tried_at,
        answeredAt: answered_at,
        failedAt: failed_at,
        failure: failure ?? undefined
      }))
    )
  )

const Row = Schema.Struct({
  endpoint: Schema.String,
  tried_at: Schema.Finite,
  answered_at: Schema.Finite,
  failed_at: Schema.Finite,
  failure: Schema.NullOr(Schema.fromJsonString(Failure.Failure))
})

const decode = Schema.decodeUnknownEffect(Schema.Array(Row))
