/**
 * Computes what a turn cost. Pure.
 *
 * TurnCost.C1. A cost of which a part is not known is `unknown`: a model without a price, or an answer without reported tokens.
 */
import { Prices } from "@holdfast/policy"
import type { PeriodReport, TurnEvent } from "@holdfast/wire"
import type * as Account from "../../recovery/Account.ts"
import * as PriceOf from "../../spend/limits/PriceOf.ts"
import * as TurnReport from "../TurnReport.ts"
import * as TurnFacts from "./TurnFacts.ts"

/** The cost of a turn that has ended, in US dollars. `model` is its last one. */
export const of = (
  end: TurnEvent.TurnEnd,
  account: Account.Account,
  model: string,
  prices: Prices.Prices
): PeriodReport.Cost => {
  const last = TurnReport.lastTargetOf(account) ?? model
  let sum = 0
  for (const { isUnreported, target, tokens } of TurnFacts.usageOf(end, account.attempts, last, model)) {
    const price = PriceOf.target(prices, target)
    if (price === undefined || isUnreported) return "unknown" // TurnCost.C1
    sum += Prices.costOf(price, tokens)
  }
  return sum
}
