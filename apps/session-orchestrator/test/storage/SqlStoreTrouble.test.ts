/** Tests a store whose database fails: the result of its check, and which calls fail. */
import { SqliteClient, SqliteError } from "@holdfast/journal/sqlite"
import { assert } from "@effect/vitest"
import { Context, Deferred, Effect, Exit, Fiber, Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { TestClock } from "effect/testing"
import * as SqlStore from "../../src/storage/sql/SqlStore.ts"
import { Store } from "../../src/storage/Store.ts"
import * as It from "../It.ts"

const refusal = (errcode: number): SqlError.SqlError =>
  SqliteError.classify(Object.assign(new Error(`said ${errcode}`), { code: "ERR_SQLITE_ERROR", errcode }), "execute")

/** A store in memory; the test controls its transactions. */
const given = Effect.gen(function* () {
  const state: { transaction: "fine" | "silent" | SqlError.SqlError } = { transaction: "fine" }
  const over = yield* Deferred.make<void>()
  const troubled = Layer.effect(
    SqlClient.SqlClient,
    Effect.map(SqlClient.SqlClient, (sql) => {
      const withTransaction = (effect: Effect.Effect<unknown, unknown>) =>
        Effect.suspend(() => {
          const { transaction } = state
          if (transaction === "fine") return sql.withTransaction(effect)
          return transaction === "silent"
            ? Effect.andThen(Deferred.await(over), Effect.fail(refusal(13)))
            : Effect.fail(transaction)
        })
      return new Proxy(sql, {
        get: (target, key) => (key === "withTransaction" ? withTransaction : Reflect.get(target, key))
      })
    })
  ).pipe(Layer.provide(SqliteClient.layer({ filename: ":memory:" })))
  const context = yield* Layer.build(SqlStore.layerSql("d.db").pipe(Layer.provide(troubled)))
  // Before the store is closed: that waits for what is under way.
  yield* Effect.addFinalizer(() => Deferred.succeed(over, undefined))
  return { state, store: Context.get(context, Store) }
})

It.effect("a check reports its database's last error, until a check succeeds", function* () {
  const { state, store } = yield* given
  const checked = Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(Effect.exit(store.check), { startImmediately: true })
    // In steps, between which the read and the commit of the check begin.
    yield* Effect.repeat(TestClock.adjust("100 millis"), { times: 14 })
    const exit = yield* Fiber.join(fiber)
    return Exit.isSuccess(exit) ? "fine" : String(Option.getOrThrow(Exit.findErrorOption(exit)).message)
  })
  // A write waits longer for a lock than a check takes.
  state.transaction = refusal(5)
  assert.match(yield* checked, /the database said "said 5"\. Another program holds the database\./)
  state.transaction = "fine"
  yield* TestClock.adjust("10 seconds")
  assert.strictEqual(yield* checked, "fine")
  state.transaction = "silent"
  assert.match(yield* checked, /it has not answered for 1s 500ms/)
})
