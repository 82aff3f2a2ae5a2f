/** Generates steps over policies, standings and failures, with the inputs of each decision. */
import type { Directive, Router } from "@holdfast/kernel"
import { Spending } from "@holdfast/kernel/host"
import { Failure, type Target } from "@holdfast/wire"
import type { Schema } from "effect"
import * as fc from "fast-check"
import {
  Backoff,
  Profile,
  type RetryPolicy,
  Routes,
  type Routing,
  Standing,
  WaitRules,
  type Budget
} from "../../src/index.ts"
import { HOUR, MINUTE, SECOND, START, target } from "./RoutedStep.ts"

/** Two of one provider, so that they share its credentials. */
const NAMES = ["a/one", "a/two", "b/one", "c/one"]
const targets = fc.uniqueArray(fc.constantFrom(...NAMES), { maxLength: 4 }).map((names) => names.map(target))

export const chain: fc.Arbitrary<Routing.FallbackChain> = fc.record({
  type: fc.constant("fallback-chain"),
  chains: fc.dictionary(fc.constantFrom("default", ...NAMES), targets, { noNullPrototype: true }),
  revert: fc.constantFrom("cooldown-expiry", "never"),
  cooldownMs: fc.constantFrom(1, SECOND, 5 * MINUTE, 2 * HOUR)
})

export const robin: fc.Arbitrary<Routing.RoundRobin> = fc.record({ type: fc.constant("round-robin"), targets })

const schedule = fc.constantFrom<Backoff.Schedule>(
  Backoff.overnight,
  Backoff.interactive,
  Backoff.linear(1_000, 1_000),
  Backoff.steps([10 * MINUTE])
)

export const policyWith = (routing: fc.Arbitrary<Routing.Routing>): fc.Arbitrary<RetryPolicy.RetryPolicy> =>
  fc.record(
    {
      enabled: fc.constant(true),
      schedule,
      reasons: fc.constantFrom<Budget.ReasonRules>({}, WaitRules.cycling, {
        ...WaitRules.cycling,
        network: { budget: { totalMs: MINUTE } },
        "rate-limited": { maxRetries: 4 }
      }),
      jitter: fc.constantFrom({ factor: 0 }, { factor: 0.5 }),
      counts: fc.constantFrom("retries", "attempts"),
      budget: fc.oneof(
        fc.constant({ measure: "scheduled" as const, clip: false }),
        fc.record({
          totalMs: fc.constantFrom(MINUTE, 8 * HOUR),
          measure: fc.constantFrom("scheduled", "wall-clock"),
          clip: fc.boolean()
        })
      ),
      hints: fc.boolean(),
      requestTimeout: fc.constant(Profile.profiles.overnight.requestTimeout),
      routing,
      maxRetries: fc.nat(12),
      maxDelayMs: fc.constantFrom(0, 5 * MINUTE, 9 * HOUR)
    },
    {
      requiredKeys: [
        "enabled",
        "schedule",
        "reasons",
        "jitter",
        "counts",
        "budget",
        "hints",
        "requestTimeout",
        "routing"
      ]
    }
  )

/** All failures except those that the kernel decides itself. */
export const failure: fc.Arbitrary<Failure.Failure> = fc.record(
  {
    reason: fc.constantFrom(...Failure.Reason.literals.filter((reason) => reason !== "context-overflow")),
    message: fc.constant("generated"),
    retryable: fc.boolean(),
    status: fc.constantFrom(200, 401, 429, 500, 529),
    hint: fc.record({ retryAfterMs: fc.constantFrom(1, SECOND, MINUTE, 7 * HOUR), source: fc.constant("retry-after") }),
    scope: fc.constantFrom(...Failure.Scope.literals)
  },
  { requiredKeys: ["reason", "message", "retryable"] }
)

const pause: fc.Arbitrary<Standing.Pause> = fc
  .tuple(
    fc.integer({ min: -1, max: 9 * HOUR }),
    fc.constantFrom(...Failure.Reason.literals),
    fc.boolean(),
    fc.boolean()
  )
  .map(([inMs, reason, retryable, isAsked]) => ({
    until: START + inMs,
    reason,
    retryable,
    since: START - 1,
    ...(isAsked ? { askedUntil: START + inMs } : {})
  }))
const entry: fc.Arbitrary<Standing.Entry> = fc.record({ pauses: pause.map((pause) => [pause]) })
const entries = (...names: ReadonlyArray<string>) =>
  fc.dictionary(fc.constantFrom(...names), entry, { maxKeys: 2, noNullPrototype: true })

const standing: fc.Arbitrary<Standing.Standing> = fc.record({
  targets: entries(...NAMES),
  credentials: entries("a/K1", "a/K2", "b/K1"),
  accounts: entries("a/K1", "b/K1"),
  models: entries("a/K1/one", "a/K2/one", "a/K1/two", "b/K1/one")
})

interface FailedStep {
  readonly failure: Failure.Failure
  readonly tookMs: number
  /** The response was complete, and was rejected (A9). */
  readonly whole?: true
}

const failed: fc.Arbitrary<FailedStep> = fc
  .tuple(failure, fc.constantFrom(0, SECOND, 10 * MINUTE), fc.nat(9))
  .map(([failure, tookMs, kind]) => {
    if (kind === 0) return { failure: { ...failure, defect: true }, tookMs }
    return kind === 1
      ? { failure: { ...failure, reason: "invalid-response", retryable: true }, tookMs, whole: true }
      : { failure, tookMs }
  })

/** The surroundings and the events of a step. */
export interface Story {
  readonly policy: RetryPolicy.RetryPolicy
  readonly primary: Target.Target
  readonly credentials: Routes.Known["credentials"]
  readonly models: Routes.Known["models"]
  readonly standing: Standing.Standing
  readonly failures: ReadonlyArray<FailedStep>
}

export const story = (routing: fc.Arbitrary<Routing.Routing>): fc.Arbitrary<Story> =>
  fc.record({
    policy: policyWith(routing),
    primary: fc.constantFrom(...NAMES).map(target),
    credentials: fc.constantFrom<Routes.Known["credentials"]>({}, { a: ["K1"] }, { a: ["K1", "K2", "K3"], b: ["K1"] }),
    models: fc.constantFrom<Routes.Known["models"]>({}, { "b/one": { tools: false }, "c/one": { contextWindow: 10 } }),
    standing,
    failures: fc.array(failed, { maxLength: 25, size: "max" })
  })

/** One decision and its inputs. */
export interface Decided {
  readonly failure: Failure.Failure
  readonly question: Router.Question
  readonly situation: Directive.Situation
  readonly known: Routes.Known
  readonly answer: Routes.RouteDecision
  /** Includes the findings of the decision. */
  readonly after: Standing.Standing
  /** The route of the next attempt; that of this one if there is none. */
  readonly to: Router.Beginning["route"]
}

/** Runs a story until the step ends or its failures are over. `stored` encodes and decodes the state between decisions. */
export const tell = (
  story: Story,
  stored: <A extends Schema.Json | Standing.Standing>(value: A) => A = (value) => value
): ReadonlyArray<Decided> => {
  const { credentials, failures, models, policy, primary } = story
  const request = { system: undefined, messages: [], tools: [{ name: "t", inputSchema: {} }] }
  let standing = story.standing
  let now = START
  let question: Router.Question = { primary, current: undefined, state: undefined, request }
  const known = (): Routes.Known => ({ standing, credentials, models, countTokens: () => 100 })
  question = { ...question, current: Routes.begin(policy, question, known(), now).route }
  const decided: Array<Decided> = []
  let spending = Spending.none
  for (const { failure, tookMs, ...rest } of failures) {
    now += tookMs
    spending = Spending.fail(spending, failure, now)
    const spent = Spending.spentAt(spending, failure, now, 0.5)
    const situation = { failure, ...rest, contentSeen: false, retries: decided.length, defects: 0, spent, now }
    const before = known()
    const answer = Routes.direct(policy, situation, question, before)
    standing = stored(Standing.merge(standing, answer.changes))
    const { directive } = answer
    const to = (directive._tag === "Retry" ? directive.route : undefined) ?? question.current ?? { target: primary }
    decided.push({ failure, question, situation, known: before, answer, after: standing, to })
    if (directive._tag === "GiveUp") break
    spending = Spending.retry(spending, failure, directive.delayMs)
    now += directive.delayMs
    const state = directive.state ?? question.state
    question = { ...question, current: to, state: state === undefined ? undefined : stored(state) }
  }
  return decided
}
