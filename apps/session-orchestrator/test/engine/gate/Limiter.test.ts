import { describe, expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as fc from "fast-check"
import { Limiter, type Permit, sharing } from "../../../src/engine/gate/Limiter.ts"
import { ManualClock } from "../conversation/ManualClock.ts"
import * as It from "../../It.ts"

/** A call that asks for a permit; `end` gives it back, or stops waiting. */
const ask = (limiter: Limiter, tokens = 0) =>
  Effect.sync(() => {
    const asked: { permit: Permit | undefined; readonly end: Effect.Effect<void> } = {
      permit: undefined,
      end: Effect.sync(() => {
        leave()
        asked.permit?.release()
      })
    }
    const leave = limiter.request(tokens, (permit) => {
      asked.permit = permit
    })
    return asked
  })

describe("Limiter", () => {
  It.effect("tokens that a call did not use are given back, and those beyond the estimate count", function* () {
    const limiter = new Limiter({ tokensPerMinute: 100 }, new ManualClock())
    expect(limiter.countsTokens).toBe(true)
    const [first, second] = yield* Effect.all([ask(limiter, 90), ask(limiter, 60)])
    expect(second.permit).toBeUndefined()
    first.permit?.counted({ inputTokens: 30, outputTokens: 15 })
    expect(second.permit).toBeUndefined()
    first.permit?.counted({ inputTokens: 30, outputTokens: 20 })
    expect(second.permit).toBeUndefined()
    first.permit?.counted({ inputTokens: 20, outputTokens: 20 })
    expect(second.permit).toBeDefined()
    expect(limiter.use.seconds.reduce((sum, { tokens }) => sum + tokens, 0)).toBe(100)
  })

  It.effect("a provider that reports no input is charged the estimate", function* () {
    const limiter = new Limiter({ tokensPerMinute: 100 }, new ManualClock())
    const call = yield* ask(limiter, 40)
    call.permit?.counted({ outputTokens: 5 })
    expect(limiter.use.seconds).toMatchObject([{ tokens: 45, requests: 1 }])
    expect(limiter.view).toMatchObject({ requestsPerMinute: undefined, tokensPerMinute: { used: 45, limit: 100 } })
    call.permit?.counted({ inputTokens: 30 })
    expect(limiter.use.seconds).toMatchObject([{ tokens: 30, requests: 1 }])
  })

  it("Limiter.L2: a crowd whose calls end as they begin is admitted, and a permit is given back once", () => {
    const limiter = new Limiter({ calls: 2 }, new ManualClock())
    const permits: Array<Permit> = []
    for (let n = 0; n < 20_000; n++)
      limiter.request(0, (permit) => {
        if (permits.push(permit) > 4) permit.release()
      })
    const used = [0, 0, 1, 1, 2, 3].map((nth) => {
      permits[nth]?.release()
      return `${permits.length} ${limiter.view.calls?.used}`
    })
    expect(used).toEqual(["3 2", "3 2", "4 2", "4 2", "20000 1", "20000 0"])
  })

  It.effect("Limiter.L4: other processes' use counts; it is checked again if nothing wakes the call", function* () {
    const clock = new ManualClock()
    const limiter = new Limiter({ calls: 1 }, clock)
    limiter.setOthers([{ underway: 1, seconds: [] }])
    const idle = clock.size
    const call = yield* ask(limiter)
    expect([idle, call.permit, clock.size]).toEqual([0, undefined, 1])
    expect(limiter.view).toMatchObject({ waiting: 1, calls: { used: 1, limit: 1 }, tokensPerMinute: undefined })
    limiter.setOthers([])
    expect(call.permit).toBeDefined()
    expect(clock.size).toBe(0)
  })

  It.effect("Limiter.L4: idle processes are not checked again: the end of an own call wakes the next", function* () {
    const clock = new ManualClock()
    const limiter = new Limiter({ calls: 1 }, clock)
    const first = yield* ask(limiter)
    limiter.setOthers([{ underway: 0, seconds: [] }])
    const second = yield* ask(limiter)
    expect(clock.size).toBe(0)
    yield* first.end
    expect(second.permit).toBeDefined()
  })

  It.effect(
    "rule X6: the use of other runners counts for its provider alone, and the own is not counted twice",
    function* () {
      const limiters = new Map(["a", "b", "c"].map((name) => [name, new Limiter({ calls: 5 }, new ManualClock())]))
      for (const name of ["a", "b"]) limiters.get(name)?.request(0, () => {})
      const asked: Array<unknown> = []
      const share: Parameters<typeof sharing>[1] = (own, providers) => {
        asked.push([own.map(({ provider, underway }) => `${provider} ${underway}`), providers])
        return Effect.succeed([...own, { provider: "key of a", runner: "other", underway: 3, seconds: [] }])
      }
      yield* sharing(limiters, share, (name) => `key of ${name}`)
      const used = Array.from(limiters.values(), ({ view }) => view.calls?.used)
      expect([asked, used]).toEqual([
        [
          [
            ["key of a 1", "key of b 1"],
            ["key of a", "key of b"]
          ]
        ],
        [4, 1, 0]
      ])
    }
  )

  it("without limits no call waits, and none has to be measured", () => {
    const limiter = new Limiter({}, new ManualClock())
    expect(limiter.countsTokens).toBe(false)
    const permits: Array<Permit> = []
    for (const tokens of [1e9, 1e9]) limiter.request(tokens, (permit) => permits.push(permit))
    expect(permits).toHaveLength(2)
    for (const { release } of permits) release()
    expect(limiter.use.underway).toBe(0)
  })

  it("Limiter.L1, Limiter.L2: under any order of calls, ends and time, no limit is exceeded, and no call waits without cause", async () => {
    const event = fc.oneof(
      fc.record({ type: fc.constant("ask" as const), tokens: fc.integer({ min: 0, max: 50 }) }),
      fc.record({ type: fc.constant("end" as const), which: fc.nat(20) }),
      fc.record({ type: fc.constant("pass" as const), ms: fc.integer({ min: 0, max: 90_000 }) })
    )
    await fc.assert(
      fc.asyncProperty(
        fc.integer({ min: 1, max: 3 }),
        fc.integer({ min: 1, max: 6 }),
        fc.array(event, { maxLength: 40, size: "max" }),
        (calls, requestsPerMinute, events) =>
          Effect.runPromise(
            Effect.gen(function* () {
              const clock = new ManualClock()
              const limiter = new Limiter({ calls, requestsPerMinute }, clock)
              const open: Array<Effect.Success<ReturnType<typeof ask>>> = []
              for (const event of events) {
                if (event.type === "ask") open.push(yield* ask(limiter, event.tokens))
                else if (event.type === "pass") clock.move(event.ms)
                else yield* open.splice(event.which % Math.max(1, open.length), 1)[0]?.end ?? Effect.void
                const begun = open.filter(({ permit }) => permit !== undefined)
                expect(begun.length).toBe(limiter.use.underway)
                expect(begun.length).toBeLessThanOrEqual(calls)
                expect(open.slice(0, begun.length)).toEqual(begun)
                expect(limiter.waiting).toBe(open.length - begun.length)
                // A waiting call waits for an end or for the clock.
                if (limiter.waiting > 0 && begun.length < calls) expect(clock.size).toBe(1)
              }
              for (const { end } of open.toReversed()) yield* end
              expect([limiter.use.underway, limiter.waiting, clock.size]).toEqual([0, 0, 0])
            })
          )
      )
    )
  })
})
