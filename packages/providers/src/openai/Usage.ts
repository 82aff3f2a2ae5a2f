/**
 * Converts the token counts of chat completions to `Message.Usage`.
 *
 * Sources: OpenAI, API reference, "CompletionUsage"; DeepSeek, "Create chat completion" (`prompt_cache_hit_tokens`); OpenRouter,
 * "Usage accounting" (`cache_write_tokens`).
 */
import { defined, type Message } from "@holdfast/wire"
import { countOf, type JsonObject, objectOf } from "../decoding/Json.ts"

/**
 * Reads a `usage` object.
 *
 * **Gotchas**
 *
 * xAI does not include reasoning in `completion_tokens`. `total_tokens` includes it, so it is added here.
 */
export const read = (usage: JsonObject): Message.Usage => {
  const input = objectOf(usage.prompt_tokens_details)
  const output = objectOf(usage.completion_tokens_details)
  const inputTokens = countOf(usage.prompt_tokens)
  const completionTokens = countOf(usage.completion_tokens)
  const reasoningTokens = countOf(output.reasoning_tokens)
  const isApart =
    reasoningTokens !== undefined &&
    reasoningTokens > 0 &&
    completionTokens !== undefined &&
    countOf(usage.total_tokens) === (inputTokens ?? 0) + completionTokens + reasoningTokens
  return defined({
    inputTokens,
    outputTokens: isApart ? completionTokens + reasoningTokens : completionTokens,
    reasoningTokens,
    cachedInputTokens:
      countOf(input.cached_tokens) ?? countOf(usage.prompt_cache_hit_tokens) ?? countOf(usage.cached_tokens),
    cacheWriteTokens: countOf(input.cache_write_tokens)
  })
}
