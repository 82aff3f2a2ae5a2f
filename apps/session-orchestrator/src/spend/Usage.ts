/** Reads the tokens of calls and of turns as sums of spending need them. Pure. */
import type { Prices } from "@holdfast/policy"
import { type SpendSums } from "@holdfast/policy"
import type { Message, TurnEvent } from "@holdfast/wire"

/** The tokens of a turn's end that were not counted before. */
export const rest = (
  { endedAt, status, usage }: TurnEvent.TurnEnd,
  counted: Prices.Tokens,
  target: string
): ReadonlyArray<SpendSums.Use> => {
  const tokens = remaining(tokensOf(usage), counted)
  const isUnreported = status === "completed" && (usage.inputTokens === undefined || usage.outputTokens === undefined)
  return isUnreported || Object.values(tokens).some((n) => n > 0)
    ? [{ target, tokens, at: endedAt, ...(isUnreported ? { isUnreported } : undefined) }]
    : []
}

/** The tokens of a total without those that were counted; never below 0. */
export const remaining = (total: Prices.Tokens, counted: Prices.Tokens): Prices.Tokens => ({
  input: Math.max(0, total.input - counted.input),
  output: Math.max(0, total.output - counted.output),
  cachedInput: Math.max(0, total.cachedInput - counted.cachedInput),
  cacheWrite: Math.max(0, total.cacheWrite - counted.cacheWrite)
})

/** The tokens of a usage; a number that the provider did not report counts as 0. */
export const tokensOf = (usage: Message.Usage): Prices.Tokens => ({
  input: usage.inputTokens ?? 0,
  output: usage.outputTokens ?? 0,
  cachedInput: usage.cachedInputTokens ?? 0,
  cacheWrite: usage.cacheWriteTokens ?? 0
})
