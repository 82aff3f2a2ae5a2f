/** Generates nights: outages, policies and turns. */
import type { Allowance, RetrySettings } from "@holdfast/policy"
import { Duration } from "effect"
import * as fc from "fast-check"
import { type Account, dry, type Night } from "./Beside.ts"

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

const length = fc.oneof(
  fc.integer({ min: 1, max: 90 }).map((n) => `${n}s`),
  fc.integer({ min: 1, max: 90 }).map((n) => `${n}m`),
  fc.integer({ min: 1, max: 9 }).map((n) => `${n}h`)
)
const outcome = fc.constantFrom(
  ...`
    529 429 503 500 reset html cut error-in-stream 429;retry-after=7 429;retry-after=900 quota ok down auth
    bad-request cut-after-3 stall refuse too-long
  `
    .trim()
    .split(/\s+/)
)
const clocked = fc.tuple(outcome, length).map(([what, length]) => {
  const [head, ...params] = what.split(";")
  return [`${head} for ${length}`, ...params].join(";")
})
const counted = fc
  .tuple(fc.constantFrom("529", "429", "reset"), fc.integer({ min: 2, max: 30 }))
  .map(([what, times]) => `${what}x${times}`)
const phase = fc.oneof({ arbitrary: outcome, weight: 2 }, { arbitrary: clocked, weight: 5 }, counted)

const delivery = fc.constantFrom("instant", "delay-40ms", "instant+first-token-2s", "delay-100ms+tokens-50")
const scriptOf = (phase: fc.Arbitrary<string>) =>
  fc
    .tuple(fc.array(phase, { minLength: 1, maxLength: 4 }), delivery)
    .map(([phases, delivery]) => `${phases.join(",")}+${delivery}`)

const outagesOf = (script: fc.Arbitrary<string>) =>
  fc.oneof(
    script.map((all) => [all]),
    fc.tuple(script, script).map(([all, two]) => [all, `two=${two}`]),
    fc.tuple(script, script, script).map(([one, two, three]) => [`one/m=${one}`, `two=${two}`, `three/x=${three}`])
  )

const schedule: fc.Arbitrary<RetrySettings.RetrySettings> = fc.constantFrom(
  {},
  { budget: { total: Duration.hours(2), clip: true } },
  { measure: "wall-clock", budget: Duration.hours(5) },
  { jitter: { factor: 0.5 } },
  { maxRetries: 4 },
  { enabled: false },
  { maxDelay: Duration.minutes(10) },
  { hints: false },
  { reasons: { "rate-limited": { maxRetries: 2 } } },
  { schedule: { type: "steps", delays: [Duration.zero, Duration.seconds(3), Duration.zero, Duration.minutes(6)] } }
)

const routing: fc.Arbitrary<RetrySettings.RetrySettings> = fc.constantFrom(
  {},
  {},
  { routing: { type: "fallback-chain", chains: { default: ["two/x"] } } },
  { routing: { type: "fallback-chain", chains: { default: ["two/x", "three/x"] }, cooldown: Duration.minutes(20) } },
  { routing: { type: "round-robin", targets: ["one/m", "two/x", "three/x"] } }
)

const retry = (routing: fc.Arbitrary<RetrySettings.RetrySettings>) =>
  fc
    .tuple(fc.constantFrom("overnight", "interactive", "cycling"), schedule, routing)
    .map(([profile, schedule, routing]): RetrySettings.RetrySettings => ({ profile, ...schedule, ...routing }))

/** A night, with gates or without. */
export const night = (isGated: boolean): fc.Arbitrary<Night> => anyNight(isGated).map(withoutCoincidence)

/**
 * A night whose turns share routes, credentials, gates and the limits of providers.
 *
 * Of turns that act in the same millisecond, the event loop decides which is first: the service has no one order of them, so they are left
 * out.
 */
export const sharedNight = (): fc.Arbitrary<Night> =>
  fc
    .record({
      night: fc.boolean().chain(anyNight),
      routing,
      keys: fc.constantFrom(["a"], ["a", "b"], ["a", "b", "c"]),
      allowance: fc.constantFrom<Allowance.Allowance | undefined>(
        undefined,
        { calls: 1 },
        { calls: 2 },
        { requestsPerMinute: 3 },
        { requestsPerMinute: 20, calls: 3 },
        { tokensPerMinute: 400 }
      )
    })
    .map(({ night, routing, ...shared }): Night => ({ ...night, ...shared, retry: { ...night.retry, ...routing } }))
    .filter((night) => isApart(dry(night)))

/** A night with limits of spending, which the tokens of its answers reach. */
export const limitedNight = (): fc.Arbitrary<Night> =>
  fc
    .record({
      night: night(false),
      spend: fc.array(
        fc.record({
          per: fc.constantFrom("day" as const, "conversation" as const, "turn" as const),
          tokens: fc.constantFrom(0, 1, 60, 150, 400),
          then: fc.constantFrom("ask" as const, "fail" as const),
          answerWithin: fc.constantFrom(Duration.hours(1), Duration.minutes(20))
        }),
        { minLength: 1, maxLength: 2 }
      )
    })
    .map(({ night, spend }) => ({ ...night, spend }))

// --- internal

/** A shared pause makes routed turns due in the same millisecond, and what the first of them finds changes where the next one goes. */
const withoutCoincidence = (night: Night): Night => (night.retry.routing === undefined ? night : { ...night, turns: 1 })

/** Whether no two turns act in the same millisecond. */
const isApart = (accounts: ReadonlyArray<Account>): boolean => {
  const moments = accounts.map((account) => new Set(account.flatMap((line) => / at (\d+)$/.exec(line)?.[1] ?? [])))
  return (
    new Set(moments.flatMap((times) => Array.from(times))).size === moments.reduce((sum, { size }) => sum + size, 0)
  )
}

const anyNight = (isGated: boolean): fc.Arbitrary<Night> =>
  fc.record({
    // At a gate turns act on each other within a millisecond, in an order that is the event loop's: there, the endpoint answers all turns
    // alike, and no pause of a target makes turns due together.
    retry: retry(isGated ? fc.constant({}) : routing),
    outages: outagesOf(scriptOf(isGated ? clocked : phase)),
    turns: fc.integer({ min: 1, max: 8 }),
    gapMs: fc.constantFrom(1, 137, 5_003, 61_001, 2 * HOUR + 7),
    spread: fc.double({ min: 0, max: 0.999, noNaN: true }),
    isGated: fc.constant(isGated)
  })
