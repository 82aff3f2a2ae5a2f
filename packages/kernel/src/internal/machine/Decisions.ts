/**
 * Applies decisions about failures, and the ends of waits, to the ledger.
 *
 * - The order is: decision, `provider-retry`, sleep, route (D5). A retry that goes elsewhere at once has a `provider-retry`
 *   too, because it opens a chain that has to be closed (P11); it has no sleep.
 * - Counters belong to the step: they are 0 again for the next step, however this one ended (P10).
 * - The end of a wait is absolute. A turn that runs again sleeps the rest of it.
 * - A turn counts how long each wait really took, from its records; a wait without an end in the records lasts until the seal.
 * - An early attempt by the gate (X5) counts neither a retry nor sleep if it fails before the end of the wait that it
 *   interrupted: that wait continues, or what has passed of it counts for the wait that takes its place. If it fails later, it is the attempt
 *   at that end.
 */
import type { Failure } from "@holdfast/wire"
import { Millis, type TurnEvent } from "@holdfast/wire"
import * as Directives from "../../turn/Directive.ts"
import type { Directive, Wake } from "../../records/Records.ts"
import { endsWait, isEarly, sinceOf, waitedMs } from "../../ports/RetryStrategy.ts"
import * as RetryEvent from "../../turn/RetryEvent.ts"
import * as Spending from "../../turn/Spending.ts"
import * as LastStep from "./LastStep.ts"
import type { Ledger, Phase, Retry, FailedCall, Wait } from "./Ledger.ts"
import * as Responses from "./Responses.ts"
import * as RouteChanges from "./RouteChanges.ts"
import { Batch, calling, closeRetryLoop, entering, responseOf, spend, stepOf, targetNameOf } from "./Batch.ts"

/** The `finalError` of a turn whose retries a person cancelled (P11). */
export const CANCELLED = "Retry cancelled"

/** Returns the step's spending including a failure, and its number of bugs. */
export const counting = ({ step }: Ledger, { endedAt, failure }: FailedCall) => {
  const { interrupted } = step
  const isDue = interrupted !== undefined && endedAt >= interrupted.retryAt
  const spending = isDue
    ? Spending.retry(step.spending, interrupted, interrupted.retry.delayMs) // X5: it is the attempt at that end
    : step.spending
  return {
    sleptMs: isDue ? interrupted.retry.delayMs : 0,
    spending: Spending.fail(spending, failure, endedAt),
    defects: failure.defect === true ? step.defects + 1 : step.defects
  }
}

/** Applies a decision. */
export const decided = (ledger: Ledger, failedCall: FailedCall, directive: Directive): Ledger => {
  const { failure, last, whole } = failedCall
  const { step, tally } = ledger
  const { interrupted } = step
  const { defects, sleptMs, spending } = counting(ledger, failedCall)
  const counted: Ledger = {
    ...ledger,
    step: {
      ...step,
      spending,
      defects,
      interrupted: undefined,
      heldMs: 0,
      failingSince: step.failingSince ?? failedCall.endedAt
    },
    tally: { ...tally, sleptMs: tally.sleptMs + sleptMs }
  }
  if (directive._tag === "GiveUp") {
    const { because } = directive
    const ending: Ledger =
      because === "after-content" ? { ...counted, step: { ...counted.step, midStream: "fail" } } : counted
    return giveUp(ending, failedCall, { failure, isExhausted: because === "exhausted" })
  }
  const { midStream } = directive
  const mended =
    midStream !== undefined
      ? Responses.discard(counted, failedCall, midStream)
      : whole && last !== undefined
        ? Responses.guide(counted, last)
        : counted
  const left = midStream !== undefined ? emptied(failedCall) : whole ? { ...failedCall, last: undefined } : failedCall
  if (interrupted !== undefined && directive.resumes === true) {
    const resumed = { ...mended, step: { ...mended.step, spending: step.spending } } // X5: it counts nothing
    return waiting(resumed, waitOf(left, directive, interrupted.reason))
  }
  const retrying: Ledger = { ...mended, chain: spending.retries }
  if (!Directives.isImmediate(directive)) return waiting(retrying, waitOf(left, directive))
  const event = retryEvent(retrying, waitOf(left, directive))
  const moving = { ...retrying, step: { ...retrying.step, spending: Spending.retry(spending, failure, 0) } }
  return goOn({ ...moving, outbox: [...moving.outbox, { _tag: "Live", event }] }, left, directive)
}

/** Applies the end or the change of a wait. */
export const woken = (ledger: Ledger, wait: Wait, wake: Wake): Ledger => {
  const at = wake.at ?? wait.retryAt
  const wakes = [...wait.wakes, wake]
  if (!endsWait(wake)) return waiting(ledger, changed({ ...wait, wakes }, wake, at))
  const { extendedMs, retry, failedCall } = wait
  const tookMs = waitedMs(retry, wakes, at)
  const { step, tally } = ledger
  const heldMs = wake.type === "elapsed" ? (wake.heldMs ?? 0) : 0
  const over: Ledger = {
    ...ledger,
    step: { ...step, heldMs, spending: Spending.extend(step.spending, extendedMs) },
    tally: { ...tally, waitedMs: tally.waitedMs + tookMs }
  }
  switch (wake.type) {
    case "cancelled":
      return giveUp(over, failedCall, { failure: failedCall.failure, finalError: CANCELLED })
    case "switched":
      return next(RouteChanges.choose(slept(over, wait, answered, undefined), wake.target), failedCall)
    case "elapsed":
      if (wait.asks !== undefined && wait.asks.goesOn !== true) {
        return giveUp(over, failedCall, { failure: unanswered(wait, wait.asks, at) })
      }
      break
    default:
      break
  }
  const isAnswered = !isOfItself(wake) || wait.askedAt !== undefined
  const since: SinceCommand = isAnswered ? answered : { waitedMs: step.waitedMs + tookMs, voids: step.voids }
  const woken = isEarly(wake)
    ? { ...over, step: { ...over.step, ...since, interrupted: wait } }
    : slept(over, wait, since, retry.state)
  return goOn(woken, failedCall, retry)
}

/** Whether the next attempt is due without a command of a person. */
export const isOfItself = (wake: Wake): boolean => wake.type === "elapsed" || isEarly(wake)

/**
 * Ends the turn, or begins one last step that offers the report alone (A14). There is no such step after outages, nor after that step
 * itself.
 */
const giveUp = (
  ledger: Ledger,
  { last }: FailedCall,
  {
    failure,
    finalError = failure.message,
    isExhausted = false
  }: { readonly failure: Failure.Failure; readonly finalError?: string; readonly isExhausted?: boolean }
): Ledger => {
  const { isFinal, turn } = ledger
  const counted = { ...ledger, tally: spend(ledger.tally, last?.usage) }
  const isReportOwed = turn.report !== undefined && !isFinal && isExhausted && failure.reason === "invalid-response"
  if (last === undefined || !isReportOwed) {
    return { ...counted, phase: { _tag: "Ending", outcome: { status: "failed", failure, finalError, last } } }
  }
  const said = new Batch(closeRetryLoop(counted, last.endedAt))
    .closeChain({ success: false, finalError })
    .add((ledger) => responseOf(ledger, last, last.endedAt, failure))
    .done()
  return {
    ...said,
    last: LastStep.exhausted(ledger),
    step: stepOf(ledger.step.number + 1, last.endedAt),
    phase: entering
  }
}

/** Makes the event of a retry: emitted before its sleep (D5), and again when the end of the sleep is moved. */
export const retryEvent = (
  ledger: Ledger,
  { asks, delayMs, retry, retryAt, failedCall }: Wait
): TurnEvent.ProviderRetry => {
  const { attempt, route } = retry
  const { failure } = failedCall
  return RetryEvent.of({
    ...ledger.turn,
    maxRetries: ledger.turn.maxRetries,
    attempt,
    delayMs,
    retryAt,
    failure,
    target: targetNameOf(ledger),
    credential: route?.credential,
    asks
  })
}

// --- internal

const waitOf = (failedCall: FailedCall, retry: Retry, reason = failedCall.failure.reason): Wait => ({
  failedCall,
  retry,
  reason,
  retryAt: retry.retryAt,
  delayMs: Math.max(0, retry.retryAt - sinceOf(retry)), // a wait that continues may be over by then (X5)
  asks: undefined,
  askedAt: undefined,
  extendedMs: 0,
  wakes: []
})

const waiting = (ledger: Ledger, wait: Wait): Ledger => ({ ...ledger, phase: { _tag: "Waiting", wait } })

/** Changes a wait that continues. */
const changed = (wait: Wait, wake: Wake, at: number): Wait => {
  const since = sinceOf(wait.retry)
  const until = (retryAt: number) => ({ retryAt, delayMs: Math.max(0, retryAt - since) })
  switch (wake.type) {
    case "until":
      return { ...wait, ...until(wake.until), asks: undefined } // it answers the question, if there was one
    case "asked":
      return { ...wait, ...until(wake.until), asks: wake.asks, askedAt: at }
    case "extended":
      return { ...wait, extendedMs: wait.extendedMs + wake.byMs }
    default:
      return wait
  }
}

/** A failed call whose content is void (X7): it is in no message, and its usage was counted. */
const emptied = (failedCall: FailedCall): FailedCall => {
  if (failedCall.last === undefined) return failedCall
  const { usage: _, ...last } = failedCall.last
  return { ...failedCall, last: { ...last, content: [] } }
}

/** The counts of a step since a person's last command. */
type SinceCommand = Pick<Ledger["step"], "waitedMs" | "voids">

/** A person has just sent a command. */
const answered: SinceCommand = { waitedMs: 0, voids: 0 }

/** Counts a wait that has ended. */
const slept = (ledger: Ledger, wait: Wait, since: SinceCommand, state: Ledger["step"]["state"]): Ledger => {
  const { retry } = wait
  const { step, tally } = ledger
  const spending = Spending.retry(step.spending, wait, retry.delayMs)
  return {
    ...ledger,
    step: { ...step, spending, ...since, state },
    tally: { ...tally, sleptMs: tally.sleptMs + retry.delayMs }
  }
}

/** Begins the next call, on the route of the decision. */
const goOn = (ledger: Ledger, failedCall: FailedCall, { route, state }: Retry): Ledger => {
  const stated = { ...ledger, step: { ...ledger.step, state } }
  return next(route === undefined ? stated : RouteChanges.take(stated, route), failedCall)
}

const next = (ledger: Ledger, { attempt, last, number, of }: FailedCall): Ledger => {
  const phase: Phase =
    of === "compaction" && last !== undefined
      ? { _tag: "Compacting", number: number + 1, tooLong: last, attempt }
      : calling(number + 1)
  return { ...ledger, phase }
}

/** The failure of a turn whose question was not answered: the question, the time for an answer, and the failure that the turn waited for. */
const unanswered = ({ askedAt, failedCall }: Wait, asks: TurnEvent.Asks, at: number): Failure.Failure => {
  const { message, reason } = failedCall.failure
  const within = Millis.format(at - (askedAt ?? at))
  const last = message === asks.message ? "" : ` The last error was: ${message}`
  return {
    reason,
    message: `${asks.message} Nobody answered within ${within}.${last}`,
    retryable: false
  }
}
