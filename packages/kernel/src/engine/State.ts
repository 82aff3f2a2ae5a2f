/** What goes into a turn that is stepped, what comes out, and what it is between the two (`Engine`). */
import type { Failure, TurnEvent } from "@holdfast/wire"
import { start } from "../internal/machine/Evolve.ts"
import type { Ledger, TurnFacts } from "../internal/machine/Ledger.ts"
import type { Command, Offers } from "../internal/machine/OpenCommands.ts"
import type { Listeners } from "../ports/Observer.ts"
import type { ProviderRequest } from "../ports/Provider.ts"
import type { Deciding, PendingRetry, RetryStrategy } from "../ports/RetryStrategy.ts"
import type { Toolbox } from "../ports/Toolbox.ts"
import type { TurnStopped } from "../ports/TurnStopped.ts"
import type * as Records from "../records/Records.ts"
import type * as RetryEvent from "../turn/RetryEvent.ts"
import type * as Observing from "./Observing.ts"

/** What a life of a turn runs on. The functions in it are pure. */
export interface Setup {
  readonly facts: TurnFacts
  /** The name of this life, unique among the lives of the turn (X8). */
  readonly life: string
  /** Absent: there are no retries (D9). */
  readonly strategy?: (Deciding & Pick<RetryStrategy["Service"], "ask" | "midStream">) | undefined
  /** Read once a step: a change during a step would change its request. */
  readonly toolbox: Pick<Toolbox["Service"], "definitions">
  readonly hasRouter: boolean
  readonly hasCompactor: boolean
  /** The kinds of observations that are made are those that it listens to. The shell passes them on (`Observe`). */
  readonly observer?: Listeners | undefined
  /**
   * The log is an engine that returns recorded results on request (`Checkpoint.run`): every command is a `Start`, whose record is on disk when
   * `Done` comes, `Append` has events alone, and the shell makes the mark of content itself. Absent: the log takes records and
   * events in one append, and `Begin` has all records of earlier lives.
   */
  readonly memo?: {
    /** Whether the event at a position was persisted before this life. */
    readonly isPersisted?: ((position: number) => boolean) | undefined
  }
}

/** A record with its name in the log. */
export interface Named {
  readonly name: string
  readonly record: Records.TurnRecord
}

/** One commit. */
export interface Append {
  readonly _tag: "Append"
  /** In order, none for a write of events alone. A seal has no record: it is the last of the events. */
  readonly records: ReadonlyArray<Named>
  /** Published when the append is on disk. */
  readonly events: ReadonlyArray<TurnEvent.PersistedEvent>
  /** Of the first of the events among those of the turn, from 0. */
  readonly position: number
}

/** A sleep to perform. Times are in epoch milliseconds. */
export interface Sleep {
  /** The end of the wait, as recorded. */
  readonly retryAt: number
  /** Milliseconds until then; no more than the wait is long, because the clock may have been set back since it began. */
  readonly leftMs: number
  /** Absent: it waits for an answer about tool calls. */
  readonly awaited?: PendingRetry
  /** The tool calls (by `toolCallId`) that a person has to approve. */
  readonly calls?: ReadonlyArray<string>
}

/** What a shell passes in. */
export type Input =
  /**
   * The turn starts, or goes on after earlier lives: from their records, and the types of their events by position. `cut`: it is cut off where
   * they left it.
   */
  | {
      readonly _tag: "Begin"
      readonly known: ReadonlyArray<Records.Stored>
      readonly persisted: ReadonlyArray<string>
      readonly cut?: Cut | undefined
    }
  /** The open append is on disk. */
  | { readonly _tag: "Appended" }
  /** The log has refused the open append, or a port has stopped the turn. */
  | { readonly _tag: "Refused"; readonly error: TurnStopped }
  /** Only in `memo`: a started command has no record, and is about to be performed. */
  | { readonly _tag: "Performs"; readonly command: Command }
  /** Only in `memo`: it has its record, which is not on disk yet. */
  | { readonly _tag: "Performed"; readonly record: Records.TurnRecord }
  /** Content of the call under way is there, and waits for `Release` (X2). */
  | { readonly _tag: "FirstContent" }
  | {
      /** A started command has its record. */
      readonly _tag: "Done"
      readonly record: Records.TurnRecord
      /** It is of an earlier life. */
      readonly isTakenUp?: boolean
    }
  /** The time of the sleep has come. `heldMs`: how long the gate held the turn after it (X5). */
  | { readonly _tag: "Due"; readonly heldMs?: number }
  /** A command of a person, or an early wake, for the sleep. A command that does not fit, or comes without a sleep, has no effect at all. */
  | { readonly _tag: "Steered"; readonly wake: Exclude<Records.Wake, { readonly type: "elapsed" | "asked" }> }
  /** The turn is sealed: an abort, or a failure of its host. The shell has ended the commands under way. */
  | ({
      readonly _tag: "Cut"
      /** The content of the call under way. */
      readonly said?: CutContent
    } & Cut)
  /** The process gives the turn up, unsealed, and has ended its commands. */
  | { readonly _tag: "Released" }

/** The content of a response under way. */
export type CutContent = NonNullable<NonNullable<Records.Seal["cut"]>["said"]>

/** Why a turn is cut off. */
export interface Cut {
  readonly status: "failed" | "aborted"
  readonly failure: Failure.Failure
}

/** What a shell performs. */
export type Effect =
  | Append
  /** To be published at once. */
  | { readonly _tag: "Live"; readonly event: TurnEvent.ProviderRetry | TurnEvent.StepStart }
  /** Events of an earlier life, which are on disk. */
  | {
      readonly _tag: "Repeat"
      readonly events: ReadonlyArray<TurnEvent.PersistedEvent>
      readonly position: number
    }
  /** A command to perform (`Performer`), which ends in `Done`. Only tool calls are under way several at once. */
  | { readonly _tag: "Start"; readonly command: Command }
  /** The content of the call under way may leave, from its first on. */
  | { readonly _tag: "Release" }
  /** A wait, which ends in `Due` or `Steered`. It replaces the sleep before it. */
  | ({ readonly _tag: "Sleep" } & Sleep)
  /** For observers (`Observer.notify`). */
  | ({ readonly _tag: "Observe" } & Observing.Observed)
  /** The turn stops, unsealed. Commands under way are to be ended. */
  | { readonly _tag: "Stop"; readonly error: TurnStopped }
  /** The turn is sealed, on disk. */
  | { readonly _tag: "Sealed"; readonly end: TurnEvent.TurnEnd }

/** A turn in one of its lives, at first before `Begin`. */
export class State {
  readonly setup: Setup
  readonly ledger: Ledger
  /** The commands under way. */
  readonly open: ReadonlyArray<Command> = []
  /** The call that was made and has no record yet. */
  readonly call:
    | {
        readonly request: ProviderRequest
        readonly startedAt: number
        readonly firstContentAt: number | undefined
        /** Its end has been observed. */
        readonly isObserved: boolean
      }
    | undefined = undefined
  /** The append that is not confirmed. */
  readonly pending: (Append & { readonly then: ReadonlyArray<Effect> }) | undefined = undefined
  /** Records and events for the next append. */
  readonly records: ReadonlyArray<Named> = []
  readonly events: ReadonlyArray<TurnEvent.PersistedEvent> = []
  /** Records of earlier lives, and how many of them were followed. */
  readonly known: ReadonlyArray<Records.Stored> = []
  readonly followed: number = 0
  readonly persisted: ReadonlyArray<string> = []
  readonly cut: Records.Seal["cut"] = undefined
  readonly stopped: TurnStopped | undefined = undefined
  readonly offered: { readonly step: number; readonly offers: Offers } | undefined = undefined
  /** The open commands of a ledger: a request to a model is made once, and looked at before an append and after it. */
  readonly found: { readonly ledger: Ledger; readonly commands: ReadonlyArray<Command> } | undefined = undefined
  /** The step whose `step-start` was emitted in this life. */
  readonly announced: number | undefined = undefined
  /** The wait that was announced last in this life. */
  readonly wait: RetryEvent.Announced | undefined = undefined
  /** The last record is of an earlier life. */
  readonly isTakenUp: boolean = false
  /** When the last call of this life began, until there is no decision due about it. Epoch milliseconds. */
  readonly calledAt: number | undefined = undefined
  /** When the tool calls that run now began, by number; `undefined`: the end of the call has been observed. */
  readonly toolsAt: ReadonlyMap<number, number | undefined> = new Map()

  constructor(setup: Setup) {
    this.setup = setup
    this.ledger = start(setup.facts)
  }
}

/** Makes the state of a turn before `Begin`. */
export const make = (setup: Setup): State => new State(setup)
