/** Tests the statements of a transaction, and its outcome after failures, over a scripted connection. */
import { assert, describe } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber, Stream } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient, SqlError, Statement } from "effect/sql"
import { TestClock } from "effect/testing"
import * as PostgresTransaction from "../../../src/storage/sql/PostgresTransaction.ts"
import * as It from "../../It.ts"

const broken = (what: string): SqlError.SqlError =>
  new SqlError.SqlError({ reason: new SqlError.UnknownError({ cause: new Error(what), operation: "execute" }) })

const messageOf = (error: SqlError.SqlError): string =>
  error.reason.cause instanceof Error ? error.reason.cause.message : ""

/** The answer to one statement. */
type Answer = Effect.Effect<unknown, SqlError.SqlError>

const OPEN =
  "SELECT pg_current_xact_id()::text AS number, set_config('idle_in_transaction_session_timeout', '10000', true)"
const FATE = "SELECT pg_xact_status(?::xid8) AS fate"

const isFate = (statement: string): boolean => statement === FATE

/** A client whose statements are noted and answered by a script. Without an answer a statement succeeds; its number is 7. */
const scripted = Effect.fnUntraced(function* (answer: (statement: string) => Answer | undefined) {
  const said: Array<string> = []
  const send = (statement: string): Answer =>
    Effect.suspend(() => {
      said.push(statement)
      return answer(statement) ?? Effect.succeed(statement === OPEN ? [{ number: "7" }] : [])
    })
  const rows = (statement: string) => Effect.map(send(statement), (found) => (Array.isArray(found) ? found : []))
  const connection = {
    execute: rows,
    executeUnprepared: rows,
    executeRaw: send,
    executeValues: rows,
    executeValuesUnprepared: rows,
    executeStream: () => Stream.empty
  }
  const acquirer = Effect.acquireRelease(Effect.succeed(connection), () =>
    Effect.sync(() => void said.push("(given back)"))
  )
  const sql = yield* SqlClient.make({
    acquirer,
    compiler: Statement.makeCompilerSqlite(),
    driver: "scripted",
    spanAttributes: []
  })
  return { said, sql, transaction: PostgresTransaction.make(sql) }
}, Effect.provide(Reactivity.layer))

/** What is sent before the commit of a transaction with one statement. */
const BEFORE = ["BEGIN", OPEN, "(work)"]

const work = (sql: SqlClient.SqlClient) => Effect.as(sql.unsafe("(work)"), "done")

describe("a transaction on PostgreSQL", () => {
  It.effect("is rolled back once when its work fails or dies, and fails with that cause", function* () {
    for (const failing of [Effect.fail("no"), Effect.die("bug")]) {
      const { said, transaction } = yield* scripted(() => undefined)
      const exit = yield* Effect.exit(transaction(failing))
      assert.deepStrictEqual(exit, yield* Effect.exit(failing))
      assert.deepStrictEqual(said, ["BEGIN", OPEN, "ROLLBACK", "(given back)"])
    }
  })

  It.effect("is rolled back when its caller is interrupted", function* () {
    const { said, transaction } = yield* scripted(() => undefined)
    const fiber = yield* Effect.forkChild(transaction(Effect.never), { startImmediately: true })
    yield* Fiber.interrupt(fiber)
    assert.deepStrictEqual(said, ["BEGIN", OPEN, "ROLLBACK", "(given back)"])
  })

  It.effect("PostgresTransaction.T3: its commit can be interrupted, and no rollback is sent behind it", function* () {
    const { said, sql, transaction } = yield* scripted((statement) =>
      statement === "COMMIT" ? Effect.never : undefined
    )
    const fiber = yield* Effect.forkChild(transaction(work(sql)), { startImmediately: true })
    yield* Fiber.interrupt(fiber)
    assert.deepStrictEqual(said, [...BEFORE, "COMMIT", "(given back)"])
  })

  It.effect("fails when its COMMIT is answered with ROLLBACK, and queries its outcome", function* () {
    const { sql, transaction } = yield* scripted((statement) =>
      statement === "COMMIT"
        ? Effect.succeed({ command: "ROLLBACK" })
        : isFate(statement)
          ? Effect.succeed([{ fate: "aborted" }])
          : undefined
    )
    const error = yield* Effect.flip(transaction(work(sql)))
    assert.strictEqual(messageOf(error), "the transaction had failed, and was taken back")
    const answered = yield* scripted((statement) =>
      statement === "COMMIT" ? Effect.succeed({ command: "COMMIT" }) : undefined
    )
    assert.strictEqual(yield* answered.transaction(work(answered.sql)), "done")
  })
})

describe("a transaction whose connection is lost during its commit", () => {
  /** A commit is lost; then these answers about its outcome come in order, the last of them from then on. */
  const losing = (...fates: ReadonlyArray<Answer>) => {
    let asked = 0
    return scripted((statement) => {
      if (statement === "COMMIT") return Effect.fail(broken("lost"))
      return isFate(statement) ? fates[Math.min(asked++, fates.length - 1)] : undefined
    })
  }
  const fate = (name: string): Answer => Effect.succeed([{ fate: name }])

  It.effect("PostgresTransaction.T1: succeeds when PostgreSQL reports a commit, and fails otherwise", function* () {
    const committed = yield* losing(fate("committed"))
    assert.strictEqual(yield* committed.transaction(work(committed.sql)), "done")
    assert.deepStrictEqual(committed.said.slice(-3), ["(given back)", FATE, "(given back)"])
    const aborted = yield* losing(fate("aborted"))
    assert.strictEqual(messageOf(yield* Effect.flip(aborted.transaction(work(aborted.sql)))), "lost")
  })

  It.effect("PostgresTransaction.T1: queries PostgreSQL every half second for an unknown outcome", function* () {
    const { said, sql, transaction } = yield* losing(
      fate("in progress"),
      Effect.fail(broken("down")),
      fate("committed")
    )
    const fiber = yield* Effect.forkChild(transaction(work(sql)), { startImmediately: true })
    const asked = () => said.filter(isFate).length
    yield* TestClock.adjust("999 millis")
    assert.strictEqual(asked(), 2)
    yield* TestClock.adjust("1 milli")
    assert.strictEqual(asked(), 3)
    assert.strictEqual(yield* Fiber.join(fiber), "done")
  })

  It.effect("PostgresTransaction.T1: fails, outcome unknown, after half a minute without an answer", function* () {
    for (const answer of [fate("in progress"), Effect.fail(broken("down"))]) {
      const { said, sql, transaction } = yield* losing(answer)
      const fiber = yield* Effect.forkChild(Effect.exit(transaction(work(sql))), { startImmediately: true })
      yield* TestClock.adjust("29999 millis")
      assert.isUndefined(fiber.pollUnsafe())
      yield* TestClock.adjust("1 milli")
      const exit = yield* Fiber.join(fiber)
      assert(Exit.isFailure(exit))
      const error = Cause.squash(exit.cause)
      assert(SqlError.isSqlError(error))
      const isLost = "the connection was lost during a commit; whether that was made is not known"
      assert.strictEqual(messageOf(error), isLost)
      assert.lengthOf(said.filter(isFate), 61)
    }
  })
})
