/**
 * The dialect of Anthropic's Messages API: what each event of a stream means, and how a call names its model.
 *
 * Source: Claude API documentation, "Streaming messages" (event types, error events), "Handling stop reasons" (empty responses, refusals).
 */
import { type JsonObject, isObject, objectOf } from "../decoding/Json.ts"
import * as Usage from "../anthropic/Usage.ts"
import * as Dialect from "./Dialect.ts"
import * as NamedModel from "./NamedModel.ts"

/**
 * The Messages API. Its events are judged so:
 *
 * | event | judged as | because |
 * |---|---|---|
 * | `message_start`, `ping` | preamble | an overload may follow right after them |
 * | `content_block_start` of an empty block, or of a call of a tool with its name alone | preamble | no output yet |
 * | `content_block_start` of a whole block: a search's result, redacted thinking | content | it comes as a whole |
 * | `content_block_delta` that is not empty: text, thinking, arguments, a citation | content | |
 * | `content_block_delta` with a signature | preamble | the thinking before it is content already; of empty thinking there is nothing |
 * | `content_block_stop` | preamble | a block without a delta was empty |
 * | `message_delta` | preamble | the stop reason and the counts; only `message_stop` ends a message (C6) |
 * | `message_stop` | end | with a refusal, or calls without arguments, there may have been no delta |
 * | `error` | error | |
 */
export const dialect: Dialect.Dialect = Dialect.make({
  format: "messages",
  call: NamedModel.callInBody("messages"),
  withModel: NamedModel.inBody,
  frame: (json, event) => {
    switch (json.type ?? event) {
      case "content_block_delta":
        return Dialect.meaningOf(isOutput(objectOf(json.delta)), false, undefined)
      case "content_block_start":
        return Dialect.meaningOf(isWhole(objectOf(json.content_block)), false, undefined)
      case "message_start":
        return Dialect.meaningOf(Dialect.isFilled(objectOf(json.message).content), false, objectOf(json.message).usage)
      case "message_delta":
        return Dialect.meaningOf(false, false, json.usage)
      case "message_stop":
        return { kind: "end" }
      // A server that ignores `stream: true`.
      case "message":
        return Dialect.meaningOf(true, true, json.usage)
      case "error":
        return { kind: "error" }
      default:
        return isObject(json.error) || typeof json.error === "string" ? { kind: "error" } : Dialect.PREAMBLE
    }
  },
  document: (json) => {
    if (json.type === "error" || isObject(json.error)) return { kind: "error" }
    return Array.isArray(json.content) ? Dialect.meaningOf(true, true, json.usage) : undefined
  },
  usage: (counts) => Usage.toUsage(counts.reduce(Usage.merge, Usage.none))
})

// --- internal

const isOutput = (delta: JsonObject): boolean =>
  Object.entries(delta).some(([field, value]) => field !== "type" && field !== "signature" && Dialect.isFilled(value))

/** Whether a block begins with something of its content. The id and name of a call are none. */
const isWhole = (block: JsonObject): boolean => {
  switch (block.type) {
    case "text":
      return Dialect.isFilled(block.text)
    case "thinking":
      return Dialect.isFilled(block.thinking)
    case "tool_use":
    case "server_tool_use":
    case "mcp_tool_use":
      return Dialect.isFilled(block.input)
    default:
      return Dialect.isFilled(block.content) || Dialect.isFilled(block.data)
  }
}
