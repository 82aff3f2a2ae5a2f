import { expect, it } from "@effect/vitest"
import { Effect, Layer, Metric } from "effect"
import { TestClock } from "effect/testing"
import { CallCounts, RecentCalls } from "../../src/engine/gate/RecentCalls.ts"
import * as LimitGauges from "../../src/gateway/LimitGauges.ts"
import * as It from "../It.ts"

It.within(Layer.sync(Metric.MetricRegistry, () => new Map()))(
  "the metric of a limit is 0 again when the limit has begun anew, though no answer says so",
  function* () {
    const telemetry = { notifications: undefined, otlp: undefined, retryLog: undefined }
    const take = yield* LimitGauges.make({ telemetry }, (text) => text).pipe(
      Effect.provideService(RecentCalls, new CallCounts(0))
    )
    take("anthropic~client", () => "client a", {
      "anthropic-ratelimit-unified-5h-utilization": "0.93",
      "anthropic-ratelimit-unified-5h-reset": "3600"
    })
    const shown = Effect.map(Metric.snapshot, (metrics) =>
      metrics.flatMap(({ id, state }) => (id === "holdfast_limit_used_ratio" ? [state] : []))
    )
    expect(yield* shown).toMatchObject([{ value: 0.93 }])
    yield* TestClock.adjust("59 minutes")
    expect(yield* shown).toMatchObject([{ value: 0.93 }])
    yield* TestClock.adjust("2 minutes")
    expect(yield* shown).toMatchObject([{ value: 0 }])
  }
)

it("the notice of a limit names it, its share and when it begins anew; its id rounds that to ten minutes", () => {
  const window = { provider: "anthropic", credential: "a", name: "5h", used: 0.959, at: 0 }
  const notice = { ...window, type: "limit-near", at: "1970-01-01T00:00:00.000Z" }
  const [resetAt, text] = [7_500_000, "95 % of the limit 5h of anthropic (a) is used"]
  const anew = `${text}; it begins anew in 2 h 5 m, at 1970-01-01T02:05:00.000Z.`
  expect([{ ...window, resetAt }, window].map((window) => LimitGauges.bodyOf({ level: 0.8, window }))).toEqual([
    { ...notice, resetAt, id: "limit/anthropic/a/5h/13/0.8", text: anew },
    { ...notice, id: "limit/anthropic/a/5h/0/0.8", text: `${text}.` }
  ])
})
