/**
 * A guard over what the first request after a long wait may cost (X11): whoever wanted an answer last night may not want it any
 * more at the price of a context that no provider has in its cache.
 *
 * G1. It asks about nothing before the step has waited for `afterMs` since a person last had a say: an answer is good for that
 *     long again.
 * G2. It asks when a limit is exceeded, and not when it is met.
 * G3. Tokens are counted only where they are held against a limit, and only after a long wait.
 */
import type { RetryStrategy } from "@holdfast/kernel"
import type { Message, TurnEvent } from "@holdfast/wire"
import { Duration } from "effect"
import type { CountTokens } from "./routing/Models.ts"

export interface SpendGuard {
  /** A long wait: the real waiting of a step, one wait or several, in milliseconds. */
  readonly afterMs: number
  /** The most input tokens of the next request. Absent: any number. */
  readonly maxInputTokens?: number
  /** The most tokens, in and out, that the turn may have used by then. Absent: any number. */
  readonly maxTurnTokens?: number
  /** How long there can be an answer, in milliseconds. Then the turn gives up. */
  readonly answerWithinMs: number
}

/** An hour: prompt caches are gone by then, and so is whoever looked on. */
export const AFTER_MS = 3_600_000

/** 8 hours: what is asked at night can be answered in the morning. */
export const ANSWER_WITHIN_MS = 8 * 3_600_000

/** What has to be asked before a request; `undefined`: nothing. The request alone is looked at first. */
export const ask = (
  guard: SpendGuard,
  { request, usage, waitedMs }: RetryStrategy.Outlook,
  countTokens: CountTokens
): RetryStrategy.Question | undefined => {
  const { afterMs, answerWithinMs, maxInputTokens, maxTurnTokens } = guard
  if (waitedMs < afterMs) return undefined // G1
  const question = (because: TurnEvent.Asks["because"], tokens: number, limit: number | undefined) =>
    limit !== undefined && tokens > limit
      ? {
          asks: { because, tokens, limit, waitedMs, message: wording(because, tokens, limit, waitedMs) },
          answerWithinMs
        }
      : undefined
  const { target, ...sent } = request
  const ofRequest = maxInputTokens === undefined ? 0 : countTokens(sent, target) // G3
  return question("request", ofRequest, maxInputTokens) ?? question("turn", tokensOf(usage), maxTurnTokens)
}

// --- internal

const tokensOf = ({ inputTokens = 0, outputTokens = 0 }: Message.Usage): number => inputTokens + outputTokens

const wording = (because: TurnEvent.Asks["because"], tokens: number, limit: number, waitedMs: number): string => {
  const waited = `After ${Duration.format(Duration.seconds(Math.round(waitedMs / 1000)))} of waiting`
  const bound = `more than ${number(limit)} are not spent without asking (retry.spendGuard).`
  return because === "request"
    ? `${waited} the next request would be about ${number(tokens)} tokens, and ${bound}`
    : `${waited} the turn has used ${number(tokens)} tokens, and ${bound}`
}

const number = (n: number): string => n.toLocaleString("en-US")
