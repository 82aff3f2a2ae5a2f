/**
 * Token counts of the Messages API, in the terms of `Message.Usage`.
 *
 * Anthropic's `input_tokens` leaves out what was read from and written to the prompt cache; `inputTokens` is all of it. (Claude API
 * documentation, "Prompt caching", tracking cache performance)
 */
import type { Message } from "@holdfast/wire"
import { countOf, type JsonObject } from "../Json.ts"
import { usageOf } from "../UsageMeter.ts"

/** The counts as the API names them; `message_delta` repeats those that changed, as totals. */
export interface Counts {
  readonly input: number | undefined
  readonly output: number | undefined
  readonly cacheRead: number | undefined
  readonly cacheWrite: number | undefined
}

export const none: Counts = { input: undefined, output: undefined, cacheRead: undefined, cacheWrite: undefined }

/** Takes over what a `usage` object names. */
export const merge = (counts: Counts, usage: JsonObject): Counts => ({
  input: countOf(usage.input_tokens) ?? counts.input,
  output: countOf(usage.output_tokens) ?? counts.output,
  cacheRead: countOf(usage.cache_read_input_tokens) ?? counts.cacheRead,
  cacheWrite: countOf(usage.cache_creation_input_tokens) ?? counts.cacheWrite
})

export const toUsage = (counts: Counts): Message.Usage =>
  usageOf({
    inputTokens:
      counts.input === undefined ? undefined : counts.input + (counts.cacheRead ?? 0) + (counts.cacheWrite ?? 0),
    outputTokens: counts.output,
    reasoningTokens: undefined,
    cachedInputTokens: counts.cacheRead,
    cacheWriteTokens: counts.cacheWrite
  })
