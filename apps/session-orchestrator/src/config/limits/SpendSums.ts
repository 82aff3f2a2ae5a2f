/**
 * Reads the tokens of calls and turns, and adds up those of one day: of all turns, and of the turns with each tag. Not shared between processes.
 *
 * Tokens are added as whole numbers by model, and multiplied by prices when they are read: the order of additions changes no figure, and
 * sums equal a recount. Sums are of the latest day that had an addition. Earlier days are not kept.
 */
import { Prices } from "@holdfast/policy"
import { type Message, Target, type TurnEvent } from "@holdfast/wire"
import * as ProviderName from "../../base/text/ProviderName.ts"

/** Tokens that were used at a target. */
export interface TokenUse {
  /** `provider/model`. */
  readonly target: string
  readonly tokens: Prices.Tokens
  /** Epoch milliseconds. */
  readonly at: number
  /** The provider reported no tokens for an answer. */
  readonly isUnreported?: boolean
}

/** What was spent. */
export interface SpentSum {
  /** In and out. */
  readonly tokens: number
  /** US dollars, of the models that have a price. */
  readonly money: number
  /** Targets with tokens and without a price, by name. */
  readonly unpriced: ReadonlyArray<string>
  /** Answers without a count of tokens. */
  readonly unreported: number
}

/** The tokens of some calls or turns at one target. */
interface TargetSum {
  readonly tokens: Prices.Tokens
  /** Calls or turns. */
  readonly count: number
  readonly unreported: number
}

/** The sum of some calls or turns. */
export class SpendSum {
  readonly targets = new Map<string, TargetSum>()

  /** Adds the tokens of a call, or those of several. */
  add(
    { isUnreported, target, tokens }: Omit<TokenUse, "at">,
    count = 1,
    unreported = isUnreported === true ? 1 : 0
  ): void {
    const sum = this.targets.get(target) ?? NOTHING
    this.targets.set(target, {
      tokens: Prices.add(sum.tokens, tokens),
      count: sum.count + count,
      unreported: sum.unreported + unreported
    })
  }

  /** What was spent. */
  spent(prices: Prices.Prices): SpentSum {
    let tokens = 0
    let money = 0
    let unreported = 0
    const unpriced = new Set<string>()
    for (const [target, sum] of this.targets) {
      const ofTarget = sum.tokens.input + sum.tokens.output
      const price = priceOf(prices, target)
      tokens += ofTarget
      unreported += sum.unreported
      if (price !== undefined) money += Prices.costOf(price, sum.tokens)
      else if (ofTarget > 0) unpriced.add(nameOf(target))
    }
    return { tokens, money, unpriced: Array.from(unpriced).toSorted(), unreported }
  }
}

/** The sums of a day. */
export class SpendSums {
  private readonly dayOf: (at: number) => number
  private day = -Infinity
  private readonly scopes = new Map<string | undefined, SpendSum>()

  /** @param dayOf the beginning of the day of a moment */
  constructor(dayOf: (at: number) => number) {
    this.dayOf = dayOf
  }

  /** Adds tokens of a turn with these tags. */
  add(use: TokenUse, tags: ReadonlyArray<string>): void {
    const day = this.dayOf(use.at)
    if (day < this.day) return
    if (day > this.day) this.scopes.clear()
    this.day = day
    for (const scope of [undefined, ...tags]) {
      const sum = this.scopes.get(scope) ?? new SpendSum()
      this.scopes.set(scope, sum)
      sum.add(use)
    }
  }

  /** What was spent on the day of a moment: by turns with a tag, or without one by all turns. */
  spent(tag: string | undefined, prices: Prices.Prices, at: number): SpentSum {
    const sum = this.dayOf(at) > this.day ? undefined : this.scopes.get(tag)
    return (sum ?? new SpendSum()).spent(prices)
  }
}

/** `provider/model` as the configuration has it: `openai/x` for `openai~client/x`, a call with its client's own key. */
export const nameOf = (name: string): string => {
  const parsed = Target.parse(name)
  return parsed === undefined ? name : Target.format({ ...parsed, provider: ProviderName.configured(parsed.provider) })
}

/** The price of `provider/model`; `undefined`: it is not known. */
export const priceOf = (prices: Prices.Prices, name: string): Prices.Price | undefined =>
  Prices.find(prices, nameOf(name))

/** The tokens of a turn's end that were not counted before. */
export const restOf = (end: TurnEvent.TurnEnd, counted: Prices.Tokens, target: string): ReadonlyArray<TokenUse> => {
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

// --- internal

const NOTHING: TargetSum = { tokens: Prices.NO_TOKENS, count: 0, unreported: 0 }
