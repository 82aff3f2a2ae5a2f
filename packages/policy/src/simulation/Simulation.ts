/**
 * Simulates one step of a policy against a described outage.
 *
 * It returns the calls with their routes, and the outcome, by the functions that decide for real turns. Cases that those functions do not
 * decide are not simulated: failures after content, contexts that are too long, bugs, and people.
 *
 * `Preview` lists by it what a policy does after each kind of failure. It has one step and no gates, unlike the service's dry runs.
 */
import type { Directive, Route, Router } from "@holdfast/kernel"
import { Spending } from "@holdfast/kernel/host"
import type { Failure, Target } from "@holdfast/wire"
import * as Basis from "../decision/Basis.ts"
import type { RetryPolicy } from "../decision/RetryPolicy.ts"
import type { Models } from "../routing/Models.ts"
import * as Prospect from "../routing/Prospect.ts"
import * as Standing from "../routing/Standing.ts"
import * as Routes from "../routing/Routes.ts"

/** Returns the failure of a call; `undefined`: it succeeds. `at` is in milliseconds from the beginning; `n` counts calls from 0. */
export type OutagePlan = (route: Route.Route, at: number, n: number) => Failure.Failure | undefined

/** A step, its policy and an outage. */
export interface Scenario {
  readonly policy: RetryPolicy
  readonly primary: Target.Target
  readonly outage: OutagePlan
  /** Absent: every provider has one and needs no name for it. */
  readonly credentials?: Routes.Known["credentials"]
  /** Absent: every target supports every request. */
  readonly models?: Models
  /** The pauses known at the beginning. Absent: none. */
  readonly standing?: Standing.Standing
  /** How long an attempt takes until it fails, in milliseconds. Absent: no time. */
  readonly attemptMs?: number
  /** The limit of calls of an endless simulation. Absent: `MOST_CALLS`. */
  readonly mostCalls?: number
}

/** One simulated call. */
interface Call {
  /** Milliseconds from the beginning. */
  readonly at: number
  readonly route: Route.Route
  /** Absent: it was answered. */
  readonly failure?: Failure.Failure
  /** The decision about the failure. */
  readonly directive?: Directive.Directive
}

/** The result of a simulated step. */
export interface SimulatedRun {
  /** `endless`: it was stopped after `mostCalls`. */
  readonly outcome: "answered" | "failed" | "endless"
  /** Why it failed: the limit, or that the failure cannot pass. */
  readonly because?: string
  readonly calls: ReadonlyArray<Call>
  /** The total sleep, in milliseconds. */
  readonly sleptMs: number
  /** Milliseconds from the beginning. */
  readonly endedAt: number
  /** The standing at the end. */
  readonly standing: Standing.Standing
}

/** The default limit of calls: more are not useful to read. */
const MOST_CALLS = 1_000

/** Simulates a step to its end. */
export const run = (scenario: Scenario): SimulatedRun => {
  const { attemptMs = 0, credentials = {}, models = {}, mostCalls = MOST_CALLS, outage, policy, primary } = scenario
  let standing = scenario.standing ?? Standing.empty
  const known = (): Routes.Known => ({ standing, credentials, models, countTokens: () => 0 })
  const request = { system: undefined, messages: [], tools: [] }

  const unbegun = { primary, current: undefined, state: undefined, request }
  let { route, state }: Router.Beginning = Routes.begin(policy, unbegun, known(), 0)
  const calls: Array<Call> = []
  let now = 0
  let sleptMs = 0
  let spending = Spending.none
  while (calls.length < mostCalls) {
    const failure = outage(route, now, calls.length)
    const at = now
    now += attemptMs
    const ended = { calls, sleptMs, endedAt: now }
    if (failure === undefined) {
      calls.push({ at, route })
      const after = Standing.merge(standing, Prospect.cleared(known(), route, at))
      return { outcome: "answered", ...ended, standing: after }
    }
    const { retries } = spending
    spending = Spending.fail(spending, failure, now)
    const spent = Spending.spentAt(spending, failure, now, 0)
    const situation = { failure, contentSeen: false, retries, defects: 0, spent, now }
    const { changes, directive } = Routes.direct(
      policy,
      situation,
      { primary, current: route, state, request },
      known()
    )
    standing = Standing.merge(standing, changes)
    calls.push({ at, route, failure, directive })
    if (directive._tag === "GiveUp") return { outcome: "failed", because: becauseOf(directive), ...ended, standing }
    spending = Spending.retry(spending, failure, directive.delayMs)
    now += directive.delayMs
    sleptMs += directive.delayMs
    route = directive.route ?? route
    state = directive.state ?? state
  }
  return { outcome: "endless", calls, sleptMs, endedAt: now, standing }
}

// --- internal

const becauseOf = (directive: Extract<Directive.Directive, { readonly _tag: "GiveUp" }>): string => {
  const basis = Basis.of(directive.basis)
  if (basis?._tag !== "Refused") return directive.because
  return basis.byReason === true ? `${basis.because} of its reason` : basis.because
}
