/**
 * Computes what tokens cost, from a table of prices (X12).
 *
 * A model without a price has no cost: `undefined`, never 0. Tokens are added as whole numbers, and multiplied once: the order of turns
 * changes no figure.
 */
import { Target } from "@holdfast/wire"
import * as Schema from "effect/Schema"
import { required, setting } from "../profile/Setting.ts"
import * as KnownPrices from "./KnownPrices.ts"

const Dollars = Schema.Finite.check(
  Schema.isGreaterThanOrEqualTo(0, { message: "Expected US dollars per million tokens, 0 or more" })
).annotate({ message: "Expected US dollars per million tokens, 0 or more" })

/** The price of one model, in US dollars per million tokens. */
export const Price = Schema.Struct({
  input: required(Dollars, { doc: "input tokens", unset: "that of a well-known model" }),
  output: required(Dollars, { doc: "output tokens, reasoning included", unset: "that of a well-known model" }),
  cachedInput: setting(Dollars, { doc: "input that the provider read from its prompt cache", unset: "`input`" }),
  cacheWrite: setting(Dollars, { doc: "input that the provider wrote to its prompt cache", unset: "`input`" })
})
export type Price = typeof Price.Type

/** Prices by `provider/model`. */
export type Prices = { readonly [target: string]: Price }

/** Tokens of any number of answers of one model. Cached tokens and written ones are part of `input`. */
export interface Tokens {
  readonly input: number
  readonly output: number
  readonly cachedInput: number
  readonly cacheWrite: number
}

/** No tokens. */
export const NO_TOKENS: Tokens = { input: 0, output: 0, cachedInput: 0, cacheWrite: 0 }

/** Adds tokens of the same model. */
export const add = (a: Tokens, b: Tokens): Tokens => ({
  input: a.input + b.input,
  output: a.output + b.output,
  cachedInput: a.cachedInput + b.cachedInput,
  cacheWrite: a.cacheWrite + b.cacheWrite
})

/** The prices of well-known models, by `provider/model`. */
export const known: Prices = Object.fromEntries(
  KnownPrices.lists.flatMap(({ models, provider }) =>
    Object.entries(models).map(([model, price]) => [Target.format({ provider, model }), price] as const)
  )
)

/**
 * The price of a target: the configured one, or else the known one. A dated name (`gpt-5-2025-08-07`) has the price of the model without
 * its date. `undefined`: it is not known.
 */
export const find = (configured: Prices, target: string): Price | undefined => {
  const undated = target.replace(DATE, "")
  return entry(configured, target) ?? entry(configured, undated) ?? entry(known, target) ?? entry(known, undated)
}

/** The cost of tokens in US dollars. */
export const costOf = (price: Price, { cachedInput, cacheWrite, input, output }: Tokens): number =>
  (Math.max(0, input - cachedInput - cacheWrite) * price.input +
    cachedInput * (price.cachedInput ?? price.input) +
    cacheWrite * (price.cacheWrite ?? price.input) +
    output * price.output) /
  MILLION

// --- internal

const MILLION = 1_000_000

/** The date of a model's version at the end of its name. */
const DATE = /-(?:\d{8}|\d{4}-\d{2}-\d{2})$/

const entry = (prices: Prices, target: string): Price | undefined =>
  Object.hasOwn(prices, target) ? prices[target] : undefined
