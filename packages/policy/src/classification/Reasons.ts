/**
 * Decides the reason of a failure, and whether a retry makes sense.
 *
 * In this order: overflow, for any wording or status, which goes to compaction and is never retried (P2); a typed code; the reason in
 * typed details; the provider's fixed wordings if the status is too broad; the status; a vague code; P1's text. `x-should-retry`
 * overrides the `retryable` of status and code, but never of an overflow.
 *
 * A used-up quota is retryable only if its reset is named (C2). A "usage limit" without a typed code takes the next key like a quota
 * (P7), and is retried like a rate limit where there is none (P1).
 */
import type { Failure } from "@holdfast/wire"
import * as Codes from "./Codes.ts"
import * as Status from "./Status.ts"
import * as Wording from "./Wording.ts"

/** Everything that a decision may read. */
export interface Evidence {
  readonly status: number | undefined
  readonly codes: ReadonlyArray<string>
  /** The provider's own texts (C4). */
  readonly texts: ReadonlyArray<string>
  readonly implied?: Failure.Reason | undefined
}

/** The reason of a failure, and whether it is retryable. */
export interface Classified {
  readonly reason: Failure.Reason
  /** The code that decided, or else the first one. */
  readonly code: string | undefined
  /** A limit of usage that is named in words alone may pass without a named reset (P1), unless the status is final. */
  readonly mayPass?: boolean
}

/** Returns the reason; `undefined`: nothing in the evidence decides. */
export const decide = (evidence: Evidence): Classified | undefined => {
  const { implied, status, texts } = evidence
  // A request that is too long never gets 429.
  const codes = status === 429 ? evidence.codes.filter((code) => !Codes.countsTokens(code)) : evidence.codes
  const found = Codes.strongest(codes)
  const code = found?.code ?? codes[0]
  const known = found?.classified
  const of = (reason: Failure.Reason): Classified => ({ reason, code })

  const wording = narrowest(texts)
  const exact = known?.weight === "exact" ? known.reason : undefined
  // An exact code for another reason outweighs the wording, but never 413.
  if (status === 413 || exact === "context-overflow" || (exact === undefined && wording === "context-overflow")) {
    return of("context-overflow")
  }
  if (exact !== undefined) return of(exact)
  if (implied !== undefined) return of(implied)
  const byStatus = Status.reasonOf(status)
  const usageLimit: Classified = {
    reason: "quota-exhausted",
    code,
    mayPass: byStatus === undefined || isRetryable(byStatus)
  }
  const isUsageLimit = texts.some(Wording.isUsageLimit)
  if (known?.weight === "family") {
    return wording === "quota-exhausted" ? of(wording) : isUsageLimit ? usageLimit : of(known.reason)
  }
  if (wording !== undefined && isBroad(status, texts)) return of(wording)
  if (isUsageLimit && isBroad(status, texts)) return usageLimit
  if (byStatus !== undefined) return of(byStatus)
  if (known !== undefined) return of(known.reason)
  const passing = texts.map(Wording.transient).find((reason) => reason !== undefined)
  return passing === undefined ? undefined : of(passing)
}

/** Whether a failure of this reason is retryable by default. */
export const isRetryable = (reason: Failure.Reason): boolean => {
  switch (reason) {
    case "rate-limited":
    case "overloaded":
    case "server-error":
    case "network":
    case "timeout":
    case "invalid-response":
    case "aborted": // M3
    case "unknown": // D3
      return true
    case "quota-exhausted": // See `Classification`, which has the hint
    case "auth":
    case "context-overflow":
    case "refused":
    case "model-unavailable":
    case "bad-request":
      return false
    default:
      return reason satisfies never
  }
}

// --- internal

const narrowest = (texts: ReadonlyArray<string>): Failure.Reason | undefined => {
  const reasons = texts.map(Wording.narrow).filter((reason) => reason !== undefined)
  return reasons.includes("context-overflow") ? "context-overflow" : reasons[0]
}

/** Statuses that providers use for many things; and no status, or success. */
const isBroad = (status: number | undefined, texts: ReadonlyArray<string>): boolean =>
  status === undefined ||
  Status.isSuccess(status) ||
  [400, 403, 404, 410, 412, 422, 429].includes(status) ||
  (status === 500 && texts.some(Wording.isUnpaid))
