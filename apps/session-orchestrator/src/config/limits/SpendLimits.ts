/**
 * Limits of what is spent in a day, by a conversation or by a turn, in tokens and in money (X11, X12). Pure.
 *
 * - A limit is reached when as much was spent as it allows: a step that begins below it may pass it, and no later one.
 * - Tokens of a model without a price count as tokens. They are never money of 0: the text of a limit of money names them.
 * - A limit with `fail` comes before those with `ask`: no answer lets a turn pass it.
 * - A person may raise a limit: it allows more, from what is spent by then, until the end of its day or its conversation.
 */
import type { Prices } from "@holdfast/policy"
import { Durations } from "@holdfast/policy"
import type { Ids } from "@holdfast/wire"
import { Count, defined, Labels, type TurnEvent } from "@holdfast/wire"
import { Schema } from "effect"
import { priceOf, type SpentSum } from "./SpendSums.ts"

const Dollars = Schema.Finite.check(
  Schema.isGreaterThanOrEqualTo(0, { message: "Expected US dollars, 0 or more" })
).annotate({ message: "Expected US dollars, 0 or more" })

const Tokens = Schema.Int.check(
  Schema.isGreaterThanOrEqualTo(0, { message: "Expected a number of tokens, 0 or more" })
).annotate({ message: "Expected a number of tokens, 0 or more" })

/** The tag of every call of the gateway. All have it, so "each tag by itself" leaves it out. */
export const GATEWAY_TAG = "gateway"

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
  readonly spent: SpentSum
  /** Which of its sums. */
  readonly name: TurnEvent.LimitName
  /** What a person has raised it to. */
  readonly raised: Raised | undefined
  /** What was spent, what is allowed, and the key of the configuration, for a person. */
  readonly message: string
}

/** What a limit allows in the place of its own figures. */
export interface Raised {
  readonly money?: number | undefined
  readonly tokens?: number | undefined
}

/** The first limit that a turn with these tags has reached at a time, without those in `allowed`; `undefined`: its step may begin. */
export const reached = (limits: ReadonlyArray<SpendLimit>, situation: SpendSituation): Reached | undefined => {
  let question: Reached | undefined
  for (const [index, limit] of limits.entries()) {
    if (situation.allowed?.has(index) === true) continue
    for (const scope of scopesOf(limit, situation)) {
      const spent = scope.spent()
      if (!isReached(limit, spent)) continue
      const name = { limit: index, ...scope.name }
      const raised = situation.raised?.(limit, name)
      if (raised !== undefined && !isReached(raised, spent)) continue
      const found = { limit, index, spent, name, raised, message: wording(limit, index, scope, spent, raised) }
      if (limit.then === "fail") return found
      question ??= found
    }
  }
  return question
}

/** A turn before its next step. */
export interface SpendSituation {
  /** Places of limits that a person has let the turn pass. */
  readonly allowed?: ReadonlySet<number>
  /** What a sum of a limit may be, if a person has raised it. */
  readonly raised?: (limit: SpendLimit, name: TurnEvent.LimitName) => Raised | undefined
  readonly conversationId?: Ids.ConversationId | undefined
  readonly prices: Prices.Prices
  readonly tags: ReadonlyArray<string>
  readonly timeZone: string
  /** What was spent on this day: by turns with a tag, or without one by all turns. */
  readonly day: (tag: string | undefined) => SpentSum
  /** What was spent in the conversation of the turn. */
  readonly conversation: () => SpentSum
  /** What the turn has spent itself. */
  readonly turn: () => SpentSum
}

/** Whether a limit is reached. */
export const isReached = ({ money, tokens }: Raised, spent: Pick<SpentSum, "money" | "tokens">): boolean =>
  (tokens !== undefined && spent.tokens >= tokens) || (money !== undefined && spent.money >= money)

/** What a limit allows if it allows `more`, by default as much again, from what is spent. A repeated raise allows no more. */
export const raise = (
  limit: SpendLimit,
  before: Raised | undefined,
  spent: Pick<SpentSum, "money" | "tokens">,
  more: Raised = {}
): Raised | undefined => {
  const of = (figure: "money" | "tokens"): number | undefined => {
    const own = limit[figure]
    if (own === undefined) return undefined
    const from = limit.per === "turn" ? own : Math.max(own, spent[figure])
    return Math.max(before?.[figure] ?? 0, from + (more[figure] ?? own))
  }
  const raised = { money: of("money"), tokens: of("tokens") }
  return isReached(raised, spent) ? undefined : raised
}

/** A limit that is raised keeps its name as long as the configuration has it unchanged, wherever it is in the list. */
export const identity = ({ money, per, tag, then, tokens }: SpendLimit): string =>
  JSON.stringify([per, tag ?? null, money ?? null, tokens ?? null, then])

/** The command that raises a limit, and what it allows. */
export const advice = ({ limit, name }: Pick<Reached, "limit" | "name">): string => {
  const of =
    name.tag === undefined ? name.conversationId && ` --conversation ${name.conversationId}` : ` --tag ${name.tag}`
  return `\`holdfast raise-limit ${name.limit}${of ?? ""}\` allows ${AS_MUCH[limit.per]}`
}

/** Why limits of money cannot be checked for a model; `undefined`: they can, or there are none. */
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

/** The figures of a limit in words. */
export const figures = ({ money, tokens }: Raised): string =>
  [...(money === undefined ? [] : [dollars(money)]), ...(tokens === undefined ? [] : [tokensText(tokens)])].join(
    " and "
  )

// --- internal

/** What a limit adds up, in words: behind what it allows, and behind what was spent. */
interface Scope {
  readonly name: Omit<TurnEvent.LimitName, "limit">
  readonly allowed: string
  readonly when: string
  readonly spent: () => SpentSum
}

const scopesOf = (
  { per, tag }: SpendLimit,
  { conversation, conversationId, day, tags, timeZone, turn }: SpendSituation
): ReadonlyArray<Scope> => {
  const when = `since midnight (${timeZone})`
  const ofTag = (name: string): Scope => ({
    name: tag === undefined ? { tag: name } : {},
    allowed: `a day on turns with the tag ${name}`,
    when,
    spent: () => day(name)
  })
  switch (per) {
    case "day":
      return [{ name: {}, allowed: "a day", when, spent: () => day(undefined) }]
    case "tag":
      return tags.filter((name) => (tag === undefined ? name !== GATEWAY_TAG : name === tag)).map(ofTag)
    case "conversation":
      return [
        { name: defined({ conversationId }), allowed: "a conversation", when: "in this one", spent: conversation }
      ]
    case "turn":
      return [{ name: {}, allowed: "a turn", when: "in this one", spent: turn }]
    default:
      return per satisfies never
  }
}

const wording = (
  { money, tokens }: SpendLimit,
  index: number,
  { allowed: scope, when }: Scope,
  spent: SpentSum,
  raised: Raised | undefined
): string => {
  const allowed = figures({ money, tokens })
  const more = raised === undefined ? "" : `, raised to ${figures(raised)}`
  const known = `${tokensText(spent.tokens)}${money === undefined ? "" : ` for ${dollars(spent.money)}`}`
  const unpriced =
    money === undefined || spent.unpriced.length === 0
      ? ""
      : ` The money does not cover ${spent.unpriced.join(", ")}, which ${spent.unpriced.length === 1 ? "has" : "have"} no price.`
  const unreported =
    spent.unreported === 0 ? "" : ` ${Count.of(spent.unreported, "answer")} came without a count of tokens.`
  return (
    `The limit spend[${index}] of the configuration is reached: it allows ${allowed} ${scope}${more}, and ${known} ` +
    `${spent.tokens === 1 ? "was" : "were"} spent ${when}.${unpriced}${unreported}`
  )
}

/** What a raised limit allows, and for how long. */
const AS_MUCH: Readonly<Record<SpendLimit["per"], string>> = {
  day: "as much again today",
  tag: "as much again today",
  conversation: "as much again in this conversation",
  turn: "every turn as much again today"
}

const tokensText = (tokens: number): string => Count.of(tokens, "token")

const dollars = (n: number): string => `$${n.toFixed(n > 0 && n < 0.01 ? 6 : 2)}`
