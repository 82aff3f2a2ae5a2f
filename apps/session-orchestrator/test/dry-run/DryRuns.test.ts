/** Tests dry runs for clients of the service. */
import { assert, describe, it } from "@effect/vitest"
import { DryRunGroup } from "@holdfast/wire/api"
import { Effect, Layer, Result, Schema } from "effect"
import { Config, type Values } from "../../src/config/Config.ts"
import * as DryRuns from "../../src/dry-run/DryRuns.ts"
import { configOf } from "./Beside.ts"

const config = configOf({ retry: {}, outages: [], turns: 0, gapMs: 0, spread: 0, isGated: true })

const run = (request: DryRunGroup.RunDryRun) =>
  Effect.flatMap(DryRuns.DryRuns, ({ run }) => run(request)).pipe(
    // It reads these parts alone.
    Effect.provide(DryRuns.layer.pipe(Layer.provide(Layer.succeed(Config, config as Values))))
  )

describe("POST /v1/dry-run", () => {
  it.live("X10: has the figures, the outages in words, what was assumed, and a picture on request", () =>
    Effect.gen(function* () {
      const answer = yield* run({ outages: ["529 for 2h"], turns: 30, picture: true })
      assert.deepInclude(answer.report, { turns: 30, answered: 30, failed: 0, waiting: 0 })
      assert.match(answer.outages[0] ?? "", /^Each turn meets a 529 \(overloaded\) for 2 h by the clock/)
      assert.isAbove(answer.assumptions.length, 0)
      assert.match(answer.svg ?? "", /^<svg /)
      const other = yield* run({ outages: ["529 for 2h"], turns: 30, retry: { profile: "interactive" } })
      assert.deepInclude(other.report, { answered: 0, failed: 30 })
      assert.deepInclude(other.report.failures[0], { because: "max-retries", reason: "overloaded", turns: 30 })
      assert.isUndefined(other.svg)
    })
  )

  it.live("a policy that never waits is ended after the most calls", () =>
    Effect.gen(function* () {
      const retry = { schedule: { type: "steps", delays: ["1 millis"] }, budget: "Infinity" }
      const { report } = yield* run({ outages: ["down"], hours: 168, retry })
      assert.deepInclude(report, { cut: "calls", waiting: 1, calls: DryRunGroup.MOST_CALLS })
    })
  )

  it.live("names what was wrong, where, and what was expected", () =>
    Effect.gen(function* () {
      const refusals: ReadonlyArray<readonly [Partial<DryRunGroup.RunDryRun>, string]> = [
        [{ outages: ["ok", "529"] }, "outages: there are two scripts for every endpoint."],
        [{ outages: ["529 fro 7h"] }, 'outages: "529 fro 7h", character 1: "529 fro 7h" is not valid. Expected phases'],
        [{ outages: ["four=529"] }, 'outages: no turn calls "four"; expected one of one, one/m.'],
        [
          { model: "four/m" },
          'model: expected "provider/model" with a provider of the configuration (one, two, three), got "four/m".'
        ],
        [{ retry: { budgt: "1 hour" } }, "retry.budgt"],
        [
          { retry: { routing: { type: "fallback-chain", chains: { default: ["four/m"] } } } },
          "retry.routing.chains.default"
        ]
      ]
      for (const [request, message] of refusals) {
        const refused = yield* Effect.flip(run({ outages: ["529"], ...request }))
        assert.include(refused.message, message)
      }
    })
  )

  it("is bounded by its schema", () => {
    const decode = Schema.decodeUnknownResult(DryRunGroup.RunDryRun)
    for (const wrong of [
      {},
      { outages: [] },
      { outages: [""] },
      { outages: Array.from({ length: 21 }, () => "ok") },
      { outages: ["x".repeat(1_001)] },
      { outages: ["ok"], turns: 1_001 },
      { outages: ["ok"], turns: 0 },
      { outages: ["ok"], hours: 169 },
      { outages: ["ok"], withinMs: -1 }
    ])
      assert.isTrue(Result.isFailure(decode(wrong)), JSON.stringify(wrong))
    assert.isTrue(Result.isSuccess(decode({ outages: ["ok"], turns: 1_000, hours: 168 })))
  })
})
