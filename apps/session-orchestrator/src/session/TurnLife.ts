/**
 * The life of one turn in this process: its state, and every change of it.
 *
 *     accepted,        wanted: its time,                 its time
 *     taken up         its gate, a command               is near
 *         └────► Queued ◄────┘                              ▼
 *                   │ begin                               Ahead ──── park ───┐
 *                   ▼                                       │ call           │
 *               Resuming ◄─────────── admit, goOn ───────  Due               │
 *             act │    │ sleep                                               │
 *                 ▼    ▼                                                     ▼
 *           Working ⇄ Waiting ──── stop ───► Stopped ────────── park ────► Parked
 *                                               └─ begin ──► Resuming
 *
 *     stop: from Resuming, Working, Waiting and Due.    end: from every state but Parked, to Ended
 *
 * | state    | the turn                                                               | may hold            |
 * |----------|------------------------------------------------------------------------|-------------------------|
 * | Queued   | waits for its time to run                                              | place, ticket           |
 * | Ahead    | is parked, and in memory before its time: runs to its wait, stands by  | slot, presence          |
 * | Due      | was ahead of its time, which has come; stands by until it is admitted  | slot, presence, ticket  |
 * | Resuming | runs over its records to where it was                                  | place, presence, ticket |
 * | Working  | calls, streams, runs tools, decides: its records show which            | presence, ticket        |
 * | Waiting  | waits for a retry, in memory                                           | place, presence, ticket |
 * | Stopped  | has stopped unsealed; it is parked, run again or sealed next           |                         |
 * | Parked   | has left memory; its entry in `Parking` brings it back as a new life   |                         |
 * | Ended    | is sealed, or continues elsewhere or as a new life                     |                         |
 *
 * TurnLife.L1. A transition that does not fit the state is refused: the state stays as it is.
 * TurnLife.L2. A change gives back every resource that the next state does not hold, and a refused transition those that it brought: each
 *     once.
 * TurnLife.L3. In Parked and Ended the turn is no longer in its session.
 */
import type { Interruption } from "@holdfast/journal"
import type { TurnStopped } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Deferred, Exit } from "effect"
import type { Resumption } from "../storage/Store.ts"
import { type Gatekeeper, type GateWait, type GateTicket, wakeEarly } from "../gate/Gatekeeper.ts"
import type * as Quarantine from "../pacing/Quarantine.ts"
import { TurnWait } from "../pacing/TurnWait.ts"
import type * as WakeQueue from "../pacing/WakeQueue.ts"

/** A turn that is new. */
interface Arrival {
  /** The turn's beginning, if it need not be read from the disk. */
  readonly resumption: Resumption | undefined
}

/** Knowledge about a turn that comes into memory for the first time. */
export interface Known {
  /** The turn has just been accepted, so there are no records of it. */
  readonly arrival?: Arrival
  /** The interruption with which this process took the turn up in mid-step (rule X14), until the turn makes progress. */
  readonly interruption?: Interruption.Interruption | undefined
}

/** Shared resources that a turn holds and gives back. */
export interface Holdings {
  /** Among the due turns, from its time on until its next new record. */
  readonly place: WakeQueue.Place
  /** The gate's decision for its next attempt. */
  readonly ticket: GateTicket
  /** Among the turns in memory ahead of their time. */
  readonly slot: WakeQueue.Place
  /** Among the turns that run (rule X14). */
  readonly presence: Quarantine.Presence
}

interface Data extends Holdings, Required<Known> {
  /** The gate that its wait ends at. */
  readonly awaited: GateWait
}

type In<Tag extends string, Has extends keyof Data> = { readonly _tag: Tag } & {
  readonly [Key in keyof Data]?: (Key extends Has ? Data[Key] : never) | undefined
}

/** The states of a turn, as drawn above. */
export type State =
  | In<"Queued", "arrival" | "interruption" | "place" | "ticket">
  | In<"Ahead", "slot" | "presence">
  | In<"Due", "slot" | "presence" | "ticket">
  | In<"Resuming", "arrival" | "interruption" | "place" | "presence" | "ticket">
  | In<"Working", "interruption" | "presence" | "ticket">
  | In<"Waiting", "interruption" | "awaited" | "place" | "presence" | "ticket">
  | In<"Stopped", "interruption">
  | In<"Parked", never>
  | In<"Ended", never>

/** The states that a turn comes into memory with. */
export type Beginning = Of<"Queued" | "Ahead" | "Stopped">

type Tag = State["_tag"]
type Of<T extends Tag> = Extract<State, { readonly _tag: T }>
type Brought = { readonly [Key in keyof Holdings]?: Holdings[Key] | undefined }

/** A change of state: the next state, or `undefined` where it does not fit (TurnLife.L1). */
export interface Transition {
  readonly next: (state: State) => State | undefined
  readonly brings: Brought
}

// --- transitions

const from = <const T extends Tag>(
  tags: ReadonlyArray<T>,
  next: (state: Of<T>) => State,
  brings: Brought = {}
): Transition => ({ next: (state) => (is(state, tags) ? next(state) : undefined), brings })

const RUNNING = ["Due", "Resuming", "Working", "Waiting"] as const
const ALL = ["Queued", "Ahead", ...RUNNING, "Stopped", "Parked", "Ended"] as const

/** The turn is run. */
export const begin = from(["Queued", "Stopped"], (state) => ({ ...state, _tag: "Resuming" }))

/** The turn is counted among the turns that run. */
export const enter = (presence: Quarantine.Presence): Transition =>
  from(["Ahead", "Resuming"], (state) => ({ ...state, presence }), { presence })

/** Its time, its gate or a command wants the turn. */
export const call = from(["Ahead"], (state) => ({ ...state, _tag: "Due" }))

/** The turn gets a place among the due turns. */
export const admit = (place: WakeQueue.Place): Transition =>
  from(["Queued", "Due"], (state) => (state._tag === "Due" ? { ...resuming(state), place } : { ...state, place }), {
    place
  })

/** The turn continues without a place: a command, or its gate ahead of its time, ends its wait. */
export const goOn = from(["Due"], (state) => resuming(state))

const resuming = ({ ticket, presence }: Of<"Due">): Of<"Resuming"> => ({ _tag: "Resuming", ticket, presence })

/** The gate admits the turn. */
export const letIn = (ticket: GateTicket): Transition =>
  from(["Queued", "Due", "Resuming", "Waiting"], (state) => ({ ...state, ticket }), { ticket })

/** The turn does something that has no record yet, other than a wait. */
export const act = from(RUNNING, ({ interruption, ticket, presence }) => ({
  _tag: "Working",
  interruption,
  ticket,
  presence
}))

/** The turn begins a wait. `isOver`: it arrives at the wait that it was parked in, which has ended already. */
export const sleep = (isOver: boolean): Transition =>
  from(["Resuming", "Working", "Waiting"], ({ interruption, ticket, place, presence }) => ({
    _tag: "Waiting",
    interruption,
    ticket,
    presence,
    place: isOver ? place : undefined
  }))

/** The turn's wait ends at this gate. */
export const waitAt = (awaited: GateWait | undefined): Transition =>
  from(["Waiting"], (state) => ({ ...state, awaited }))

/** The turn gives something back, or has progressed beyond its interruption. */
export const without = (what: "interruption" | "ticket" | "place"): Transition =>
  from(ALL, (state) => ({ ...state, [what]: undefined }))

/** The turn has stopped unsealed. */
export const stop = from(RUNNING, ({ interruption }) => ({ _tag: "Stopped", interruption }))

/** The turn leaves memory to wait. */
export const park = from(["Ahead", "Stopped"], () => ({ _tag: "Parked" }))

/** The turn's life here is over. */
export const end = from([...RUNNING, "Queued", "Ahead", "Stopped"], () => ({ _tag: "Ended" }))

// --- the turn

/**
 * A turn in memory, with the handles by which commands reach it. The handles stay the same while it is in memory: a command that arrives
 * while it is queued, read from the disk, or about to leave is taken when it runs.
 */
export class TurnLife {
  readonly turnId: Ids.TurnId
  readonly abort = Deferred.makeUnsafe<void>()
  /** Done when its seal is on disk; fails when it has stopped without one. */
  readonly ended = Deferred.makeUnsafe<void, TurnStopped.TurnStopped>()
  readonly wait = new TurnWait()
  /** Called when it is aborted: where it runs now ends it. */
  onAbort: (() => void) | undefined = undefined
  /** The gate of its last call. */
  gatekeeper: Gatekeeper | undefined = undefined
  private readonly leave: () => void
  private current: State

  /** `leave` removes it from its session (TurnLife.L3). */
  constructor(turnId: Ids.TurnId, beginning: Beginning, leave = () => {}) {
    this.turnId = turnId
    this.current = beginning
    this.leave = leave
  }

  get state(): State {
    return this.current
  }

  /** Changes the state; returns whether the transition fits. */
  move({ brings, next }: Transition): boolean {
    const before = this.current
    const after = next(before)
    this.current = after ?? before
    if (after !== undefined && is(after, ["Parked", "Ended"])) this.leave()
    giveBack(before, this.current)
    giveBack(brings, this.current)
    return after !== undefined
  }

  /** The turn begins something that has no record yet: a wait, or other work. */
  begins(isWait: boolean): void {
    if (isWait) this.wait.open()
    else this.wait.notWaiting()
    this.move(isWait ? sleep(this.wait.hasNews) : act)
    this.state.slot?.ready()
  }

  /** Aborts the turn. */
  abortNow(): void {
    Deferred.doneUnsafe(this.abort, Exit.void)
    this.onAbort?.()
  }

  /** The gate admits the turn, at its time or before. */
  letIn(ticket: GateTicket, onTime: () => void): void {
    this.move(letIn(ticket))
    if (ticket.isEarly) this.wait.steer(wakeEarly(ticket))
    else onTime()
  }

  /** The turn's life here is over. Commands that wait for their record, and callers that wait for its end, get the outcome. */
  end(outcome: Exit.Exit<unknown, TurnStopped.TurnStopped>): void {
    this.move(end)
    this.wait.end(outcome)
    Deferred.doneUnsafe(this.ended, Exit.asVoid(outcome))
  }

  /** Whether it stands by at the wait that it was parked in, or will when it arrives there. */
  get standsBy(): boolean {
    return is(this.state, ["Ahead", "Due"])
  }

  /** Whether there is an abort, or a command of a person or a gate, that it has not taken yet. */
  get isCalled(): boolean {
    return Deferred.isDoneUnsafe(this.abort) || this.wait.isSteered
  }

  /** Whether it has to continue: it is called, or its time has come. */
  get isWanted(): boolean {
    return this.isCalled || this.wait.hasNews
  }
}

// --- internal

const is = <T extends Tag>(state: State, tags: ReadonlyArray<T>): state is Of<T> =>
  tags.some((tag) => tag === state._tag)

/** TurnLife.L2 */
const giveBack = (held: Brought, kept: State): void => {
  if (held.presence !== kept.presence) held.presence?.leave()
  if (held.place !== kept.place) held.place?.leave()
  if (held.ticket !== kept.ticket) held.ticket?.giveBack()
  if (held.slot !== kept.slot) held.slot?.leave()
}
