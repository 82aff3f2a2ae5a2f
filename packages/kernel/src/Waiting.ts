/**
 * The wait before a retry: told, slept, and changed by whoever has a say in it (X4).
 *
 * W1. Everybody who listens is told before the sleep begins (D5), and again when its end is moved.
 * W2. Its end is absolute. A turn that is run again sleeps what is left of it.
 * W3. Every ending of a sleep is a record, with the command that brought it about.
 */
import { Failure, type Target } from "@holdfast/wire"
import { Cause, Clock, Duration, Effect, Option } from "effect"
import type * as Directive from "./Directive.ts"
import { type RetryStrategy, SleepFailure, Wake } from "./RetryStrategy.ts"
import type { TurnState } from "./TurnState.ts"
import type { TurnStopped } from "./TurnStopped.ts"

/** What follows a wait. */
export type Ended =
  /** The next attempt. `extendedMs` is what was added to the budget meanwhile. */
  | { readonly _tag: "Over"; readonly extendedMs: number }
  /** The next attempt, where a person wants it (X4). */
  | { readonly _tag: "Switched"; readonly extendedMs: number; readonly target: Target.Target }
  | { readonly _tag: "Cancelled" }
  /** D14 */
  | { readonly _tag: "Sleepless"; readonly error: SleepFailure }

/** Waits as decided, and as changed since. */
export const wait = Effect.fnUntraced(function* (
  turn: TurnState,
  strategy: RetryStrategy["Service"],
  path: string,
  failure: Failure.Failure,
  retry: Retry
): Effect.fn.Return<Ended, TurnStopped> {
  let told = retry
  let extendedMs = 0
  for (let part = 0; ; part++) {
    const wake = yield* turn.ports.checkpoint
      .run(part === 0 ? path : `${path}/${part}`, Wake, sleep(turn, strategy, failure, told))
      .pipe(Effect.catchTag("SleepFailure", Effect.succeed))
    if ("_tag" in wake) return { _tag: "Sleepless", error: wake }
    switch (wake.type) {
      case "elapsed":
      case "now":
        return { _tag: "Over", extendedMs }
      case "cancelled":
        return { _tag: "Cancelled" }
      case "switched":
        return { _tag: "Switched", extendedMs, target: wake.target }
      case "until":
        told = {
          ...retry,
          delayMs: Math.max(0, wake.until - (retry.retryAt - retry.delayMs)),
          retryAt: wake.until
        }
        break
      case "extended":
        extendedMs += wake.byMs
        break
      default:
        return wake satisfies never
    }
  }
})

/** Says that there will be a retry, and when (W1). */
export const tell = (
  turn: TurnState,
  strategy: RetryStrategy["Service"],
  failure: Failure.Failure,
  { attempt, delayMs, retryAt, route }: Retry
): void => {
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
      ...(route?.credential === undefined ? undefined : { credential: route.credential }),
      ...(code === undefined ? undefined : { code }),
      ...(maxRetries === undefined ? undefined : { maxAttempts: maxRetries })
    })
  )
}

// --- internal

type Retry = Extract<Directive.Directive, { readonly _tag: "Retry" }>

const sleep = Effect.fnUntraced(function* (
  turn: TurnState,
  strategy: RetryStrategy["Service"],
  failure: Failure.Failure,
  retry: Retry
): Effect.fn.Return<Wake, SleepFailure | TurnStopped> {
  tell(turn, strategy, failure, retry)
  const now = yield* Clock.currentTimeMillis
  const wake = yield* Effect.catchCause(strategy.sleep(Duration.millis(Math.max(0, retry.retryAt - now))), (cause) =>
    Effect.fail(Option.getOrElse(Cause.findErrorOption(cause), () => unslept(cause)))
  )
  return { ...wake, at: yield* Clock.currentTimeMillis }
})

/** D14. A sleep that interrupts itself has failed too; when the turn is interrupted no handler is run. */
const unslept = (cause: Cause.Cause<unknown>): SleepFailure => {
  const why = Cause.hasInterruptsOnly(cause) ? "it was interrupted." : String(Cause.squash(cause))
  return new SleepFailure({ message: `The wait could not be slept: ${why}` })
}
