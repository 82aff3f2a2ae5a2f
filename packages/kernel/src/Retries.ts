/**
 * One response of the model, over as many attempts as it takes.
 *
 * R1. The order is: attempt, decision, `provider-retry`, sleep, next attempt. The decision is recorded before anybody is
 *     told of it, and told before anybody sleeps (D5).
 * R2. An error is held back while there is hope: nobody hears of it but through `provider-retry` (D7).
 * R3. Every attempt, decision and sleep is a checkpoint, named by its step and number; so is the moment before an attempt's
 *     first content leaves.
 * R4. Counters live here and end with the step: they are back at 0 for the next one, however this one ended (P10).
 */
import type { Failure } from "@holdfast/wire"
import { Clock, Effect } from "effect"
import * as Attempt from "./Attempt.ts"
import * as Checkpoint from "./Checkpoint.ts"
import { Content } from "./Content.ts"
import * as Directive from "./Directive.ts"
import * as ModelContext from "./ModelContext.ts"
import * as Observer from "./Observer.ts"
import type { ProviderRequest } from "./Provider.ts"
import type { TurnState } from "./TurnState.ts"
import type { TurnStopped } from "./TurnStopped.ts"
import * as Waiting from "./Waiting.ts"

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
  let retries = 0
  let sleptMs = 0
  let extendedMs = 0
  let defects = 0

  for (let n = 0; ; n++) {
    const made = turn.attempts + 1
    const outcome = yield* attempt(turn, `${path}/attempt/${n}`, n, messages)
    turn.attempts = made
    if (outcome._tag === "Completed") return outcome
    if (outcome._tag === "Lost") {
      yield* turn.persist([turn.event({ type: "step-discarded", step: turn.step, message: LOST })])
      continue
    }

    const { failure } = outcome
    firstFailureAt ??= outcome.endedAt
    turn.openRetryLoop(outcome.endedAt)
    if (failure.defect === true) defects++
    const elapsedMs = Math.max(0, outcome.endedAt - firstFailureAt)
    const spent = { sleptMs, elapsedMs, extendedMs, spread: outcome.spread }
    const directive = yield* checkpoint.run(
      `${path}/decision/${n}`,
      Directive.Directive,
      Observer.decision(
        turn,
        n,
        failure,
        Effect.map(Clock.currentTimeMillis, (now) =>
          Directive.decide({ failure, contentSeen: outcome.contentSeen, retries, defects, spent, now }, strategy)
        )
      )
    )
    if (directive._tag === "GiveUp" || strategy === undefined) {
      return { _tag: "GaveUp", last: outcome, failure, finalError: failure.message }
    }

    turn.chain = retries++
    const ended = yield* Waiting.wait(turn, strategy, `${path}/sleep/${n}`, failure, directive)
    if (ended._tag === "Cancelled") return { _tag: "GaveUp", last: outcome, failure, finalError: CANCELLED }
    if (ended._tag === "Sleepless") {
      const { message } = ended.error
      return {
        _tag: "GaveUp",
        last: outcome,
        failure: { reason: "unknown", message, retryable: false },
        finalError: message
      }
    }
    extendedMs += ended.extendedMs
    sleptMs += directive.delayMs
    turn.sleptMs += directive.delayMs
  }
})

// --- internal

/** What a client is told when its process died in the middle of an answer (X2). */
const LOST = "Holdfast was restarted in the middle of this answer. What was shown of it is void; it is asked for again."

/**
 * Makes an attempt, or finds out what became of it.
 *
 * An attempt that left a mark and no outcome died with its process after its first content: it is recorded as lost, and never
 * goes on as if nothing had been shown (X2). One without a mark has shown nothing, and is simply made again.
 */
const attempt = (
  turn: TurnState,
  name: string,
  n: number,
  messages: ProviderRequest["messages"]
): Effect.Effect<Attempt.AttemptOutcome, TurnStopped> =>
  Effect.suspend(() => {
    const { checkpoint, provider, sink, toolbox } = turn.ports
    const mark = `${name}/content`
    const content = new Content()
    turn.unfinished = content
    const isLost = checkpoint.isRecorded(mark) && !checkpoint.isRecorded(name)
    return checkpoint.run(
      name,
      Attempt.AttemptOutcome,
      isLost
        ? Observer.lost(
            turn,
            n,
            Effect.map(Clock.currentTimeMillis, (endedAt) => ({ _tag: "Lost", endedAt }))
          )
        : Effect.suspend(() => {
            const { conversationId, turnId, system } = turn.input
            turn.attempts++ // an abort may come before the outcome
            if (n === 0) sink.live(turn.event({ type: "step-start", step: turn.step, target: turn.targetName }))
            const request: ProviderRequest = {
              conversationId,
              turnId,
              step: turn.step,
              attempt: n,
              target: turn.target,
              messages,
              tools: toolbox.definitions,
              ...(system === undefined ? undefined : { system })
            }
            return Observer.attempt(turn, request, Checkpoint.mark(checkpoint, mark), (mark) =>
              Attempt.run(provider, sink, request, content, mark)
            )
          })
    )
  })
