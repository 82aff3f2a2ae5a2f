import { describe, expect, it } from "@effect/vitest"
import { Effect, Metric } from "effect"
import { TestClock } from "effect/testing"
import { CallCounts, RecentCalls } from "../../src/engine/gate/RecentCalls.ts"
import * as LimitGauges from "../../src/gateway/LimitGauges.ts"

describe("the metric of a limit", () => {
  it.effect("is 0 again when the limit has begun anew, though no answer says so", () =>
    Effect.gen(function* () {
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
    }).pipe(
      Effect.scoped,
      Effect.provideServiceEffect(
        Metric.MetricRegistry,
        Effect.sync(() => new Map())
      )
    )
  )
})
