/**
 * Limits of what turns may spend a day, in tokens and in money (X11, X12). Pure.
 *
 * SpendLimits.L1. A limit is reached when as much was spent as it allows: a step that begins below it may pass it, and no later one.
 * SpendLimits.L2. Tokens of a model without a price count as tokens. They are never money of 0: the text of a limit of money names them.
 * SpendLimits.L3. A limit with `fail` comes before those with `ask`: no answer lets a turn pass it.
 */
import { Labels } from "@holdfast/wire"
import * as Schema from "effect/Schema"
import * as Durations from "../profile/Durations.ts"
import * as Prices from "./Prices.ts"
import type { SpendSums, Spent } from "./SpendSums.ts"

const Dollars = Schema.Finite.check(
  Schema.isGreaterThanOrEqualTo(0, { message: "Expected US dollars, 0 or more" })
).annotate({ message: "Expected US dollars, 0 or more" })

const Tokens = Schema.Int.check(
  Schema.isGreaterThanOrEqualTo(0, { message: "Expected a number of tokens, 0 or more" })
).annotate({ message: "Expected a number of tokens, 0 or more" })

/** One limit, as a configuration has it. */
export const SpendLimit = Schema.Struct({
  /** What is added up: all turns of the day, or those of the day that have a tag. */
  per: Schema.Literals(["day", "tag"]).annotate({ message: 'Expected "day" or "tag"' }),
  /** With `per: "tag"`: this tag alone. Absent: each tag by itself. */
  tag: Schema.optionalKey(Labels.Tag),
  /** US dollars. */
  money: Schema.optionalKey(Dollars),
  /** Tokens, in and out. */
  tokens: Schema.optionalKey(Tokens),
  /** What becomes of a turn whose next step begins at the limit. */
  then: Schema.Literals(["ask", "fail"]).annotate({ message: 'Expected "ask" or "fail"' }),
  /** With `then: "ask"`: the time for an answer. Absent: 8 hours. */
  answerWithin: Schema.optionalKey(Durations.Positive)
}).check(
  Schema.makeFilter(
    ({ money, tokens }) =>
      money === undefined && tokens === undefined
        ? { path: ["money"], issue: "Expected money or tokens, or both: what is not to be exceeded" }
        : undefined,
    { toJsonSchema: () => ({ anyOf: [{ required: ["money"] }, { required: ["tokens"] }] }) }
  ),
  Schema.makeFilter(({ per, tag }) =>
    tag !== undefined && per !== "tag" ? { path: ["tag"], issue: 'Expected no tag, or "per": "tag"' } : undefined
  )
)
export type SpendLimit = typeof SpendLimit.Type

/** A limit that is reached. */
export interface Reached {
  readonly limit: SpendLimit
  /** Its place in the configuration, from 0. */
  readonly index: number
  /** The tag whose turns it adds up; absent: all turns. */
  readonly tag: string | undefined
  readonly spent: Spent
  /** What was spent, what is allowed, and the key of the configuration, for a person. */
  readonly message: string
}

/** The first limit that a turn with these tags has reached at a time, without those in `allowed`; `undefined`: its step may begin. */
export const reached = (
  limits: ReadonlyArray<SpendLimit>,
  sums: SpendSums,
  { allowed, prices, tags, timeZone, at }: Situation
): Reached | undefined => {
  let question: Reached | undefined
  for (const [index, limit] of limits.entries()) {
    if (allowed?.has(index) === true) continue
    for (const tag of scopesOf(limit, tags)) {
      const spent = sums.spent(tag, prices, at)
      if (!isReached(limit, spent)) continue
      const found = { limit, index, tag, spent, message: wording(limit, index, tag, spent, timeZone) }
      if (limit.then === "fail") return found // SpendLimits.L3
      question ??= found
    }
  }
  return question
}

/** A turn before its next step. */
export interface Situation {
  /** Places of limits that a person has let the turn pass. */
  readonly allowed?: ReadonlySet<number>
  readonly prices: Prices.Prices
  readonly tags: ReadonlyArray<string>
  readonly timeZone: string
  /** Epoch milliseconds. */
  readonly at: number
}

/** Whether a limit is reached (SpendLimits.L1). */
export const isReached = (
  { money, tokens }: Pick<SpendLimit, "money" | "tokens">,
  spent: Pick<Spent, "money" | "tokens">
): boolean => (tokens !== undefined && spent.tokens >= tokens) || (money !== undefined && spent.money >= money)

/** Why limits of money cannot be checked for a model (SpendLimits.L2); `undefined`: they can, or there are none. */
export const uncheckable = (
  limits: ReadonlyArray<SpendLimit>,
  prices: Prices.Prices,
  target: string
): string | undefined => {
  if (Prices.find(prices, target) !== undefined) return undefined
  const places = limits.flatMap(({ money }, index) => (money === undefined ? [] : [`spend[${index}].money`]))
  if (places.length === 0) return undefined
  return (
    `${places.join(", ")} cannot be checked for ${target}: its price is not known. ` +
    `Its tokens count as tokens only. Set prices.${JSON.stringify(target)}, or a limit of tokens.`
  )
}

// --- internal

const scopesOf = ({ per, tag }: SpendLimit, tags: ReadonlyArray<string>): ReadonlyArray<string | undefined> => {
  if (per === "day") return [undefined]
  return tag === undefined ? tags : tags.includes(tag) ? [tag] : []
}

const wording = (
  { money, tokens }: SpendLimit,
  index: number,
  tag: string | undefined,
  spent: Spent,
  timeZone: string
): string => {
  const allowed = [
    ...(money === undefined ? [] : [dollars(money)]),
    ...(tokens === undefined ? [] : [`${number(tokens)} tokens`])
  ].join(" and ")
  const known = `${number(spent.tokens)} tokens${money === undefined ? "" : ` for ${dollars(spent.money)}`}`
  const unpriced =
    money === undefined || spent.unpriced.length === 0
      ? ""
      : ` The money does not cover ${spent.unpriced.join(", ")}, which ${spent.unpriced.length === 1 ? "has" : "have"} no price.`
  const unreported =
    spent.unreported === 0
      ? ""
      : ` ${number(spent.unreported)} ${spent.unreported === 1 ? "answer" : "answers"} came without a count of tokens.`
  const whose = tag === undefined ? "" : ` on turns with the tag ${tag}`
  return (
    `The limit spend[${index}] of the configuration is reached: it allows ${allowed} a day${whose}, and ${known} ` +
    `were spent since midnight (${timeZone}).${unpriced}${unreported}`
  )
}

const number = (n: number): string => n.toLocaleString("en-US")

const dollars = (n: number): string => `$${n.toFixed(n > 0 && n < 0.01 ? 6 : 2)}`
