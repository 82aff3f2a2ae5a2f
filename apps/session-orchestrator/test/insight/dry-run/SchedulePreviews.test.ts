/** Tests the waits of a policy for clients, and that their settings are a configuration. */
import { assert, describe, it } from "@effect/vitest"
import { Preview, Profile, RetrySettings } from "@holdfast/policy"
import { Effect, Result } from "effect"
import * as fc from "fast-check"
import type { InvalidRequest } from "../../../src/engine/conversation/Conversations.ts"
import * as DryRuns from "../../../src/insight/dry-run/DryRuns.ts"
import { configOf, plain } from "./Beside.ts"
import * as It from "../../It.ts"
import * as Law from "../../Law.ts"

const config = configOf({ ...plain, isGated: true })

const duration = fc
  .tuple(fc.integer({ min: 1, max: 90 }), fc.constantFrom("millis", "seconds", "minutes", "hours", "days"))
  .map(([n, unit]) => `${n} ${unit}`)

const settings = fc.record(
  {
    profile: fc.constantFrom("overnight", "interactive", "cycling"),
    enabled: fc.boolean(),
    maxRetries: fc.nat(40),
    budget: fc.oneof(duration, fc.constant("Infinity"), fc.record({ total: duration, clip: fc.boolean() })),
    maxDelay: fc.oneof(duration, fc.constantFrom("0 seconds", "Infinity")),
    jitter: fc.constantFrom("none", { factor: 0.5 }),
    midStream: fc.constantFrom("fail", "discard", "unseen"),
    schedule: fc.oneof(
      fc.record({ type: fc.constant("steps"), delays: fc.array(duration, { minLength: 1, maxLength: 4 }) }),
      fc.record({ type: fc.constant("exponential"), base: duration }),
      fc.record({ type: fc.constant("linear"), base: duration, increment: duration })
    ),
    reasons: fc.record({ overloaded: fc.record({ maxRetries: fc.nat(9), budget: duration }) }),
    routing: fc.constant({ type: "fallback-chain", chains: { default: ["two/m"] } })
  },
  { requiredKeys: [] }
)

describe("POST /v1/schedule", () => {
  it("rule X10: the settings in force are a configuration that the service reads, to the same policy", () =>
    Law.holdsWith({ numRuns: Number(process.env["HOLDFAST_MODEL_RUNS"] ?? 200) }, [settings], (retry) => {
      const read = Result.getOrThrow(RetrySettings.decode(retry))
      const again = Result.getOrThrow(RetrySettings.decode(DryRuns.written(read)))
      assert.deepStrictEqual(Profile.resolve(again), Profile.resolve(read))
    }))

  it("writes each duration in its largest unit", () => {
    const retry = (budget: string, maxDelay: string, base: string) => ({
      budget,
      maxDelay,
      schedule: { type: "linear", base }
    })
    const read = RetrySettings.decode(retry("480 minutes", "90 seconds", "3600000 millis"))
    assert.deepStrictEqual(DryRuns.written(Result.getOrThrow(read)), retry("8 hours", "90 seconds", "1 hour"))
  })

  It.effect("rule X10: has the waits of the service, with the settings over the configuration's", function* () {
    const present = DryRuns.scheduleOf(config)
    assert.deepInclude(present, { profile: "overnight", retry: {}, isWhole: true, kinds: [] })
    assert.strictEqual(present.rows.length, 21)
    assert.deepInclude(present.settings, { name: "budget", value: "8 h" })
    const chains = { routing: { type: "fallback-chain", chains: { default: ["two/m"] } } }
    const tried = yield* DryRuns.tried(config, { retry: { profile: "interactive", maxRetries: 5, ...chains } })
    const changed = DryRuns.scheduleOf(tried)
    assert.deepStrictEqual(changed.retry, { profile: "interactive", maxRetries: 5, ...chains })
    const rows = changed.rows.map((row, attempt) => ({ attempt, ...row }))
    assert.deepStrictEqual(rows, Preview.rows(Profile.resolve(tried.retry)).rows)
    assert.match(changed.conclusion, /^5 retries, .* Then the turn fails/)
    const targets = changed.kinds.flatMap(({ steps }) => steps.map(({ target }) => target))
    assert.include(targets, "two/m")
  })

  It.effect("names every faulty setting with its key", function* () {
    const retry = { budget: "8 hrs", schedule: { type: "steps", delays: ["5 seconds", "soon"] }, maxRetries: "x" }
    const { faults = [] }: InvalidRequest = yield* Effect.flip(DryRuns.tried(config, { retry }, ["against"]))
    const paths = faults.map(({ path }) => path).toSorted()
    const expected = ["budget", "maxRetries", "schedule.delays[1]"].map((path) => `against.retry.${path}`)
    assert.deepStrictEqual(paths, expected)
    assert.include(faults.find(({ path }) => path.endsWith("budget"))?.message, 'Did you mean "8 hours"?')
    const both = yield* Effect.flip(DryRuns.tried(config, { model: "nowhere/m", retry: { maxRetries: "x" } }))
    assert.match(both.message, /^model: expected .*nowhere.* retry\.maxRetries: /s)
    assert.strictEqual(both.faults?.map(({ path }) => path).join(), "model,retry.maxRetries")
  })
})
