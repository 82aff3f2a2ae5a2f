/** Makes the observations of a turn (`Observer`) from a record and the ledger before it. Pure. */
import type { TurnEvent } from "@holdfast/wire"
import * as Judging from "../internal/machine/Judging.ts"
import type { Ledger } from "../internal/machine/Ledger.ts"
import type { AttemptEnded, Listeners, Observations, ObservedEvent, ObservedStep } from "../ports/Observer.ts"
import type { ProviderRequest } from "../ports/Provider.ts"
import type { AttemptOutcome, TurnRecord } from "../records/Records.ts"

/** An observation, for `Observer.notify`. */
export type Observed = {
  readonly [Kind in keyof Observations]: { readonly kind: Kind; readonly observation: Observations[Kind] }
}[keyof Observations]

/** The facts of a command that its record lacks. Times are in epoch milliseconds. */
export interface Times {
  /** Absent: it was not begun in this life. */
  readonly startedAt: number | undefined
  readonly firstContentAt?: number | undefined
  /** The request of an attempt. */
  readonly request?: ProviderRequest | undefined
}

/** The observation of a record that was made in this life; `undefined`: there is none. `at` is in epoch milliseconds. */
export const ofRecord = (
  listeners: Listeners,
  before: Ledger,
  record: TurnRecord,
  times: Times & { readonly othersRunning: number },
  at: number
): Observed | undefined => {
  const { phase } = before
  const { startedAt } = times
  switch (record.kind) {
    case "Attempt":
      return listeners.attempt && ofAttempt(before, record.number, record.value, times)
    case "Compaction": {
      if (listeners.compaction === undefined || startedAt === undefined) return undefined
      const { number, value: outcome } = record
      return { kind: "compaction", observation: { ...stepOf(before), attempt: number, startedAt, outcome } }
    }
    case "Decision": {
      if (listeners.decision === undefined || phase._tag !== "Deciding") return undefined
      const { endedAt, failure, number } = phase.failedCall
      const about = { ...stepOf(before), attempt: number, retry: before.chain, startedAt, endedAt, failure }
      return { kind: "decision", observation: { ...about, directive: record.value, at } }
    }
    case "Wake": {
      if (listeners.wait === undefined || phase._tag !== "Waiting") return undefined
      const { delayMs, failedCall, retry, retryAt } = phase.wait
      const about = { retry: retry.attempt, failure: failedCall.failure, delayMs, retryAt, wake: record.value }
      return { kind: "wait", observation: { ...stepOf(before), ...about, at } }
    }
    case "Tool": {
      if (listeners.tool === undefined || phase._tag !== "Tools" || startedAt === undefined) return undefined
      const call = phase.round.calls[record.number]
      if (call === undefined) return undefined
      const { endedAt, isError } = record.value
      const isReport = Judging.isReport(before.turn.report, call)
      const refusal = isError ? Judging.refusalOf(call, phase.round.finishReason) : ("accepted" as const)
      const report = isReport ? refusal : undefined
      const { othersRunning } = times
      const about = { ...stepOf(before), call, startedAt, endedAt, isError, report, othersRunning }
      return { kind: "tool", observation: about }
    }
    default:
      return undefined
  }
}

/** The observation of an attempt, in the ledger before it. */
export const ofAttempt = (
  ledger: Ledger,
  attempt: number,
  outcome: AttemptEnded["outcome"],
  { firstContentAt, request, startedAt }: Times
): Observed => {
  const { chain, step, turn } = ledger
  const isManualRetry = turn.prompt === undefined && step.number === 0 && attempt === 0
  const report = outcome._tag === "Interrupted" ? undefined : reportIn(ledger, outcome)
  const about = { ...stepOf(ledger), attempt, retry: chain, isManualRetry, request, startedAt, firstContentAt }
  return { kind: "attempt", observation: { ...about, outcome, report } }
}

/** The observation of an event that was emitted. */
export const ofEvent = (ledger: Ledger, event: ObservedEvent["event"]): Observed => ({
  kind: "event",
  observation: { ...stepOf(ledger), event }
})

/** The observation of a recorded seal. */
export const ofSeal = (ledger: Ledger, end: TurnEvent.TurnEnd): Observed => {
  const { tally, turn } = ledger
  const about = { ...stepOf(ledger), startedAt: turn.startedAt, end, retryLoopMs: tally.retryLoopMs }
  return { kind: "seal", observation: about }
}

// --- internal

const stepOf = ({ routing, step, turn }: Ledger): ObservedStep => ({
  conversationId: turn.conversationId,
  turnId: turn.turnId,
  step: step.number,
  stepStartedAt: step.startedAt,
  target: routing.route.target
})

/** The result of a report in a rejected response, or of a report that is the whole text of a response. */
const reportIn = ({ turn }: Ledger, outcome: AttemptOutcome) => {
  if (outcome._tag === "Failed") return outcome.report
  if (outcome._tag === "Lost" || turn.report === undefined) return undefined
  return outcome.content.some((part) => part.type === "tool-call") ? undefined : "accepted"
}
