/**
 * The four dialects: what each event of a stream means, how a call names its model, and which dialect a path belongs to.
 */
import type { Failure } from "@holdfast/wire"
import { type JsonObject, isObject, objectOf, objectsOf, textOf } from "../decoding/Json.ts"
import * as OpenAi from "../openai/Response.ts"
import * as Dialect from "./Dialect.ts"
import * as NamedModel from "./NamedModel.ts"
import * as Anthropic from "../anthropic/Response.ts"
import * as OpenAiResponses from "../responses/Response.ts"
import * as Gemini from "../gemini/Response.ts"

/**
 * Chat completions. Their chunks are judged so:
 *
 * | chunk | judged as | because |
 * |---|---|---|
 * | a delta with text, reasoning, a refusal, sound, an image, arguments of a call | content | the reader gets it |
 * | a delta with a role, an empty text, or a call's id and name alone | preamble | it opens the answer, before any output |
 * | no choices: usage, Azure's results of its filter | preamble | it has nothing of the answer |
 * | `finish_reason` | end | the model has stopped; usage and `[DONE]` may follow |
 * | `finish_reason` of `error` or `insufficient_system_resource` | error | the endpoint gave up |
 * | `error`, `object: "error"`, `detail`, a bare `message` | error | |
 *
 * Source: OpenAI, API reference, "Chat completions: streaming" (chunk object); OpenRouter, "Streaming" (errors and comments); DeepSeek, "Create chat completion" (`reasoning_content`, `insufficient_system_resource`).
 */
const completions: Dialect.Dialect = Dialect.make({
  format: "chat",
  call: NamedModel.callInBody("chat"),
  withModel: NamedModel.inBody,
  frame: (json, event) => {
    if (OpenAi.isError(json, event)) return { kind: "error" }
    const choices = objectsOf(json.choices)
    return meaningOfChunk(json, choices)
  },
  document: (json) => {
    if (OpenAi.isError(json, undefined)) return { kind: "error" }
    const choices = objectsOf(json.choices)
    if (choices.length === 0) return undefined
    const found = meaningOfChunk(json, choices)
    // A message without a finish reason is an answer all the same.
    return found.kind === "preamble" && choices.some(({ message }) => isObject(message))
      ? { ...found, kind: "end" }
      : found
  },
  usage: (counts) => OpenAi.usageOf(counts.findLast((count) => Object.keys(count).length > 0) ?? {})
})

const meaningOfChunk = (json: JsonObject, choices: ReadonlyArray<JsonObject>): Dialect.Meaning => {
  const failure = choices.map(failureOf).find((failure) => failure !== undefined)
  if (failure !== undefined) return { kind: "error", failure }
  return Dialect.meaningOf(
    choices.some(hasContent),
    choices.some(({ finish_reason }) => textOf(finish_reason) !== undefined),
    json.usage ?? objectOf(json.x_groq).usage ?? choices[0]?.usage
  )
}

const failureOf = (choice: JsonObject): Failure.Failure | undefined => {
  const reason = textOf(choice.finish_reason)
  return reason === undefined ? undefined : OpenAi.failureOf(reason, choice)
}

const hasContent = (choice: JsonObject): boolean => {
  const given = objectOf(choice.delta ?? choice.message)
  return (
    DELTA_FIELDS.some((field) => Dialect.isFilled(given[field])) ||
    [...objectsOf(given.tool_calls), { function: given.function_call }].some(
      (call: JsonObject) =>
        Dialect.isFilled(objectOf(call.function).arguments) || Dialect.isFilled(objectOf(call.custom).input)
    )
  )
}

/** The fields of a delta that hold output. */
const DELTA_FIELDS = [
  "content",
  "reasoning_content",
  "reasoning",
  "reasoning_details",
  "thinking",
  "refusal",
  "audio",
  "images",
  "annotations"
]

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
 *
 * Source: Claude API documentation, "Streaming messages" (event types, error events), "Handling stop reasons" (empty responses, refusals).
 */
const messages: Dialect.Dialect = Dialect.make({
  format: "messages",
  call: NamedModel.callInBody("messages"),
  withModel: NamedModel.inBody,
  frame: (json, event) => {
    switch (json.type ?? event) {
      case "content_block_delta":
        return Dialect.meaningOf(isOutputDelta(objectOf(json.delta)), false, undefined)
      case "content_block_start":
        return Dialect.meaningOf(isWholeBlock(objectOf(json.content_block)), false, undefined)
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
  usage: (counts) => Anthropic.toUsage(counts.reduce(Anthropic.mergeUsage, Anthropic.noUsage))
})

const isOutputDelta = (delta: JsonObject): boolean =>
  Object.entries(delta).some(([field, value]) => field !== "type" && field !== "signature" && Dialect.isFilled(value))

/** Whether a block begins with something of its content. The id and name of a call are none. */
const isWholeBlock = (block: JsonObject): boolean => {
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
 *
 * Source: OpenAI, API reference, "Responses: streaming events"; the union `ResponseStreamEvent` of OpenAI's own SDK.
 */
const responses: Dialect.Dialect = Dialect.make({
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
        return Dialect.meaningOf(isWholeItem(objectOf(json.item)), false, undefined)
      case "response.output_item.done":
        return Dialect.meaningOf(isOutputItem(objectOf(json.item)), false, undefined)
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
    return Dialect.meaningOf(output && EVENT_FIELDS.some((field) => Dialect.isFilled(json[field])), false, undefined)
  },
  document: (json) => {
    if (json.status === "failed" || isObject(json.error)) return { kind: "error" }
    return Array.isArray(json.output) || json.object === "response"
      ? Dialect.meaningOf(true, true, json.usage)
      : undefined
  },
  usage: (counts) => OpenAiResponses.usageOf(counts.at(-1) ?? {})
})

/** The fields of a delta, and of its end, that hold output. */
const EVENT_FIELDS = [
  "delta",
  "text",
  "arguments",
  "refusal",
  "input",
  "code",
  "transcript",
  "diff",
  "command",
  "output"
]

/** Whether an item comes as a whole: most begin empty, and fill by deltas. */
const isWholeItem = (item: JsonObject): boolean => {
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
const isOutputItem = (item: JsonObject): boolean =>
  item.type !== undefined && item.type !== "mcp_list_tools" && (item.type !== "reasoning" || isWholeItem(item))

const hasText = (part: JsonObject): boolean => Dialect.isFilled(part.text) || Dialect.isFilled(part.refusal)

/**
 * The Gemini API. Its chunks are judged so:
 *
 * | chunk | judged as | because |
 * |---|---|---|
 * | a part with text, a thought, a call, a file, code or its result | content | calls come as a whole |
 * | a part with an empty text, or a thought's signature alone | preamble | no output |
 * | no candidates: usage, the version of the model | preamble | |
 * | `finishReason`, also with content | end | a stream has no other end mark |
 * | `promptFeedback.blockReason` | end | the refusal is the answer |
 * | `error` | error | |
 *
 * Source: Gemini API reference, "Generating content" (`GenerateContentResponse`, `FinishReason`, `BlockReason`); "Thought signatures".
 */
const generateContent: Dialect.Dialect = Dialect.make({
  format: "gemini",
  call: (target) => {
    const isStream = Dialect.pathOf(target).endsWith(":streamGenerateContent")
    const isEvents = /[?&]alt=sse(?:[&#]|$)/i.test(target)
    return {
      format: "gemini",
      framing: isStream ? (isEvents ? "events" : "array") : "document",
      model: NamedModel.ofPath(target)
    }
  },
  withModel: NamedModel.inPath,
  frame: (json) =>
    isObject(json.error) || typeof json.error === "string" ? { kind: "error" } : meaningOfCandidates(json),
  document: (json) => {
    if (isObject(json.error)) return { kind: "error" }
    const found = meaningOfCandidates(json)
    return found.kind === "preamble" ? undefined : found
  },
  usage: (counts) => Gemini.usageOf(counts.at(-1) ?? {})
})

const meaningOfCandidates = (json: JsonObject): Dialect.Meaning => {
  const candidates = objectsOf(json.candidates)
  const isEnd =
    candidates.some(({ finishReason }) => isStop(finishReason)) || isStop(objectOf(json.promptFeedback).blockReason)
  return Dialect.meaningOf(
    candidates.some(({ content }) => objectsOf(objectOf(content).parts).some(isOutputPart)),
    isEnd,
    json.usageMetadata
  )
}

const isStop = (reason: unknown): boolean => textOf(reason) !== undefined && !String(reason).endsWith("_UNSPECIFIED")

const isOutputPart = (part: JsonObject): boolean =>
  Object.entries(part).some(([field, value]) => field !== "thoughtSignature" && Dialect.isFilled(value))

/** The dialect of each format. */
export const byFormat: Readonly<Record<Dialect.Format, Dialect.Dialect>> = {
  chat: completions,
  messages: messages,
  responses: responses,
  gemini: generateContent
}

/**
 * The dialect of a POST to this target (path and query); `undefined`: its answer is not held.
 *
 * **Gotchas**
 *
 * `/threads/<id>/messages` is of OpenAI's assistants, and adds a message without calling a model.
 */
export const of = (target: string): Dialect.Dialect | undefined => {
  const path = Dialect.pathOf(target)
  if (path.endsWith("/chat/completions")) return byFormat.chat
  if (path.endsWith("/responses")) return byFormat.responses
  if (path.endsWith("/messages") && !/\/threads\/[^/]+\/messages$/.test(path)) return byFormat.messages
  return /:(?:generateContent|streamGenerateContent)$/.test(path) ? byFormat.gemini : undefined
}
