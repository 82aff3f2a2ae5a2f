/**
 * The port for those who count, log and trace: what a turn has done, told once, in plain calls.
 *
 * What a person reads goes through `EventSink`; here is what an operator wants to know of it. A listener learns what an event
 * does not say: every attempt with its times, every decision with its failure, every tool call with how long it took.
 *
 * O1. A listener is told of what happens, not of what is only replayed from records: a turn that is run again tells nothing
 *     that it told in an earlier life. What a process had done and not recorded when it died is done again, and told again; so
 *     is where a turn stands when it is taken up (`step-start`, and `provider-retry` of a wait that goes on).
 * O2. Nothing is told per token: deltas are the sink's alone. Without the service nothing is made either, and no clock is read.
 * O3. A listener that throws does not hurt the turn; what it throws is dropped. It is called on the turn's own fiber, so it
 *     must not take time.
 * O4. A turn that stops unsealed tells nothing: it may be taken up again here. Where several processes share the work, the host tells
 *     what another one goes on with (`moved`): nobody here will hear how that ends.
 */
import type { Failure, Ids, Message, Target, TurnEvent } from "@holdfast/wire"
import { Context } from "effect"
import type { Refusal } from "./FinalReport.ts"
import type { ProviderRequest } from "./Provider.ts"
import type { AttemptOutcome, CompactionOutcome, Directive, Wake } from "./Records.ts"

/** What every observation says of its place. Times are in epoch milliseconds. */
export interface Place {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  /** 0-based. */
  readonly step: number
  /** When the step began: at the turn's acceptance, or at the end of the step before it. */
  readonly stepStartedAt: number
  /** Where attempts go at that moment. */
  readonly target: Target.Target
}

/** What became of a final report that was handed in. */
export type ReportOutcome = "accepted" | Refusal

/** An attempt that has come to an end. */
export interface AttemptEnded extends Place {
  /** 0-based: counts the attempts of this step. */
  readonly attempt: number
  /** The retry that it was, 0-based within its step; absent for a step's first attempt. */
  readonly retry: number | undefined
  /** It is the first attempt of a turn that somebody asked for anew (M1). */
  readonly isManualRetry: boolean
  /** What was asked; absent for one whose process died. */
  readonly request: ProviderRequest | undefined
  /** Absent for one whose process died: nobody knows. */
  readonly startedAt: number | undefined
  /** When its first content had come; absent when none did. */
  readonly firstContentAt: number | undefined
  /** `Interrupted`: the user ended the turn, or its process let it go. */
  readonly outcome: AttemptOutcome | { readonly _tag: "Interrupted"; readonly endedAt: number }
  /** What became of the final report that its response handed in, other than by a call that was answered (`ToolEnded`) (A12). */
  readonly report: ReportOutcome | undefined
}

/** A context that was made smaller, or was not (P19). It counts as an attempt of its step. */
export interface CompactionEnded extends Place {
  /** 0-based: counts the attempts of this step. */
  readonly attempt: number
  readonly startedAt: number
  readonly outcome: CompactionOutcome
}

/** What was decided about a failure. */
export interface Decided extends Place {
  readonly attempt: number
  /** The retry that had failed, 0-based within its step; absent for a step's first attempt. */
  readonly retry: number | undefined
  /** When what failed began and ended; the beginning is absent if that was in an earlier life, or nobody listens to attempts. */
  readonly startedAt: number | undefined
  readonly endedAt: number
  readonly failure: Failure.Failure
  readonly directive: Directive
  readonly at: number
}

/** A wait that has ended, or that somebody has changed. */
export interface WaitEnded extends Place {
  /** The retry that was waited for; 0-based within its step. */
  readonly retry: number
  readonly failure: Failure.Failure
  /** Of the wait as it was when it ended. */
  readonly delayMs: number
  readonly retryAt: number
  readonly wake: Wake
  readonly at: number
}

/** A tool call that has been answered. */
export interface ToolEnded extends Place {
  readonly call: Message.ToolCallPart
  readonly startedAt: number
  readonly endedAt: number
  readonly isError: boolean
  /** What became of the final report, where the call hands it in (A12). */
  readonly report: ReportOutcome | undefined
  /** Calls of the same response that have no answer yet: with none left the step is over. */
  readonly othersRunning: number
}

/** An event that has been handed to the sink, and is on record if it is one that stays: any but those of single tokens. */
export interface EventTold extends Place {
  readonly event: Exclude<TurnEvent.TurnEvent, TurnEvent.TextDelta | TurnEvent.ReasoningDelta>
}

/** A turn that is sealed. `target` is where its last attempt went. */
export interface Sealed extends Place {
  readonly startedAt: number
  readonly end: TurnEvent.TurnEnd
  /** From the first failure of a step to its response, or to its end, over all steps (A16). */
  readonly retryLoopMs: number
}

/** A conversation that another process goes on with, with whatever of it ran or waited here (O4). */
export interface Moved {
  readonly conversationId: Ids.ConversationId
  /** Epoch milliseconds. */
  readonly at: number
}

type EventType = EventTold["event"]["type"]

type EventOf<Type extends EventType> = {
  [T in Type]: Extract<EventTold["event"], { readonly type: T }> & { readonly type: T }
}[Type]

/** Who wants to hear of some types of events, each of which is optional. */
export type EventListeners = {
  readonly [Type in EventType]?: (event: EventOf<Type>, place: Place) => void
}

/** What there is to be told. */
export interface Observations {
  readonly attempt: AttemptEnded
  readonly compaction: CompactionEnded
  readonly decision: Decided
  readonly event: EventTold
  readonly wait: WaitEnded
  readonly tool: ToolEnded
  readonly seal: Sealed
  readonly moved: Moved
}

/** Listeners, each of which is optional. */
export type Listeners = { readonly [Kind in keyof Observations]?: (observation: Observations[Kind]) => void }

/** Listeners that count, log and trace what turns do. */
export class Observer extends Context.Service<Observer, Listeners>()("@holdfast/kernel/Observer") {}

/** Listeners of single types of events, as one of all (P18). */
export const on = (listeners: EventListeners): Listeners => ({
  event: ({ event, ...place }) => hear(listeners, event, place)
})

/** Several listeners as one; that one of them throws is nothing to the others. */
export const all = (listeners: ReadonlyArray<Listeners>): Listeners => ({
  attempt: (observation) => listeners.forEach((each) => tell(each, "attempt", observation)),
  compaction: (observation) => listeners.forEach((each) => tell(each, "compaction", observation)),
  decision: (observation) => listeners.forEach((each) => tell(each, "decision", observation)),
  event: (observation) => listeners.forEach((each) => tell(each, "event", observation)),
  wait: (observation) => listeners.forEach((each) => tell(each, "wait", observation)),
  tool: (observation) => listeners.forEach((each) => tell(each, "tool", observation)),
  seal: (observation) => listeners.forEach((each) => tell(each, "seal", observation)),
  moved: (observation) => listeners.forEach((each) => tell(each, "moved", observation))
})

/** Tells of a turn that its host has sealed without running it, with the events that it recorded for that. For hosts. */
export const sealed = (
  observer: Listeners | undefined,
  events: ReadonlyArray<TurnEvent.PersistedEvent>,
  observation: Sealed
): void => {
  const { conversationId, step, stepStartedAt, target, turnId } = observation
  for (const event of events) tell(observer, "event", { conversationId, turnId, step, stepStartedAt, target, event })
  tell(observer, "seal", observation)
}

/** Tells of a conversation that another process goes on with (O4). For hosts: the turn loop knows of no other process. */
export const moved = (observer: Listeners | undefined, observation: Moved): void => tell(observer, "moved", observation)

// --- internal

const hear = <Type extends EventType>(
  listeners: { readonly [T in Type]?: (event: EventOf<T>, place: Place) => void },
  event: EventOf<Type>,
  place: Place
): void => listeners[event.type]?.(event, place)

/** Tells one listener (O3). For the turn loop. */
export const tell = <Kind extends keyof Observations>(
  listeners: Listeners | undefined,
  kind: Kind,
  observation: Observations[Kind]
): void => {
  try {
    listeners?.[kind]?.(observation)
  } catch {
    // A turn is worth more than what is said about it.
  }
}
