/**
 * Limits of what is spent in a day, by a conversation or by a turn, in tokens and in money (X11, X12). Pure.
 *
 * SpendLimits.L1. A limit is reached when as much was spent as it allows: a step that begins below it may pass it, and no later one.
 * SpendLimits.L2. Tokens of a model without a price count as tokens. They are never money of 0: the text of a limit of money names them.
 * SpendLimits.L3. A limit with `fail` comes before those with `ask`: no answer lets a turn pass it.
 */
import type { Prices } from "@holdfast/policy"
import { Durations } from "@holdfast/policy"
import { Count, Labels } from "@holdfast/wire"
import { Schema } from "effect"
import { priceOf, type Spent } from "./SpendSums.ts"

const Dollars = Schema.Finite.check(
  Schema.isGreaterThanOrEqualTo(0, { message: "Expected US dollars, 0 or more" })
).annotate({ message: "Expected US dollars, 0 or more" })

const Tokens = Schema.Int.check(
  Schema.isGreaterThanOrEqualTo(0, { message: "Expected a number of tokens, 0 or more" })
).annotate({ message: "Expected a number of tokens, 0 or more" })

/** One limit, as a configuration has it. */
export const SpendLimit = Schema.Struct({
  /**
   * What is added up: all turns of the day, those of the day that have a tag, all turns of the conversation since its beginning, or the
   * calls of the turn itself.
   */
  per: Schema.Literals(["day", "tag", "conversation", "turn"]).annotate({
    message: 'Expected "day", "tag", "conversation" or "turn"'
  }),
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
  readonly spent: Spent
  /** What was spent, what is allowed, and the key of the configuration, for a person. */
  readonly message: string
}

/** The first limit that a turn with these tags has reached at a time, without those in `allowed`; `undefined`: its step may begin. */
export const reached = (limits: ReadonlyArray<SpendLimit>, situation: Situation): Reached | undefined => {
  let question: Reached | undefined
  for (const [index, limit] of limits.entries()) {
    if (situation.allowed?.has(index) === true) continue
    for (const scope of scopesOf(limit, situation)) {
      const spent = scope.spent()
      if (!isReached(limit, spent)) continue
      const found = { limit, index, spent, message: wording(limit, index, scope, spent) }
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
  /** What was spent on this day: by turns with a tag, or without one by all turns. */
  readonly day: (tag: string | undefined) => Spent
  /** What was spent in the conversation of the turn. */
  readonly conversation: () => Spent
  /** What the turn has spent itself. */
  readonly turn: () => Spent
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
  if (priceOf(prices, target) !== undefined) return undefined
  const places = limits.flatMap(({ money }, index) => (money === undefined ? [] : [`spend[${index}].money`]))
  if (places.length === 0) return undefined
  return (
    `${places.join(", ")} cannot be checked for ${target}: its price is not known. ` +
    `Its tokens count as tokens only. Set prices.${JSON.stringify(target)}, or a limit of tokens.`
  )
}

// --- internal

/** What a limit adds up, in words: behind what it allows, and behind what was spent. */
interface Scope {
  readonly allowed: string
  readonly when: string
  readonly spent: () => Spent
}

const scopesOf = (
  { per, tag }: SpendLimit,
  { conversation, day, tags, timeZone, turn }: Situation
): ReadonlyArray<Scope> => {
  const when = `since midnight (${timeZone})`
  const ofTag = (name: string): Scope => ({
    allowed: `a day on turns with the tag ${name}`,
    when,
    spent: () => day(name)
  })
  switch (per) {
    case "day":
      return [{ allowed: "a day", when, spent: () => day(undefined) }]
    case "tag":
      return (tag === undefined ? tags : tags.filter((name) => name === tag)).map(ofTag)
    case "conversation":
      return [{ allowed: "a conversation", when: "in this one", spent: conversation }]
    case "turn":
      return [{ allowed: "a turn", when: "in this one", spent: turn }]
    default:
      return per satisfies never
  }
}

const wording = (
  { money, tokens }: SpendLimit,
  index: number,
  { allowed: scope, when }: Scope,
  spent: Spent
): string => {
  const allowed = [
    ...(money === undefined ? [] : [dollars(money)]),
    ...(tokens === undefined ? [] : [tokensText(tokens)])
  ].join(" and ")
  const known = `${tokensText(spent.tokens)}${money === undefined ? "" : ` for ${dollars(spent.money)}`}`
  const unpriced =
    money === undefined || spent.unpriced.length === 0
      ? ""
      : ` The money does not cover ${spent.unpriced.join(", ")}, which ${spent.unpriced.length === 1 ? "has" : "have"} no price.`
  const unreported =
    spent.unreported === 0 ? "" : ` ${Count.of(spent.unreported, "answer")} came without a count of tokens.`
  return (
    `The limit spend[${index}] of the configuration is reached: it allows ${allowed} ${scope}, and ${known} ` +
    `${spent.tokens === 1 ? "was" : "were"} spent ${when}.${unpriced}${unreported}`
  )
}

const tokensText = (tokens: number): string => Count.of(tokens, "token")

const dollars = (n: number): string => `$${n.toFixed(n > 0 && n < 0.01 ? 6 : 2)}`
