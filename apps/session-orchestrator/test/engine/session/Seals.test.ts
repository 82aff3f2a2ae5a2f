import { assert, describe, it } from "@effect/vitest"
import { TurnStopped } from "@holdfast/kernel"
import { Ids } from "@holdfast/wire"
import { Effect, Exit, Fiber } from "effect"
import { Seals } from "../../../src/engine/session/Seals.ts"
import * as NumberedData from "../../storage/NumberedData.ts"

const turnId = Ids.TurnId.make("t")

describe("the seals", () => {
  it.effect("report to all callers that wait for a turn, and forget it", () =>
    Effect.gen(function* () {
      const seals = new Seals()
      const end = NumberedData.end(1, 1)
      const fibers = yield* Effect.forEach([1, 2], () =>
        Effect.forkChild(seals.await(turnId), { startImmediately: true })
      )
      seals.report(turnId, Exit.succeed(end))
      for (const fiber of fibers) assert.strictEqual(yield* Fiber.join(fiber), end)
      assert.strictEqual(seals.size, 0)
    })
  )

  it.effect("report a turn that stops without a seal too", () =>
    Effect.gen(function* () {
      const seals = new Seals()
      const stopped = new TurnStopped.TurnStopped({ message: "elsewhere" })
      const fiber = yield* Effect.forkChild(Effect.flip(seals.await(turnId)), { startImmediately: true })
      seals.report(turnId, Exit.fail(stopped))
      assert.strictEqual(yield* Fiber.join(fiber), stopped)
    })
  )

  it.effect("keep nothing of callers that have left, nor of turns without callers", () =>
    Effect.gen(function* () {
      const seals = new Seals()
      const fibers = yield* Effect.forEach([1, 2], () =>
        Effect.forkChild(seals.await(turnId), { startImmediately: true })
      )
      yield* Fiber.interruptAll(fibers)
      seals.report(Ids.TurnId.make("u"), Exit.succeed(NumberedData.end(1, 1)))
      assert.strictEqual(seals.size, 0)
    })
  )
})
