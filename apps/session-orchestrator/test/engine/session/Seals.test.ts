import { assert, describe } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Effect, Exit, Fiber } from "effect"
import { Seals } from "../../../src/engine/session/Seals.ts"
import * as NumberedData from "../../storage/NumberedData.ts"
import * as It from "../../It.ts"

const turnId = Ids.TurnId.make("t")

const twoWaitFor = (seals: Seals) =>
  Effect.all([1, 2].map(() => Effect.forkChild(seals.await(turnId), { startImmediately: true })))

describe("the seals", () => {
  It.effect("report to all callers that wait for a turn, and forget it", function* () {
    const seals = new Seals()
    const end = NumberedData.end(1, 1)
    const fibers = yield* twoWaitFor(seals)
    seals.report(turnId, Exit.succeed(end))
    for (const fiber of fibers) assert.strictEqual(yield* Fiber.join(fiber), end)
    assert.strictEqual(seals.size, 0)
  })

  It.effect("keep nothing of callers that have left, nor of turns without callers or elsewhere", function* () {
    const seals = new Seals()
    const fibers = yield* twoWaitFor(seals)
    yield* Fiber.interruptAll(fibers)
    assert.isUndefined(yield* seals.awaitHere(turnId, () => false))
    seals.report(Ids.TurnId.make("u"), Exit.succeed(NumberedData.end(1, 1)))
    assert.strictEqual(seals.size, 0)
  })
})
