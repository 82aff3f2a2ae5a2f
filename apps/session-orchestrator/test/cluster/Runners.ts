/**
 * Runners as people start them: processes on one PostgreSQL, with a scripted provider beside them, that a test may kill or
 * freeze.
 */
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Context, Data, Duration, Effect, Layer, Redacted, type Scope, Semaphore } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import * as Claims from "../../src/cluster/Claims.ts"
import * as Postgres from "../../src/storage/sql/Postgres.ts"
import * as Process from "../service/Process.ts"
import { freePort } from "../FreePort.ts"
import type * as PostgresServer from "../storage/PostgresServer.ts"

export type Runner = Effect.Success<ReturnType<typeof Process.start>> & { readonly runnerPort: number }

export type Provider = Effect.Success<ReturnType<typeof ScriptedServer.start>>

export interface Runners {
  readonly provider: Provider
  /** Starts one more, all with the same configuration. */
  readonly start: Effect.Effect<Runner, Error, Scope.Scope>
  /** Starts some at once, and waits until they have divided the conversations among them. */
  readonly startAll: (count: number) => Effect.Effect<ReadonlyArray<Runner>, Error, Scope.Scope>
  /**
   * Waits until so many runners have divided the shards among them, each its share, by the locks that PostgreSQL holds for them:
   * from then on no conversation moves.
   */
  readonly settled: (count: number) => Effect.Effect<void, Error>
  /**
   * Does something during which no conversation has moved, by those locks and by the logs. On a machine that is so busy that a runner lost its
   * shards meanwhile, it is done again.
   */
  readonly undisturbed: <A, E, R>(effect: Effect.Effect<A, E, R>) => Effect.Effect<A, E | Disturbed, R>
  /** Cuts all sessions off, and has those that come take no writes, or take them again: what a change of primaries looks like. */
  readonly setReadOnly: (isReadOnly: boolean) => Effect.Effect<void, SqlError.SqlError>
}

/** A conversation may have moved. */
export class Disturbed extends Data.TaggedError("Disturbed") {}

/** Several times as long as survivors may take for a dead runner's turns (X6): a guard against hanging. */
const GUARD_MS = 150_000

/** Processes that come up at once: more, on two cores, would come up late for no other reason. */
const starting = Semaphore.makeUnsafe(2)

/** Divisible by two and by three; as few as that, so that they change hands soon on a machine that is busy with other tests. */
const SHARDS = 60

/** A database of their own on a server, which runners are started on; their delays before retries. */
export const make = Effect.fnUntraced(function* (
  postgres: PostgresServer.PostgresServer,
  delays: ReadonlyArray<string>
) {
  const provider = yield* ScriptedServer.start()
  const url = yield* postgres.database
  const sql = Context.get(yield* Layer.build(Postgres.layerClient({ url })), SqlClient.SqlClient)
  const config = {
    providers: { scripted: { type: "openai-compatible", baseUrl: `${provider.url}/v1` } },
    model: "scripted/m",
    cluster: { shards: SHARDS },
    retry: { schedule: { type: "steps", delays } },
    // A turn sleeps whatever the results of other turns are.
    gate: { enabled: false }
  }
  const started: Array<Runner> = []
  const start = Effect.gen(function* () {
    const port = yield* freePort
    const directory = yield* Process.directory
    const process = yield* Process.start({
      directory,
      config,
      env: { HOLDFAST_DATABASE_URL: Redacted.value(url), HOLDFAST_CLUSTER_RUNNER: `127.0.0.1:${port}` }
    })
    const runner = { ...process, runnerPort: port }
    started.push(runner)
    return runner
  }).pipe(starting.withPermits(1))
  const settled = (count: number) => settledOn(sql, count, SHARDS)
  /** Where the conversations are, and how often turns have been taken over: a shard that has gone and come back is where it was. */
  const traces = Effect.map(locksOf(sql), (locks) =>
    JSON.stringify([locks, started.map(({ stderr }) => stderr().split("Took over ").length)])
  )
  const undisturbed: Runners["undisturbed"] = (effect) =>
    Effect.gen(function* () {
      const before = yield* traces
      const exit = yield* Effect.exit(effect)
      if ((yield* traces) !== before) return yield* new Disturbed()
      return yield* exit
    }).pipe(Effect.retry({ times: 3, while: (error) => error instanceof Disturbed }))
  const startAll = (count: number) =>
    Effect.tap(
      Effect.all(
        Array.from({ length: count }, () => start),
        { concurrency: count }
      ),
      () => settled(count)
    )
  const setReadOnly: Runners["setReadOnly"] = (isReadOnly) =>
    Effect.gen(function* () {
      const [{ name } = { name: "" }] = yield* sql<{ name: string }>`SELECT current_database() AS name`
      yield* sql`ALTER DATABASE ${sql(name)} SET default_transaction_read_only = ${sql.literal(isReadOnly ? "on" : "off")}`
      yield* sql`SELECT pg_terminate_backend(pid) FROM pg_stat_activity WHERE datname = ${name} AND pid <> pg_backend_pid()`
    })
  return { provider, start, startAll, settled, undisturbed, setReadOnly } satisfies Runners
})

/** Waits until so many runners have divided the shards of a database among them (`Runners.settled`). */
export const settledOn = (sql: SqlClient.SqlClient, count: number, shards: number): Effect.Effect<void, Error> =>
  Process.eventually(
    `${count} runners to share the work`,
    Effect.map(locksOf(sql), sharesOf),
    (shares) => shares.length === count && shares.every((share) => share === shards / count)
  ).pipe(Effect.asVoid)

/** Waits for a fact; longer than a take-over lasts, and a turn's wait after that. */
export const inTime = <A, E>(
  what: string,
  waitSeconds: number,
  effect: Effect.Effect<A, E>
): Effect.Effect<A, E | Error> =>
  Effect.suspend(() => {
    const duration = Duration.millis(GUARD_MS + waitSeconds * 1000)
    return Effect.timeoutOrElse(effect, {
      duration,
      orElse: () => Effect.fail(new Error(`Waited ${Duration.format(duration)} in vain for ${what}`))
    })
  })

/** One of them, counted round and round. */
export const at = (runners: ReadonlyArray<Runner>, i: number): Runner => {
  const runner = runners[i % runners.length]
  if (runner === undefined) throw new Error("there is no runner")
  return runner
}

/** A metric of some runners, added up. */
export const total = (runners: ReadonlyArray<Runner>, name: string): Effect.Effect<number, Error> =>
  Effect.map(
    Effect.forEach(runners, (runner) => metric(runner, name)),
    (values) => values.reduce((sum, value) => sum + value, 0)
  )

/** The runner with the most streaming answers: conversations are distributed at random. */
export const busiest = <R extends Runner>(runners: ReadonlyArray<R>): Effect.Effect<R, Error> =>
  Effect.flatMap(
    Effect.forEach(runners, (runner) => total([runner], 'holdfast_turns{status="running"}')),
    (counts) => Effect.fromNullishOr(runners[counts.indexOf(Math.max(...counts))]).pipe(Effect.orDie)
  )

// --- internal

/** The locks of shards, and the session that holds each, without the claims of held calls. What else is locked has keys of another form. */
const locksOf = (sql: SqlClient.SqlClient): Effect.Effect<ReadonlyArray<Lock>> =>
  sql<Lock>`
    SELECT pid, objid::text AS shard FROM pg_locks
    WHERE locktype = 'advisory' AND objsubid = 2 AND granted AND classid::bigint <> ${Claims.SPACE}
      AND database = (SELECT oid FROM pg_database WHERE datname = current_database())
    ORDER BY objid`.pipe(
    // It may be about to start.
    Effect.catch(() => Effect.succeed([]))
  )

interface Lock {
  readonly pid: number
  readonly shard: string
}

/** How many each session holds. */
const sharesOf = (locks: ReadonlyArray<Lock>): ReadonlyArray<number> =>
  Array.from(Map.groupBy(locks, ({ pid }) => pid).values(), ({ length }) => length)

/** The sum of a metric's samples of a runner; NaN without samples, so that a caller continues to wait. */
const metric = (runner: Runner, name: string): Effect.Effect<number, Error> =>
  Effect.map(runner.call({ path: "/metrics" }), ({ text }) => {
    const samples = text.split("\n").filter((line) => line.startsWith(name))
    return samples.length === 0 ? NaN : samples.reduce((sum, line) => sum + Number(line.split(" ").at(-1)), 0)
  })
