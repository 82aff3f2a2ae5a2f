/**
 * Converts the Responses API's token counts to `Message.Usage`.
 *
 * Source: OpenAI, API reference, "The Response object" (`usage`).
 */
import type { Message } from "@holdfast/wire"
import { countOf, type JsonObject, objectOf } from "../decoding/Json.ts"
import { usageOf } from "../decoding/UsageMeter.ts"

/** Reads a `usage` object. */
export const read = (usage: JsonObject): Message.Usage =>
  usageOf({
    inputTokens: countOf(usage.input_tokens),
    outputTokens: countOf(usage.output_tokens),
    reasoningTokens: countOf(objectOf(usage.output_tokens_details).reasoning_tokens),
    cachedInputTokens: countOf(objectOf(usage.input_tokens_details).cached_tokens),
    cacheWriteTokens: undefined
  })
