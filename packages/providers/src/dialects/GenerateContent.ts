/**
 * The dialect of Google's Gemini API, and of Vertex: what each chunk of a stream means, and how a call names its model.
 *
 * A stream is a JSON array of such chunks, or server-sent events with `alt=sse`.
 *
 * Source: Gemini API reference, "Generating content" (`GenerateContentResponse`, `FinishReason`, `BlockReason`); "Thought signatures".
 */
import { type JsonObject, isObject, objectOf, objectsOf, textOf } from "../decoding/Json.ts"
import * as Usage from "../gemini/Usage.ts"
import * as Dialect from "./Dialect.ts"
import * as NamedModel from "./NamedModel.ts"

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
 */
export const dialect: Dialect.Dialect = Dialect.make({
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
  frame: (json) => (isObject(json.error) || typeof json.error === "string" ? { kind: "error" } : meaning(json)),
  document: (json) => {
    if (isObject(json.error)) return { kind: "error" }
    const found = meaning(json)
    return found.kind === "preamble" ? undefined : found
  },
  usage: (counts) => Usage.read(counts.at(-1) ?? {})
})

// --- internal

const meaning = (json: JsonObject): Dialect.Meaning => {
  const candidates = objectsOf(json.candidates)
  const isEnd =
    candidates.some(({ finishReason }) => isStop(finishReason)) || isStop(objectOf(json.promptFeedback).blockReason)
  return Dialect.meaningOf(
    candidates.some(({ content }) => objectsOf(objectOf(content).parts).some(isOutput)),
    isEnd,
    json.usageMetadata
  )
}

const isStop = (reason: unknown): boolean => textOf(reason) !== undefined && !String(reason).endsWith("_UNSPECIFIED")

const isOutput = (part: JsonObject): boolean =>
  Object.entries(part).some(([field, value]) => field !== "thoughtSignature" && Dialect.isFilled(value))
