/**
 * Computes what a turn cost. Pure.
 *
 * TurnCost.C1. A cost of which a part is not known is `unknown`: a model without a price, or an answer without reported tokens.
 */
import type { History } from "@holdfast/kernel/host"
import { Prices } from "@holdfast/policy"
import type { PeriodReport, TurnEvent } from "@holdfast/wire"
import { priceOf } from "../../spend/limits/SpendSums.ts"
import * as TurnUse from "../TurnUse.ts"

/** The cost of a turn that has ended, in US dollars. `model` is its last one. */
export const of = (
  end: TurnEvent.TurnEnd,
  history: History.History,
  model: string,
  prices: Prices.Prices
): PeriodReport.Cost => {
  let sum = 0
  for (const { isUnreported, target, tokens } of TurnUse.byTarget(model, end, history)) {
    const price = priceOf(prices, target)
    if (price === undefined || isUnreported) return "unknown" // TurnCost.C1
    sum += Prices.costOf(price, tokens)
  }
  return sum
}
