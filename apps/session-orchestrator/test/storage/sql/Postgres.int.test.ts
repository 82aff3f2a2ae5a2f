import { describe, expect } from "@effect/vitest"
import { StorageError } from "@holdfast/journal"
import { Context, Deferred, Effect, Fiber, Layer, Option, Redacted, Result, Stream } from "effect"
import { SqlClient } from "effect/sql"
import { TurnLog } from "../../../src/storage/TurnLog.ts"
import * as Logged from "../Logged.ts"
import * as GateTable from "../../../src/storage/tables/GateTable.ts"
import * as DatabaseSchema from "../../../src/storage/DatabaseSchema.ts"
import * as Postgres from "../../../src/storage/sql/Postgres.ts"
import * as PostgresTransaction from "../../../src/storage/sql/PostgresTransaction.ts"
import * as SqlStore from "../../../src/storage/sql/SqlStore.ts"
import { Store } from "../../../src/storage/Store.ts"
import * as DeletionSuite from "../DeletionSuite.ts"
import * as GateSuite from "../GateSuite.ts"
import * as NumberedData from "../NumberedData.ts"
import * as IncidentSuite from "../IncidentSuite.ts"
import * as InterruptionSuite from "../InterruptionSuite.ts"
import * as TurnLogSuite from "../TurnLogSuite.ts"
import * as ListSuite from "../ListSuite.ts"
import * as OneServer from "../OneServer.ts"
import * as PostgresServer from "../PostgresServer.ts"
import * as OutboxSuite from "../OutboxSuite.ts"
import * as StandingSuite from "../StandingSuite.ts"
import * as StoreSuite from "../StoreSuite.ts"
import * as It from "../../It.ts"

const server = OneServer.ofFile()

/** A database of its own for a test. */
const database = Effect.flatMap(server, ({ database }) => database)

const withClient = Layer.unwrap(
  Effect.map(database, (url) =>
    SqlStore.layerSql("PostgreSQL").pipe(Layer.provideMerge(Postgres.layerClient({ url, connections: 2 })))
  )
)
const layer = PostgresServer.layerStore(server)
InterruptionSuite.suite("PostgreSQL", layer)
// To make a database takes longer than to use it.
StoreSuite.suite("PostgreSQL", layer, 3)
TurnLogSuite.suite("PostgreSQL", layer, 3)
StandingSuite.suite("PostgreSQL", withClient)
OutboxSuite.suite("PostgreSQL", layer)
IncidentSuite.suite("PostgreSQL", layer)
GateSuite.suite("PostgreSQL", Layer.provideMerge(GateTable.layer("PostgreSQL"), withClient))
ListSuite.suite("PostgreSQL", withClient, 5)
DeletionSuite.suite("PostgreSQL", withClient)

/** The store of one of several processes. */
const open = (url: Redacted.Redacted) =>
  Effect.map(Layer.build(Postgres.layer({ url })), (context) => {
    /** Runs what writes to it, or reads it. */
    const by = <A, E>(effect: Effect.Effect<A, E, Store | TurnLog>) => Effect.provide(effect, context)
    return { by, log: Context.get(context, TurnLog), store: Context.get(context, Store) }
  })

/** Retries until the database is back, as a turn does. */
const untilItWorks = <A>(effect: Effect.Effect<A, Error>): Effect.Effect<A> =>
  Effect.catch(effect, () => untilItWorks(effect))

describe("a PostgreSQL database", () => {
  It.live("gets its tables once, by any number of processes that start at once", function* () {
    const url = yield* database
    const stores = yield* Effect.all(
      Array.from({ length: 5 }, () => open(url)),
      { concurrency: "unbounded" }
    )
    yield* Effect.forEach(stores, ({ store }) => store.check)
    const sql = Context.get(yield* Layer.build(Postgres.layerClient({ url })), SqlClient.SqlClient)
    const rows = yield* sql`SELECT migration_id FROM ${sql(DatabaseSchema.versions.table)}`
    expect(rows).toEqual([{ migration_id: 25 }, { migration_id: 26 }])
  })

  It.live("of before the first release is refused, and nothing in it is changed", function* () {
    const url = yield* database
    const sql = Context.get(yield* Layer.build(Postgres.layerClient({ url })), SqlClient.SqlClient)
    const { table } = DatabaseSchema.versions
    yield* sql`CREATE TABLE ${sql(table)} (migration_id integer primary key, created_at timestamptz not null default now(), name text not null)`
    yield* sql`INSERT INTO ${sql(table)} (migration_id, name) VALUES (24, 'event_turns')`
    const { message } = yield* Effect.flip(open(url))
    expect(message).toContain("its schema has version 24, and this Holdfast reads version 26")
    expect(message).not.toContain(PostgresServer.PASSWORD)
    expect(yield* sql`SELECT tablename FROM pg_tables WHERE schemaname = 'public'`).toEqual([{ tablename: table }])
    expect(yield* sql`SELECT migration_id FROM ${sql(table)}`).toEqual([{ migration_id: 24 }])
  })

  It.live("rule X6: when two processes run one turn, each record has one writer; the other conflicts", function* () {
    const url = yield* database
    const runners = [yield* open(url), yield* open(url)] as const
    const [first, second] = runners
    yield* first.by(NumberedData.oneTurn)
    const RECORDS = 40
    const written = yield* Effect.forEach(
      runners,
      ({ by }, runner) =>
        Effect.forEach(Array.from({ length: RECORDS }), (_, seq) =>
          untilItWorks(
            by(
              Logged.append(NumberedData.turnId(1), seq, [{ name: "n", value: JSON.stringify({ runner, seq }) }])
            ).pipe(
              Effect.as(true),
              Effect.catchTag("JournalConflict", () => Effect.succeed(false))
            )
          )
        ),
      { concurrency: "unbounded" }
    )
    for (let seq = 0; seq < RECORDS; seq++) {
      expect(written.filter((runner) => runner[seq])).toHaveLength(1)
    }
    expect(yield* second.by(Logged.load(NumberedData.turnId(1)))).toHaveLength(RECORDS)
  })

  It.live("Journal.J2: of two processes that write one record under one number, one gets a conflict", function* () {
    const url = yield* database
    const [first, second] = [yield* open(url), yield* open(url)]
    yield* first.by(NumberedData.oneTurn)
    const mark = { name: "step/0/tool/0/begun", value: "true" }
    const both = yield* Effect.all(
      [first, second].map(({ by }) => Effect.result(by(Logged.append(NumberedData.turnId(1), 0, [mark])))),
      { concurrency: "unbounded" }
    )
    expect(both.filter(Result.isFailure).map(({ failure: { _tag } }) => _tag)).toEqual(["JournalConflict"])
    // Its writer may write it again.
    const again = yield* Effect.forEach([first, second], ({ by }) =>
      Effect.result(by(Logged.append(NumberedData.turnId(1), 0, [mark])))
    )
    expect(again.map(Result.isSuccess)).toEqual(both.map(Result.isSuccess))
  })

  It.live("rule X3: two processes that write to one conversation leave no gap in ids, and nothing twice", function* () {
    const url = yield* database
    const runners = [yield* open(url), yield* open(url)] as const
    const [first] = runners
    yield* first.store.createConversation(NumberedData.conversation(1))
    const [OWN, POSITIONS] = [[1, 2], 40]
    for (const n of [...OWN, 3]) yield* first.by(Logged.accept(NumberedData.turn(n, 1)))
    yield* Effect.forEach(
      runners.flatMap(({ by }, runner) => [
        // A turn of its own, and a turn that both believe to run.
        [by, OWN[runner] ?? 0] as const,
        [by, 3] as const
      ]),
      ([by, n]) =>
        Effect.forEach(Array.from({ length: POSITIONS }), (_, position) =>
          untilItWorks(by(Logged.events(NumberedData.turnId(n), [NumberedData.usage(n, 1, position)], position)))
        ),
      { concurrency: "unbounded" }
    )
    const events = yield* Stream.runCollect(first.log.events(NumberedData.conversationId(1), 0))
    expect(events.map(({ id }) => id)).toEqual(Array.from({ length: 3 * POSITIONS }, (_, i) => i + 1))
    for (const n of [1, 2, 3]) {
      const steps = events.flatMap(({ event }) =>
        event.type === "usage" && event.turnId === NumberedData.turnId(n) ? [event.step] : []
      )
      expect(steps).toEqual(Array.from({ length: POSITIONS }, (_, i) => i))
    }
  })
})

describe("a PostgreSQL that refuses", () => {
  It.live("what it cannot hold of one write fails that one, and not those that were committed with it", function* () {
    const { by, store } = yield* open(yield* database)
    yield* store.createConversation(NumberedData.conversation(1))
    const isBad = (n: number): boolean => n % 5 === 0
    const TURNS = 30
    const accepted = yield* Effect.forEach(
      Array.from({ length: TURNS }, (_, n) => n),
      (n) => Effect.result(by(Logged.accept(NumberedData.turn(n, 1, isBad(n) ? { prompt: "a\0b" } : {})))),
      { concurrency: "unbounded" }
    )
    for (const [n, result] of accepted.entries()) {
      expect(Result.isSuccess(result)).toBe(!isBad(n))
      if (Result.isFailure(result)) {
        expect(result.failure.message).toMatch(/0x00.*cannot hold what it was given. Other writes are not concerned/)
      }
      expect(Option.isSome(yield* store.turn(NumberedData.turnId(n)))).toBe(!isBad(n))
    }
  })

  It.live("holds half of a surrogate pair as it does of one write, also where a commit has several", function* () {
    const { by, store } = yield* open(yield* database)
    yield* store.createConversation(NumberedData.conversation(1))
    const accept = (n: number) => by(Logged.accept(NumberedData.turn(n, 1, { prompt: "a\ud83d" })))
    yield* Effect.forEach([1, 2, 3], accept, { concurrency: "unbounded" })
    yield* accept(4)
    for (const n of [1, 2, 3, 4]) {
      const turn = yield* store.turn(NumberedData.turnId(n))
      expect(Option.map(turn, ({ prompt }) => prompt)).toEqual(Option.some("a\ufffd"))
    }
  })

  It.live("holds prompts that are too long together for one statement", function* () {
    const { by, store } = yield* open(yield* database)
    yield* store.createConversation(NumberedData.conversation(1))
    const prompt = "a long prompt ".repeat(500_000)
    const accept = (n: number) => by(Logged.accept(NumberedData.turn(n, 1, { prompt })))
    yield* Effect.forEach([1, 2, 3], accept, { concurrency: "unbounded" })
    for (const n of [1, 2, 3]) {
      const turn = yield* store.turn(NumberedData.turnId(n))
      expect(Option.exists(turn, (turn) => turn.prompt === prompt)).toBe(true)
    }
  })

  /** What starting on an address fails with. */
  const refusal = (url: Redacted.Redacted) =>
    Effect.map(Effect.flip(Effect.scoped(open(url))), (error) => {
      expect(error).toBeInstanceOf(StorageError)
      expect(error.message).not.toContain(PostgresServer.PASSWORD)
      expect(error.message).not.toContain("wrong-password")
      return error.message
    })
  const changed = (url: Redacted.Redacted, from: string, to: string) =>
    Redacted.make(Redacted.value(url).replace(from, to))

  It.live("the errors of a wrong password and of a missing database differ, without the password", function* () {
    const url = yield* database
    const { port } = yield* server
    expect(yield* refusal(changed(url, PostgresServer.PASSWORD, "wrong-password"))).toMatch(
      new RegExp(`in postgres://127\\.0\\.0\\.1:${port}/holdfast_\\d+: .*refused this user. Check its name, password`)
    )
    expect(yield* refusal(changed(url, /holdfast_\d+$/.exec(Redacted.value(url))?.[0] ?? "", "nowhere"))).toMatch(
      /"nowhere" does not exist.*Create the database, or set database.url/
    )
  })

  It.live("waits for a server that does not answer, then names it in the error", function* () {
    const url = Redacted.make(`postgres://postgres:${PostgresServer.PASSWORD}@127.0.0.1:1/holdfast`)
    expect(yield* refusal(url)).toMatch(
      /postgres:\/\/127\.0\.0\.1:1\/holdfast.*cannot be reached. Check that it is there/
    )
  })

  It.live("accepts no writes as a standby, and the error names the setting to change", function* () {
    const url = yield* database
    yield* Effect.scoped(open(url))
    const readOnly = Redacted.make(`${Redacted.value(url)}?options=-c%20default_transaction_read_only%3Don`)
    const error = yield* Effect.flip(
      Effect.scoped(
        Effect.flatMap(open(readOnly), ({ store }) => store.createConversation(NumberedData.conversation(1)))
      )
    )
    expect(error.message).toMatch(/read-only transaction.*Set database.url to the primary/)
    expect(error.message).not.toContain("default_transaction_read_only%3Don")
  })
})

describe("a PostgreSQL that is restarted", () => {
  It.live("TurnLog.W1: under load, writes wait and continue; each is stored once, and none is missing", function* () {
    const own = yield* PostgresServer.start
    const { by, log, store } = yield* open(yield* own.database)
    const TURNS = 24
    yield* store.createConversation(NumberedData.conversation(1))
    const written: Array<number> = Array.from({ length: TURNS }, () => 0)
    const enough = yield* Deferred.make<void>()
    const done = yield* Deferred.make<void>()
    const ended = Effect.map(Deferred.isDone(done), (isDone) => isDone)
    const failures: Array<string> = []
    const patiently = <A, E extends Error>(effect: Effect.Effect<A, E>): Effect.Effect<A> =>
      Effect.catch(effect, (error) =>
        Effect.suspend(() => {
          failures.push(error.message)
          return patiently(effect)
        })
      )
    const turn = Effect.fnUntraced(function* (n: number) {
      expect(yield* patiently(by(Logged.accept(NumberedData.turn(n, 1))))).toEqual({ _tag: "Accepted" })
      for (let position = 0; !(yield* ended); position++) {
        yield* patiently(by(Logged.append(NumberedData.turnId(n), position, [{ name: `${position}`, value: "1" }])))
        yield* patiently(by(Logged.events(NumberedData.turnId(n), [NumberedData.usage(n, 1, position)], position)))
        written[n] = position + 1
        if (written.every((count) => count >= 3)) yield* Deferred.succeed(enough, undefined)
      }
    })
    const load = yield* Effect.forkChild(
      Effect.forEach(
        written.map((_, n) => n),
        turn,
        { concurrency: "unbounded", discard: true }
      )
    )
    yield* Deferred.await(enough)
    for (let i = 0; i < 3; i++) {
      yield* own.stop
      const late = yield* Effect.forkChild(patiently(by(Logged.accept(NumberedData.turn(100 + i, 1)))))
      const read = yield* Effect.forkChild(patiently(store.turn(NumberedData.turnId(0))))
      yield* own.start
      expect(yield* Fiber.join(late)).toEqual({ _tag: "Accepted" })
      expect(Option.isSome(yield* Fiber.join(read))).toBe(true)
    }
    yield* Deferred.succeed(done, undefined)
    yield* Fiber.join(load)

    const events = yield* Stream.runCollect(log.events(NumberedData.conversationId(1), 0))
    expect(events.map(({ id }) => id)).toEqual(events.map((_, i) => i + 1))
    for (const [n, count] of written.entries()) {
      expect((yield* by(Logged.load(NumberedData.turnId(n)))).map(({ name }) => Number(name))).toEqual(
        Array.from({ length: count }, (_, i) => i)
      )
      expect(yield* store.turnEvents(NumberedData.turnId(n))).toHaveLength(count)
    }
    // A server that starts for longer than a write waits says so.
    expect(failures.filter((message) => !message.includes("Nothing is lost"))).toEqual([])
  })
})

describe("a transaction whose connection is lost", () => {
  const client = Effect.flatMap(database, (url) =>
    Effect.map(Layer.build(Postgres.layerClient({ url })), (context) => Context.get(context, SqlClient.SqlClient))
  )

  It.live("PostgresTransaction.T1: succeeds when it was committed, though the answer was lost", function* () {
    const sql = yield* client
    yield* sql`CREATE TABLE t (n INTEGER)`
    // The commit succeeds, and its response is lost: the client gets a failure.
    const reserve = Effect.map(sql.reserve, (connection) => ({
      ...connection,
      executeRaw: (statement: string, params: ReadonlyArray<unknown>) =>
        Effect.tap(connection.executeRaw(statement, params), () =>
          statement === "COMMIT" ? Effect.asVoid(sql`SELECT 1 / 0`) : Effect.void
        ),
      execute: connection.execute.bind(connection)
    }))
    const deaf = new Proxy(sql, { get: (target, key) => (key === "reserve" ? reserve : Reflect.get(target, key)) })
    expect(yield* PostgresTransaction.make(deaf)(Effect.as(sql`INSERT INTO t VALUES (1)`, "written"))).toBe("written")
    expect(yield* sql`SELECT n FROM t`).toEqual([{ n: 1 }])
  })

  It.live("a failed savepoint undoes its own writes only; a failed transaction undoes all", function* () {
    const sql = yield* client
    yield* sql`CREATE TABLE t (n INTEGER PRIMARY KEY)`
    const transaction = PostgresTransaction.make(sql)
    const insert = (n: number) => sql`INSERT INTO t VALUES (${n})`
    const inner = transaction(Effect.andThen(insert(2), insert(1)))
    yield* transaction(
      Effect.gen(function* () {
        yield* insert(1)
        expect(Result.isFailure(yield* Effect.result(inner))).toBe(true)
        yield* transaction(insert(3))
      })
    )
    expect(yield* sql`SELECT n FROM t ORDER BY n`).toEqual([{ n: 1 }, { n: 3 }])
    yield* Effect.exit(transaction(Effect.andThen(insert(4), Effect.fail("no"))))
    yield* Effect.exit(transaction(Effect.andThen(insert(5), Effect.die("bug"))))
    const begun = yield* Deferred.make<void>()
    const half = transaction(
      Effect.andThen(insert(6), Effect.andThen(Deferred.succeed(begun, undefined), Effect.never))
    )
    const fiber = yield* Effect.forkChild(half)
    yield* Deferred.await(begun)
    yield* Fiber.interrupt(fiber)
    // An ignored failure: PostgreSQL rolls the transaction back at its COMMIT, and reports that.
    const swallowed = yield* Effect.result(transaction(Effect.andThen(insert(7), Effect.exit(insert(1)))))
    expect(Result.isFailure(swallowed)).toBe(true)
    expect(yield* sql`SELECT n FROM t ORDER BY n`).toEqual([{ n: 1 }, { n: 3 }])
    // No connection went back to the pool with a transaction open.
    const states = yield* Effect.all(
      Array.from({ length: 12 }, () => sql`SELECT pg_current_xact_id_if_assigned()::text AS open, pg_sleep(0.05)`),
      { concurrency: "unbounded" }
    )
    expect(states.map(([row]) => row?.["open"])).toEqual(states.map(() => null))
  })

  It.live("PostgresTransaction.T4: the server ends a transaction that its process left, and no other", function* () {
    const sql = yield* client
    const limit = sql`SHOW idle_in_transaction_session_timeout`
    const within = yield* PostgresTransaction.make(sql)(limit)
    expect(within).toEqual([{ idle_in_transaction_session_timeout: "10s" }])
    expect(yield* limit).toEqual([{ idle_in_transaction_session_timeout: "0" }])
  })

  It.live("fails with an error, not a defect, when it was not committed, and nothing of it is stored", function* () {
    const sql = yield* client
    yield* sql`CREATE TABLE t (n INTEGER)`
    const cut = Effect.gen(function* () {
      yield* sql`INSERT INTO t VALUES (1)`
      yield* sql`SELECT pg_terminate_backend(pg_backend_pid())`
    })
    const result = yield* Effect.result(PostgresTransaction.make(sql)(cut))
    expect(Result.isFailure(result)).toBe(true)
    expect(yield* sql`SELECT n FROM t`).toEqual([])
  })
})
