import type { Health } from "@holdfast/wire"
import * as fc from "fast-check"
import { expect, it } from "vitest"
import * as Endpoints from "../../src/health/Endpoints.ts"

const noCalls = { calls: 0, failed: 0, parts: { calls: [], failed: [] } }

const endpoint = (target: string, state: Health.EndpointState): Health.EndpointReport => ({
  target,
  state,
  pauses: [],
  lastHour: noCalls
})

it("endpoints that need a look come first, and alike ones stay in their order", () => {
  const endpoints = [
    endpoint("a", "idle"),
    endpoint("b", "answering"),
    endpoint("c", "failing"),
    endpoint("d", "paused"),
    endpoint("e", "failing"),
    endpoint("f", "recovering")
  ]
  expect(Endpoints.ordered(endpoints).map(({ target }) => target)).toEqual(["c", "e", "d", "f", "b", "a"])
  expect(Endpoints.summary(endpoints)).toBe("2 failing, 1 paused, 1 recovering, 1 answering, 1 not called lately")
})

it("the bars of an hour add up to its calls, and none is higher than the picture", () => {
  const part = fc.record({ calls: fc.nat(1_000), failed: fc.nat(1_000) })
  fc.assert(
    fc.property(fc.array(part, { minLength: 12, maxLength: 12 }), (parts) => {
      const calls = parts.map(({ calls }) => calls)
      const bars = Endpoints.barsOf({ parts: { calls, failed: parts.map(({ failed }) => failed) } })
      expect(bars.map((bar) => bar.calls)).toEqual(calls)
      for (const { answeredHeight, calls, failed, failedHeight } of bars) {
        expect(failed).toBeLessThanOrEqual(calls)
        expect(answeredHeight).toBeGreaterThanOrEqual(0)
        expect(answeredHeight + failedHeight).toBeLessThanOrEqual(1 + 1e-9)
        expect(answeredHeight + failedHeight === 0).toBe(calls === 0)
      }
    })
  )
})

it("a pause has passed from its beginning to its end, whatever the clock says", () => {
  fc.assert(
    fc.property(fc.nat(1_000), fc.nat(1_000), fc.nat(3_000), (since, length, now) => {
      const passed = Endpoints.passedOf({ since, until: since + length }, now)
      if (length === 0) expect(passed).toBeUndefined()
      else expect(passed).toBe(now <= since ? 0 : now >= since + length ? 1 : (now - since) / length)
    })
  )
  expect(Endpoints.passedOf({ until: 5 }, 1)).toBeUndefined()
})

it("a limit is used up to its whole", () => {
  expect([Endpoints.usedOf({ used: 3, limit: 4 }), Endpoints.usedOf({ used: 9, limit: 4 })]).toEqual([0.75, 1])
  expect(Endpoints.usedOf({ used: 0, limit: 0 })).toBe(1)
})

it("pauses say what is paused", () => {
  const words = (["target", "model", "credential", "account"] as const).map((of) =>
    Endpoints.pausedOf({ of, reason: of === "model" ? "rate-limited" : "quota-exhausted" })
  )
  expect(words).toEqual([
    "The model cools down",
    "This model is limited for this key",
    "The quota of this key is used up",
    "The quota of this key is used up for every model"
  ])
  expect(Endpoints.callsInWords({ calls: 1, failed: 0 })).toBe("1 call, 0 failed")
  expect(Endpoints.callsInWords({ calls: 0, failed: 0 })).toBe("0 calls")
})
