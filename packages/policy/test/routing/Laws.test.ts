import { describe, expect, it } from "@effect/vitest"
import { Directive } from "@holdfast/kernel"
import { Target } from "@holdfast/wire"
import { Schema } from "effect"
import * as fc from "fast-check"
import { Basis, Budget, RetryPolicy, RetryStrategies, Routes, Standing, WaitRules } from "../../src/index.ts"
import { chain, type Decided, policyWith, robin, type Story, story, tell } from "./Generated.ts"

const law = (title: string, of: fc.Arbitrary<Story>, check: (story: Story) => void): void =>
  it(title, () => {
    fc.assert(fc.property(of, check), { numRuns: 1_000 })
  })

const any = story(fc.oneof(chain, robin))
const chained = story(chain)
const turned = story(robin)

const retryOf = ({ answer: { directive } }: Decided) => (directive._tag === "Retry" ? directive : undefined)

/** A retry without a wait, by decision and not by a delay of 0 in the schedule. */
const isAtOnce = (one: Decided): boolean => {
  const basis = retryOf(one)?.basis
  return basis !== undefined && Schema.decodeUnknownSync(Basis.Basis)(basis)._tag === "AtOnce"
}

/** The decisions between two waits; a wait ends its round. */
const rounds = (decided: ReadonlyArray<Decided>): ReadonlyArray<ReadonlyArray<Decided>> => {
  const rounds: Array<Array<Decided>> = [[]]
  for (const one of decided) {
    rounds.at(-1)?.push(one)
    if (!isAtOnce(one)) rounds.push([])
  }
  return rounds
}

const name = ({ target }: { readonly target: Target.Target }): string => Target.format(target)

/** An independent definition: the target has no pause, and a credential is left. */
const isFree = (target: Target.Target, standing: Standing.Standing, known: Routes.Known, now: number): boolean => {
  const names = known.credentials[target.provider] ?? []
  const isUp = (entry: Standing.Entry = { pauses: [] }) => entry.pauses.every(({ until }) => until <= now)
  return (
    isUp(standing.targets[Target.format(target)]) &&
    (names.length === 0 || names.some((name) => isCallable(target, name, standing, now)))
  )
}

/** Whether a model has no pause with a credential; the used-up quota of another model is none (C12). */
const isCallable = (target: Target.Target, name: string, standing: Standing.Standing, now: number): boolean => {
  const isUp = (entry: Standing.Entry = { pauses: [] }) => entry.pauses.every(({ until }) => until <= now)
  return (
    isUp(standing.accounts[`${target.provider}/${name}`]) &&
    isUp(standing.models[`${target.provider}/${name}/${target.model}`])
  )
}

/** The targets of a story's chain for its primary, without those that its request does not fit. */
const orderOf = ({ models, policy, primary }: Story): ReadonlyArray<Target.Target> => {
  const { routing } = policy
  if (routing.type === "round-robin") return []
  const standIns = routing.chains[Target.format(primary)] ?? routing.chains["default"] ?? []
  const fitting = standIns.filter((target) => models[Target.format(target)] === undefined)
  return [primary, ...fitting.filter((target) => Target.format(target) !== Target.format(primary))]
}

describe("every routing", () => {
  law("rule A15, A2, P3: the cap of attempts is never exceeded, for any failures", any, (story) => {
    const most = RetryPolicy.mostRetries(story.policy) ?? Infinity
    expect(tell(story).filter((one) => retryOf(one) !== undefined).length).toBeLessThanOrEqual(most)
  })

  law("rule A15: delays are finite, never negative, and end at `retryAt`", any, (story) => {
    for (const one of tell(story)) {
      const retry = retryOf(one)
      if (retry === undefined) continue
      expect(Number.isFinite(retry.delayMs)).toBe(true)
      expect(retry.delayMs).toBeGreaterThanOrEqual(0)
      expect(retry.retryAt).toBe(one.situation.now + retry.delayMs)
      expect(retry.attempt).toBe(one.situation.retries)
    }
  })

  law("rule D1, P6: no budget is exceeded and no cap, by switching or otherwise", any, (story) => {
    const { budget, maxDelayMs = 0 } = story.policy
    for (const one of tell(story)) {
      const delayMs = retryOf(one)?.delayMs
      if (delayMs === undefined) continue
      expect(delayMs).toBeLessThanOrEqual(Budget.remainingMs(budget, one.situation.spent))
      if (maxDelayMs > 0) expect(delayMs).toBeLessThanOrEqual(maxDelayMs)
    }
  })

  law("rule A15, X1: a step that goes through JSON between decisions decides the same", any, (story) => {
    const decisions = (decided: ReadonlyArray<Decided>) => decided.map(({ answer, to }) => ({ answer, to }))
    expect(decisions(tell(story, (value) => JSON.parse(JSON.stringify(value))))).toEqual(decisions(tell(story)))
  })

  law(
    "rule X1: a decision whose record was lost after its findings were stored is made again unchanged",
    any,
    (story) => {
      for (const { after, answer, known, question, situation } of tell(story)) {
        const again = Routes.direct(story.policy, situation, question, { ...known, standing: after })
        const bare = ({ directive }: Routes.RouteDecision) => ({ ...directive, basis: undefined })
        expect(bare(again)).toEqual(bare(answer))
        expect(Standing.merge(after, again.changes)).toEqual(after)
      }
    }
  )

  law("rule X9: the record is a directive, and its basis can be read again", any, (story) => {
    for (const { answer } of tell(story)) {
      const recorded = Schema.decodeUnknownSync(Schema.fromJsonString(Directive.Directive))(
        JSON.stringify(answer.directive)
      )
      expect(recorded).toEqual(answer.directive)
      if (recorded.basis !== undefined) Schema.decodeUnknownSync(Basis.Basis)(recorded.basis)
    }
  })

  law("rule A15: without a limit of retries a wait comes at the latest when every target was tried", any, (story) => {
    if (story.policy.maxRetries !== undefined) return
    const most = 4 + 4 * Object.values(story.credentials).flat().length
    for (const round of rounds(tell(story))) expect(round.length).toBeLessThanOrEqual(most + 1)
  })
})

describe("fallback chains", () => {
  law(
    "rule A15, P8: between two waits no target is reached twice, except with another credential",
    chained,
    (story) => {
      for (const round of rounds(tell(story))) {
        const reached = round
          .filter(isAtOnce)
          .filter(({ question, to }) => question.current !== undefined && name(to) !== name(question.current))
          .map(({ to }) => name(to))
        expect(new Set(reached).size).toBe(reached.length)
      }
    }
  )

  law(
    "rule A15, P7, P8: there is no sleep while a free target or credential is left that was not tried",
    chained,
    (story) => {
      const order = orderOf(story)
      for (const round of rounds(tell(story))) {
        const had = new Set<string>()
        for (const { after, known, question, situation, answer } of round) {
          const here = question.current ?? { target: story.primary }
          had.add(name(here))
          if (answer.directive._tag === "GiveUp" || answer.directive.delayMs === 0 || isOwnFault(situation)) continue
          const left = order.filter(
            (target) => !had.has(Target.format(target)) && isFree(target, after, known, situation.now)
          )
          expect(left).toEqual([])
        }
      }
    }
  )

  law(
    "rule A15, P7, P8: a switch does not go to a cooling or limited target while another is free",
    chained,
    (story) => {
      for (const { after, known, question, situation, to } of tell(story).filter(isAtOnce)) {
        const names = known.credentials[to.target.provider] ?? []
        const credential = to.credential ?? names[0]
        const isElsewhere = question.current !== undefined && name(to) !== name(question.current)
        if (isElsewhere) expect(isFree(to.target, after, known, situation.now)).toBe(true)
        const isUp = (name: string) => isCallable(to.target, name, after, situation.now)
        if (credential !== undefined && names.some(isUp)) expect(isUp(credential)).toBe(true)
      }
    }
  )

  law(
    "rule A15, P5: a wait is never shorter than the schedule, nor ends before the target's hint",
    chained,
    (story) => {
      if (story.policy.budget.clip) return
      for (const one of tell(story)) {
        const retry = retryOf(one)
        if (retry === undefined || retry.delayMs === 0) continue
        const { after, failure, known, situation, to } = one
        const { hint: _, ...unasked } = failure
        const least = WaitRules.of(story.policy, situation.retries, unasked)
        const rule = story.policy.reasons[failure.reason]
        if (rule?.hint !== "replace") expect(retry.delayMs).toBeGreaterThanOrEqual(least.ms)
        if (!story.policy.hints || rule !== undefined || isOwnFault(situation)) continue
        const credential = to.credential ?? known.credentials[to.target.provider]?.[0]
        const { model, provider } = to.target
        const entries = [
          after.targets[Target.format(to.target)],
          ...(credential === undefined
            ? []
            : [after.accounts[`${provider}/${credential}`], after.models[`${provider}/${credential}/${model}`]])
        ]
        for (const { askedUntil = 0 } of entries.flatMap((entry) => entry?.pauses ?? []))
          expect(retry.retryAt).toBeGreaterThanOrEqual(askedUntil)
      }
    }
  )

  law("rule P9: a step begins on a free target if there is one, the primary before others", chained, (story) => {
    const { policy, primary, standing } = story
    const known = { ...story, countTokens: () => 100 }
    const free = orderOf(story).filter((target) => isFree(target, standing, known, 1_790_000_000_000))
    const request = { system: undefined, messages: [], tools: [{ name: "t", inputSchema: {} }] }
    const question = { primary, current: undefined, state: undefined, request }
    const { route } = Routes.begin(policy, question, known, 1_790_000_000_000)
    if (free.length > 0) expect(Target.format(free[0] ?? primary)).toBe(name(route))
    expect(route.role === undefined).toBe(name(route) === Target.format(primary))
  })

  it("rule P3, D3: with one target, one credential and no known pauses it decides like the policy alone", () => {
    const alone = policyWith(fc.constant({ type: "fallback-chain", chains: {}, revert: "never", cooldownMs: 1 }))
    const lonely = fc.tuple(story(chain), alone, fc.constantFrom<Story["credentials"]>({}, { a: ["K1"] }))
    fc.assert(
      fc.property(lonely, ([story, policy, credentials]) => {
        for (const { answer, situation } of tell({ ...story, policy, credentials, standing: Standing.empty })) {
          const strategy = RetryStrategies.make(policy, () => {
            throw new Error("this test does not sleep")
          })
          expect(answer.directive).toEqual(Directive.decide(situation, strategy))
          expect(answer.changes.targets).toEqual({})
        }
      }),
      { numRuns: 1_000 }
    )
  })
})

describe("a failure that no target caused", () => {
  law("rule A9, C10, P8: has no findings about a target, and causes no switch", chained, (story) => {
    for (const { answer, question, situation, to } of tell(story)) {
      if (!isOwnFault(situation)) continue
      expect(answer.changes).toEqual(Standing.empty)
      expect(to).toEqual(question.current)
    }
  })
})

describe("round-robin", () => {
  law("rule A15, A4: every target is reached before any is reached twice by skipping", turned, (story) => {
    const moves = tell(story).flatMap(({ question, to }) =>
      question.current === undefined || name(question.current) === name(to) ? [] : [{ from: question.current, to }]
    )
    const { routing } = story.policy
    if (routing.type !== "round-robin") return
    const all = new Set([story.primary, ...routing.targets].map((target) => Target.format(target)))
    const fitting = [...all].filter(
      (target) => target === Target.format(story.primary) || story.models[target] === undefined
    )
    for (const [at, { from }] of moves.entries()) {
      const cycle = [name(from), ...moves.slice(at, at + fitting.length - 1).map(({ to }) => name(to))]
      expect(new Set(cycle).size).toBe(cycle.length)
    }
  })

  law(
    "rule A15, A5: there is no sleep for a rate limit while a target of the cycle is not limited, and no sleep shorter than the longest",
    turned,
    (story) => {
      const { policy } = story
      const isLimited = policy.maxRetries !== undefined
      if (!isLimited || policy.routing.type !== "round-robin" || policy.budget.clip) return
      const all = [story.primary, ...policy.routing.targets].map((target) => Target.format(target))
      const fitting = all.filter(
        (target) => target === Target.format(story.primary) || story.models[target] === undefined
      )
      let limited = new Set<string>()
      let longestMs = 0
      for (const one of tell(story)) {
        const { failure, question, situation } = one
        if (failure.reason !== "rate-limited") continue
        limited.add(name(question.current ?? { target: story.primary }))
        longestMs = Math.max(longestMs, WaitRules.of(policy, situation.retries, failure).ms)
        const retry = retryOf(one)
        if (retry === undefined) continue
        const isAll = fitting.every((target) => limited.has(target))
        if (!isAll) expect(retry.delayMs).toBe(0)
        if (!isAll) continue
        expect(retry.delayMs).toBeGreaterThanOrEqual(longestMs)
        limited = new Set()
        longestMs = 0
      }
    }
  )
})

/** A failure that no other route can help. */
const isOwnFault = ({ failure: { defect, reason, retryable }, whole }: Directive.Situation): boolean =>
  defect === true ||
  whole === true ||
  reason === "bad-request" ||
  reason === "refused" ||
  (reason === "aborted" && !retryable)
