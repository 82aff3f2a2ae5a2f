/**
 * The decision: from what is known of a failure to its reason and to whether another attempt makes sense.
 *
 * V1. Overflow comes first, whatever its wording or status, and is never retried (P2): it goes to compaction.
 * V2. Then a typed code, then what typed details imply, then the provider's fixed wordings where the status is too
 *     broad, then the status, then a vague code, then P1's text.
 * V3. A spent quota is waited for when its reset is named, and not otherwise (C2).
 * V4. `x-should-retry` overrides what status and code say about retrying, but never V1.
 */
import type { Failure } from "@holdfast/wire"
import * as Codes from "./Codes.ts"
import * as Status from "./Status.ts"
import * as Wording from "./Wording.ts"

/** Everything a decision may look at. */
export interface Evidence {
  readonly status: number | undefined
  readonly codes: ReadonlyArray<string>
  /** The provider's own words (C4). */
  readonly texts: ReadonlyArray<string>
  readonly implied?: Failure.Reason | undefined
}

export interface Verdict {
  readonly reason: Failure.Reason
  /** The code that decided, or else the first one that came. */
  readonly code: string | undefined
}

/** The reason, or `undefined` where nothing says anything. */
export const decide = (evidence: Evidence): Verdict | undefined => {
  const { implied, status, texts } = evidence
  // Nothing that is too long is answered with 429.
  const codes = status === 429 ? evidence.codes.filter((code) => !Codes.countsTokens(code)) : evidence.codes
  const found = Codes.strongest(codes)
  const code = found?.code ?? codes[0]
  const known = found?.verdict
  const of = (reason: Failure.Reason): Verdict => ({ reason, code })

  const wording = narrowest(texts)
  const typed = known?.weight === "exact" ? known.reason : undefined
  // Who has to pay is told so by the status, whatever a gateway calls its upstream's error (C2).
  const exact = status === 402 && typed === "server-error" ? undefined : typed
  // V1. An exact code for something else wins over the wording, but never over 413.
  if (status === 413 || exact === "context-overflow" || (exact === undefined && wording === "context-overflow")) {
    return of("context-overflow")
  }
  // V2
  if (exact !== undefined) return of(exact)
  if (implied !== undefined) return of(implied)
  if (known?.weight === "family") return of(wording === "quota-exhausted" ? wording : known.reason)
  if (wording !== undefined && isBroad(status, texts)) return of(wording)
  const byStatus = Status.reasonOf(status)
  if (byStatus !== undefined) return of(byStatus)
  if (known !== undefined) return of(known.reason)
  const passing = texts.map(Wording.transient).find((reason) => reason !== undefined)
  return passing === undefined ? undefined : of(passing)
}

/** Whether a failure of this reason is worth another attempt when nothing else is known. */
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
    case "quota-exhausted": // V3: see `Classification`, which knows the hint
    case "auth":
    case "context-overflow": // V1
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
