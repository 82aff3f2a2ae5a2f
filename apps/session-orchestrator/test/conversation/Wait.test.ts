import { assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { Wait } from "../../src/conversation/Wait.ts"

const by = (commandId: string) => ({ commandId, origin: "a test" })

describe("a wait", () => {
  it.effect("ends by itself, once", () =>
    Effect.gen(function* () {
      const wait = new Wait()
      let ended = 0
      const fiber = yield* Effect.forkChild(
        wait.sleep(Effect.sleep("1 minute"), () => ended++),
        { startImmediately: true }
      )
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* Fiber.join(fiber), { type: "elapsed" })
      assert.strictEqual(ended, 1)
      assert.isFalse(wait.steer({ type: "now" }))
    })
  )

  it.effect("X4: loses no command between two of its parts, and takes them in order", () =>
    Effect.gen(function* () {
      const wait = new Wait()
      const sleep = wait.sleep(Effect.never, () => {})
      const first = yield* Effect.forkChild(sleep, { startImmediately: true })
      assert.isTrue(wait.steer({ type: "extended", byMs: 1, by: by("a") }))
      assert.isTrue(wait.steer({ type: "until", until: 5, by: by("b") }))
      assert.strictEqual((yield* Fiber.join(first)).type, "extended")
      // The first is being recorded; the wait is not over.
      assert.isTrue(wait.steer({ type: "now", by: by("c") }))
      assert.strictEqual((yield* sleep).type, "until")
      assert.strictEqual((yield* sleep).type, "now")
      assert.isFalse(wait.steer({ type: "now", by: by("d") }))
    })
  )

  it.effect("X4: takes no command twice, nor one that is on record", () =>
    Effect.gen(function* () {
      const wait = new Wait()
      wait.know(["old"])
      const fiber = yield* Effect.forkChild(
        wait.sleep(Effect.never, () => {}),
        { startImmediately: true }
      )
      wait.steer({ type: "now", by: by("old") })
      assert.isUndefined(fiber.pollUnsafe())
      wait.steer({ type: "cancelled", by: by("new") })
      assert.strictEqual((yield* Fiber.join(fiber)).type, "cancelled")
    })
  )

  it.effect("X4: forgets a command that came before it was known to be on record", () =>
    Effect.gen(function* () {
      const wait = new Wait()
      wait.begin({ type: "extended", byMs: 1, by: by("old") })
      wait.steer({ type: "now", by: by("new") })
      wait.know(["old"])
      assert.deepStrictEqual((yield* wait.sleep(Effect.never, () => {})).by, by("new"))
    })
  )

  it.effect("W3: hears what a person wants before what the clock says", () =>
    Effect.gen(function* () {
      const wait = new Wait()
      wait.begin({ type: "elapsed" })
      assert.isTrue(wait.steer({ type: "cancelled", by: by("a") }))
      assert.strictEqual((yield* wait.sleep(Effect.void, () => {})).type, "cancelled")
      assert.isFalse(wait.hasNews)
    })
  )
})
