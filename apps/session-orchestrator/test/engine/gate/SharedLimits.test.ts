/** Tests two runners before a provider with limits, over one database. */
import { expect, it } from "@effect/vitest"
import { StorageError, Timer } from "@holdfast/journal"
import type { Allowance } from "@holdfast/policy"
import { Context, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Gates from "../../../src/engine/gate/Gates.ts"
import { GateTable } from "../../../src/storage/tables/GateTable.ts"
import { onDisk } from "../conversation/CrowdedEndpoint.ts"
import * as It from "../../It.ts"

/** The limiter of a runner. */
const runner = Effect.fnUntraced(function* (allowance: Allowance.Allowance) {
  const layer = Layer.fresh(
    Gates.layerShared(
      () => ({ baseUrl: "http://own", credential: undefined }),
      () => allowance
    ).pipe(Layer.provide(Timer.layer))
  )
  const gates = Context.get(yield* Layer.build(layer), Gates.Gates)
  return gates.limiterOf("own") ?? (yield* Effect.die("no limiter"))
})

/** A call that begins once it has a permit. */
const call = (limiter: Effect.Success<ReturnType<typeof runner>>) =>
  Effect.sync(() => {
    let release = (): void => leave()
    const state = { hasBegun: false, end: Effect.sync(() => release()) }
    const leave = limiter.request(0, (permit) => {
      state.hasBegun = true
      release = permit.release
    })
    return state
  })

const aSecond = TestClock.adjust(1_000)

it.effect("rule X6: another runner's call takes a permit until it ends or its runner is silent for a while", () =>
  onDisk(
    Effect.gen(function* () {
      const [one, two] = [yield* runner({ calls: 1 }), yield* runner({ calls: 1 })]
      const first = yield* call(one)
      yield* aSecond
      const known = yield* call(two)
      yield* aSecond
      yield* aSecond
      const waiting = yield* call(two)
      expect([first.hasBegun, waiting.hasBegun]).toEqual([true, false])
      yield* known.end
      yield* TestClock.adjust(60_000)
      // The runner reports every second that it is alive.
      expect(waiting.hasBegun).toBe(false)
      yield* first.end
      yield* aSecond
      yield* aSecond
      expect(waiting.hasBegun).toBe(true)
    })
  )
)

It.effect("rule X6: with the database away a runner keeps the limits by itself", function* () {
  let isAway = false
  let asked = 0
  const table = Layer.succeed(GateTable, {
    exchange: () => Effect.succeed([]),
    share: (_own, providers) =>
      Effect.suspend(() => {
        asked++
        return isAway
          ? Effect.fail(new StorageError({ message: "away" }))
          : Effect.succeed(providers.map((provider) => ({ provider, runner: "other", underway: 1, seconds: [] })))
      })
  })
  yield* Effect.gen(function* () {
    const limiter = yield* runner({ calls: 1 })
    yield* TestClock.adjust(10_000)
    expect(asked).toBe(0)
    const first = yield* call(limiter)
    yield* aSecond
    yield* first.end
    const second = yield* call(limiter)
    yield* TestClock.adjust(10_000)
    expect(second.hasBegun).toBe(false)
    isAway = true
    yield* aSecond
    expect(second.hasBegun).toBe(true)
    yield* second.end
    // Its calls count for a minute; then there is nothing left to report.
    yield* TestClock.adjust(70_000)
    const before = asked
    yield* TestClock.adjust(300_000)
    expect(asked).toBe(before)
  }).pipe(Effect.provide(table), Effect.scoped)
})

it.effect("rule X6: calls that another runner began count for its minute", () =>
  onDisk(
    Effect.gen(function* () {
      const [one, two] = [yield* runner({ requestsPerMinute: 2 }), yield* runner({ requestsPerMinute: 2 })]
      const calls = [yield* call(one), yield* call(one)]
      for (const { end } of calls) yield* end
      const unaware = yield* call(two)
      yield* aSecond
      yield* aSecond
      const waiting = yield* call(two)
      expect([unaware.hasBegun, waiting.hasBegun]).toEqual([true, false])
      yield* TestClock.adjust(57_000)
      expect(waiting.hasBegun).toBe(false)
      yield* TestClock.adjust(3_000)
      expect(waiting.hasBegun).toBe(true)
    })
  )
)
