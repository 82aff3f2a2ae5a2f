/**
 * Decides about failures, and waits.
 *
 * Retrying.W1. A wait is announced before its sleep begins (D5), and again when its end or its question changes or the turn resumes; a wait
 *     of an earlier life whose end has passed is not announced.
 * Retrying.W2. A wait that ends by itself may ask a person first (X11): once, and on record. From then on only a person ends it, or the end of
 *     the time for an answer; an early wake by the shell does not.
 */
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import * as Directives from "../../turn/Directive.ts"
import type { Directive, Wake } from "../../records/Records.ts"
import { type RetryStrategy, SleepFailure } from "../../ports/RetryStrategy.ts"
import type { TurnParked } from "../../ports/TurnParked.ts"
import type { TurnStopped } from "../../ports/TurnStopped.ts"
import { isOfItself } from "../machine/Decisions.ts"
import type { Command } from "../machine/OpenCommands.ts"
import * as RetryEvent from "../../turn/RetryEvent.ts"
import * as Observing from "./Observing.ts"
import * as CallFailure from "../../calls/CallFailure.ts"
import type { Run } from "./Run.ts"

type Decide = Extract<Command, { readonly _tag: "Decide" }>
type Wait = Extract<Command, { readonly _tag: "Wait" }>
type Ask = Extract<Command, { readonly _tag: "Ask" }>

/** Decides about a failure, by the router or by the strategy alone. */
export const decide = (
  run: Run,
  { question, failedCall, situation }: Decide
): Effect.Effect<Directive, TurnStopped> => {
  const { router, strategy } = run.ports
  const made = Effect.suspend(() => {
    const now = run.now()
    return question === undefined || router === undefined
      ? Effect.succeed(Directives.marked(Directives.decide({ ...situation, now }, strategy), situation))
      : Effect.map(router.direct({ ...situation, now }, question), (directive) =>
          Directives.marked(directive, situation)
        )
  })
  return Observing.decision(run, failedCall, made)
}

/** Waits until the wait has ended or was changed. */
export const sleep = (run: Run, command: Wait, strategy: RetryStrategy["Service"]) =>
  Observing.wait(run, command.wait, asleep(run, { ...command.wait, ...command }, strategy))

/** Asks about tool calls, or waits for an answer (Retrying.W2). */
export const ask = (run: Run, { asks, event, step, withinMs }: Ask, strategy: RetryStrategy["Service"]) =>
  event === undefined
    ? Effect.sync((): Wake => {
        const at = run.now()
        return { type: "asked", asks, until: at + withinMs, at }
      })
    : asleep(run, { asks, delayMs: event.delayMs, retryAt: event.retryAt, event, step }, strategy)

// --- internal

/** A wait as it is slept; without `awaited` for an answer about tool calls. */
interface Sleep extends Pick<Wait["wait"], "asks" | "delayMs" | "retryAt">, Pick<Wait, "event" | "step"> {
  readonly awaited?: Wait["awaited"]
  readonly outlook?: Wait["outlook"]
}

type Awake = Wake & { readonly at: number }

const ELAPSED: Wake = { type: "elapsed" }

const asleep = (
  run: Run,
  { asks, awaited, delayMs, event, outlook, retryAt, step }: Sleep,
  strategy: RetryStrategy["Service"]
): Effect.Effect<Awake, SleepFailure | TurnParked | TurnStopped> => {
  const calls = asks?.calls?.map(({ toolCallId }) => toolCallId)
  const sleepOn = () => {
    // The clock may have been set back since the wait began in an earlier life.
    const left = Duration.millis(Math.max(0, Math.min(retryAt - run.now(), delayMs)))
    return Effect.flatMap(Effect.catchCause(strategy.sleep(left, awaited, calls), failed), (wake) =>
      woken(wake ?? ELAPSED)
    )
  }
  const woken = (wake: Wake): Effect.Effect<Awake, SleepFailure | TurnParked | TurnStopped> => {
    const at = run.now()
    if (!isOfItself(wake)) return Effect.succeed({ ...wake, at })
    if (asks !== undefined && (wake.type !== "elapsed" || at < retryAt)) return sleepOn() // Retrying.W2
    const question = outlook && strategy.ask?.(outlook(Math.max(0, at - (awaited?.since ?? at))))
    if (question === undefined) return Effect.succeed({ ...wake, at })
    const by = wake.by === undefined ? undefined : { by: wake.by }
    return Effect.succeed({ type: "asked", asks: question.asks, until: at + question.answerWithinMs, at, ...by })
  }
  return Effect.suspend(() => {
    const announced = { step, event }
    if (!RetryEvent.isAnnounced(run.wait, announced) && (!run.isTakenUp || retryAt >= run.now())) {
      run.wait = announced
      run.live(event) // Retrying.W1
    }
    return sleepOn()
  })
}

const failed = <E>(cause: Cause.Cause<E>): Effect.Effect<never, E | SleepFailure> =>
  Effect.fail(Option.getOrElse(Cause.findErrorOption(cause), () => unslept(cause)))

/** D14. A sleep that interrupts itself has failed too; when the turn is interrupted no handler runs. */
const unslept = (cause: Cause.Cause<unknown>): SleepFailure =>
  new SleepFailure({ message: `The wait could not be slept: ${CallFailure.whyOf(cause)}` })
