/**
 * The state of a turn (`Ledger`): the value that its records are folded into. `Phase` has the drawing of its states.
 *
 * - All of it follows from the turn's input and its records, in their order: a turn that resumes reaches the same state.
 * - Nothing here reads a clock, draws a number or uses a port: `next` returns the command, and a record holds its result.
 */
import type { Failure, Ids, Message, Prompt, Target, TurnEvent } from "@holdfast/wire"
import type { FinalReport } from "../../ports/FinalReport.ts"
import type * as Records from "../../records/Records.ts"
import type { Route } from "../../records/Route.ts"
import type { TurnLimits } from "../../turn/TurnLimits.ts"
import type * as ToolQuestion from "../../turn/ToolQuestion.ts"
import type * as Spending from "../../turn/Spending.ts"

/** The input of a turn. */
export interface TurnFacts {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  readonly target: Target.Target
  readonly system?: string | undefined
  /** The conversation before this turn, oldest first; failed responses may be in it. */
  readonly history: ReadonlyArray<Message.Message>
  /** Absent on a manual retry: the model is run again on the history as it is (M1). */
  readonly prompt?: Prompt.Prompt | undefined
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly limits?: TurnLimits | undefined
  /** The largest number of retries of a step, for display (D5); absent: any number. */
  readonly maxRetries?: number | undefined
  /** The required report (A9); absent: none is required. */
  readonly report?: FinalReport["Service"] | undefined
}

/** An attempt with a whole response. */
export type Completed = Extract<Records.AttemptOutcome, { readonly _tag: "Completed" }>
/** An attempt that failed. */
export type Failed = Extract<Records.AttemptOutcome, { readonly _tag: "Failed" }>
/** The decision that there is a retry. */
export type Retry = Extract<Records.Directive, { readonly _tag: "Retry" }>

/** Events to pass to the sink. */
export type Emission =
  /** Persisted together, all or none, from `position` on. */
  | {
      readonly _tag: "Persist"
      readonly events: readonly [TurnEvent.PersistedEvent, ...ReadonlyArray<TurnEvent.PersistedEvent>]
      readonly position: number
    }
  | { readonly _tag: "Live"; readonly event: TurnEvent.ProviderRetry }

/** A failed attempt or compaction, about which a decision is due or was made. */
export interface FailedCall {
  readonly of: "attempt" | "compaction"
  /** Its number within the step. */
  readonly number: number
  readonly failure: Failure.Failure
  readonly contentSeen: boolean
  /** No client has received any of the content (X7). */
  readonly unseen: true | undefined
  /** The response was complete, and was rejected (A9). */
  readonly whole: boolean
  /** Drawn for the decision (`Spent.spread`). */
  readonly spread: number
  /** Epoch milliseconds. */
  readonly endedAt: number
  /** The failed response; absent if it is in the history already. */
  readonly last: Failed | undefined
  /** The number of the attempt with that response; for a compaction, the attempt that was too long. */
  readonly attempt: number
}

/** A wait: its end, its failure and its retry. Times are in epoch milliseconds. */
export interface Wait {
  readonly failedCall: FailedCall
  /** The decision, unchanged. */
  readonly retry: Retry
  /** The reason of the failure whose delay this is: an early attempt by the gate may have failed for another one since (X5). */
  readonly reason: Failure.Reason
  readonly retryAt: number
  readonly delayMs: number
  /** The open question to a person (X11). */
  readonly asks: TurnEvent.Asks | undefined
  /** When the person was asked. */
  readonly askedAt: number | undefined
  /** The amount added to the budget during the wait (X4). */
  readonly extendedMs: number
  readonly wakes: ReadonlyArray<Records.Wake>
}

/** The tool calls of a response with their beginnings and results, each at the index of its call. */
export interface Round {
  readonly calls: ReadonlyArray<Message.ToolCallPart>
  readonly finishReason: Message.FinishReason
  /** The number of the attempt with that response. */
  readonly attempt: number
  /** The number of records of questions. */
  readonly parts: number
  /** The open question to a person. */
  readonly asked: ToolQuestion.Open | undefined
  /** The answers of a person. */
  readonly approvals: ReadonlyArray<Approval | undefined>
  readonly begun: ReadonlyArray<Records.Begun | undefined>
  readonly results: ReadonlyArray<Records.ToolResult | undefined>
  /** The persisted results: those of the first calls, without a gap. */
  readonly content: ReadonlyArray<Message.ToolResultPart>
}

/** A person's answer about a tool call. */
export interface Approval {
  /** The answer to the model instead of a result; absent: the call is approved. */
  readonly refusal?: string
}

/** The outcome of a turn that ends by itself. */
export type Outcome =
  | { readonly status: "completed" }
  | {
      readonly status: "failed"
      readonly failure: Failure.Failure
      readonly finalError: string
      readonly last: Failed | undefined
    }

/**
 * The position of a turn in its step.
 *
 * ```
 *            Final, Route           Content
 *              ┌────┐                ┌───┐
 *              ▼    │                ▼   │
 * start ──▶ Entering ───────────▶ Calling ────── Attempt: Completed ──┬── with calls ──▶ Tools ──┐
 *              ▲                   ▲ ▲ ▲                               │                  │ ▲     │ Begun,
 *              │                   │ │ └─ Attempt: Lost (X2)           │                  │ └─────┘ Tool, Wake
 *              │                   │ │                                 │                  │
 *              │          Decision:│ │ Wake: over    Attempt: Failed   │  every call is answered
 *              │          at once  │ │                    │            │                  │
 *              │                   │ Waiting ◀── Decision ─▼           │    next step     │
 *              │                   │  ▲   └─┐    Retry   Deciding      │◀─────────────────┤ (Entering)
 *              │                   │  └─────┘              │  ▲        │                  │
 *              │                   │  Wake: changed        │  │        │                  │
 *              │                   └───────────────────────┤  │        │                  │
 *              │                                Compaction │  │ Failed │                  │
 *              │     Compacted: Calling ◀── Compacting ◀───┘──┘        │                  │
 *              │                                                       ▼                  ▼
 *              └──── GiveUp with a report due (A14) ◀── GiveUp ───▶ Ending ── Seal ──▶ Sealed
 * ```
 *
 * `Seal` is accepted in every state but `Sealed`: an abort, or a defect, may come at any time.
 */
export type Phase =
  /** The step has no record but, at most, `Final`. */
  | {
      readonly _tag: "Entering"
      readonly isAnnounced: boolean
      /** The failure that prevents a further step (`FailedSteps`). */
      readonly stuck: Failure.Failure | undefined
    }
  /** The next record is attempt `number`. `isShown`: its content has left, and its process has died (X2). */
  | { readonly _tag: "Calling"; readonly number: number; readonly isShown: boolean }
  | { readonly _tag: "Deciding"; readonly failedCall: FailedCall }
  /** The context is compacted, because it was too long for attempt `attempt` (P19). */
  | { readonly _tag: "Compacting"; readonly number: number; readonly tooLong: Failed; readonly attempt: number }
  | { readonly _tag: "Waiting"; readonly wait: Wait }
  | { readonly _tag: "Tools"; readonly round: Round }
  | { readonly _tag: "Ending"; readonly outcome: Outcome }
  | { readonly _tag: "Sealed"; readonly end: TurnEvent.TurnEnd }

/** The state of a step besides its phase. */
export interface Step {
  /** 0-based. */
  readonly number: number
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly spending: Spending.Spending
  readonly defects: number
  /** Real waiting time since a person last sent a command, in milliseconds (X11). */
  readonly waitedMs: number
  /** Attempts with void content since a person last sent a command (X7). */
  readonly voids: number
  /** What was done about the step's last failure after content (X7). */
  readonly midStream: TurnEvent.MidStream | undefined
  /** The wait that the gate interrupted for the present attempt (X5). */
  readonly interrupted: Wait | undefined
  /** How long the gate held the present attempt after its time, in milliseconds. */
  readonly heldMs: number
  /** The router receives it again with the next decision. */
  readonly state: Records.Beginning["state"] | undefined
  readonly hasCompacted: boolean
  /** The body of the last failure that has one. */
  readonly lastBody: string | undefined
  /** The end of the first failure since the step's last response, in epoch milliseconds (A16). */
  readonly failingSince: number | undefined
}

/** The route of a turn's attempts. */
interface RouteState {
  /** The turn's own target, until a person switches it (X4). */
  readonly primary: Target.Target
  readonly route: Route
  /** The role of a fallback that took over and has not answered yet (P8). */
  readonly unproven: string | undefined
}

/** The counts of a turn, for its seal. Times are in milliseconds. */
export interface Tally {
  readonly attempts: number
  /** The part of them that took over another turn's failure, without a call (X5). */
  readonly shared: number
  /** Scheduled sleep of all steps (D2). */
  readonly sleptMs: number
  /** The real duration of all waits that have ended. */
  readonly waitedMs: number
  readonly usage: Message.Usage
  /** Attempts with void content whose usage is unknown (X7). */
  readonly unreported: number
  /** The usage of the last response, if its provider reported it. */
  readonly lastUsage: Message.Usage | undefined
  /** The time of ended steps from their first failure on (A16). */
  readonly retryLoopMs: number
}

/** The last step of a turn. */
export interface Last {
  /** 0-based. */
  readonly step: number
  readonly cause: Records.FinalCause
  /** The limit of steps before a report shortened the turn; absent: there was none. */
  readonly shortenedFrom?: number
}

/** The state of a turn. */
export interface Ledger {
  readonly turn: TurnFacts
  readonly phase: Phase
  readonly step: Step
  readonly routing: RouteState
  readonly tally: Tally
  /** The conversation before this turn, without synthetic messages of other turns. */
  readonly history: ReadonlyArray<Message.Message>
  /** The messages that this turn has added. */
  readonly added: ReadonlyArray<Message.Message>
  /** `undefined`: there may be any number of steps. */
  readonly last: Last | undefined
  /** The current step is the last. */
  readonly isFinal: boolean
  /** The report that was accepted (A13). */
  readonly report: TurnEvent.Report | undefined
  /** The last retry of the open chain (P11); `undefined`: no chain is open. */
  readonly chain: number | undefined
  /** The current number of steps in a row with nothing but failed tool calls. */
  readonly failedToolSteps: number
  /** The number of persisted events so far, including those in the outbox. */
  readonly position: number
  /** The events that are still to be emitted. Events to persist count from position 0 without a gap, over all lives. */
  readonly outbox: ReadonlyArray<Emission>
}
