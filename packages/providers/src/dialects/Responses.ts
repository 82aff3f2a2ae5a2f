/**
 * The dialect of OpenAI's Responses API: what each event of a stream means, and how a call names its model.
 *
 * Source: OpenAI, API reference, "Responses: streaming events"; the union `ResponseStreamEvent` of OpenAI's own SDK.
 */
import { type JsonObject, isObject, objectOf, objectsOf, textOf } from "../decoding/Json.ts"
import * as Usage from "../responses/Usage.ts"
import * as Dialect from "./Dialect.ts"
import * as NamedModel from "./NamedModel.ts"

/**
 * The Responses API. Its events are judged so:
 *
 * | event | judged as | because |
 * |---|---|---|
 * | `response.created`, `.queued`, `.in_progress`, `keepalive` | preamble | an overload may follow right after them |
 * | `response.output_item.added`, `.content_part.added`, `.reasoning_summary_part.added` that are empty | preamble | no output yet; an item's own `in_progress` and its encrypted content at the start are none |
 * | the states of a hosted tool (`…_call.in_progress`, `.searching`, `.completed`, `.failed`) | preamble | they carry no output |
 * | `….delta` that is not empty: text, reasoning, a refusal, arguments, code, sound | content | |
 * | `….done`, `….added` with something in it, `.partial_image`, `.annotation.added` | content | they repeat or carry output |
 * | `response.output_item.done` of reasoning without a summary, or of a list of an MCP server's tools | preamble | a person has seen nothing of it |
 * | `response.completed`, `response.incomplete` | end | an answer that was cut by its limit or filter is an answer, too |
 * | `response.failed`, `error` | error | |
 */
export const dialect: Dialect.Dialect = Dialect.make({
  format: "responses",
  call: NamedModel.callInBody("responses"),
  withModel: NamedModel.inBody,
  frame: (json, event) => {
    const type = textOf(json.type) ?? event ?? ""
    switch (type) {
      case "response.completed":
      case "response.incomplete":
        return Dialect.meaningOf(false, true, objectOf(json.response).usage)
      case "response.failed":
      case "error":
        return { kind: "error" }
      case "response.output_item.added":
        return Dialect.meaningOf(isWhole(objectOf(json.item)), false, undefined)
      case "response.output_item.done":
        return Dialect.meaningOf(isOutput(objectOf(json.item)), false, undefined)
      case "response.content_part.added":
      case "response.content_part.done":
      case "response.reasoning_summary_part.added":
      case "response.reasoning_summary_part.done":
        return Dialect.meaningOf(hasText(objectOf(json.part)), false, undefined)
      case "response.output_text.annotation.added":
        return Dialect.meaningOf(isObject(json.annotation), false, undefined)
      case "response.image_generation_call.partial_image":
        return Dialect.meaningOf(Dialect.isFilled(json.partial_image_b64), false, undefined)
    }
    if (type === "" && isObject(json.error)) return { kind: "error" }
    const output = type.endsWith(".delta") || type.endsWith(".done")
    return Dialect.meaningOf(output && OUTPUT.some((field) => Dialect.isFilled(json[field])), false, undefined)
  },
  document: (json) => {
    if (json.status === "failed" || isObject(json.error)) return { kind: "error" }
    return Array.isArray(json.output) || json.object === "response"
      ? Dialect.meaningOf(true, true, json.usage)
      : undefined
  },
  usage: (counts) => Usage.read(counts.at(-1) ?? {})
})

// --- internal

/** The fields of a delta, and of its end, that hold output. */
const OUTPUT = ["delta", "text", "arguments", "refusal", "input", "code", "transcript", "diff", "command", "output"]

/** Whether an item comes as a whole: most begin empty, and fill by deltas. */
const isWhole = (item: JsonObject): boolean => {
  switch (item.type) {
    case "message":
      return objectsOf(item.content).some(hasText)
    case "reasoning":
      return [...objectsOf(item.summary), ...objectsOf(item.content)].some(hasText)
    case "function_call":
      return Dialect.isFilled(item.arguments)
    case "custom_tool_call":
      return Dialect.isFilled(item.input)
    default:
      return item.status === "completed"
  }
}

/** Whether an item at its end is output that a person or a tool gets. */
const isOutput = (item: JsonObject): boolean =>
  item.type !== undefined && item.type !== "mcp_list_tools" && (item.type !== "reasoning" || isWhole(item))

const hasText = (part: JsonObject): boolean => Dialect.isFilled(part.text) || Dialect.isFilled(part.refusal)
