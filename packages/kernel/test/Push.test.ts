/** Tests `Push`: a pull that gives values to its consumer by calls, without a fiber. */
import { assert, describe, it } from "@effect/vitest"
import { PushSource } from "@holdfast/kernel/testing"
import { Cause, Effect, Exit, Fiber, Pull } from "effect"
import * as fc from "fast-check"
import * as Push from "../src/calls/Push.ts"

describe("a pull that pushes", () => {
  it("Push.P1: gives each value once and in order, however its consumer and its source change between pulling and pushing", () =>
    fc.assert(
      fc.asyncProperty(
        fc.array(fc.record({ isSlow: fc.boolean(), isInterlude: fc.boolean() }), { maxLength: 20, size: "max" }),
        async (steps) => {
          const { end, give, interlude, pull } = PushSource.make<number>()
          const seen: Array<number> = []
          const doubled = Push.through(
            Effect.map(pull, (value) => value * 2),
            () => pull,
            (value) => value * 2
          )
          const exit = Effect.runPromiseExit(
            Push.forEach(doubled, (value) => {
              seen.push(value)
              return steps[value / 2]?.isSlow === true ? Effect.yieldNow : undefined
            })
          )
          for (const [value, { isInterlude }] of steps.entries()) {
            give(value)
            if (isInterlude) interlude()
          }
          await new Promise((resolve) => setImmediate(resolve))
          end()
          assert.isTrue(Exit.isFailure(await exit))
          assert.deepStrictEqual(
            seen,
            steps.map((_, value) => value * 2)
          )
        }
      )
    ))

  it.effect("is pushed behind its first value, and pulled at its end", () =>
    Effect.gen(function* () {
      const { calls, end, give, isPushing, pull } = PushSource.make<number>()
      const seen: Array<number> = []
      const fiber = yield* Effect.forkChild(
        Push.forEach(pull, (value) => void seen.push(value)).pipe(Pull.catchDone(() => Effect.succeed("done"))),
        { startImmediately: true }
      )
      assert.isFalse(isPushing())
      for (const value of [1, 2, 3]) give(value)
      assert.deepStrictEqual([seen, calls.pushes], [[1, 2, 3], 2])
      end()
      assert.strictEqual(yield* Fiber.join(fiber), "done")
    })
  )

  it.effect("Push.P2: is pulled behind the end of its push, and pushed again behind that value", () =>
    Effect.gen(function* () {
      const { calls, give, interlude, isPushing, pull } = PushSource.make<number>()
      const seen: Array<number> = []
      yield* Effect.forkChild(
        Push.forEach(pull, (value) => void seen.push(value)),
        { startImmediately: true }
      )
      give(1)
      interlude()
      assert.isFalse(isPushing())
      give(2)
      assert.isTrue(isPushing())
      assert.deepStrictEqual([seen, calls.pushes], [[1, 2], 0])
    })
  )

  it.effect("is pushed again behind a value that takes its time", () =>
    Effect.gen(function* () {
      const { calls, give, isPushing, pull } = PushSource.make<number>()
      yield* Effect.forkChild(
        Push.forEach(pull, (value) => (value === 2 ? Effect.yieldNow : undefined)),
        { startImmediately: true }
      )
      give(1)
      give(2)
      assert.isFalse(isPushing())
      yield* Effect.repeat(Effect.yieldNow, { times: 9 })
      assert.isTrue(isPushing())
      give(3)
      assert.strictEqual(calls.pushes, 2)
    })
  )

  it.effect("leaves out of the push what is left out of the pull", () =>
    Effect.gen(function* () {
      const { calls, give, pull } = PushSource.make<number>()
      const odd = (value: number) => (value % 2 === 1 ? value : undefined)
      const filtered: Pull.Pull<number, never> = Push.filterMap(pull, odd)
      const seen: Array<number> = []
      yield* Effect.forkChild(
        Push.forEach(filtered, (value) => void seen.push(value)),
        { startImmediately: true }
      )
      for (const value of [1, 2, 3, 4, 5]) give(value)
      assert.deepStrictEqual([seen, calls.pushes], [[1, 3, 5], 4])
    })
  )

  it.effect("Push.P2: a push through another is over with its last value, or with one that is not taken", () =>
    Effect.sync(() => {
      const { give, isPushing, pull } = PushSource.make<number>()
      const seen: Array<number> = []
      const own: Pull.Pull<number, never> = Effect.flatMap(pull, Effect.succeed)
      const some = (value: number) => (value > 0 ? value : undefined)
      const isLast = () => seen.at(-1) === 3
      const through = Push.through(own, () => pull, some, isLast)
      const overs: Array<number> = []
      const over = () => void overs.push(seen.length)
      Push.of(through)?.((value) => seen.push(value) < 2, over)
      for (const value of [1, 0, 2]) give(value)
      assert.deepStrictEqual([seen, overs, isPushing()], [[1, 2], [], false])
      Push.of(through)?.((value) => seen.push(value) > 0, over)
      for (const value of [0, 3]) give(value)
      assert.deepStrictEqual([seen, overs, isPushing()], [[1, 2, 3], [3], false])
      assert.isUndefined(Push.of(through))
    })
  )

  it.effect("what a consumer throws is a defect of its fiber, and nothing of the source's", () =>
    Effect.gen(function* () {
      const { give, isPushing, pull } = PushSource.make<number>()
      const bug = new Error("a bug")
      const fiber = yield* Effect.forkChild(
        Push.forEach(pull, (value) => {
          if (value > 1) throw bug
          return undefined
        }),
        { startImmediately: true }
      )
      give(1)
      give(2)
      const exit = yield* Fiber.await(fiber)
      assert.strictEqual(Exit.isFailure(exit) && Cause.squash(exit.cause), bug)
      assert.isFalse(isPushing())
    })
  )

  it.effect("an interruption of its consumer stops it", () =>
    Effect.gen(function* () {
      const { calls, give, isPushing, pull } = PushSource.make<number>()
      const fiber = yield* Effect.forkChild(
        Push.forEach(pull, () => undefined),
        { startImmediately: true }
      )
      give(1)
      assert.isTrue(isPushing())
      yield* Fiber.interrupt(fiber)
      assert.deepStrictEqual([isPushing(), calls.stops], [false, 1])
    })
  )
})
