/**
 * One response of the model, over as many attempts as it takes.
 *
 * R1. The order is: attempt, decision, `provider-retry`, sleep, next attempt. The decision is recorded before anybody is
 *     told of it, and told before anybody sleeps (D5).
 * R2. An error is held back while there is hope: nobody hears of it but through `provider-retry` (D7).
 * R3. Every attempt, decision and sleep is a checkpoint, named by its step and number.
 * R4. Counters live here and end with the step: they are back at 0 for the next one, however this one ended (P10).
 */
import { Failure } from "@holdfast/wire"
import { Clock, Duration, Effect } from "effect"
import * as Attempt from "./Attempt.ts"
import { Content } from "./Content.ts"
import * as Directive from "./Directive.ts"
import * as ModelContext from "./ModelContext.ts"
import type { ProviderRequest } from "./Provider.ts"
import { type RetryStrategy, SleepFailure, Wake } from "./RetryStrategy.ts"
import type { TurnState } from "./TurnState.ts"
import type { TurnStopped } from "./TurnStopped.ts"

type Completed = Extract<Attempt.AttemptOutcome, { _tag: "Completed" }>
type Failed = Extract<Attempt.AttemptOutcome, { _tag: "Failed" }>

/** A response, or why there is none. */
export type Result =
  | Completed
  | {
      readonly _tag: "GaveUp"
      readonly last: Failed
      /** What the turn fails with. */
      readonly failure: Failure.Failure
      /** What `retry-end` says, where a chain is open. */
      readonly finalError: string
    }

/** What `retry-end` says when somebody cancelled (P11). */
export const CANCELLED = "Retry cancelled"

/** Gets the response of the turn's current step. */
export const respond = Effect.fnUntraced(function* (turn: TurnState): Effect.fn.Return<Result, TurnStopped> {
  const { checkpoint, strategy } = turn.ports
  const path = `step/${turn.step}`
  const messages = ModelContext.of(turn.messages)
  let firstFailureAt: number | undefined
  let sleptMs = 0
  let defects = 0

  for (let n = 0; ; n++) {
    const content = new Content()
    turn.unfinished = content
    const outcome = yield* checkpoint.run(
      `${path}/attempt/${n}`,
      Attempt.AttemptOutcome,
      attempt(turn, n, messages, content)
    )
    turn.attempts++
    if (outcome._tag === "Completed") return outcome

    const { failure } = outcome
    firstFailureAt ??= outcome.endedAt
    if (failure.defect === true) defects++
    const spent = { sleptMs, elapsedMs: Math.max(0, outcome.endedAt - firstFailureAt), spread: outcome.spread }
    const directive = yield* checkpoint.run(
      `${path}/decision/${n}`,
      Directive.Directive,
      Effect.map(Clock.currentTimeMillis, (now) =>
        Directive.decide({ failure, contentSeen: outcome.contentSeen, retries: n, defects, spent, now }, strategy)
      )
    )
    if (directive._tag === "GiveUp" || strategy === undefined) {
      return { _tag: "GaveUp", last: outcome, failure, finalError: failure.message }
    }

    turn.chain = n
    const wake = yield* checkpoint
      .run(`${path}/sleep/${n}`, Wake, sleep(turn, strategy, failure, directive))
      .pipe(Effect.catchTag("SleepFailure", Effect.succeed))
    if (typeof wake !== "string") {
      return { _tag: "GaveUp", last: outcome, failure: sleepless(wake), finalError: wake.message } // D14
    }
    if (wake === "cancelled") return { _tag: "GaveUp", last: outcome, failure, finalError: CANCELLED }
    sleptMs += directive.delayMs
    turn.sleptMs += directive.delayMs
  }
})

// --- internal

const attempt = (
  turn: TurnState,
  n: number,
  messages: ProviderRequest["messages"],
  content: Content
): Effect.Effect<Attempt.AttemptOutcome> =>
  Effect.suspend(() => {
    const { conversationId, turnId, target, system } = turn.input
    const { provider, sink, toolbox } = turn.ports
    if (n === 0) sink.live(turn.event({ type: "step-start", step: turn.step, target: turn.target }))
    const request: ProviderRequest = {
      conversationId,
      turnId,
      step: turn.step,
      attempt: n,
      target,
      messages,
      tools: toolbox.definitions,
      ...(system === undefined ? undefined : { system })
    }
    return Attempt.run(provider, sink, request, content)
  })

/** Tells, then sleeps what is left until the recorded end; less than the delay when the turn is run again. */
const sleep = Effect.fnUntraced(function* (
  turn: TurnState,
  strategy: RetryStrategy["Service"],
  failure: Failure.Failure,
  { attempt, delayMs, retryAt }: Extract<Directive.Directive, { _tag: "Retry" }>
): Effect.fn.Return<Wake, SleepFailure | TurnStopped> {
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
      target: turn.target,
      ...(code === undefined ? undefined : { code }),
      ...(maxRetries === undefined ? undefined : { maxAttempts: maxRetries })
    })
  )
  const now = yield* Clock.currentTimeMillis
  return yield* Effect.catchDefect(strategy.sleep(Duration.millis(Math.max(0, retryAt - now))), (defect) =>
    Effect.fail(new SleepFailure({ message: `The wait could not be slept: ${String(defect)}` }))
  )
})

const sleepless = ({ message }: SleepFailure): Failure.Failure => ({ reason: "unknown", message, retryable: false })
