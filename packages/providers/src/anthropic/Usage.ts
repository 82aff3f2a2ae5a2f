/**
 * Converts the Messages API's token counts to `Message.Usage`.
 *
 * Anthropic's `input_tokens` excludes tokens read from and written to the prompt cache; `inputTokens` includes them. (Claude API
 * documentation, "Prompt caching", tracking cache performance)
 */
import { defined, type Message } from "@holdfast/wire"
import { countOf, type JsonObject } from "../decoding/Json.ts"

/** The API's counts; `message_delta` repeats changed ones, as totals. */
export interface Counts {
  readonly input: number | undefined
  readonly output: number | undefined
  readonly cacheRead: number | undefined
  readonly cacheWrite: number | undefined
}

/** No counts. */
export const none: Counts = { input: undefined, output: undefined, cacheRead: undefined, cacheWrite: undefined }

/** Updates the counts with those of a `usage` object. */
export const merge = (counts: Counts, usage: JsonObject): Counts => ({
  input: countOf(usage.input_tokens) ?? counts.input,
  output: countOf(usage.output_tokens) ?? counts.output,
  cacheRead: countOf(usage.cache_read_input_tokens) ?? counts.cacheRead,
  cacheWrite: countOf(usage.cache_creation_input_tokens) ?? counts.cacheWrite
})

/** The counts as usage. */
export const toUsage = (counts: Counts): Message.Usage =>
  defined({
    inputTokens:
      counts.input === undefined ? undefined : counts.input + (counts.cacheRead ?? 0) + (counts.cacheWrite ?? 0),
    outputTokens: counts.output,
    cachedInputTokens: counts.cacheRead,
    cacheWriteTokens: counts.cacheWrite
  })
