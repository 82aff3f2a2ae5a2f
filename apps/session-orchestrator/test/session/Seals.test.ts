import { assert, describe, it } from "@effect/vitest"
import { TurnStopped } from "@holdfast/kernel"
import { Ids } from "@holdfast/wire"
import { Effect, Exit, Fiber } from "effect"
import { Seals } from "../../src/session/Seals.ts"
import * as Given from "../storage/Given.ts"

const turnId = Ids.TurnId.make("t")

describe("the seals", () => {
  it.effect("tell all who wait for a turn, and forget it", () =>
    Effect.gen(function* () {
      const seals = new Seals()
      const end = Given.end(1, 1)
      const fibers = yield* Effect.forEach([1, 2], () =>
        Effect.forkChild(seals.await(turnId), { startImmediately: true })
      )
      seals.tell(turnId, Exit.succeed(end))
      for (const fiber of fibers) assert.strictEqual(yield* Fiber.join(fiber), end)
      assert.strictEqual(seals.size, 0)
    })
  )

  it.effect("L2: tell them too when the turn stops without one", () =>
    Effect.gen(function* () {
      const seals = new Seals()
      const stopped = new TurnStopped.TurnStopped({ message: "elsewhere" })
      const fiber = yield* Effect.forkChild(Effect.flip(seals.await(turnId)), { startImmediately: true })
      seals.tell(turnId, Exit.fail(stopped))
      assert.strictEqual(yield* Fiber.join(fiber), stopped)
    })
  )

  it.effect("L1: keep nothing of those who have gone away, nor of turns that nobody waits for", () =>
    Effect.gen(function* () {
      const seals = new Seals()
      const fibers = yield* Effect.forEach([1, 2], () =>
        Effect.forkChild(seals.await(turnId), { startImmediately: true })
      )
      yield* Fiber.interruptAll(fibers)
      seals.tell(Ids.TurnId.make("u"), Exit.succeed(Given.end(1, 1)))
      assert.strictEqual(seals.size, 0)
    })
  )
})
