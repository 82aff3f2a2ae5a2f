/**
 * Reads one recorded decision: its numbers, and the rules that made it.
 *
 * Data that the record lacks is not guessed: a strategy that recorded no basis has decisions without numbers. The rule that decided comes
 * first; the others qualify it. tools/src/RuleBook.ts lists them.
 */
import { type Directive, RetryStrategy, type Route } from "@holdfast/kernel"
import { Basis } from "@holdfast/policy"
import { defined, Failure, Target, type TurnExplanation } from "@holdfast/wire"

/** A decision without its words. */
export type DecisionAccount = Omit<TurnExplanation.ExplainedRetry, "words"> | Omit<TurnExplanation.GaveUp, "words">

/** A decision about a failure with its numbers, without its words. */
export const of = (directive: Directive.Directive, failure: Failure.Failure): DecisionAccount => {
  const basis = Basis.of(directive.basis)
  return directive._tag === "Retry" ? retried(directive, failure, basis) : gaveUp(directive, failure, basis)
}

// --- internal

const retried = (
  directive: Extract<Directive.Directive, { readonly _tag: "Retry" }>,
  failure: Failure.Failure,
  basis: Basis.Basis | undefined
): DecisionAccount => {
  const { attempt, delayMs, midStream, resumes, retryAt, route } = directive
  const decided = {
    type: "retry" as const,
    retry: attempt,
    decidedAt: RetryStrategy.sinceOf(directive),
    delayMs,
    retryAt,
    ...(route && { ...route, target: Target.format(route.target) }),
    ...defined({ midStream })
  }
  const voids = midStream === undefined ? [] : ["X7"]
  if (resumes === true) return { ...decided, resumes, rules: [...voids, "X5", "D2"] }
  if (basis?._tag === "AtOnce") return { ...decided, ...spendingsOf(basis), rules: [...voids, ...atOnceRules(basis)] }
  const may = [...voids, ...(route === undefined ? mayRetry(failure) : mayGo(route, basis?.routing))]
  if (basis?._tag !== "Delay") return { ...decided, rules: may }
  const { clipped = false, hintMs, isEarlier, jitterMs = 0, scheduledMs } = basis
  return {
    ...decided,
    // A provider's own delay that replaced a longer schedule is visible in the wait itself (rule A6).
    ...(isReplaced(basis) ? undefined : { scheduledMs, ...defined({ hintMs, isEarlier }) }),
    ...defined({ jitterMs: jitterMs > 0 ? jitterMs : undefined, clipped: clipped ? clipped : undefined }),
    ...spendingsOf(basis),
    rules: [...may, ...waitRules(basis)]
  }
}

/** Why a retry was allowed. */
const mayRetry = (failure: Failure.Failure): ReadonlyArray<string> => {
  if (Failure.isOfSpendLimit(failure)) return ["X11"]
  const { defect, reason } = failure
  if (defect === true) return ["C10"]
  if (reason === "aborted") return ["M3"]
  return reason === "quota-exhausted" ? ["C2"] : ["D3"]
}

type Delay = Extract<Basis.Basis, { readonly _tag: "Delay" }>

const isReplaced = ({ byReason, clipped, delayMs, hintMs, jitterMs = 0, scheduledMs }: Delay): boolean =>
  byReason === true && clipped !== true && hintMs === delayMs - jitterMs && hintMs < scheduledMs

type AtOnce = Extract<Basis.Basis, { readonly _tag: "AtOnce" }>

/** Why there is no wait. */
const atOnceRules = ({ because, routing }: AtOnce): ReadonlyArray<string> => {
  if (because === "other-credential") return ["P7"]
  return routing === "fallback-chain" ? ["P8"] : [because === "same-target" ? "A3" : "A4"]
}

/** Why a retry was allowed to use its target. */
const mayGo = (
  { credential, role }: Route.Route,
  routing: Basis.Basis["routing"] | undefined
): ReadonlyArray<string> => {
  if (role !== undefined || (credential === undefined && routing === "fallback-chain")) return ["P8"]
  return credential === undefined ? ["A4"] : ["P7"]
}

/** The rules that gave the wait its length. */
const waitRules = (basis: Delay): ReadonlyArray<string> => {
  const { byReason, clipped = false, hintMs = 0, jitterMs = 0, limits, scheduledMs } = basis
  const schedule = limits === undefined ? [] : byReason === true ? ["X11"] : scheduleRules[limits.schedule]
  const wait = hintMs > scheduledMs && byReason !== true ? ["P5"] : schedule
  return Array.from(new Set([...wait, ...(jitterMs > 0 ? ["P5"] : []), ...(clipped ? ["D1"] : [])]))
}

/** No rule demands a schedule that grows by the same amount each time. */
const scheduleRules = { steps: ["D1"], exponential: ["P4"], linear: [] }

const gaveUp = (
  directive: Extract<Directive.Directive, { readonly _tag: "GiveUp" }>,
  failure: Failure.Failure,
  basis: Basis.Basis | undefined
): DecisionAccount => {
  const refused = basis?._tag === "Refused" ? basis : undefined
  // A policy that would have waited, and was not asked, had been switched off: older records contain no more than that.
  const refusal = basis === undefined ? "exhausted" : (refused?.because ?? "switched-off")
  const because = directive.because === "exhausted" ? refusal : directive.because
  const byReason = refused?.byReason === true
  const limits = basis?.limits
  const midStream = directive.midStream ?? (because === "after-content" ? ("fail" as const) : undefined)
  const mostRetries = (byReason ? limits?.onReason : limits)?.maxRetries
  return {
    type: "gave-up",
    because,
    ...defined({
      midStream,
      refusedMs: refused?.delayMs,
      limit: because === "max-retries" ? mostRetries : because === "max-delay" ? limits?.maxDelayMs : undefined,
      byReason: byReason ? (true as const) : undefined
    }),
    ...(basis && spendingsOf(basis)),
    rules: GAVE_UP[because]({ failure, midStream, byReason, isByClock: limits?.measure === "wall-clock" })
  }
}

interface Refusal {
  readonly failure: Failure.Failure
  readonly midStream: TurnExplanation.GaveUp["midStream"]
  readonly byReason: boolean
  readonly isByClock: boolean
}

/** The rules of each cause. */
const GAVE_UP: { readonly [B in TurnExplanation.GaveUpBecause]: (refusal: Refusal) => ReadonlyArray<string> } = {
  "after-content": ({ midStream }) => (midStream === "fail" ? ["D4"] : ["D4", "X7"]),
  "not-retryable": ({ failure }) => {
    if (Failure.isOfSpendLimit(failure)) return ["X11"]
    return failure.reason === "quota-exhausted" ? ["D3", "C2"] : ["D3"]
  },
  "context-overflow": () => ["P2"],
  defect: () => ["C10"],
  "no-strategy": () => ["D9"],
  disabled: () => ["P3"],
  "switched-off": () => ["P15"],
  "max-retries": ({ byReason }) => [byReason ? "X11" : "P3", "D7"],
  "max-delay": () => ["P6"],
  budget: ({ byReason, isByClock }) => [byReason ? "X11" : "D1", ...(isByClock ? ["D2"] : []), "D7"],
  exhausted: () => ["D7"]
}

const spendingsOf = ({ limits, spent }: Basis.Basis): Pick<TurnExplanation.ExplainedRetry, "spending" | "onReason"> => {
  if (limits === undefined) return {}
  const { extendedMs = 0, onReason } = spent
  const spendingOf = (
    { elapsedMs, sleptMs }: { readonly elapsedMs: number; readonly sleptMs: number },
    totalMs: number | undefined
  ): TurnExplanation.ExplainedSpending => ({
    measure: limits.measure,
    spentMs: limits.measure === "scheduled" ? sleptMs : elapsedMs,
    ...defined({
      totalMs: totalMs === undefined ? undefined : totalMs + extendedMs,
      extendedMs: extendedMs > 0 ? extendedMs : undefined
    })
  })
  return {
    spending: spendingOf(spent, limits.totalMs),
    ...defined({ onReason: onReason === undefined ? undefined : spendingOf(onReason, limits.onReason?.totalMs) })
  }
}
