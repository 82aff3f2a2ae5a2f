import { assert, describe, it } from "@effect/vitest"
import { Commands, Ids } from "@holdfast/wire"
import { Effect, Layer, Metric } from "effect"
import { Conversations } from "../../../../src/engine/conversation/Conversations.ts"
import * as ServiceMetrics from "../../../../src/ops/telemetry/metrics/ServiceMetrics.ts"
import { waits, withService } from "../../../engine/conversation/ConversationSetup.ts"
import { ScriptedProvider } from "@holdfast/kernel/testing"

it.effect("a request is open until its answer ends, and is counted by its status then", () =>
  Effect.gen(function* () {
    const shown = Effect.map(Metric.snapshot, (all) => {
      const some = all.filter(({ attributes: { status = "201" } = {} }) => status === "201")
      return some.map(({ id, state }) => `${id} ${JSON.stringify(state)}`).toSorted()
    })
    const open = (value: number) => `holdfast_http_requests_open {"value":${value}}`
    const count = yield* ServiceMetrics.requestCount
    assert.deepStrictEqual(yield* shown, [open(0)])
    const during = Effect.map(shown, (seen) => ({ status: 201, seen }))
    assert.deepStrictEqual((yield* count("PUT", during)).seen, [open(1)])
    const answered = 'holdfast_http_requests_total {"count":1,"incremental":true}'
    assert.deepStrictEqual(yield* shown, [open(0), answered])
  }).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
)

describe("commands that are counted", () => {
  it.effect("rule X4: affect only the turn that they name", () =>
    withService(
      { scripts: [ScriptedProvider.emits(ScriptedProvider.overloaded)], retry: waits(3_600) },
      function* ({ conversations }) {
        const counted = yield* Effect.provide(
          Conversations,
          ServiceMetrics.layerCommands.pipe(Layer.provide(Layer.succeed(Conversations, conversations)))
        )
        const conversationId = yield* counted.create({})
        const turnId = yield* counted.prompt(conversationId, { prompt: "Hi" })
        const other = Ids.TurnId.make("other")
        assert.isFalse(yield* counted.abort(conversationId, other))
        assert.isFalse(yield* counted.steer({ type: "retry-now", conversationId }, "a test", other))
        assert.isTrue(yield* counted.abort(conversationId, turnId))
        const series = (yield* Metric.snapshot).filter(({ id }) => id === "holdfast_commands_total")
        assert.lengthOf(series, 3 * Commands.names().length)
        const counts = series.map(({ attributes: { command, outcome } = {}, state }) =>
          [command, outcome, "count" in state && state.count, "incremental" in state && state.incremental].join(" ")
        )
        const some = counts.filter((one) => !one.endsWith(" 0 true"))
        const once = ["prompt done", "abort done", "abort idle", "retry-now idle"].map((of) => `${of} 1 true`)
        assert.deepStrictEqual(some, once)
      }
    ).pipe(Effect.provideService(Metric.MetricRegistry, new Map()))
  )
})
