/**
 * The wait before a retry: told, slept, and changed by whoever has a say in it (X4).
 *
 * W1. Everybody who listens is told before the sleep begins (D5), and again when its end is moved.
 * W2. Its end is absolute. A turn that is run again sleeps what is left of it.
 * W3. Every ending of a sleep is a record, with the command that brought it about.
 */
import { Failure, Target } from "@holdfast/wire"
import { Cause, Clock, Duration, Effect, Option } from "effect"
import type * as Directive from "./Directive.ts"
import * as Observer from "./Observer.ts"
import { type RetryStrategy, SleepFailure, Wake } from "./RetryStrategy.ts"
import type { TurnState } from "./TurnState.ts"
import type { TurnStopped } from "./TurnStopped.ts"

/** What follows a wait. */
export type Ended =
  /** The next attempt. `extendedMs` is what was added to the budget meanwhile. */
  | { readonly _tag: "Over"; readonly extendedMs: number }
  | { readonly _tag: "Cancelled" }
  /** D14 */
  | { readonly _tag: "Sleepless"; readonly error: SleepFailure }

/** Waits as decided, and as changed since. */
export const wait = Effect.fnUntraced(function* (
  turn: TurnState,
  strategy: RetryStrategy["Service"],
  path: string,
  failure: Failure.Failure,
  { attempt, delayMs, retryAt }: Extract<Directive.Directive, { readonly _tag: "Retry" }>
): Effect.fn.Return<Ended, TurnStopped> {
  let end = { delayMs, retryAt }
  let extendedMs = 0
  for (let part = 0; ; part++) {
    const wake = yield* turn.ports.checkpoint
      .run(
        part === 0 ? path : `${path}/${part}`,
        Wake,
        Observer.wait(turn, { retry: attempt, failure, ...end }, sleep(turn, strategy, attempt, failure, end))
      )
      .pipe(Effect.catchTag("SleepFailure", Effect.succeed))
    if ("_tag" in wake) return { _tag: "Sleepless", error: wake }
    switch (wake.type) {
      case "elapsed":
      case "now":
        return { _tag: "Over", extendedMs }
      case "cancelled":
        return { _tag: "Cancelled" }
      case "switched":
        yield* switchTo(turn, wake.target)
        return { _tag: "Over", extendedMs }
      case "until":
        end = { delayMs: Math.max(0, wake.until - (retryAt - delayMs)), retryAt: wake.until }
        break
      case "extended":
        extendedMs += wake.byMs
        break
      default:
        return wake satisfies never
    }
  }
})

// --- internal

const sleep = Effect.fnUntraced(function* (
  turn: TurnState,
  strategy: RetryStrategy["Service"],
  attempt: number,
  failure: Failure.Failure,
  { delayMs, retryAt }: { readonly delayMs: number; readonly retryAt: number }
): Effect.fn.Return<Wake & { readonly at: number }, SleepFailure | TurnStopped> {
  const code = Failure.codeOf(failure)
  const { maxRetries } = strategy.budget
  turn.ports.sink.live(
    turn.event({
      type: "provider-retry",
      attempt,
      delayMs,
      retryAt,
      message: failure.message,
      reason: failure.reason,
      target: turn.targetName,
      ...(code === undefined ? undefined : { code }),
      ...(maxRetries === undefined ? undefined : { maxAttempts: maxRetries })
    })
  )
  const now = yield* Clock.currentTimeMillis
  const wake = yield* Effect.catchCause(strategy.sleep(Duration.millis(Math.max(0, retryAt - now))), (cause) =>
    Effect.fail(Option.getOrElse(Cause.findErrorOption(cause), () => unslept(cause)))
  )
  return { ...wake, at: yield* Clock.currentTimeMillis }
})

/** D14. A sleep that interrupts itself has failed too; when the turn is interrupted no handler is run. */
const unslept = (cause: Cause.Cause<unknown>): SleepFailure => {
  const why = Cause.hasInterruptsOnly(cause) ? "it was interrupted." : String(Cause.squash(cause))
  return new SleepFailure({ message: `The wait could not be slept: ${why}` })
}

const switchTo = (turn: TurnState, target: Target.Target): Effect.Effect<void, TurnStopped> => {
  const from = turn.targetName
  turn.target = target
  return turn.persist([turn.event({ type: "model-change", from, to: Target.format(target) })])
}
