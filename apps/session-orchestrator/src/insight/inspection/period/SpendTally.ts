/**
 * Adds up tokens by model, and their cost. Pure.
 *
 * Tokens are added per model and multiplied by its price once, so the order of turns changes no figure.
 */
import { Prices } from "@holdfast/policy"
import type { PeriodReport } from "@holdfast/wire"
import { priceOf, SpendSum } from "../../../config/limits/SpendSums.ts"
import type { AnsweredCallsRow } from "../../../storage/AnsweredCalls.ts"
import type { TargetUse } from "../../../engine/spend/TurnUse.ts"

/** The tokens of some turns. */
export class SpendTally {
  private turns = 0
  private unreported = 0
  private readonly sum = new SpendSum()

  /** Adds the tokens of one turn. */
  add(usage: ReadonlyArray<TargetUse>): void {
    if (usage.length > 0) this.turns++
    if (usage.some(({ isUnreported }) => isUnreported)) this.unreported++
    for (const use of usage) this.sum.add(use)
  }

  /** Adds the tokens of calls that were answered at once; each counts as a turn. */
  addCalls({ calls, target, tokens, unreported }: Omit<AnsweredCallsRow, "hour">): void {
    this.turns += calls
    this.unreported += unreported
    this.sum.add({ target, tokens }, calls, unreported)
  }

  /** The tokens and the cost of each model, by its name. */
  byModel(prices: Prices.Prices): ReadonlyArray<PeriodReport.NamedSpend> {
    return Array.from(this.sum.targets, ([name, { count: turns, tokens, unreported }]) => {
      const price = priceOf(prices, name)
      const isAnyKnown = tokens.input > 0 || tokens.output > 0
      const isKnown = price !== undefined && (isAnyKnown || unreported === 0)
      return {
        name,
        turns,
        ...keysOf(tokens),
        unreported,
        cost: isKnown ? Prices.costOf(price, tokens) : ("unknown" as const),
        ...(isKnown && unreported > 0 ? { isPartial: true as const } : {})
      }
    }).toSorted((a, b) => (a.name < b.name ? -1 : 1))
  }

  /** The tokens and the cost of all models together. */
  total(prices: Prices.Prices): PeriodReport.Spend {
    const models = this.byModel(prices)
    const known = models.flatMap(({ cost }) => (cost === "unknown" ? [] : [cost]))
    const tokens = Array.from(this.sum.targets.values()).reduce(
      (sum, { tokens }) => Prices.add(sum, tokens),
      Prices.NO_TOKENS
    )
    const isUnknown = models.length > 0 && known.length === 0
    const isPartial = !isUnknown && models.some(({ cost, isPartial }) => cost === "unknown" || isPartial === true)
    return {
      turns: this.turns,
      ...keysOf(tokens),
      unreported: this.unreported,
      cost: isUnknown ? "unknown" : known.reduce((sum, cost) => sum + cost, 0),
      ...(isPartial ? { isPartial: true as const } : {})
    }
  }
}

// --- internal

const keysOf = ({ cachedInput, cacheWrite, input, output }: Prices.Tokens) => ({
  inputTokens: input,
  outputTokens: output,
  cachedInputTokens: cachedInput,
  cacheWriteTokens: cacheWrite
})
