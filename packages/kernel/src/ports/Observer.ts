/**
 * The port for metrics, logs and traces: reports each action of a turn once.
 *
 * Clients receive events through `EventSink`; a listener receives the details that an operator needs and an event lacks: every attempt with
 * its times, every decision with its failure, every tool call with its duration.
 *
 * - A listener receives what happens, not what is replayed from records: a turn that runs again reports nothing that it reported
 *   in an earlier life. There are two exceptions. Work that a process had not recorded when it died is done again, and reported again.
 *   The state of a turn is reported when it resumes (`step-start`, and `provider-retry` of a wait that continues).
 * - A turn that stops unsealed reports nothing: it may resume here.
 * - Nothing is reported per token: only the sink receives deltas.
 */
import type { Failure, Ids, Message, Target, TurnEvent } from "@holdfast/wire"
import * as Context from "effect/Context"
import type { Refusal } from "./FinalReport.ts"
import type { ProviderRequest } from "./Provider.ts"
import type { AttemptOutcome, CompactionOutcome, Directive, Wake } from "../records/Records.ts"

/** The turn, step and target of an observation. Times are in epoch milliseconds. */
export interface ObservedStep {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  /** 0-based. */
  readonly step: number
  /** When the step began: at the turn's acceptance, or at the end of the step before it. */
  readonly stepStartedAt: number
  /** The target of attempts at that moment. */
  readonly target: Target.Target
}

/** The result of a final report that was submitted. */
export type ReportOutcome = "accepted" | Refusal

/** An attempt that has ended. */
export interface AttemptEnded extends ObservedStep {
  /** 0-based: counts the attempts of this step. */
  readonly attempt: number
  /** Its number as a retry, 0-based within its step; absent for a step's first attempt. */
  readonly retry: number | undefined
  /** It is the first attempt of a manual retry (M1). */
  readonly isManualRetry: boolean
  /** The request; absent if the process died during the attempt. */
  readonly request: ProviderRequest | undefined
  /** Absent if the process died during the attempt: the time is unknown. */
  readonly startedAt: number | undefined
  /** The time of its first content; absent: there was none. */
  readonly firstContentAt: number | undefined
  /** `Interrupted`: the user ended the turn, or its process stopped it. */
  readonly outcome: AttemptOutcome | { readonly _tag: "Interrupted"; readonly endedAt: number }
  /** The result of the final report in its response (A12). A report that was submitted by an answered call is in `ToolEnded` instead. */
  readonly report: ReportOutcome | undefined
}

/** A compaction that has ended, with or without success (P19). It counts as an attempt of its step. */
export interface CompactionEnded extends ObservedStep {
  /** 0-based: counts the attempts of this step. */
  readonly attempt: number
  readonly startedAt: number
  readonly outcome: CompactionOutcome
}

/** A decision about a failure. */
export interface Decided extends ObservedStep {
  readonly attempt: number
  /** The retry that had failed, 0-based within its step; absent for a step's first attempt. */
  readonly retry: number | undefined
  /** When the failed call began and ended; the beginning is absent if it was in an earlier life, or if no listener takes attempts. */
  readonly startedAt: number | undefined
  readonly endedAt: number
  readonly failure: Failure.Failure
  readonly directive: Directive
  readonly at: number
}

/** A wait that has ended, or that a command has changed. */
export interface WaitEnded extends ObservedStep {
  /** The number of the retry after the wait, 0-based within its step. */
  readonly retry: number
  readonly failure: Failure.Failure
  /** The delay of the wait as it was when it ended. */
  readonly delayMs: number
  readonly retryAt: number
  readonly wake: Wake
  readonly at: number
}

/** A tool call that has been answered. */
export interface ToolEnded extends ObservedStep {
  readonly call: Message.ToolCallPart
  readonly startedAt: number
  readonly endedAt: number
  readonly isError: boolean
  /** The result of the final report, where the call submits it (A12). */
  readonly report: ReportOutcome | undefined
  /** Calls of the same response that have no result yet; 0: the step is over. */
  readonly othersRunning: number
}

/** An event that was passed to the sink, and recorded if it is persisted: any event except text and reasoning deltas. */
export interface ObservedEvent extends ObservedStep {
  readonly event: Exclude<TurnEvent.TurnEvent, TurnEvent.TextDelta | TurnEvent.ReasoningDelta>
}

/** A sealed turn. `target` is that of its last attempt. */
export interface Sealed extends ObservedStep {
  readonly startedAt: number
  readonly end: TurnEvent.TurnEnd
  /** From the first failure of a step to its response, or to its end, summed over all steps (A16). */
  readonly retryLoopMs: number
}

/** A conversation that another process continues, with all turns of it that ran or waited here. */
export interface Moved {
  readonly conversationId: Ids.ConversationId
  /** Epoch milliseconds. */
  readonly at: number
}

type EventType = ObservedEvent["event"]["type"]

type EventOf<Type extends EventType> = {
  [T in Type]: Extract<ObservedEvent["event"], { readonly type: T }> & { readonly type: T }
}[Type]

/** Listeners by type of event, each of which is optional. */
export type EventListeners = {
  readonly [Type in EventType]?: (event: EventOf<Type>, place: ObservedStep) => void
}

/** The observations, by kind. */
export interface Observations {
  readonly attempt: AttemptEnded
  readonly compaction: CompactionEnded
  readonly decision: Decided
  readonly event: ObservedEvent
  readonly wait: WaitEnded
  readonly tool: ToolEnded
  readonly seal: Sealed
  readonly moved: Moved
}

/** Listeners, each of which is optional. */
export type Listeners = { readonly [Kind in keyof Observations]?: (observation: Observations[Kind]) => void }

/**
 * Listeners that count, log and trace what turns do. Without the service no observation is built, and no clock is read.
 *
 * **Gotchas**
 *
 * A listener that throws does not affect the turn; the error is dropped. It is called on the turn's own fiber, so it must return quickly.
 */
export class Observer extends Context.Service<Observer, Listeners>()("@holdfast/kernel/Observer") {}

/** Combines listeners of single types of events into one listener (P18). */
export const on = (listeners: EventListeners): Listeners => ({
  event: ({ event, ...place }) => dispatch(listeners, event, place)
})

/** Combines several listeners into one; if one of them throws, the others are still called. */
export const all = (listeners: ReadonlyArray<Listeners>): Listeners => ({
  attempt: (observation) => listeners.forEach((each) => notify(each, "attempt", observation)),
  compaction: (observation) => listeners.forEach((each) => notify(each, "compaction", observation)),
  decision: (observation) => listeners.forEach((each) => notify(each, "decision", observation)),
  event: (observation) => listeners.forEach((each) => notify(each, "event", observation)),
  wait: (observation) => listeners.forEach((each) => notify(each, "wait", observation)),
  tool: (observation) => listeners.forEach((each) => notify(each, "tool", observation)),
  seal: (observation) => listeners.forEach((each) => notify(each, "seal", observation)),
  moved: (observation) => listeners.forEach((each) => notify(each, "moved", observation))
})

/** Reports a turn that its host has sealed without running it, and the events that the host recorded for it. For hosts. */
export const sealed = (
  observer: Listeners | undefined,
  events: ReadonlyArray<TurnEvent.PersistedEvent>,
  observation: Sealed
): void => {
  const { conversationId, step, stepStartedAt, target, turnId } = observation
  for (const event of events) notify(observer, "event", { conversationId, turnId, step, stepStartedAt, target, event })
  notify(observer, "seal", observation)
}

/**
 * Reports a conversation that another process continues: the end of its turns is not reported here. For hosts whose processes share the
 * work: the turn loop does not see other processes.
 */
export const moved = (observer: Listeners | undefined, observation: Moved): void =>
  notify(observer, "moved", observation)

// --- internal

const dispatch = <Type extends EventType>(
  listeners: { readonly [T in Type]?: (event: EventOf<T>, place: ObservedStep) => void },
  event: EventOf<Type>,
  place: ObservedStep
): void => listeners[event.type]?.(event, place)

/** Calls one listener. For the turn loop. */
export const notify = <Kind extends keyof Observations>(
  listeners: Listeners | undefined,
  kind: Kind,
  observation: Observations[Kind]
): void => {
  try {
    listeners?.[kind]?.(observation)
  } catch {
    // An observation must not end the turn.
  }
}
