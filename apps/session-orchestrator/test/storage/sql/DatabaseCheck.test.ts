/** Tests which probes a crowd of callers causes, and which outcome the callers get. */
import { assert, describe } from "@effect/vitest"
import type { TableError } from "@holdfast/journal/sql"
import { Effect, Exit, Fiber } from "effect"
import { type SqlClient, SqlError } from "effect/sql"
import { TestClock } from "effect/testing"
import * as DatabaseCheck from "../../../src/storage/sql/DatabaseCheck.ts"
import * as It from "../../It.ts"

const errorOf = (message: string): TableError =>
  new SqlError.SqlError({ reason: new SqlError.UnknownError({ message, cause: message, operation: "execute" }) })

/** A database whose probes take so long, or fail. */
const database = Effect.fnUntraced(function* (probe: (n: number) => Effect.Effect<void, TableError>) {
  const state = { probes: 0, answers: 0 }
  const sql: unknown = () => Effect.suspend(() => probe(++state.probes))
  const written = () => Effect.void
  const check = yield* DatabaseCheck.make({
    sql: sql as SqlClient.SqlClient, // its statements are all one
    lane: () => Object.assign(written as never, { all: () => Effect.succeed([]) }),
    health: {
      get commits() {
        return state.answers
      },
      trouble: undefined
    }
  })
  return { check: Effect.mapError(check, ({ message }) => message), state }
})

const forked = <A>(effect: Effect.Effect<A, string>) =>
  Effect.forkChild(Effect.exit(effect), { startImmediately: true })

describe("a check of the database", () => {
  It.effect("DatabaseCheck.C1: callers that come together get one outcome, later ones the next", function* () {
    const { check, state } = yield* database((n) =>
      Effect.delay(n === 1 ? Effect.fail(errorOf("away")) : Effect.void, "1 second")
    )
    const crowd = yield* Effect.forEach(Array.from({ length: 500 }), () => forked(check))
    yield* TestClock.adjust("999 millis")
    assert.isUndefined(crowd[0]?.pollUnsafe())
    yield* TestClock.adjust("1 milli")
    for (const fiber of crowd) assert.deepStrictEqual(yield* Fiber.join(fiber), Exit.fail("away"))
    assert.strictEqual(state.probes, 1)
    const first = yield* forked(check)
    yield* TestClock.adjust("300 millis")
    const late = yield* Effect.forEach(Array.from({ length: 500 }), () => forked(check))
    yield* TestClock.adjust("700 millis")
    assert.deepStrictEqual([yield* Fiber.join(first), state.probes], [Exit.void, 3])
    yield* TestClock.adjust("700 millis")
    assert.isUndefined(late[0]?.pollUnsafe())
    for (const fiber of late) yield* Fiber.interrupt(fiber)
  })

  It.effect("DatabaseCheck.C2: a database without an answer in time is away, but for a commit meanwhile", function* () {
    const { check, state } = yield* database(() => Effect.never)
    state.answers = 7
    const silent = yield* forked(check)
    yield* TestClock.adjust("1499 millis")
    assert.isUndefined(silent.pollUnsafe())
    yield* TestClock.adjust("1 milli")
    assert.deepStrictEqual(yield* Fiber.join(silent), Exit.fail("ConnectionError"))
    const busy = yield* forked(check)
    yield* TestClock.adjust("1 second")
    state.answers = 8
    yield* TestClock.adjust("500 millis")
    assert.deepStrictEqual(yield* Fiber.join(busy), Exit.void)
  })

  It.effect("DatabaseCheck.C2: an error of the probe stays one, whatever else was committed", function* () {
    const { check, state } = yield* database(() => Effect.delay(Effect.fail(errorOf("read-only")), "1 second"))
    const fiber = yield* forked(check)
    yield* TestClock.adjust("500 millis")
    state.answers = 1
    yield* TestClock.adjust("500 millis")
    assert.deepStrictEqual(yield* Fiber.join(fiber), Exit.fail("read-only"))
  })
})
