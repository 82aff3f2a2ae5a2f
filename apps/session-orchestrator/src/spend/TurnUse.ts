/**
 * Finds the tokens that a turn has used, with the time of each call, from its row and its records. Pure.
 *
 * TurnUse.U1. The tokens of a turn that has ended add up to those of its end; its last call has what its records do not tell.
 */
import { Prices, type SpendSums } from "@holdfast/policy"
import type { Message, TurnEvent } from "@holdfast/wire"
import * as TurnReport from "../inspection/TurnReport.ts"
import type * as Account from "../recovery/Account.ts"
import type { TurnRow } from "../storage/Lists.ts"

/** The tokens of a turn until now. */
export const of = ({ model, turn: { end } }: TurnRow, account: Account.Account): ReadonlyArray<SpendSums.Use> => {
  const uses = account.attempts.flatMap(({ outcome, target = model }): ReadonlyArray<SpendSums.Use> => {
    if (outcome === undefined || !("usage" in outcome) || outcome.usage === undefined) return []
    const { endedAt = end?.endedAt ?? 0 } = outcome
    return [{ target, tokens: tokensOf(outcome.usage), at: endedAt }]
  })
  if (end === undefined) return uses
  const last = TurnReport.targetOf(account) ?? account.attempts.at(-1)?.target ?? model
  const counted = uses.reduce((sum, { tokens }) => Prices.add(sum, tokens), Prices.NO_TOKENS)
  return [...uses, ...rest(end, counted, last)]
}

/** The tokens of a turn's end that were not counted before. */
export const rest = (
  { endedAt, status, usage }: TurnEvent.TurnEnd,
  counted: Prices.Tokens,
  target: string
): ReadonlyArray<SpendSums.Use> => {
  const total = tokensOf(usage)
  const tokens: Prices.Tokens = {
    input: Math.max(0, total.input - counted.input),
    output: Math.max(0, total.output - counted.output),
    cachedInput: Math.max(0, total.cachedInput - counted.cachedInput),
    cacheWrite: Math.max(0, total.cacheWrite - counted.cacheWrite)
  }
  const isUnreported = status === "completed" && (usage.inputTokens === undefined || usage.outputTokens === undefined)
  return isUnreported || Object.values(tokens).some((n) => n > 0)
    ? [{ target, tokens, at: endedAt, ...(isUnreported ? { isUnreported } : undefined) }]
    : []
}

/** The tokens of a usage; a number that the provider did not report counts as 0. */
export const tokensOf = (usage: Message.Usage): Prices.Tokens => ({
  input: usage.inputTokens ?? 0,
  output: usage.outputTokens ?? 0,
  cachedInput: usage.cachedInputTokens ?? 0,
  cacheWrite: usage.cacheWriteTokens ?? 0
})
