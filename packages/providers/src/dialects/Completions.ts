/**
 * The dialect of OpenAI's chat completions, and of the many servers that follow them: what each chunk of a stream means, and how a call
 * names its model.
 *
 * Source: OpenAI, API reference, "Chat completions: streaming" (chunk object); OpenRouter, "Streaming" (errors and comments); DeepSeek, "Create
 * chat completion" (`reasoning_content`, `insufficient_system_resource`).
 */
import type { Failure } from "@holdfast/wire"
import { type JsonObject, isObject, objectOf, objectsOf, textOf } from "../decoding/Json.ts"
import * as Response from "../openai/Response.ts"
import * as Usage from "../openai/Usage.ts"
import * as Dialect from "./Dialect.ts"
import * as NamedModel from "./NamedModel.ts"

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
 */
export const dialect: Dialect.Dialect = Dialect.make({
  format: "chat",
  call: NamedModel.callInBody("chat"),
  withModel: NamedModel.inBody,
  frame: (json, event) => {
    if (Response.isError(json, event)) return { kind: "error" }
    const choices = objectsOf(json.choices)
    return meaning(json, choices)
  },
  document: (json) => {
    if (Response.isError(json, undefined)) return { kind: "error" }
    const choices = objectsOf(json.choices)
    if (choices.length === 0) return undefined
    const found = meaning(json, choices)
    // A message without a finish reason is an answer all the same.
    return found.kind === "preamble" && choices.some(({ message }) => isObject(message))
      ? { ...found, kind: "end" }
      : found
  },
  usage: (counts) => Usage.read(counts.findLast((count) => Object.keys(count).length > 0) ?? {})
})

// --- internal

const meaning = (json: JsonObject, choices: ReadonlyArray<JsonObject>): Dialect.Meaning => {
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
  const failure = reason === undefined ? undefined : Response.failureOf(reason, choice)
  return failure === undefined ? undefined : { ...failure, retryable: failure.retryable === true }
}

const hasContent = (choice: JsonObject): boolean => {
  const given = objectOf(choice.delta ?? choice.message)
  return (
    OUTPUT.some((field) => Dialect.isFilled(given[field])) ||
    [...objectsOf(given.tool_calls), { function: given.function_call }].some(
      (call: JsonObject) =>
        Dialect.isFilled(objectOf(call.function).arguments) || Dialect.isFilled(objectOf(call.custom).input)
    )
  )
}

/** The fields of a delta that hold output. */
const OUTPUT = [
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
