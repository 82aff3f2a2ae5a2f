/** Models as programs give them: a function that returns an async iterable, such as an async generator around an SDK. */
import type { Provider } from "@holdfast/kernel"
import { FromAsyncIterable } from "@holdfast/providers"
import { defined } from "@holdfast/wire"
import type { Json, Message, ModelFile, ReasoningPart, Target, ToolCallPart, Usage } from "./Events.ts"

/** A tool as the model sees it. */
export interface ToolDescription {
  readonly name: string
  readonly description?: string
  /** JSON Schema of the arguments. */
  readonly inputSchema: Json
}

/** One call of a model. Holdfast makes the retries: switch those of an SDK off. */
export interface ModelRequest {
  readonly conversationId: string
  readonly turnId: string
  /** 0-based: counts the responses of the turn; each round of tool calls begins another. */
  readonly step: number
  /** 0-based: counts the calls of this step. */
  readonly attempt: number
  /** The provider and the model to call. */
  readonly target: Target
  readonly system?: string
  /** Oldest first; the last one is the prompt, or results of tools. */
  readonly messages: ReadonlyArray<Message>
  readonly tools: ReadonlyArray<ToolDescription>
  /** Aborted when the call is over, however it ended. */
  readonly signal: AbortSignal
}

/** A part of a response; a plain string is text. */
export type ModelEvent =
  | string
  | { readonly type: "text-delta"; readonly delta: string }
  | { readonly type: "reasoning-delta"; readonly delta: string }
  /** Ends a reasoning block; what must go back with it stands in the message that later requests have. */
  | ({ readonly type: "reasoning-end" } & Omit<ReasoningPart, "type" | "text">)
  | ToolCallPart
  /** A file, whole. */
  | ModelFile
  /** Totals of this call so far; a later one replaces an earlier one. */
  | { readonly type: "usage"; readonly usage: Usage }
  | {
      readonly type: "finish"
      readonly finishReason: "stop" | "length" | "tool-calls" | "content-filter" | "other"
    }

/**
 * Calls a model once.
 *
 * **Details**
 *
 * What it throws is classified: an error with `status`, `statusCode` or a `code` such as `ECONNRESET` is retried as its provider documents it.
 *
 * **Gotchas**
 *
 * A response ends with a `finish`; without it the connection is taken to have been cut, and the response has failed. A response of strings
 * alone, or without any event, needs none.
 */
export type Model = (request: ModelRequest) => AsyncIterable<ModelEvent>

/** The kernel's port over a model. */
export const providerOf = (model: Model): Provider.Provider["Service"] =>
  FromAsyncIterable.fromAsyncIterable((request, signal) => {
    const { attempt, conversationId, messages, step, system, target, tools, turnId } = request
    return eventsOf(
      model({ conversationId, turnId, step, attempt, target, messages, tools, signal, ...defined({ system }) })
    )
  })

// --- internal

async function* eventsOf(events: AsyncIterable<ModelEvent>): AsyncGenerator<Provider.ProviderEvent, void, undefined> {
  let isText = true
  for await (const event of events) {
    if (typeof event === "string") yield { type: "text-delta", delta: event }
    else {
      isText = false
      yield event
    }
  }
  if (isText) yield { type: "finish", finishReason: "stop" }
}
