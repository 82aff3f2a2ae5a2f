/**
 * Asks a person before an expensive request after a long wait (X11). After such a wait no provider has the context in its cache, so the
 * answer may no longer be worth its price.
 *
 * It does not ask before the step has waited for `afterMs` since a person's last command: an answer is valid for that long. Tokens are
 * counted only if there is a limit, and only after a long wait or a void attempt.
 *
 * An attempt whose content is void (X7) was paid for in vain. After one the turn's tokens are checked without a long wait, so repeated
 * voids stop at the limit. Where a provider had not reported the tokens of a void attempt, those of its request count.
 */
import type { RetryStrategy } from "@holdfast/kernel"
import { Count, defined, type Message, Millis, type Target, type TurnEvent } from "@holdfast/wire"
import type { CountTokens } from "../routing/Models.ts"
import type * as Prices from "../spend/Prices.ts"

/** The limits of a request after a long wait. */
export interface SpendGuard {
  /** A long wait: the real waiting of a step, one wait or several, in milliseconds. */
  readonly afterMs: number
  /** The limit of input tokens of the next request. Absent: no limit. */
  readonly maxInputTokens?: number
  /** The limit of tokens, in and out, that the turn has used by then. Absent: no limit. */
  readonly maxTurnTokens?: number
  /** The time for an answer, in milliseconds. After it the turn gives up, unless it `goesOn`. */
  readonly answerWithinMs: number
  readonly goesOn?: true
}

/** An hour: prompt caches have expired by then, and people have stopped watching. */
export const AFTER_MS = 3_600_000

/** 8 hours: a question at night can be answered in the morning. */
export const ANSWER_WITHIN_MS = 8 * 3_600_000

/** The price of a target; `undefined`: it is not known. */
export type PriceOf = (target: Target.Target) => Prices.Price | undefined

/** Returns the question before a request; `undefined`: none. The request's limit is checked first. */
export const ask = (
  guard: SpendGuard,
  { request, unreported = 0, usage, voids = 0, waitedMs }: RetryStrategy.Outlook,
  countTokens: CountTokens,
  priceOf: PriceOf = () => undefined
): RetryStrategy.Question | undefined => {
  const { afterMs, answerWithinMs, goesOn, maxInputTokens, maxTurnTokens } = guard
  const isLong = waitedMs >= afterMs
  if (!isLong && voids === 0) return undefined
  const question = (because: TurnEvent.Asks["because"], tokens: number, limit: number | undefined) =>
    limit !== undefined && tokens > limit
      ? {
          asks: {
            because,
            tokens,
            limit,
            waitedMs,
            message: wording(because, tokens, limit, { waitedMs, voids, price }) + (goesOn === true ? GOES_ON : ""),
            ...defined({ goesOn })
          },
          answerWithinMs
        }
      : undefined
  const { target, ...sent } = request
  const price = priceOf(target)
  const isEstimated = maxTurnTokens !== undefined && unreported > 0
  const ofRequest = isEstimated || (isLong && maxInputTokens !== undefined) ? countTokens(sent, target) : 0
  const ofTurn = tokensOf(usage) + unreported * ofRequest
  return (
    (isLong ? question("request", ofRequest, maxInputTokens) : undefined) ?? question("turn", ofTurn, maxTurnTokens)
  )
}

// --- internal

const GOES_ON = " Without an answer it goes on."

const tokensOf = ({ inputTokens = 0, outputTokens = 0 }: Message.Usage): number => inputTokens + outputTokens

const wording = (
  because: TurnEvent.Asks["because"],
  tokens: number,
  limit: number,
  of: { readonly voids: number; readonly waitedMs: number; readonly price: Prices.Price | undefined }
): string => {
  const { price, voids, waitedMs } = of
  const brokeOff = voids === 0 ? "" : ` and ${voids === 1 ? "an answer" : `${voids} answers`} that broke off`
  const waited = `After ${Millis.format(Math.round(waitedMs / 1000) * 1000)} of waiting${brokeOff}`
  const bound = `more than ${Count.format(limit)} are not spent without asking (retry.spendGuard).`
  return because === "request"
    ? `${waited} the next request would be about ${Count.format(tokens)} tokens${costing(tokens, price)}, and ${bound}`
    : `${waited} the turn has used ${Count.format(tokens)} tokens, and ${bound}`
}

/** What a request costs of which no cache has anything. */
const costing = (tokens: number, price: Prices.Price | undefined): string =>
  price === undefined
    ? ""
    : `, $${((tokens * Math.max(price.input, price.cacheWrite ?? 0)) / 1e6).toFixed(2)} without its answer`
