import { assert, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { MOST_AT_ONCE, WriteBudget } from "../../../src/http/body/WriteBudget.ts"

const loopTurn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

const QUARTER = MOST_AT_ONCE / 4

/** Writers that write once each, and those that have written. */
const writers = (budget: WriteBudget, sizes: ReadonlyArray<number>) =>
  Effect.gen(function* () {
    const written: Array<number> = []
    const fibers = yield* Effect.forEach(sizes, (size, n) =>
      Effect.suspend(() => (budget.allows(size) ? Effect.void : budget.turn(size))).pipe(
        Effect.andThen(Effect.sync(() => void written.push(n))),
        Effect.forkChild({ startImmediately: true })
      )
    )
    return { written, fibers }
  })

it.live("WriteBudget.W1: writes beyond the budget happen in later turns of the event loop, in order", () =>
  Effect.gen(function* () {
    const { written } = yield* writers(
      new WriteBudget(),
      Array.from({ length: 8 }, () => QUARTER)
    )
    const counts = [written.length]
    while (written.length < 8) {
      yield* loopTurn
      counts.push(written.length)
    }
    // Each write counts a little more than its bytes.
    assert.deepStrictEqual(counts, [3, 6, 8])
    assert.deepStrictEqual(written, [0, 1, 2, 3, 4, 5, 6, 7])
  })
)

it.live("WriteBudget.W1: no write overtakes a waiting one", () =>
  Effect.gen(function* () {
    const budget = new WriteBudget()
    const { written } = yield* writers(budget, [MOST_AT_ONCE / 2, MOST_AT_ONCE, 1])
    assert.deepStrictEqual(written, [0])
    while (written.length < 3) yield* loopTurn
    assert.deepStrictEqual(written, [0, 1, 2])
  })
)

it.live("WriteBudget.W2: a write that is larger than the budget is made", () =>
  Effect.gen(function* () {
    const { written } = yield* writers(new WriteBudget(), [1, 3 * MOST_AT_ONCE, 3 * MOST_AT_ONCE])
    while (written.length < 3) yield* loopTurn
    assert.deepStrictEqual(written, [0, 1, 2])
  })
)

it.live("a response that is gone does not delay others", () =>
  Effect.gen(function* () {
    const { fibers, written } = yield* writers(new WriteBudget(), [MOST_AT_ONCE, MOST_AT_ONCE, 1])
    yield* Effect.forEach(fibers.slice(1, 2), Fiber.interrupt)
    while (written.length < 2) yield* loopTurn
    assert.deepStrictEqual(written, [0, 2])
  })
)
