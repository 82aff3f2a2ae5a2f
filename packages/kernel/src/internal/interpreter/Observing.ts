/**
 * Reports the actions of a turn to observers (`Observer`).
 *
 * It changes neither the turn nor this life of it. Without listeners it builds no observation, and reads no clock.
 */
import type { Message, TurnEvent } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import {
  type ObservedEvent,
  type Listeners,
  type ObservedStep,
  type ReportOutcome,
  notify
} from "../../ports/Observer.ts"
import type { ProviderRequest } from "../../ports/Provider.ts"
import type { AttemptOutcome, CompactionOutcome, Directive, Wake } from "../../records/Records.ts"
import type { ToolOutcome } from "../../ports/Toolbox.ts"
import * as Judging from "../machine/Judging.ts"
import type { Ledger, FailedCall, Wait } from "../machine/Ledger.ts"
import type { Run } from "./Run.ts"

/** Reports an attempt, however it ends. `make` receives the mark, which it must run before its first content leaves. */
export const attempt = <A extends AttemptOutcome, E, E2>(
  run: Run,
  request: ProviderRequest,
  mark: Effect.Effect<void, E2>,
  make: (mark: Effect.Effect<void, E2>) => Effect.Effect<A, E>
): Effect.Effect<A, E> => {
  const { observer } = run.ports
  if (observer?.attempt === undefined) return make(mark)
  const startedAt = run.beganAt ?? run.now()
  callStartedAt.set(run, startedAt)
  let firstContentAt: number | undefined
  const timed = Effect.suspend(() => {
    firstContentAt = run.now()
    return mark
  })
  const about = attemptOf(run.ledger, request, startedAt)
  return Effect.onExit(make(timed), (exit) =>
    Effect.sync(() => {
      const outcome = Exit.isSuccess(exit) ? exit.value : { _tag: "Interrupted" as const, endedAt: run.now() }
      const report = Exit.isSuccess(exit) ? reportIn(run, exit.value) : undefined
      notify(observer, "attempt", { ...about, firstContentAt, outcome, report })
    })
  )
}

/** Reports an attempt whose process died during it (X2). */
export const lost = <E>(run: Run, attempt: number, made: Effect.Effect<AttemptOutcome, E>) =>
  telling(made, (outcome) =>
    notify(run.ports.observer, "attempt", {
      ...observedStepOf(run.ledger),
      ...numbersOf(run.ledger, attempt),
      request: undefined,
      startedAt: undefined,
      firstContentAt: undefined,
      outcome,
      report: undefined
    })
  )

/** Reports a compaction. */
export const compaction = <E>(
  run: Run,
  attempt: number,
  make: Effect.Effect<CompactionOutcome, E>
): Effect.Effect<CompactionOutcome, E> => {
  const { observer } = run.ports
  if (observer?.compaction === undefined) return make
  return Effect.suspend(() => {
    const startedAt = run.now()
    callStartedAt.set(run, startedAt)
    return telling(make, (outcome) =>
      notify(observer, "compaction", { ...observedStepOf(run.ledger), attempt, startedAt, outcome })
    )
  })
}

/** Reports a decision. */
export const decision = <E, R>(
  run: Run,
  failedCall: FailedCall,
  decide: Effect.Effect<Directive, E, R>
): Effect.Effect<Directive, E, R> => {
  const { observer } = run.ports
  if (observer?.decision === undefined) return decide
  const about = decisionOf(run.ledger, failedCall, callStartedAt.get(run))
  callStartedAt.delete(run)
  return telling(decide, (directive) => notify(observer, "decision", { ...about, directive, at: run.now() }))
}

/** Reports the end or the change of a wait, which is the result of `wake`. */
export const wait = <E>(
  run: Run,
  about: Wait,
  wake: Effect.Effect<Wake & { readonly at: number }, E>
): Effect.Effect<Wake & { readonly at: number }, E> => {
  const { observer } = run.ports
  if (observer?.wait === undefined) return wake
  return telling(wake, (wake) => reportWait(observer, run.ledger, about, wake))
}

/** The same of a ledger. */
export const reportWait = (
  observer: Listeners | undefined,
  ledger: Ledger,
  { delayMs, retry, retryAt, failedCall }: Wait,
  wake: Wake & { readonly at: number }
): void => {
  if (observer?.wait === undefined) return
  const about = { retry: retry.attempt, failure: failedCall.failure, delayMs, retryAt }
  notify(observer, "wait", { ...observedStepOf(ledger), ...about, wake, at: wake.at })
}

/** Reports a tool call. `leave` removes it from the running calls, and returns how many are left. */
export const tool = <A extends ToolOutcome & { readonly endedAt: number }, E>(
  run: Run,
  call: Message.ToolCallPart,
  leave: () => number,
  answer: Effect.Effect<A, E>
): Effect.Effect<A, E> => {
  const { observer } = run.ports
  const { phase } = run.ledger
  if (observer?.tool === undefined || phase._tag !== "Tools") return answer
  const { finishReason } = phase.round
  return Effect.suspend(() => {
    const startedAt = run.now()
    return telling(answer, ({ endedAt, isError }) =>
      notify(observer, "tool", {
        ...observedStepOf(run.ledger),
        call,
        startedAt,
        endedAt,
        isError,
        report: reportOf(run, call, finishReason, isError),
        othersRunning: leave()
      })
    )
  })
}

/** Reports the events that are recorded for the first time. */
export const events = <E>(
  run: Run,
  events: ReadonlyArray<TurnEvent.PersistedEvent>,
  position: number,
  persist: Effect.Effect<void, E>
): Effect.Effect<void, E> => {
  const { observer, sink } = run.ports
  if (observer?.event === undefined) return persist
  const fresh = events.filter((_, i) => sink.isPersisted?.(position + i) !== true)
  if (fresh.length === 0) return persist
  return Effect.mapEager(persist, () => {
    for (const event of fresh) notify(observer, "event", { ...observedStepOf(run.ledger), event })
  })
}

/** Reports a transient event. */
export const live = (run: Run, event: ObservedEvent["event"]): void => {
  reportEvent(run.ports.observer, run.ledger, event)
}

/** The same of a ledger. */
export const reportEvent = (observer: Listeners | undefined, ledger: Ledger, event: ObservedEvent["event"]): void => {
  if (observer?.event !== undefined) notify(observer, "event", { ...observedStepOf(ledger), event })
}

/** The observation of an attempt, without its outcome. */
export const attemptOf = (ledger: Ledger, request: ProviderRequest, startedAt: number) => ({
  ...observedStepOf(ledger),
  ...numbersOf(ledger, request.attempt),
  request,
  startedAt
})

/** The observation of a decision, without the directive. */
export const decisionOf = (
  ledger: Ledger,
  { endedAt, failure, number }: FailedCall,
  startedAt: number | undefined
) => ({
  ...observedStepOf(ledger),
  attempt: number,
  retry: ledger.chain,
  startedAt,
  endedAt,
  failure
})

/** Reports a recorded seal, once a life. */
export const seal = (run: Run, end: TurnEvent.TurnEnd): void => {
  const { observer } = run.ports
  if (observer?.seal === undefined || sealed.has(run)) return
  sealed.add(run)
  const { tally, turn } = run.ledger
  notify(observer, "seal", {
    ...observedStepOf(run.ledger),
    startedAt: turn.startedAt,
    end,
    retryLoopMs: tally.retryLoopMs
  })
}

/** The turn, step and target of an observation. */
export const observedStepOf = ({ step, turn, routing }: Ledger): ObservedStep => ({
  conversationId: turn.conversationId,
  turnId: turn.turnId,
  step: step.number,
  stepStartedAt: step.startedAt,
  target: routing.route.target
})

// --- internal

/** Calls `tell` with the result of an effect. */
const telling = <A, E, R>(effect: Effect.Effect<A, E, R>, tell: (result: A) => void): Effect.Effect<A, E, R> =>
  Effect.map(effect, (result) => {
    tell(result)
    return result
  })

/** When the last call of a life began, in epoch milliseconds, until the decision about it. */
const callStartedAt = new WeakMap<Run, number>()

/** Lives whose seal was reported: an abort may reach a sealed turn. */
const sealed = new WeakSet<Run>()

const numbersOf = ({ chain, step, turn }: Ledger, attempt: number) => ({
  attempt,
  retry: chain,
  isManualRetry: turn.prompt === undefined && step.number === 0 && attempt === 0
})

const reportOf = (
  { ledger }: Run,
  call: Message.ToolCallPart,
  finishReason: Message.FinishReason,
  isError: boolean
): ReportOutcome | undefined => {
  if (!Judging.isReport(ledger.turn.report, call)) return undefined
  return isError ? Judging.refusalOf(call, finishReason) : "accepted"
}

/** The result of a report in a rejected response, or of a report that is the whole text of a response. */
const reportIn = ({ ledger }: Run, outcome: AttemptOutcome): ReportOutcome | undefined => {
  if (outcome._tag === "Failed") return outcome.report
  if (outcome._tag === "Lost" || ledger.turn.report === undefined) return undefined
  return outcome.content.some((part) => part.type === "tool-call") ? undefined : "accepted"
}
