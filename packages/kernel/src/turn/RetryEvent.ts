/** Builds the `provider-retry` event of a wait, for the kernel and for hosts that show a parked turn. Pure. */
import { defined, Failure, type TurnEvent } from "@holdfast/wire"
import * as Equal from "effect/Equal"

/** The facts of a retry and its wait. */
export interface RetryFacts extends Pick<
  TurnEvent.ProviderRetry,
  "conversationId" | "turnId" | "attempt" | "delayMs" | "retryAt"
> {
  readonly failure: Failure.Failure
  /** `provider/model` of the attempt that failed. */
  readonly target: string
  /** The credential of the retry; absent: the provider's first. */
  readonly credential?: string | undefined
  /** The largest number of retries of a step; `undefined`: there is no limit. */
  readonly maxRetries: number | undefined
  /** The open question to a person (X11). */
  readonly asks: TurnEvent.Asks | undefined
}

/** The wait that was announced last in this life of a turn. */
export interface Announced {
  readonly step: number
  readonly event: TurnEvent.ProviderRetry
}

/** Whether a wait was announced, and clients still count to its end (D5). */
export const isAnnounced = (last: Announced | undefined, { event, step }: Announced): boolean =>
  last?.step === step &&
  last.event.attempt === event.attempt &&
  last.event.retryAt === event.retryAt &&
  Equal.equals(last.event.asks, event.asks)

/** Makes the event of a retry (D5). */
export const of = ({
  asks,
  attempt,
  conversationId,
  credential,
  delayMs,
  failure,
  maxRetries,
  retryAt,
  target,
  turnId
}: RetryFacts): TurnEvent.ProviderRetry => ({
  conversationId,
  turnId,
  type: "provider-retry",
  attempt,
  delayMs,
  retryAt,
  message: failure.message,
  reason: failure.reason,
  target,
  ...defined({ credential, code: Failure.codeOf(failure), maxAttempts: maxRetries, asks })
})
