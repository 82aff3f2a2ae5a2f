/**
 * The turn loop: one prompt in, as many steps as the model wants tools, one seal.
 *
 * T1. A turn seals exactly once, as completed, failed or aborted; nothing of it is emitted after its seal.
 * T2. An abort ends it at any point: in a response, in a sleep, in a tool. What was said until then is kept, and kept from
 *     the model (P12).
 * T3. A turn that is taken up again first comes to where it was: an abort that is there already is heard then (`AbortGate`).
 * T4. Interrupting the effect is no abort: the turn stops unsealed, to be taken up again from its records. So does
 *     `TurnStopped`, and `TurnParked`, with which a turn leaves memory for the time of a wait.
 * T5. A bug in here, or in what the turn runs on, seals it as failed: a turn that hangs is worse than one that says why.
 */
import { Failure, Ids, type Message, type TurnEvent } from "@holdfast/wire"
import { type Array, Clock, Context, Effect } from "effect"
import { AbortGate } from "./AbortGate.ts"
import { Checkpoint } from "./Checkpoint.ts"
import { Compactor } from "./Compactor.ts"
import type { Content } from "./Content.ts"
import { EventSink } from "./EventSink.ts"
import * as FailedSteps from "./FailedSteps.ts"
import { FinalReport } from "./FinalReport.ts"
import * as FinalStep from "./FinalStep.ts"
import * as Observer from "./Observer.ts"
import { Provider } from "./Provider.ts"
import * as Reporting from "./Reporting.ts"
import * as Recovery from "./Recovery.ts"
import * as Retries from "./Retries.ts"
import { RetryStrategy } from "./RetryStrategy.ts"
import { Router } from "./Router.ts"
import * as Routing from "./Routing.ts"
import { Toolbox } from "./Toolbox.ts"
import * as ToolCalls from "./ToolCalls.ts"
import { type TurnInput, TurnState } from "./TurnState.ts"
import type { TurnParked } from "./TurnParked.ts"
import * as TurnStopped from "./TurnStopped.ts"

export type { TurnInput } from "./TurnState.ts"

/**
 * Runs a turn to its seal, and returns the seal.
 *
 * **Details**
 *
 * Without a `RetryStrategy` in the context there are no retries (D9); without a `Router` every attempt goes to the turn's target.
 * An `Observer` in it is told what the turn has done.
 */
export const runTurn = Effect.fnUntraced(function* (
  input: TurnInput
): Effect.fn.Return<
  TurnEvent.TurnEnd,
  TurnParked | TurnStopped.TurnStopped,
  Provider | Toolbox | EventSink | Checkpoint
> {
  const services = yield* Effect.context<Provider | Toolbox | EventSink | Checkpoint>()
  const checkpoint = Context.get(services, Checkpoint)
  const gate = input.abort === undefined ? undefined : new AbortGate(checkpoint)
  const turn = new TurnState(input, {
    provider: Context.get(services, Provider),
    toolbox: Context.get(services, Toolbox),
    sink: Context.get(services, EventSink),
    checkpoint: gate?.checkpoint ?? checkpoint,
    strategy: Context.getOrUndefined(services, RetryStrategy),
    router: Context.getOrUndefined(services, Router),
    report: Context.getOrUndefined(services, FinalReport),
    compactor: Context.getOrUndefined(services, Compactor),
    observer: Context.getOrUndefined(services, Observer.Observer)
  })
  const run = Effect.catchDefect(steps(turn), (defect) => seal(turn, { status: "failed", failure: bug(defect) }))
  if (input.abort === undefined || gate === undefined) return yield* run
  const abort = Effect.as(Effect.andThen(gate.reached, input.abort), undefined)
  return yield* Effect.raceFirst(abort, run).pipe(
    Effect.flatMap((end) =>
      end === undefined ? seal(turn, { status: "aborted", failure: aborted }) : Effect.succeed(end)
    )
  )
})

/**
 * What a turn says first, from position 0 on.
 *
 * **Details**
 *
 * It follows from the input alone, so a host may write it together with the turn itself, before anybody runs that; the turn says
 * it all the same, and the sink finds it there (S3).
 */
export const opening = ({
  conversationId,
  prompt,
  startedAt,
  turnId
}: Pick<TurnInput, "conversationId" | "turnId" | "prompt" | "startedAt">): Array.NonEmptyReadonlyArray<
  TurnEvent.TurnStart | TurnEvent.MessageEvent
> => {
  const identity = { conversationId, turnId }
  // M1: a manual retry has no prompt.
  if (prompt === undefined) return [{ ...identity, type: "turn-start", startedAt, retry: true }]
  const message: Message.UserMessage = {
    role: "user",
    id: Ids.messageIdOf(turnId, 0),
    turnId,
    createdAt: startedAt,
    content: [{ type: "text", text: prompt }]
  }
  return [
    { ...identity, type: "turn-start", startedAt },
    { ...identity, type: "message", message }
  ]
}

/** What a seal says of all of its turn. */
export type Tally = Pick<TurnEvent.TurnEnd, "steps" | "attempts" | "sleptMs" | "waitedMs" | "usage">

/**
 * The last events of a turn that its host seals without running it: a defect of the host, or the deaths of its processes, kept it
 * from its own end (C10, X14).
 *
 * **Details**
 *
 * They stand behind every event that is on record of the turn. `unclosed` is the chain of retries that no `retry-end` has closed
 * (P11), by its last attempt; `discarded` the step whose text was shown and is void (X2).
 */
export const sealing = (
  identity: Identity,
  tally: Tally,
  outcome: {
    readonly status: "failed" | "aborted"
    readonly failure: Failure.Failure
    readonly endedAt: number
    readonly unclosed: number | undefined
    readonly discarded: number | undefined
  }
): { readonly events: Array.NonEmptyReadonlyArray<TurnEvent.PersistedEvent>; readonly end: TurnEvent.TurnEnd } => {
  const { discarded, endedAt, status, unclosed } = outcome
  const { conversationId, turnId } = identity
  const failure = status === "failed" ? outcome.failure : undefined
  const [end, ...errors] = ending(identity, tally, { status, failure, report: undefined, endedAt })
  const finalError = failure?.message ?? Recovery.CANCELLED
  const before: ReadonlyArray<TurnEvent.PersistedEvent> = [
    ...(discarded === undefined ? [] : [Retries.discarded({ conversationId, turnId }, discarded)]),
    ...(unclosed === undefined
      ? []
      : [
          { conversationId, turnId, type: "retry-end" as const, attempt: unclosed, success: false as const, finalError }
        ])
  ]
  const [first = end, ...rest] = [...before, ...errors, end]
  return { events: [first, ...rest], end }
}

/** What a turn fails with that its user ended. */
export const aborted: Failure.Failure = { reason: "aborted", message: "Aborted by the user.", retryable: false }

type Identity = Pick<TurnInput, "conversationId" | "turnId">

// --- internal

/** The seal, and the error before it where there is one. */
const ending = (
  { conversationId, turnId }: Identity,
  tally: Tally,
  {
    endedAt,
    failure,
    report,
    status
  }: Pick<TurnEvent.TurnEnd, "status" | "endedAt"> & {
    readonly failure: Failure.Failure | undefined
    readonly report: TurnEvent.Report | undefined
  }
): readonly [TurnEvent.TurnEnd, ...ReadonlyArray<TurnEvent.ErrorEvent>] => {
  const identity = { conversationId, turnId }
  const end: TurnEvent.TurnEnd = {
    ...identity,
    type: "turn-end",
    status,
    endedAt,
    ...tally,
    ...(failure === undefined ? undefined : { error: failure }),
    ...(report === undefined ? undefined : { report })
  }
  return failure === undefined ? [end] : [end, errorOf(identity, failure)]
}

const begin = (turn: TurnState): ReadonlyArray<TurnEvent.PersistedEvent> => {
  const events = opening(turn.input)
  for (const event of events) {
    if (event.type !== "message") continue
    turn.nextMessageId() // this one's
    turn.add(event.message)
  }
  return events
}

const steps = Effect.fnUntraced(function* (
  turn: TurnState
): Effect.fn.Return<TurnEvent.TurnEnd, TurnParked | TurnStopped.TurnStopped> {
  yield* turn.persist(() => begin(turn))
  for (;;) {
    const final = FinalStep.enter(turn)
    if (final !== undefined) yield* final
    const result = yield* Retries.respond(turn)
    if (result._tag === "Completed") turn.closeRetryLoop(result.endedAt)
    const said = result._tag === "Completed" ? result : result.last
    turn.spend(said?.usage)
    if (result._tag === "GaveUp") {
      const { last } = result
      if (last === undefined || !isReportOwed(turn, result)) return yield* seal(turn, { status: "failed", ...result })
      yield* turn.persist(() => exhausted(turn, result, last))
      continue
    }

    const calls = result.content.filter((part) => part.type === "tool-call")
    yield* turn.persist(() => finished(turn, result, calls))
    const results = calls.length > 0 ? yield* ToolCalls.run(turn, calls, result.finishReason) : []
    if (calls.length === 0 && turn.ports.report !== undefined) Reporting.settleText(turn, result.content)
    turn.step++
    // A13: a report ends its turn in the step that it came in, forced or not.
    if (calls.length === 0 || turn.report !== undefined) return yield* seal(turn, { status: "completed" })
    const failure = stuck(turn, results)
    if (failure !== undefined) return yield* seal(turn, { status: "failed", failure })
  }
})

type GaveUp = Extract<Retries.Result, { readonly _tag: "GaveUp" }>

/** Whether one last step is left in which the report alone is offered (A14): not after outages, nor after that step itself. */
const isReportOwed = (turn: TurnState, { failure, isExhausted }: GaveUp): boolean =>
  turn.ports.report !== undefined && !turn.isFinal && isExhausted === true && failure.reason === "invalid-response"

/** What goes on record of a step whose attempts ran out, before the last step begins. */
const exhausted = (
  turn: TurnState,
  { failure, finalError }: GaveUp,
  last: NonNullable<GaveUp["last"]>
): ReadonlyArray<TurnEvent.PersistedEvent> => {
  turn.unfinished = undefined
  turn.closeRetryLoop(last.endedAt)
  FinalStep.exhaust(turn)
  turn.step++
  turn.stepStartedAt = last.endedAt
  return [...turn.closeChain({ success: false, finalError }), turn.add(turn.response(last, last.endedAt, failure))]
}

/** Why the turn may not go on after a step's tool calls. A step that has begun under another limit goes on (F1 of `FinalStep`). */
const stuck = (turn: TurnState, results: ReadonlyArray<Message.ToolResultPart>): Failure.Failure | undefined => {
  const { maxFailedToolSteps = FailedSteps.MOST_STEPS } = turn.input.limits ?? {}
  turn.failedToolSteps = FailedSteps.after(turn.failedToolSteps, results)
  const hasBegun = turn.hasBegun || FinalStep.isRecorded(turn)
  return hasBegun ? undefined : FailedSteps.failureOf(turn.failedToolSteps, maxFailedToolSteps, results)
}

/** What is said of a response that has come to its end. */
const finished = (
  turn: TurnState,
  result: Extract<Retries.Result, { readonly _tag: "Completed" }>,
  calls: ReadonlyArray<Message.ToolCallPart>
): ReadonlyArray<TurnEvent.PersistedEvent> => {
  const { usage } = result
  turn.unfinished = undefined
  return [
    ...turn.closeChain({ success: true }),
    ...Routing.proven(turn),
    ...calls.map(({ toolCallId, toolName, input }) => turn.event({ type: "tool-call", toolCallId, toolName, input })),
    ...(usage === undefined ? [] : [turn.event({ type: "usage", step: turn.step, usage })]),
    turn.add(turn.response(result, result.endedAt))
  ]
}

type Outcome =
  | { readonly status: "completed" }
  | { readonly status: "aborted"; readonly failure: Failure.Failure }
  | {
      readonly status: "failed"
      readonly failure: Failure.Failure
      readonly last?: Parameters<TurnState["response"]>[0] | undefined
      readonly finalError?: string
    }

/** Says what is left to say, then the seal, in one write. On a sealed turn it only returns the seal (T1). */
const seal = (turn: TurnState, outcome: Outcome): Effect.Effect<TurnEvent.TurnEnd, TurnStopped.TurnStopped> =>
  Effect.flatMap(Clock.currentTimeMillis, (endedAt) => {
    if (turn.end !== undefined) return Effect.succeed(turn.end)
    const { status } = outcome
    const failure = status === "failed" ? outcome.failure : undefined
    const before = remains(turn, outcome, endedAt)
    const report = turn.report ?? (failure && turn.ports.report && Reporting.synthetic(turn, failure))
    turn.closeWait(endedAt)
    const { calls: attempts, input, sleptMs, step: steps, usage, waitedMs } = turn
    const tally = { steps, attempts, sleptMs, waitedMs, usage }
    const [end, ...errors] = ending(input, tally, { status, failure, report, endedAt })
    return Effect.map(
      turn.persist(() => [...before, ...errors, end]),
      () => {
        turn.closeRetryLoop(endedAt)
        Observer.seal(turn, end)
        return (turn.end = end)
      }
    )
  }).pipe(Effect.uninterruptible)

/** The open chain of retries, and the response or the tool calls that are under way, closed. */
const remains = (turn: TurnState, outcome: Outcome, endedAt: number): ReadonlyArray<TurnEvent.PersistedEvent> => {
  if (outcome.status === "completed") return []
  const voided = Retries.voided(turn)
  const finalError = outcome.status === "aborted" ? Recovery.CANCELLED : (outcome.finalError ?? outcome.failure.message)
  const chain = [...voided, ...turn.closeChain({ success: false, finalError })]
  const { unfinished, results } = turn
  turn.unfinished = undefined
  turn.results = undefined
  if (unfinished !== undefined) {
    const last = outcome.status === "failed" ? outcome.last : undefined
    return [...chain, turn.add(turn.response(last ?? cutShort(turn, unfinished), endedAt, outcome.failure))]
  }
  // A call without a result is one that nobody saw the end of (`ModelContext`).
  if (results === undefined || results.length === 0) return chain
  const { turnId } = turn.input
  const answers = { role: "tool" as const, id: turn.nextMessageId(), turnId, createdAt: endedAt, content: results }
  return [...chain, turn.add(answers)]
}

/** What a response had said that came to no end of its own. It has cost what it has cost. */
const cutShort = (turn: TurnState, unfinished: Content) => {
  const { usage } = unfinished
  turn.spend(usage)
  return { content: unfinished.parts(), ...(usage === undefined ? undefined : { usage }) }
}

const errorOf = (identity: Identity, failure: Failure.Failure): TurnEvent.ErrorEvent => {
  const code = Failure.codeOf(failure)
  return {
    ...identity,
    type: "error",
    message: failure.message,
    reason: failure.reason,
    ...(code === undefined ? undefined : { code })
  }
}

const bug = (defect: unknown): Failure.Failure => ({
  reason: "unknown",
  message: TurnStopped.ofDefect(defect).message,
  retryable: false,
  defect: true
})
