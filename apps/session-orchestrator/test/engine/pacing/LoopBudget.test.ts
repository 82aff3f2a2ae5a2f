import { assert } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { LoopBudget } from "../../../src/engine/pacing/LoopBudget.ts"
import * as It from "../../It.ts"

const loopTurn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

const MOST = 1_000

const budgetOf = () => new LoopBudget(MOST, 1)

/** Writers that write once each, and those that have written. */
const writers = Effect.fnUntraced(function* (budget: LoopBudget, sizes: ReadonlyArray<number>) {
  const written: Array<number> = []
  const fibers = yield* Effect.forEach(sizes, (size, n) =>
    Effect.suspend(() => (budget.allows(size) ? Effect.void : budget.turn(size))).pipe(
      Effect.andThen(Effect.sync(() => void written.push(n))),
      Effect.forkChild({ startImmediately: true })
    )
  )
  return { written, fibers }
})

It.live("writes beyond the budget happen in later turns of the event loop, in order", function* () {
  const { written } = yield* writers(
    budgetOf(),
    Array.from({ length: 8 }, () => MOST / 4)
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

It.live("a write that is larger than the budget is made", function* () {
  assert.isTrue(budgetOf().allows(3 * MOST))
  const { written } = yield* writers(budgetOf(), [MOST, 1, 3 * MOST, 3 * MOST])
  while (written.length < 4) yield* loopTurn
  assert.deepStrictEqual(written, [0, 1, 2, 3])
})

It.live("a response that is gone does not delay others", function* () {
  const { fibers, written } = yield* writers(budgetOf(), [MOST, MOST, 1])
  yield* Effect.forEach(fibers.slice(1, 2), Fiber.interrupt)
  yield* loopTurn
  assert.deepStrictEqual(written, [0, 2])
  const budget = budgetOf()
  for (let n = 0; n < 20; n++, yield* loopTurn) assert.isTrue(budget.allows(MOST / 4))
})

It.live("a crowd that only waits goes on a few at a time, in order, and none is left out", function* () {
  const budget = new LoopBudget(4)
  const done: Array<number> = []
  const counts: Array<number> = []
  for (let n = 0; n < 10; n++)
    yield* Effect.forkChild(
      Effect.map(budget.turn(1), () => done.push(n)),
      { startImmediately: true }
    )
  while (done.length < 10) {
    counts.push(done.length)
    yield* loopTurn
  }
  assert.deepStrictEqual(counts, [0, 4, 8])
  assert.deepStrictEqual(done, [0, 1, 2, 3, 4, 5, 6, 7, 8, 9])
})

It.live("a small write waits behind a large one, and a large one behind a small one", function* () {
  const budget = budgetOf()
  const allowed = [budget.allows(MOST - 10), budget.allows(20), budget.allows(1)]
  const { written } = yield* writers(budget, [20])
  allowed.push(budget.allows(1))
  assert.deepStrictEqual([allowed, written], [[true, false, true, false], []])
  const small = yield* Effect.forkChild(budget.turn(1), { startImmediately: true })
  const large = yield* Effect.forkChild(budget.turn(3 * MOST), { startImmediately: true })
  for (let n = 0; n < 5; n++) yield* loopTurn
  assert.deepStrictEqual([written, small.pollUnsafe()?._tag, large.pollUnsafe()?._tag], [[0], "Success", "Success"])
})
