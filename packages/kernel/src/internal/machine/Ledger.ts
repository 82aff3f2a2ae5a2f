/**
 * What a turn has come to: the value that its records are folded into.
 *
 * ```
 *            Final, Route           Content
 *              ┌────┐                ┌───┐
 *              ▼    │                ▼   │
 * start ──▶ Entering ───────────▶ Calling ────── Attempt: Completed ──┬── with calls ──▶ Tools ──┐
 *              ▲                   ▲ ▲ ▲                               │                  │ ▲     │ Begun,
 *              │                   │ │ └─ Attempt: Lost (X2)           │                  │ └─────┘ Tool
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
 * `Seal` is taken in every state but `Sealed`: an abort, or a defect, may come at any time.
 *
 * Ledger.L1. All of it follows from the turn's input and its records, in their order: a turn that is taken up again comes to the same.
 * Ledger.L2. Nothing here reads a clock, draws a number or knows a port: `next` names what is to be done, and a record says what came
 *     of it.
 * Ledger.L3. `outbox` holds what the records have made due and the interpreter has not taken yet. Events to persist count from position
 *     0 without a gap, over all lives.
 */
import type { Failure, Ids, Message, Target, TurnEvent } from "@holdfast/wire"
import type { FinalReport } from "../../FinalReport.ts"
import type * as Records from "../../Records.ts"
import type { Route } from "../../Route.ts"
import type { TurnLimits } from "../../TurnLimits.ts"
import type * as Spending from "../../Spending.ts"

/** What a turn is asked to do. */
export interface TurnFacts {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  readonly target: Target.Target
  readonly system?: string | undefined
  /** The conversation before this turn, oldest first; failed responses may be in it. */
  readonly history: ReadonlyArray<Message.Message>
  /** Absent on a manual retry: the model is run again on the history as it is (M1). */
  readonly prompt?: string | undefined
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly limits?: TurnLimits | undefined
  /** The most retries of a step, for clients to see (D5); absent: any number. */
  readonly maxRetries?: number | undefined
  /** What a report has to be, where one is asked for (A9). */
  readonly report?: FinalReport["Service"] | undefined
}

/** An attempt that was answered. */
export type Completed = Extract<Records.AttemptOutcome, { readonly _tag: "Completed" }>
/** An attempt that failed. */
export type Failed = Extract<Records.AttemptOutcome, { readonly _tag: "Failed" }>
/** The decision that there is a retry. */
export type Retry = Extract<Records.Directive, { readonly _tag: "Retry" }>

/** Something to hand to the sink. */
export type Emission =
  /** All or none of them, from `position` on. */
  | {
      readonly _tag: "Persist"
      readonly events: readonly [TurnEvent.PersistedEvent, ...ReadonlyArray<TurnEvent.PersistedEvent>]
      readonly position: number
    }
  | { readonly _tag: "Live"; readonly event: TurnEvent.ProviderRetry }

/** A failure that is decided about: of an attempt, or of a compaction. */
export interface Setback {
  readonly of: "attempt" | "compaction"
  /** Its number within the step. */
  readonly number: number
  readonly failure: Failure.Failure
  readonly contentSeen: boolean
  /** The response was complete, and would not do (A9). */
  readonly whole: boolean
  /** Drawn for the decision (`Spent.spread`). */
  readonly spread: number
  /** Epoch milliseconds. */
  readonly endedAt: number
  /** What the last response had said; absent where it is in the history already. */
  readonly last: Failed | undefined
  /** The number of the attempt that gave it: of a compaction, the one that was too long. */
  readonly attempt: number
}

/** A wait as it is told: until when, and what for. Times are in epoch milliseconds. */
export interface Wait {
  readonly setback: Setback
  /** As it was decided. */
  readonly retry: Retry
  readonly retryAt: number
  readonly delayMs: number
  /** It waits for a person (X11), */
  readonly asks: TurnEvent.Asks | undefined
  /** since then. */
  readonly askedAt: number | undefined
  /** Added to the budget meanwhile (X4). */
  readonly extendedMs: number
  readonly wakes: ReadonlyArray<Records.Wake>
}

/** The tool calls of a response, and their beginnings and answers, each at the number of its call. */
export interface Round {
  readonly calls: ReadonlyArray<Message.ToolCallPart>
  readonly finishReason: Message.FinishReason
  readonly begun: ReadonlyArray<Records.Begun | undefined>
  readonly results: ReadonlyArray<Records.ToolResult | undefined>
  /** The results that are persisted: of the first calls, without a gap. */
  readonly content: ReadonlyArray<Message.ToolResultPart>
}

/** How a turn ends by itself. */
export type Outcome =
  | { readonly status: "completed" }
  | {
      readonly status: "failed"
      readonly failure: Failure.Failure
      readonly finalError: string
      readonly last: Failed | undefined
    }

/** Where in its step a turn is (the drawing above). */
export type Phase =
  /** Nothing of the step is on record but, maybe, that it is the last. */
  | {
      readonly _tag: "Entering"
      readonly isAnnounced: boolean
      /** Why there should be no further step (`FailedSteps`). */
      readonly stuck: Failure.Failure | undefined
    }
  /** The next record is attempt `number`. `isShown`: its content has left, and its process has died (X2). */
  | { readonly _tag: "Calling"; readonly number: number; readonly isShown: boolean }
  | { readonly _tag: "Deciding"; readonly setback: Setback }
  /** The context is made smaller, because attempt `attempt` found it too long (P19). */
  | { readonly _tag: "Compacting"; readonly number: number; readonly tooLong: Failed; readonly attempt: number }
  | { readonly _tag: "Waiting"; readonly wait: Wait }
  | { readonly _tag: "Tools"; readonly round: Round }
  | { readonly _tag: "Ending"; readonly outcome: Outcome }
  | { readonly _tag: "Sealed"; readonly end: TurnEvent.TurnEnd }

/** What a step has come to besides its phase. */
export interface Step {
  /** 0-based. */
  readonly number: number
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly spending: Spending.Spending
  readonly defects: number
  /** Real waiting since a person last had a say, in milliseconds (X11). */
  readonly waitedMs: number
  /** What the router wants to be handed back. */
  readonly state: Records.Beginning["state"] | undefined
  readonly hasCompacted: boolean
  /** The body of the last failure that has one. */
  readonly lastBody: string | undefined
  /** When the first failure ended that no response has followed yet, in epoch milliseconds (A16). */
  readonly failingSince: number | undefined
}

/** Where a turn's attempts go. */
export interface Way {
  /** The turn's own target, until a person switches it (X4). */
  readonly primary: Target.Target
  readonly route: Route
  /** The role of a fallback that has taken over and not answered yet (P8). */
  readonly unproven: string | undefined
}

/** What a seal counts. Times are in milliseconds. */
export interface Tally {
  readonly attempts: number
  /** Of those, the ones that took another turn's failure for their own, without a call (X5). */
  readonly shared: number
  /** Scheduled sleep of all steps (D2). */
  readonly sleptMs: number
  /** How long the waits that are over really took. */
  readonly waitedMs: number
  readonly usage: Message.Usage
  /** What the last response cost, where its provider said so. */
  readonly lastUsage: Message.Usage | undefined
  /** What steps that are over have taken from their first failure on (A16). */
  readonly retryLoopMs: number
}

/** The step after which there is none. */
export interface Last {
  /** 0-based. */
  readonly step: number
  readonly cause: Records.FinalCause
  /** The number of steps that the turn might have had before a report shortened it; absent: any number. */
  readonly shortenedFrom?: number
}

/** What a turn has come to. */
export interface Ledger {
  readonly turn: TurnFacts
  readonly phase: Phase
  readonly step: Step
  readonly way: Way
  readonly tally: Tally
  /** The conversation before this turn, without what another turn's model alone was told. */
  readonly history: ReadonlyArray<Message.Message>
  /** What this turn has added to it. */
  readonly added: ReadonlyArray<Message.Message>
  /** `undefined`: there may be any number of steps. */
  readonly last: Last | undefined
  /** The step that runs is the last. */
  readonly isFinal: boolean
  /** The report that was accepted (A13). */
  readonly report: TurnEvent.Report | undefined
  /** The last retry of the chain that `provider-retry` opened; `undefined` when none is open (P11). */
  readonly chain: number | undefined
  /** Steps in a row until now with nothing but failed tool calls. */
  readonly failedToolSteps: number
  /** Events persisted so far, with those of the outbox. */
  readonly position: number
  readonly outbox: ReadonlyArray<Emission>
}
