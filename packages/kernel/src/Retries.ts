/**
 * One response of the model, over as many attempts as it takes.
 *
 * R1. What follows a failed attempt is decided, told and waited for before the next one (`Recovery`).
 * R2. An error is held back while there is hope: nobody hears of it but through `provider-retry` (D7).
 * R3. Every attempt, decision and sleep is a checkpoint, named by its step and number; so is the moment before an attempt's
 *     first content leaves, and, where there is a router, the route that a step begins on.
 * R4. `step-start` is told where the text of the step begins: before the first attempt that is made in this life, and before
 *     the first after one that was discarded. Whoever hears it forgets what it held of the step.
 * R5. What an endpoint answers again and again is recorded in full once a step: an outage of a night fills no disk with its page.
 */
import type { TurnEvent } from "@holdfast/wire"
import { Clock, Effect } from "effect"
import * as Attempt from "./Attempt.ts"
import * as Checkpoint from "./Checkpoint.ts"
import * as Compaction from "./Compaction.ts"
import { Content } from "./Content.ts"
import * as FinalStep from "./FinalStep.ts"
import * as ModelContext from "./ModelContext.ts"
import * as Observer from "./Observer.ts"
import type { ProviderRequest } from "./Provider.ts"
import * as Recovery from "./Recovery.ts"
import * as Reporting from "./Reporting.ts"
import type { Route } from "./Route.ts"
import type { Router } from "./Router.ts"
import * as Routing from "./Routing.ts"
import type { TurnInput, TurnState } from "./TurnState.ts"
import type { TurnParked } from "./TurnParked.ts"
import type { TurnStopped } from "./TurnStopped.ts"

type Completed = Extract<Attempt.AttemptOutcome, { _tag: "Completed" }>
type Failed = Extract<Attempt.AttemptOutcome, { _tag: "Failed" }>

/** A response, or why there is none; `last` is what was said last and is not on record yet. */
export type Result = Completed | ({ readonly _tag: "GaveUp"; readonly last: Failed | undefined } & Recovery.GaveUp)

/** What is to be said of an attempt that its process died in (X2); nothing where it is said. */
export const voided = (turn: TurnState): ReadonlyArray<TurnEvent.StepDiscarded> => {
  const { isLost } = turn
  turn.isLost = false
  return isLost ? [discarded(turn.input, turn.step)] : []
}

/** What clients are told of a step whose text was shown before its process died (X2). */
export const discarded = (
  { conversationId, turnId }: Pick<TurnInput, "conversationId" | "turnId">,
  step: number
): TurnEvent.StepDiscarded => ({ conversationId, turnId, type: "step-discarded", step, message: LOST })

/** Gets the response of the turn's current step. */
export const respond = Effect.fnUntraced(function* (
  turn: TurnState
): Effect.fn.Return<Result, TurnParked | TurnStopped> {
  const { compactor } = turn.ports
  const path = `step/${turn.step}`
  let messages = ModelContext.of(turn.messages)
  // A list that changes in the middle of a step would be another request, and not another attempt.
  const tools = turn.tools
  let hasCompacted = false
  const recovery = new Recovery.Recovery(turn)
  turn.lastBody = undefined
  const beginning = Routing.begin(turn, messages)
  if (beginning !== undefined) recovery.state = yield* beginning
  let isBegun = false
  const begin = (): void => {
    if (isBegun) return
    isBegun = true
    turn.live(turn.event({ type: "step-start", step: turn.step, target: turn.targetName })) // R4
  }

  for (let n = 0; ; n++) {
    const made = turn.attempts + 1
    const outcome = yield* attempt(turn, `${path}/attempt/${n}`, n, { messages, tools }, begin)
    turn.attempts = made
    if (outcome._tag === "Failed" && typeof outcome.body === "string") turn.lastBody = outcome.body
    if (outcome._tag === "Failed" && outcome.failure.shared === true) turn.shared++
    if (outcome._tag === "Lost") {
      isBegun = false
      turn.isLost = true
      yield* turn.persist(() => voided(turn))
      continue
    }
    turn.unfinished?.recall(outcome)
    if (outcome._tag === "Completed") return outcome
    if (outcome.report !== undefined) FinalStep.collapse(turn) // A12
    // P19: once. What overflows again, and what cannot be made smaller, is decided about like any failure: it is final (P2).
    if (compactor !== undefined && !hasCompacted && isOverflow(outcome)) {
      hasCompacted = true
      const compaction = yield* Compaction.run(recovery, compactor, n + 1, messages)
      if (compaction._tag === "GaveUp") return { ...compaction, last: outcome }
      if (compaction._tag === "Compacted") {
        n = compaction.n
        messages = ModelContext.of(turn.messages)
        continue
      }
    }
    const mending = outcome.whole === true ? () => Reporting.guide(turn, outcome) : undefined
    const gaveUp = yield* Recovery.after(recovery, n, outcome, messages, mending)
    const last = turn.unfinished === undefined ? undefined : outcome
    if (gaveUp !== undefined) return { _tag: "GaveUp", last, ...gaveUp }
    if (mending !== undefined) messages = ModelContext.of(turn.messages)
  }
})

// --- internal

const isOverflow = ({ contentSeen, failure }: Failed): boolean => failure.reason === "context-overflow" && !contentSeen

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
  asked: Pick<ProviderRequest, "messages" | "tools">,
  begin: () => void
): Effect.Effect<Attempt.AttemptOutcome, TurnStopped> =>
  Effect.suspend(() => {
    const { checkpoint, provider, report, router, sink } = turn.ports
    const mark = `${name}/content`
    const { maxResponseCharacters } = turn.input.limits ?? {}
    const content = new Content(maxResponseCharacters)
    turn.unfinished = content
    const isLost = checkpoint.isRecorded(mark) && !checkpoint.isRecorded(name)
    turn.isLost = isLost
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
            begin()
            const { credential, target } = turn.route
            const request: ProviderRequest = {
              conversationId,
              turnId,
              step: turn.step,
              attempt: n,
              target,
              ...asked,
              ...(credential === undefined ? undefined : { credential }),
              ...(system === undefined ? undefined : { system }),
              ...(maxResponseCharacters === undefined ? undefined : { maxResponseCharacters })
            }
            const attempted = Observer.attempt(turn, request, Checkpoint.mark(checkpoint, mark), (mark) => {
              const made = Effect.map(Attempt.run(provider, sink, request, content, mark), (outcome) =>
                once(turn, outcome)
              )
              return report === undefined && !turn.isFinal ? made : Reporting.judged(turn, made)
            })
            return router?.answered === undefined ? attempted : noted(attempted, router.answered, turn.route)
          })
    )
  })

/** R5 */
const once = <Outcome extends Attempt.AttemptOutcome>(turn: TurnState, outcome: Outcome): Outcome =>
  outcome._tag === "Failed" && outcome.body !== undefined && outcome.body === turn.lastBody
    ? { ...outcome, body: true as const }
    : outcome

/** Tells a router of a success: of a whole response too that would not do (A9). */
const noted = <E, R>(
  attempted: Effect.Effect<Attempt.AttemptOutcome, E, R>,
  answered: NonNullable<Router["Service"]["answered"]>,
  route: Route
): Effect.Effect<Attempt.AttemptOutcome, E | TurnStopped, R> =>
  Effect.flatMap(Clock.currentTimeMillis, (began) =>
    Effect.tap(attempted, (outcome) =>
      outcome._tag === "Completed" || (outcome._tag === "Failed" && outcome.whole === true)
        ? answered(route, began)
        : Effect.void
    )
  )
