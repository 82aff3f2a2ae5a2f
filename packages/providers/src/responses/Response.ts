/**
 * The state machine that decodes the stream events of the Responses API.
 *
 * Only `response.completed` and `response.incomplete` end a response; without them the stream has broken off (C6). A reasoning item ends
 * with the encrypted content that must go back with it; the one at the item's start is incomplete. What a server leaves out of its
 * deltas is read from the end of an item, or from the whole response at the end.
 *
 * Source: OpenAI, API reference, "Streaming events" of Responses.
 */
import type { Provider } from "@holdfast/kernel"
import { type Message, defined } from "@holdfast/wire"
import { isObject, type JsonObject, objectOf, objectsOf, textOf, countOf } from "../decoding/Json.ts"
import type { Machine } from "../decoding/Protocol.ts"
import * as UsageMeter from "../decoding/UsageMeter.ts"
import * as OutputParts from "./OutputParts.ts"

/** Makes the machine. `idOf` gives an id to the nth tool call where the provider gave none. */
export const make = (idOf: (n: number) => string): Machine => {
  const items = new OutputParts.OutputParts(idOf)
  const usage = UsageMeter.make()
  let finishReason: Message.FinishReason | undefined

  const ended = (response: JsonObject, out: Array<Provider.ProviderEvent>) => {
    if (isObject(response.usage)) usage.set(usageOf(response.usage))
    for (const [index, item] of (items.hasBegun ? [] : objectsOf(response.output)).entries())
      items.end(index, item, out)
    finishReason = finishReasonOf(response)
    items.close(finishReason === "length", out)
    return "finished" as const
  }

  return {
    frame: (frame, event, out) => {
      const before = out.length
      const index = frame.output_index ?? frame.item_id ?? objectOf(frame.item).id
      switch (frame.type ?? event) {
        case "response.output_item.added":
          items.begin(index, objectOf(frame.item), out)
          break
        case "response.output_text.delta":
        case "response.refusal.delta":
          // A refusal replaces the model's answer, so it is emitted as text.
          items.text(index, textOf(frame.delta), out)
          break
        case "response.reasoning_summary_text.delta":
        case "response.reasoning_text.delta":
          items.reasoning(index, frame.summary_index, textOf(frame.delta), out)
          break
        case "response.function_call_arguments.delta":
          items.arguments(index, textOf(frame.delta))
          break
        case "response.output_item.done":
          items.end(index, objectOf(frame.item), out)
          break
        case "response.completed":
        case "response.incomplete":
          return ended(objectOf(frame.response), out)
        case "response.failed":
        case "error":
          return "error"
        default:
          if (isObject(frame.error)) return "error"
          // The response of a server that ignores `stream: true`.
          if (frame.object === "response" && Array.isArray(frame.output)) {
            return frame.status === "failed" ? "error" : ended(frame, out)
          }
      }
      if (out.length > before) usage.first(out)
      return "open"
    },
    done: () => "open",
    finish: (out) => {
      usage.last(out)
      const asksForTools = items.calls > 0 && finishReason === "stop"
      out.push({ type: "finish", finishReason: asksForTools ? "tool-calls" : (finishReason ?? "other") })
    },
    unfinished: () => items.unfinished(),
    held: () => items.held,
    kept: () => items.kept
  }
}

// Converts the Responses API's token counts to `Message.Usage`.
//
// Source: OpenAI, API reference, "The Response object" (`usage`).

/** Reads a `usage` object. */
export const usageOf = (usage: JsonObject): Message.Usage =>
  defined({
    inputTokens: countOf(usage.input_tokens),
    outputTokens: countOf(usage.output_tokens),
    reasoningTokens: countOf(objectOf(usage.output_tokens_details).reasoning_tokens),
    cachedInputTokens: countOf(objectOf(usage.input_tokens_details).cached_tokens)
  })

// --- internal

const finishReasonOf = (response: JsonObject): Message.FinishReason => {
  switch (objectOf(response.incomplete_details).reason) {
    case "max_output_tokens":
      return "length"
    case "content_filter":
      return "content-filter"
    default:
      return response.status === "incomplete" ? "other" : "stop"
  }
}
