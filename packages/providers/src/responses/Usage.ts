/**
 * Converts the Responses API's token counts to `Message.Usage`.
 *
 * Source: OpenAI, API reference, "The Response object" (`usage`).
 */
import { defined, type Message } from "@holdfast/wire"
import { countOf, type JsonObject, objectOf } from "../decoding/Json.ts"

/** Reads a `usage` object. */
export const read = (usage: JsonObject): Message.Usage =>
  defined({
    inputTokens: countOf(usage.input_tokens),
    outputTokens: countOf(usage.output_tokens),
    reasoningTokens: countOf(objectOf(usage.output_tokens_details).reasoning_tokens),
    cachedInputTokens: countOf(objectOf(usage.input_tokens_details).cached_tokens)
  })
