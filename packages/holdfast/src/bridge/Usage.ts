/** The usage and the finish reason of a response, as frameworks and as Holdfast have them. */
import { defined, Message } from "@holdfast/wire"
import type { Usage } from "../Events.ts"

type Counts<Name extends string> = { readonly [name in Name]?: number | undefined }

/** Tokens as the AI SDK and Effect AI have them. */
export interface TokenCounts {
  readonly inputTokens: Counts<"total" | "cacheRead" | "cacheWrite">
  readonly outputTokens: Counts<"total" | "reasoning">
}

/** The usage of a response. */
export const usageOf = ({ inputTokens, outputTokens }: TokenCounts): Usage =>
  defined({
    inputTokens: inputTokens.total,
    outputTokens: outputTokens.total,
    reasoningTokens: outputTokens.reasoning,
    cachedInputTokens: inputTokens.cacheRead,
    cacheWriteTokens: inputTokens.cacheWrite
  })

/** The same as a framework has it, with what is left of the totals. */
export const countsOf = ({
  cacheWriteTokens,
  cachedInputTokens,
  inputTokens,
  outputTokens,
  reasoningTokens
}: Usage) => ({
  inputTokens: {
    uncached: rest(inputTokens, cachedInputTokens, cacheWriteTokens),
    total: inputTokens,
    cacheRead: cachedInputTokens,
    cacheWrite: cacheWriteTokens
  },
  outputTokens: { total: outputTokens, text: rest(outputTokens, reasoningTokens), reasoning: reasoningTokens }
})

/** A finish reason that Holdfast knows; another one is `other`. */
export const finishReasonOf = (reason: string): Message.FinishReason =>
  Message.FinishReason.literals.find((known) => known === reason) ?? "other"

// --- internal

const rest = (total: number | undefined, ...parts: ReadonlyArray<number | undefined>): number | undefined =>
  total &&
  Math.max(
    0,
    parts.reduce<number>((left, part = 0) => left - part, total)
  )
