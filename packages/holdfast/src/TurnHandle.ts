/** One turn, as a program follows and steers it. */
import type { Failure, Message, ProviderRetry, TurnEvent, Usage } from "./Events.ts"

/** How a turn ended, or that it waits without memory. */
export type Result =
  | {
      readonly status: "completed" | "failed" | "aborted"
      /** The text of the last response that was not cut off; empty where there is none. */
      readonly text: string
      /** On `failed`: why. */
      readonly error?: Failure
      readonly usage: Usage
      /** Responses that were finished. */
      readonly steps: number
      /** Calls of a model, retries included. */
      readonly attempts: number
      /** How long the waits really took, in milliseconds. */
      readonly waitedMs: number
      /** The messages of this turn, the prompt first. */
      readonly messages: ReadonlyArray<Message>
    }
  /** The turn left memory to wait (`park`). `resume()` continues it, at `retryAt` or later. */
  | { readonly status: "parked"; readonly retryAt: Date }

/** The wait that a turn is in. */
export interface Wait {
  readonly retryAt: Date
  /** 0-based: the retry that is about to happen. */
  readonly attempt: number
  /** The endpoint's error, verbatim; or the question, with `asks`. */
  readonly message: string
  /** A person must answer before the turn continues; with `calls` by `approveTool` or `refuseTool`. */
  readonly asks?: NonNullable<ProviderRetry["asks"]>
}

/**
 * A turn. As an async iterable it gives every event from its first one on, to any number of readers; a turn that was resumed gives what
 * earlier processes persisted first.
 */
export interface Turn extends AsyncIterable<TurnEvent> {
  readonly id: string
  readonly conversationId: string
  /** Resolves when the turn is sealed or parked. Rejects with a `HoldfastError` where the turn could not be recorded. */
  readonly result: Promise<Result>
  /** The wait in progress; `undefined`: the turn does not wait. */
  readonly waiting: Wait | undefined
  /** Makes the next attempt now. This and the other commands return `false` where the turn does not wait. */
  retryNow(): boolean
  /** Moves the end of the wait. */
  retryAt(date: Date): boolean
  /** Makes the next attempt now, with another `provider/model`. Throws a `HoldfastError` where it is none. */
  switchTo(model: string): boolean
  /** Runs a tool call that waits for approval. Calls of one response run when each has its answer. */
  approveTool(toolCallId: string): boolean
  /** Refuses such a call: the model gets it as a failed call, with the reason. */
  refuseTool(toolCallId: string, reason?: string): boolean
  /** Adds milliseconds to the budget of the waits of this step. */
  extend(ms: number): boolean
  /** Ends the wait: the turn fails with its last error, and the `finalError` of its `retry-end` is "Retry cancelled". Tool calls that wait for approval are refused, and the turn goes on. */
  giveUp(): boolean
  /** Ends the turn, whatever it does. */
  abort(): void
}
