/**
 * The port to a model: one call of `stream` is one attempt, and one HTTP request (C9).
 *
 * A provider never retries, never sleeps and never decides. It says what happened: content as it comes, one `finish` at
 * the end, or a classified failure.
 *
 * P1. Content is text, reasoning, a tool call or usage. A provider holds usage back until there is output, so that an
 *     overload right after the preamble is still before content.
 * P2. Without `finish` a stream is broken, however cleanly its connection closed (C6).
 * P3. A tool call comes whole (C7).
 * P4. A response has a limit (C11). What a provider collects before it yields it, such as a tool call, must keep to it; the kernel
 *     counts what is yielded.
 * P5. `finish` is the last event that anybody reads; what is cleaned up after it must not take time.
 * P6. What a provider yields as one array is one read: the neighbouring deltas of one kind in it leave the turn as one event, and no delta
 *     waits for the next array.
 */
import type { Failure, Ids, Message, Target } from "@holdfast/wire"
import { Context, type Stream } from "effect"
import type { ToolDefinition } from "./Toolbox.ts"

/** What a model is asked. */
export interface ProviderRequest {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  /** 0-based. */
  readonly step: number
  /** 0-based: counts the calls that this step makes, a summary's too (P19). */
  readonly attempt: number
  readonly target: Target.Target
  /** The name of one of the provider's credentials; absent: its first (P7). */
  readonly credential?: string
  readonly system?: string
  /** What the model may see, oldest first (`ModelContext`). */
  readonly messages: ReadonlyArray<Message.Message>
  readonly tools: ReadonlyArray<ToolDefinition>
  /** The most that the response may hold (C11); absent: `ResponseLimit.MOST_CHARACTERS`. */
  readonly maxResponseCharacters?: number
}

/** What a provider yields of a response, in the order in which it comes. */
export type ProviderEvent =
  | { readonly type: "text-delta"; readonly delta: string }
  | { readonly type: "reasoning-delta"; readonly delta: string }
  /** Closes a reasoning block that carries a signature, or that came redacted as a whole. */
  | { readonly type: "reasoning-end"; readonly signature?: string; readonly redacted?: string }
  | ToolCallEvent
  /** Calls had begun and are not whole, as what follows is a failure: nothing of them is run (C7), but a report that was begun counts (A12). */
  | { readonly type: "tool-calls-cut"; readonly toolNames: ReadonlyArray<string> }
  /** Totals of this attempt so far, not increments: a later one replaces an earlier one. */
  | { readonly type: "usage"; readonly usage: Message.Usage }
  | { readonly type: "finish"; readonly finishReason: Message.FinishReason }
  /** `body` as that of `Failure.ProviderFailure`. */
  | { readonly type: "error"; readonly failure: EmittedFailure; readonly body?: string }

/** A whole tool call (P3). */
export type ToolCallEvent = Message.ToolCallPart

/** A failure as a provider emits it. Without `retryable` it ends the step (D3). */
export type EmittedFailure = Omit<Failure.Failure, "retryable"> & { readonly retryable?: boolean }

/** Makes the calls of a model, one attempt each. */
export class Provider extends Context.Service<
  Provider,
  {
    /**
     * Makes one attempt.
     *
     * **Gotchas**
     *
     * A failure in the error channel counts as thrown; one in an `error` event as emitted. A defect counts as a bug, and is
     * tried again at most twice (C10). Interruption must close the connection.
     */
    readonly stream: (request: ProviderRequest) => Stream.Stream<ProviderEvent, Failure.ProviderFailure>
  }
>()("@holdfast/kernel/Provider") {}
