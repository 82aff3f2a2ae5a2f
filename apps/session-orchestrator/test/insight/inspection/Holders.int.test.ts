/** Tests runners of conversations, by the cluster's locks in a real PostgreSQL. */
import { expect } from "@effect/vitest"
import { Context, Effect, Layer, type Redacted } from "effect"
import { Runner, RunnerAddress, RunnerStorage, ShardId, ShardingConfig, SqlRunnerStorage } from "effect/cluster"
import { SqlClient, Statement } from "effect/sql"
import * as Holders from "../../../src/insight/inspection/Holders.ts"
import * as SessionName from "../../../src/storage/sql/SessionName.ts"
import * as Inspection from "../../../src/insight/inspection/Inspection.ts"
import * as Postgres from "../../../src/storage/sql/Postgres.ts"
import { Deletions } from "../../../src/storage/Deletions.ts"
import { Lists } from "../../../src/storage/Lists.ts"
import { Store } from "../../../src/storage/Store.ts"
import * as NumberedData from "../../storage/NumberedData.ts"
import * as OneServer from "../../storage/OneServer.ts"
import * as Logged from "../../storage/Logged.ts"
import * as It from "../../It.ts"

const SHARDS = 8

const server = OneServer.ofFile()

/** Signs a runner in, as the service does; the scope signs it out. */
const runner = Effect.fnUntraced(function* (
  url: Redacted.Redacted,
  host: string,
  sessionName = SessionName.of(`${host}:4748`, SHARDS)
) {
  const storage = Context.get(
    yield* Layer.build(
      Layer.fresh(SqlRunnerStorage.layer).pipe(
        Layer.provide(ShardingConfig.layer({ shardsPerGroup: SHARDS })),
        Layer.provide(Postgres.layerClient({ url, sessionName }))
      )
    ),
    RunnerStorage.RunnerStorage
  )
  const address = RunnerAddress.make(host, 4748)
  yield* storage.register(Runner.make({ address, groups: ["default"], weight: 1 }), true)
  const shards = (numbers: ReadonlyArray<number>) => numbers.map((number) => ShardId.make("default", number))
  return {
    acquire: (numbers: ReadonlyArray<number>) => storage.acquire(address, shards(numbers)),
    release: (number: number) => storage.release(address, ShardId.make("default", number))
  }
})

/** A database with conversations 1 and 2, each with a turn, and 3, with an ended turn. */
const given = Effect.gen(function* () {
  const url = yield* (yield* server).database
  const sql = Context.get(yield* Layer.build(Postgres.layerClient({ url })), SqlClient.SqlClient)
  yield* Effect.gen(function* () {
    const store = yield* Store
    for (const n of [1, 2, 3]) {
      yield* store.createConversation(NumberedData.conversation(n))
      yield* Logged.accept(NumberedData.turn(n, n))
    }
    yield* Logged.events(NumberedData.turnId(3), [NumberedData.end(3, 3)], 0)
  }).pipe(Effect.provide(Postgres.layer({ url })))
  const inspection = Inspection.layer("the database", { prices: {}, retry: {} }).pipe(
    Layer.provide(Postgres.layerClient({ url }))
  )
  const look = Effect.gen(function* () {
    const { isUnserved, turns } = yield* Inspection.Inspection
    const runners = (yield* turns({ all: true })).map(({ runner }) => runner)
    return { runners, isUnserved: yield* isUnserved }
  }).pipe(Effect.provide(inspection))
  const recorded = (since: number) =>
    Effect.flatMap(Lists, ({ recording }) => recording(since, 100)).pipe(
      Effect.map(({ turns, without }) => ({ turns: turns.map(({ turnId }) => turnId), without })),
      Effect.provide(inspection)
    )
  /** The turns while a conversation is deleted right before their rows are read. */
  const whileDeleted = (of: number) =>
    Effect.gen(function* () {
      const { turns } = yield* Inspection.Inspection
      const deletion = yield* Deletions
      let isDeleted = false
      const deleting = (statement: Statement.Statement<unknown>) =>
        Effect.as(
          isDeleted || !statement.compile()[0].includes('AS "hasEvents"')
            ? Effect.void
            : Effect.andThen(
                Effect.sync(() => (isDeleted = true)),
                Effect.orDie(deletion.conversation(NumberedData.conversationId(of)))
              ),
          statement
        )
      return yield* turns({ all: true }).pipe(Effect.provideService(Statement.CurrentTransformer, deleting))
    }).pipe(Effect.provide(Layer.merge(inspection, Postgres.layer({ url }))))
  return { url, sql, look, recorded, whileDeleted }
})

const shardOf = (n: number) => Holders.shardOf(NumberedData.conversationId(n), SHARDS)
const others = Array.from({ length: SHARDS }, (_, n) => n + 1).filter((shard) => shard !== shardOf(1))

It.live("rule X6: a turn's runner is that whose session has its conversation's lock, if any", function* () {
  const { look, recorded, sql, url } = yield* given
  expect(shardOf(1)).not.toBe(shardOf(2))
  expect(yield* look).toEqual({ runners: [null, null, undefined], isUnserved: true })

  const [a, b] = [yield* runner(url, "10.0.0.5"), yield* runner(url, "::1")]
  yield* a.acquire([shardOf(1)])
  yield* b.acquire(others)
  expect(yield* look).toEqual({ runners: ["10.0.0.5:4748", "::1:4748", undefined], isUnserved: false })

  // The effect of a kill -9 on the database.
  yield* sql`SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE application_name = ${SessionName.of("10.0.0.5:4748", SHARDS)}`
  expect((yield* look).runners).toEqual([null, "::1:4748", undefined])
  yield* b.acquire([shardOf(1)])
  expect((yield* look).runners).toEqual(["::1:4748", "::1:4748", undefined])

  // The second conversation is handed over.
  yield* b.release(shardOf(2))
  expect((yield* look).runners).toEqual(["::1:4748", null, undefined])

  // A replay reads them too: what has ended since a moment, and what has not ended. The ended turn called, and its records are gone.
  const turns = [1, 2].map((n) => NumberedData.turnId(n))
  expect(yield* recorded(0)).toEqual({ turns, without: 1 })
  expect(yield* recorded(2_000_000_000_000)).toEqual({ turns, without: 0 })
})

It.live("ignores locks of another database and of another program", function* () {
  const [first, second] = [yield* given, yield* given]
  yield* (yield* runner(second.url, "10.0.0.6")).acquire([shardOf(1)])
  const other = SessionName.of("10.0.0.7:4748", SHARDS)
  const stranger = Context.get(
    yield* Layer.build(Postgres.layerClient({ url: first.url, connections: 1, sessionName: other })),
    SqlClient.SqlClient
  )
  yield* stranger`SELECT pg_advisory_lock(7, ${1_000_000 + shardOf(1)}::int4)`
  yield* stranger`SELECT pg_advisory_lock(${1_000_000 + shardOf(2)}::int8)`
  expect((yield* first.look).runners).toEqual([null, null, undefined])
})
