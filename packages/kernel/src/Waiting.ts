/**
 * The wait before a retry: told, slept, and changed by whoever has a say in it (X4).
 *
 * W1. Everybody who listens is told before the sleep begins (D5), and again when its end is moved.
 * W2. Its end is absolute. A turn that is run again sleeps what is left of it.
 * W3. Every ending of a sleep is a record, with the command that brought it about.
 * W4. A wait that ends without a person's doing may ask before it does (X11): once, and on record. From then on only a person ends it, or the end
 *     of the time for an answer; whatever wakes it before that does not.
 * W5. The turn counts how long each wait really took, from its records; a wait without an end in the records lasts until the seal.
 * W6. A wait may end with the turn leaving memory (`TurnParked`): nothing is put on record of it.
 */
import { Failure, type Target, type TurnEvent } from "@holdfast/wire"
import { Cause, Clock, Duration, Effect, Option } from "effect"
import type * as Directive from "./Directive.ts"
import * as Observer from "./Observer.ts"
import { endsWait, type Question, type RetryStrategy, SleepFailure, waitedMs, Wake } from "./RetryStrategy.ts"
import type { TurnState } from "./TurnState.ts"
import type { TurnParked } from "./TurnParked.ts"
import type { TurnStopped } from "./TurnStopped.ts"

/** What follows a wait. */
export type Ended =
  /**
   * The next attempt. `extendedMs` is what was added to the budget meanwhile; `waitedMs` how long it really was; `isAnswered`
   * says that a person let it go on.
   */
  | { readonly _tag: "Over"; readonly extendedMs: number; readonly waitedMs: number; readonly isAnswered: boolean }
  /** The next attempt, where a person wants it (X4). */
  | { readonly _tag: "Switched"; readonly extendedMs: number; readonly target: Target.Target }
  | { readonly _tag: "Cancelled" }
  /** It had asked, and nobody has answered for so long (W4). */
  | { readonly _tag: "Unanswered"; readonly asks: TurnEvent.Asks; readonly afterMs: number }
  /** D14 */
  | { readonly _tag: "Sleepless"; readonly error: SleepFailure }

/** What has to be asked when a wait has lasted so long; `undefined`: nothing. */
export type Ask = (waitedMs: number) => Question | undefined

/** Waits as decided, and as changed since. */
export const wait = Effect.fnUntraced(function* (
  turn: TurnState,
  strategy: RetryStrategy["Service"],
  path: string,
  failure: Failure.Failure,
  retry: Retry,
  ask?: Ask
): Effect.fn.Return<Ended, TurnParked | TurnStopped> {
  const since = retry.retryAt - retry.delayMs
  const until = (retryAt: number): Told => ({ ...retry, delayMs: Math.max(0, retryAt - since), retryAt })
  let told: Told = retry
  let askedAt: number | undefined
  let extendedMs = 0
  const wakes: Array<Wake> = []
  turn.waiting = (now) => waitedMs(retry, wakes, now) // W5
  for (let part = 0; ; part++) {
    const wake = yield* turn.ports.checkpoint
      .run(
        part === 0 ? path : `${path}/${part}`,
        Wake,
        Observer.wait(
          turn,
          failure,
          told,
          sleep(turn, strategy, failure, retry, told, askedAt === undefined ? ask : undefined)
        )
      )
      .pipe(Effect.catchTag("SleepFailure", Effect.succeed))
    if ("_tag" in wake) return { _tag: "Sleepless", error: wake }
    wakes.push(wake)
    const at = wake.at ?? told.retryAt
    if (endsWait(wake)) turn.closeWait(at)
    switch (wake.type) {
      case "elapsed":
      case "now": {
        if (wake.type === "elapsed" && told.asks !== undefined) {
          return { _tag: "Unanswered", asks: told.asks, afterMs: at - (askedAt ?? at) }
        }
        const isAnswered = !isOfItself(wake) || askedAt !== undefined
        return { _tag: "Over", extendedMs, waitedMs: waitedMs(retry, wakes, at), isAnswered }
      }
      case "cancelled":
        return { _tag: "Cancelled" }
      case "switched":
        return { _tag: "Switched", extendedMs, target: wake.target }
      case "until":
        told = until(wake.until) // an answer, where there was a question
        break
      case "asked":
        askedAt = at
        told = { ...until(wake.until), asks: wake.asks }
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
  { asks, attempt, delayMs, retryAt, route }: Told
): void => {
  const code = Failure.codeOf(failure)
  const { maxRetries } = strategy.budget
  turn.live(
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
      ...(maxRetries === undefined ? undefined : { maxAttempts: maxRetries }),
      ...(asks === undefined ? undefined : { asks })
    })
  )
}

// --- internal

type Retry = Extract<Directive.Directive, { readonly _tag: "Retry" }>

/** A wait as it is told: until when, and whether it waits for a person. */
type Told = Retry & { readonly asks?: TurnEvent.Asks }

const sleep = Effect.fnUntraced(function* (
  turn: TurnState,
  strategy: RetryStrategy["Service"],
  failure: Failure.Failure,
  decided: Retry,
  told: Told,
  ask: Ask | undefined
): Effect.fn.Return<Wake & { readonly at: number }, SleepFailure | TurnParked | TurnStopped> {
  tell(turn, strategy, failure, told)
  const { retryAt } = told
  const since = decided.retryAt - decided.delayMs
  const awaited = { route: told.route ?? turn.route, failure, since, retryAt, isMoved: told !== decided }
  for (;;) {
    const now = yield* Clock.currentTimeMillis
    const wake = yield* Effect.catchCause(
      strategy.sleep(Duration.millis(Math.max(0, retryAt - now)), awaited),
      (cause) => Effect.fail(Option.getOrElse(Cause.findErrorOption(cause), () => unslept(cause)))
    )
    const at = yield* Clock.currentTimeMillis
    if (!isOfItself(wake)) return { ...wake, at }
    if (told.asks !== undefined && (wake.type !== "elapsed" || at < retryAt)) continue // W4
    const question = ask?.(Math.max(0, at - since))
    if (question === undefined) return { ...wake, at }
    const by = wake.by === undefined ? undefined : { by: wake.by }
    return { type: "asked", asks: question.asks, until: at + question.answerWithinMs, at, ...by }
  }
})

/** Whether the next attempt is due without anybody having wanted it. */
const isOfItself = (wake: Wake): boolean => wake.type === "elapsed" || (wake.type === "now" && wake.early === true)

/** D14. A sleep that interrupts itself has failed too; when the turn is interrupted no handler is run. */
const unslept = (cause: Cause.Cause<unknown>): SleepFailure => {
  const why = Cause.hasInterruptsOnly(cause) ? "it was interrupted." : String(Cause.squash(cause))
  return new SleepFailure({ message: `The wait could not be slept: ${why}` })
}
