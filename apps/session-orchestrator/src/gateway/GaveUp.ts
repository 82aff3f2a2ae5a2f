/** Names the limit that ended a wait, for the program that waited: `budget 8 h, reset 2026-11-27T19:05Z`. */
import type { Directive } from "@holdfast/kernel"
import type { History } from "@holdfast/kernel/host"
import { Basis } from "@holdfast/policy"
import type { TurnEvent } from "@holdfast/wire"
import * as DurationText from "../base/text/DurationText.ts"

/** A person's order is no limit. */
export const BY_PERSON = "a person"

/** A question had no answer in time: then the failure that the wait was for is final. */
const UNANSWERED = "nobody answered"

const FINAL = "not retryable"

/** The limit by the last attempt of the turn, and when the provider's own limit ends. */
export const textOf = (
  { endedAt, error }: Pick<TurnEvent.TurnEnd, "endedAt" | "error">,
  last: Pick<History.Attempt, "decision" | "wait"> | undefined
): string => {
  const reset = error?.hint && new Date(endedAt + error.hint.retryAfterMs).toISOString().replace(/:\d\d\..*/u, "Z")
  const isUnanswered = last?.wait?.asks !== undefined && last.wait.end?.type === "elapsed"
  // Without a limit there is the order of a person, or an error that no decision is about.
  const isFinal = last?.decision?._tag !== "GiveUp" && error?.retryable === false
  return [
    isUnanswered ? UNANSWERED : isFinal ? FINAL : limitOf(last?.decision),
    ...(reset === undefined ? [] : [`reset ${reset}`])
  ].join(", ")
}

// --- internal

const limitOf = (decision: Directive.Directive | undefined): string => {
  if (decision?._tag !== "GiveUp") return BY_PERSON
  const basis = Basis.of(decision.basis)
  if (basis?._tag !== "Refused") return decision.because === "exhausted" ? "exhausted" : FINAL
  const { because, byReason, limits } = basis
  const { maxRetries, totalMs } = (byReason === true ? limits?.onReason : limits) ?? {}
  const values: Partial<Record<typeof because, string | undefined>> = {
    "max-retries": maxRetries?.toString(),
    "max-delay": limits?.maxDelayMs === undefined ? undefined : DurationText.setting(limits.maxDelayMs),
    budget: totalMs === undefined ? undefined : DurationText.setting(totalMs)
  }
  return [because, ...(values[because] === undefined ? [] : [values[because]])].join(" ")
}
