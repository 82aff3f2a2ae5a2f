/** Results and states of `holdfast rpc`, as plain types. */
import type { Failure, ProviderRetry, Reason, TurnEnd } from "../Events.ts"

/** The end of a turn. */
export interface RpcResult {
  readonly turnId: string
  readonly status: "completed" | "failed" | "aborted"
  /** The text of the last answer. */
  readonly text: string
  /** Set on `failed`. */
  readonly error?: Failure
  /** The event of the end: attempts, waits, usage, report. */
  readonly end: TurnEnd
}

/** A conversation as it is now. */
export interface RpcState {
  readonly conversationId: string
  readonly status: "idle" | "running" | "retrying"
  /** `provider/model` of the next step. */
  readonly model: string
  readonly autoRetryEnabled: boolean
  readonly isRetrying: boolean
  /** The turn that is running. */
  readonly turnId?: string
  /** The turns behind it, in order. */
  readonly queued: ReadonlyArray<string>
  /** 0-based. */
  readonly attempt?: number
  /** When the retry is due, in epoch milliseconds. */
  readonly retryAt?: number
  /** The wait in progress. */
  readonly retry?: {
    readonly attempt: number
    readonly retryAt: number
    readonly delayMs: number
    /** The endpoint's error, verbatim. */
    readonly message: string
    readonly reason: Reason
    readonly code?: string
    readonly maxAttempts?: number
    /** The turn waits for a person's answer. */
    readonly asks?: NonNullable<ProviderRetry["asks"]>
  }
  /** The last persisted event that this client has received: the option `after` continues behind it. */
  readonly lastEventId: number
}
