import { assert, describe, it } from "@effect/vitest"
import { Push } from "@holdfast/kernel/host"
import { Effect, Fiber, Queue, type Pull } from "effect"
import { AnswerablePull } from "../../src/cluster/AnswerablePull.ts"

/** A source whose values the test sends; with a push, its values go there while a consumer waits. */
const sourceOf = Effect.fnUntraced(function* (isPushing: boolean) {
  const queue = yield* Queue.unbounded<string>()
  let taking: ((value: string) => boolean) | undefined
  let forks = 0
  const pull: Pull.Pull<string> = Effect.suspend(() => {
    forks++
    return Queue.take(queue)
  })
  const source = isPushing
    ? Push.attach(pull, () => (take) => {
        taking = take
        return () => (taking = undefined)
      })
    : pull
  const send = (value: string) =>
    Effect.suspend(() => {
      const take = taking
      taking = undefined
      return take === undefined ? Queue.offer(queue, value) : Effect.sync(() => take(value))
    })
  return { source, send, forks: () => forks, isTaken: () => taking !== undefined }
})

describe("AnswerablePull", () => {
  for (const isPushing of [false, true]) {
    it.effect(
      `A1: a timer answers, and the value that comes next is not lost; ${isPushing ? "pushed" : "pulled"}`,
      () =>
        Effect.gen(function* () {
          const { forks, send, source } = yield* sourceOf(isPushing)
          const answerable = new AnswerablePull(source, yield* Effect.scope)
          const waits = Effect.forkChild(answerable.next, { startImmediately: true })
          const first = yield* waits
          assert.isTrue(answerable.isWaiting)
          answerable.answer(Effect.succeed("timer"))
          assert.strictEqual(yield* Fiber.join(first), "timer")
          assert.isFalse(answerable.isWaiting)
          // No consumer waits: this answer is for none.
          answerable.answer(Effect.succeed("late"))
          const second = yield* waits
          yield* send("a")
          assert.strictEqual(yield* Fiber.join(second), "a")
          const third = yield* waits
          yield* send("b")
          assert.strictEqual(yield* Fiber.join(third), "b")
          // AnswerablePull.A2
          assert.strictEqual(forks(), isPushing ? 0 : 2)
        }).pipe(Effect.scoped)
    )
  }

  it.effect("A1: a value that comes while no consumer waits is the next one; a consumer that leaves takes none", () =>
    Effect.gen(function* () {
      const { isTaken, send, source } = yield* sourceOf(true)
      const answerable = new AnswerablePull(source, yield* Effect.scope)
      const leaving = yield* Effect.forkChild(answerable.next, { startImmediately: true })
      assert.isTrue(isTaken())
      yield* Fiber.interrupt(leaving)
      assert.isFalse(isTaken())
      assert.isFalse(answerable.isWaiting)
      yield* send("a")
      yield* answerable.begin
      assert.strictEqual(yield* answerable.next, "a")
    }).pipe(Effect.scoped)
  )
})
