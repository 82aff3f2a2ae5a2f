/** Makes the kernel's `RetryStrategy` from a policy and a `sleep`. */
import { defined } from "@holdfast/wire"
import { RetryStrategy } from "@holdfast/kernel"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Layer from "effect/Layer"
import * as Basis from "../decision/Basis.ts"
import type { CountTokens } from "../routing/Models.ts"
import * as SpendGuard from "../decision/SpendGuard.ts"
import * as RetryPolicy from "../decision/RetryPolicy.ts"

/** The port's `sleep`, which the shell provides (D11, D14). */
export type Sleep = RetryStrategy.RetryStrategy["Service"]["sleep"]

/** The wall clock is read this often, in milliseconds: a timer alone stands still while a machine sleeps. */
const LONGEST_TIMER_MS = 60_000

/** Waits until a moment in epoch milliseconds, in memory, however long that is (D11). */
export const sleepUntil = (end: number): Effect.Effect<void> =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    now >= end ? Effect.void : Effect.andThen(Effect.sleep(Math.min(end - now, LONGEST_TIMER_MS)), sleepUntil(end))
  )

/** The port's `sleep` in memory, without commands. */
export const sleepInMemory: Sleep = (delay) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) =>
    Effect.as(sleepUntil(now + Duration.toMillis(delay)), { type: "elapsed" })
  )

/**
 * Makes a strategy that decides by the policy and waits by `sleep`.
 *
 * **Details**
 *
 * `delayFor` returns the schedule as one would print it: no hints, no jitter, every earlier delay slept to its end.
 *
 * **Gotchas**
 *
 * Without `countTokens` a spend guard checks only the usage of turns: its limit of a request's tokens has no effect.
 */
export const make = (
  policy: RetryPolicy.RetryPolicy,
  sleep: Sleep,
  countTokens: CountTokens = () => 0
): RetryStrategy.RetryStrategy["Service"] => ({
  ...deciding(policy),
  sleep,
  ...guardedBy(policy.spendGuard, countTokens)
})

/** Makes the deciding part, for hosts that wait by themselves. */
export const deciding = (
  policy: RetryPolicy.RetryPolicy
): Pick<RetryStrategy.RetryStrategy["Service"], "delayFor" | "decide" | "midStream" | "budget"> => ({
  delayFor: (attempt, failure) => {
    const delayMs = RetryPolicy.delay(policy, attempt, failure)
    return delayMs === undefined ? undefined : Duration.millis(delayMs)
  },
  decide: (attempt, failure, spent) => {
    const decision = RetryPolicy.decide(policy, attempt, failure, spent)
    const basis = Basis.decided(policy, decision, { failure, retries: attempt, spent })
    if (decision._tag === "Refused") return { basis }
    const { delayMs, hintMs = 0 } = decision
    return { delay: Duration.millis(delayMs), ...(hintMs > 0 ? { atLeast: Duration.millis(hintMs) } : {}), basis }
  },
  midStream: (failure) => RetryPolicy.midStreamOf(policy, failure),
  budget: budgetOf(policy)
})

/** `make` as a layer. */
export const layer = (
  policy: RetryPolicy.RetryPolicy,
  sleep: Sleep,
  countTokens?: CountTokens
): Layer.Layer<RetryStrategy.RetryStrategy> =>
  Layer.succeed(RetryStrategy.RetryStrategy, make(policy, sleep, countTokens))

/** Makes the part that asks. */
export const guardedBy = (
  guard: SpendGuard.SpendGuard | undefined,
  countTokens: CountTokens,
  priceOf?: SpendGuard.PriceOf
): Pick<RetryStrategy.RetryStrategy["Service"], "ask"> =>
  guard === undefined ? {} : { ask: (outlook) => SpendGuard.ask(guard, outlook, countTokens, priceOf) }

// --- internal

const budgetOf = (policy: RetryPolicy.RetryPolicy): RetryStrategy.Budget => {
  const { measure, totalMs } = policy.budget
  const maxRetries = RetryPolicy.mostRetries(policy)
  return {
    ...defined({ totalMs }),
    measure,
    ...defined({ maxRetries })
  }
}
