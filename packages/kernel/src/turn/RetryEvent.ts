/** Builds the `provider-retry` event of a wait, for the kernel and for hosts that show a parked turn. Pure. */
import { defined, Failure, type TurnEvent } from "@holdfast/wire"

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
