/** Reads the tokens of calls and of turns as sums of spending need them. Pure. */
import type { Prices } from "@holdfast/policy"
import type { Message, TurnEvent } from "@holdfast/wire"
import type * as SpendSums from "./limits/SpendSums.ts"

/** The tokens of a turn's end that were not counted before. */
export const rest = (end: TurnEvent.TurnEnd, counted: Prices.Tokens, target: string): ReadonlyArray<SpendSums.Use> => {
  const tokens = missing(tokensOf(end.usage), counted)
  const hasNone = isUnreported(end)
  return hasNone || Object.values(tokens).some((n) => n > 0)
    ? [{ target, tokens, at: end.endedAt, ...(hasNone ? { isUnreported: true } : undefined) }]
    : []
}

/** The tokens of a total that are not in a part of it. */
export const missing = (total: Prices.Tokens, part: Prices.Tokens): Prices.Tokens => ({
  input: Math.max(0, total.input - part.input),
  output: Math.max(0, total.output - part.output),
  cachedInput: Math.max(0, total.cachedInput - part.cachedInput),
  cacheWrite: Math.max(0, total.cacheWrite - part.cacheWrite)
})

/** Whether a turn was answered, and its provider did not report the tokens. */
export const isUnreported = ({ status, usage }: TurnEvent.TurnEnd): boolean =>
  status === "completed" && (usage.inputTokens === undefined || usage.outputTokens === undefined)

/** The tokens of a usage; a number that the provider did not report counts as 0. */
export const tokensOf = (usage: Message.Usage): Prices.Tokens => ({
  input: usage.inputTokens ?? 0,
  output: usage.outputTokens ?? 0,
  cachedInput: usage.cachedInputTokens ?? 0,
  cacheWrite: usage.cacheWriteTokens ?? 0
})
