/**
 * Converts Gemini's token counts to `Message.Usage`.
 *
 * Source: Gemini API reference, "Generating content" (`UsageMetadata`); "Context caching".
 */
import { defined, type Message } from "@holdfast/wire"
import { countOf, type JsonObject } from "../decoding/Json.ts"

/**
 * Reads a `usageMetadata` object.
 *
 * **Gotchas**
 *
 * `candidatesTokenCount` does not include thoughts, and `promptTokenCount` does not include the results of hosted tools; both are added.
 */
export const read = (usage: JsonObject): Message.Usage => {
  const thoughts = countOf(usage.thoughtsTokenCount)
  return defined({
    inputTokens: sum(countOf(usage.promptTokenCount), countOf(usage.toolUsePromptTokenCount)),
    outputTokens: sum(countOf(usage.candidatesTokenCount), thoughts),
    reasoningTokens: thoughts,
    cachedInputTokens: countOf(usage.cachedContentTokenCount)
  })
}

// --- internal

const sum = (a: number | undefined, b: number | undefined): number | undefined =>
  a === undefined && b === undefined ? undefined : (a ?? 0) + (b ?? 0)
