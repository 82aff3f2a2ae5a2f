/** Tests a parked turn in memory ahead of its time: to clients it still waits. */
import { assert, it } from "@effect/vitest"
import { Records } from "@holdfast/kernel"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import { NEAR_MS } from "../../../src/engine/parking/Parking.ts"
import type { Store } from "../../../src/storage/Store.ts"
import { waits, withService } from "../conversation/ConversationSetup.ts"

const { answer, emits, overloaded } = ScriptedProvider

const turnId = Ids.TurnId.make("turn")
const MINUTE = 60_000

/** Lets all work run that is possible without the clock. */
const settle = TestClock.adjust(0).pipe(Effect.repeat({ times: 40 }))

it.effect("Waking.U2: a turn is read before its time, and only continues at its time", () => {
  let reads = 0
  const store = (real: Store["Service"]): Pick<Store["Service"], "resumption"> => ({
    resumption: (turnId) =>
      Effect.andThen(
        Effect.sync(() => reads++),
        real.resumption(turnId)
      )
  })
  return withService(
    { scripts: [emits(overloaded), answer("At last")], retry: waits(60), store },
    function* ({ conversations, log, provider }) {
      yield* conversations.prompt(yield* conversations.create({}), { prompt: "Hi", turnId })
      yield* Effect.repeat(conversations.counts, { until: ({ retrying }) => retrying === 1 })
      yield* TestClock.adjust(MINUTE - NEAR_MS - 1)
      yield* settle
      assert.strictEqual(reads, 0)
      yield* TestClock.adjust(1)
      yield* settle
      assert.strictEqual(reads, 1)
      const before = yield* log.load(turnId)
      yield* TestClock.adjust(NEAR_MS - 1)
      yield* settle
      assert.strictEqual(provider.requests.length, 1)
      // Nothing is recorded of it.
      assert.deepStrictEqual(yield* log.load(turnId), before)
      yield* TestClock.adjust(1)
      const { end, text } = yield* conversations.result(turnId)
      assert.deepInclude(end, { status: "completed", attempts: 2, endedAt: MINUTE })
      assert.deepStrictEqual([text, reads], ["At last", 1])
      const wakes = (yield* log.load(turnId)).flatMap((record) => Records.valueOf("Wake", record) ?? [])
      assert.deepStrictEqual(wakes, [{ type: "elapsed", at: MINUTE }])
    }
  )
})
