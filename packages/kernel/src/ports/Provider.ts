/**
 * The port to a model: one call of `stream` is one attempt (C9).
 *
 * An attempt is one HTTP request. A provider never retries, never sleeps and never decides. It emits content as it comes, and at the end
 * one `finish` or a classified failure.
 *
 * - Content is text, reasoning, a file, a tool call or usage. A provider holds usage back until there is output, so that an overload
 *   right after the preamble is still before content.
 * - A stream without `finish` has failed, even if its connection closed cleanly (C6).
 * - A tool call is emitted as a whole (C7).
 */
import type { Failure, Ids, Message, Target } from "@holdfast/wire"
import * as Context from "effect/Context"
import type * as Stream from "effect/Stream"
import type { ToolDefinition } from "./Toolbox.ts"

/** The request of one attempt. */
export interface ProviderRequest {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  /** 0-based. */
  readonly step: number
  /** 0-based: counts all calls of this step, including those for a summary (P19). */
  readonly attempt: number
  readonly target: Target.Target
  /** The name of one of the provider's credentials; absent: its first (P7). */
  readonly credential?: string
  readonly system?: string
  /** The messages for the model, oldest first (`ModelContext`). */
  readonly messages: ReadonlyArray<Message.Message>
  readonly tools: ReadonlyArray<ToolDefinition>
  /**
   * The limit of the response, in characters (C11); absent: `ResponseLimit.MOST_CHARACTERS`. A provider applies it to parts that it collects
   * before it emits them, such as a tool call; the kernel counts everything that is emitted.
   */
  readonly maxResponseCharacters?: number
}

/** The events of a response, in the order in which they come. */
export type ProviderEvent =
  | { readonly type: "text-delta"; readonly delta: string }
  | { readonly type: "reasoning-delta"; readonly delta: string }
  /** Closes a reasoning block that carries a signature or other proof, or that came redacted as a whole. */
  | ({ readonly type: "reasoning-end" } & Omit<Message.ReasoningPart, "type" | "text">)
  /** A file of the model, whole. */
  | Message.ModelFile
  /** A whole tool call (C7). */
  | Message.ToolCallPart
  /**
   * Calls that had begun and are incomplete, because a failure follows: they do not run (C7), but a report among them counts as attempted
   * (A12).
   */
  | { readonly type: "tool-calls-cut"; readonly toolNames: ReadonlyArray<string> }
  /** Totals of this attempt so far, not increments: a later event replaces an earlier one. */
  | { readonly type: "usage"; readonly usage: Message.Usage }
  /** The last event that the kernel reads; clean-up after it must be quick. */
  | { readonly type: "finish"; readonly finishReason: Message.FinishReason }
  /** `body` as in `Failure.ProviderFailure`. */
  | { readonly type: "error"; readonly failure: EmittedFailure; readonly body?: string }

/** A failure as a provider emits it. Without `retryable` it ends the step (D3). */
export type EmittedFailure = Omit<Failure.Failure, "retryable"> & { readonly retryable?: boolean }

/** Whether an event is a delta without text, which is no content (C8). */
export const isEmptyDelta = (event: ProviderEvent): boolean =>
  (event.type === "text-delta" || event.type === "reasoning-delta") && event.delta === ""

/** Whether an event is content: text, reasoning, a file, a tool call or usage (C8). */
export const isContent = (event: ProviderEvent): boolean => {
  switch (event.type) {
    case "tool-calls-cut":
    case "finish":
    case "error":
      return false
    default:
      return !isEmptyDelta(event)
  }
}

/** Calls a model, one attempt each. */
export class Provider extends Context.Service<
  Provider,
  {
    /**
     * Makes one attempt. One array of the stream is one read: neighbouring deltas of one kind in it leave the turn as one event, and no
     * delta waits for the next array.
     *
     * **Gotchas**
     *
     * A failure in the error channel counts as thrown, a failure in an `error` event as emitted (D3). A defect counts as a bug, and has at
     * most two retries (C10). Interruption must close the connection.
     */
    readonly stream: (request: ProviderRequest) => Stream.Stream<ProviderEvent, Failure.ProviderFailure>
  }
>()("@holdfast/kernel/Provider") {}
