/** Tests the waits that clients have left, in one process. */
import { describe, expect } from "@effect/vitest"
import type { Ids } from "@holdfast/wire"
import { Clock, type Duration, Effect } from "effect"
import { TestClock } from "effect/testing"
import * as LocalWaits from "../../src/gateway/LocalWaits.ts"
import * as HeldCallIds from "../../src/storage/HeldCallIds.ts"
import { KEPT_MS, type Wait } from "../../src/engine/orchestrator/HeldWaits.ts"
import * as It from "../It.ts"

const waitOf = (n: number): Wait => ({
  key: `key ${n}`,
  conversationId: `c${n}` as Ids.ConversationId,
  turnId: `t${n}` as Ids.TurnId
})

/** Waits under a clock that counts who sleeps. */
const rig = Effect.gen(function* () {
  const clock = yield* Clock.Clock
  const sleepers = { now: 0, most: 0 }
  const begins = Effect.sync(() => void (sleepers.most = Math.max(sleepers.most, ++sleepers.now)))
  const ends = Effect.sync(() => void sleepers.now--)
  const counting = Object.assign(Object.create(clock) as Clock.Clock, {
    sleep: (duration: Duration.Duration) => Effect.ensuring(Effect.andThen(begins, clock.sleep(duration)), ends)
  })
  const aborted: Array<string> = []
  const waits = LocalWaits.make((id) => Effect.sync(() => void aborted.push(id)), yield* Effect.scope)
  const left = (n: number) => Effect.provideService(waits.left(waitOf(n)), Clock.Clock, counting)
  return { aborted, left, sleepers, waits }
})

describe("waits without a client", () => {
  It.effect("each is kept for its own time, and all of them have one timer, which ends with them", function* () {
    const { aborted, left, sleepers } = yield* rig
    for (let n = 0; n < 500; n++) {
      yield* left(n)
      yield* TestClock.adjust(1_000)
    }
    expect([sleepers.now, sleepers.most, aborted]).toEqual([1, 1, []])
    yield* TestClock.adjust(KEPT_MS - 500_000)
    expect(aborted).toEqual(["c0"])
    yield* TestClock.adjust(10_000)
    expect(aborted.length).toBe(11)
    yield* TestClock.adjust(KEPT_MS)
    expect([aborted.length, sleepers.now, sleepers.most]).toEqual([500, 0, 1])
    yield* left(500)
    expect(sleepers.now).toBe(1)
    yield* TestClock.adjust(KEPT_MS)
    expect([aborted.at(-1), sleepers.now]).toEqual(["c500", 0])
  })

  It.effect("a client that comes back and leaves again, over and over, adds no timer", function* () {
    const { aborted, left, sleepers, waits } = yield* rig
    for (let minute = 0; minute < 120; minute++) {
      yield* left(1)
      yield* TestClock.adjust(60_000)
      expect(yield* waits.find(() => ({ key: "key 1", isRenewable: false }))).toMatchObject({ _tag: "Left" })
      expect(sleepers.now).toBeLessThanOrEqual(1)
    }
    yield* left(1)
    yield* TestClock.adjust(KEPT_MS - 1)
    expect(aborted).toEqual([])
    yield* TestClock.adjust(1)
    expect([aborted, sleepers.now]).toEqual([["c1"], 0])
  })

  It.effect("rule X13: a wait that began after a failure of the same call comes first, no earlier one", function* () {
    const { waits } = yield* rig
    const key = "k".repeat(HeldCallIds.KEY_LENGTH)
    const of = (since: number) => {
      const turnId = HeldCallIds.turn(since, "0")
      return { key, turnId, conversationId: HeldCallIds.make(key, turnId, "0") }
    }
    const find = Effect.suspend(() => waits.find(() => ({ key, isRenewable: false })))
    const failure = { reason: "overloaded", message: "Cut.", retryable: true } as const
    yield* waits.ended(of(0), undefined)
    expect(yield* waits.find(() => expect.unreachable("nothing is known: no key is made"))).toBeUndefined()
    waits.gaveUp(of(0), failure, 10)
    expect(yield* find).toEqual({ _tag: "GaveUp", key, turnId: of(0).turnId, failure })
    yield* waits.left(of(9))
    expect(yield* find).toMatchObject({ _tag: "GaveUp", turnId: of(0).turnId })
    yield* waits.left(of(11))
    expect(yield* find).toEqual({ _tag: "Left", wait: of(11) })
    yield* TestClock.adjust(KEPT_MS + 9)
    yield* waits.ended(waitOf(1), failure)
    expect(yield* find).toMatchObject({ _tag: "GaveUp", turnId: of(0).turnId })
    yield* TestClock.adjust(1)
    expect(yield* find).toBeUndefined()
    yield* waits.ended(waitOf(2), failure)
    expect(yield* waits.find(() => ({ key: "key 1", isRenewable: false }))).toMatchObject({ turnId: "t1" })
  })

  It.effect(
    "rule X13: a call with a renewed login finds the last wait of the same call, under its own key",
    function* () {
      const { waits } = yield* rig
      const keyOf = (call: string, login: string) => call.padEnd(HeldCallIds.CALL_LENGTH, "-") + login.repeat(11)
      const [first, second] = ["x", "y"].map((login, n) => ({ ...waitOf(n), key: keyOf("a", login) }))
      for (const wait of [first, second, { ...waitOf(3), key: keyOf("b", "x") }]) if (wait) yield* waits.left(wait)
      const key = keyOf("a", "z")
      const found = []
      for (const isRenewable of [false, true, true, true]) found.push(yield* waits.find(() => ({ key, isRenewable })))
      const left = [second, first].map((wait) => ({ _tag: "Left", wait: { ...wait, key } }))
      expect(found).toEqual([undefined, ...left, undefined])
    }
  )
})
