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
 * | state    | the turn                                                               | may hold          |
 * |----------|------------------------------------------------------------------------|-------------------|
 * | Queued   | is behind others of its conversation, or about to begin                | place, pass       |
 * | Ahead    | is parked, and in memory before its time: runs to its wait, stands by  | seat, stay        |
 * | Due      | was ahead of its time, which has come; stands by until it is admitted  | seat, stay, pass  |
 * | Resuming | runs over its records to where it was                                  | place, stay, pass |
 * | Working  | calls, streams, runs tools, decides: its records show which            | stay, pass        |
 * | Waiting  | waits for a retry, in memory                                           | place, stay, pass |
 * | Stopped  | has left off unsealed; it is parked, run again or sealed next          |                   |
 * | Parked   | has left memory; its entry in `Parking` brings it back as a new life   |                   |
 * | Ended    | is sealed, or goes on elsewhere or as a new life                       |                   |
 *
 * TurnLife.L1. A transition that does not fit the state is refused: the state stays as it is.
 * TurnLife.L2. A change gives back what the state held and the next one does not hold, and what a refused transition brought: each once.
 * TurnLife.L3. In Parked and Ended the turn is in its session no more.
 */
import type { Interruption } from "@holdfast/journal"
import type { TurnStopped } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Deferred, Exit } from "effect"
import type { Resumption } from "../storage/Store.ts"
import type { Early } from "./Early.ts"
import { type Awaited, type Pass, wakeEarly } from "../gate/Gatekeeper.ts"
import type * as Quarantine from "../pacing/Quarantine.ts"
import type * as ReadAhead from "../pacing/ReadAhead.ts"
import type * as Turnstile from "../pacing/Turnstile.ts"
import { Wait } from "../pacing/Wait.ts"

/** A turn that is new. */
export interface Arrival {
  /** What it begins with, where the disk need not be asked for that. */
  readonly resumption: Resumption | undefined
  /** It runs before it is accepted. */
  readonly early?: Early
}

/** What is known of a turn that comes into memory for the first time. */
export interface Known {
  /** It has just been accepted, or is about to be, so there are no records of it. */
  readonly arrival?: Arrival
  /** What had interrupted it when this process took it up in the middle of something (X14), until it has come further. */
  readonly interruption?: Interruption.Interruption | undefined
}

/** What a turn takes of what turns share, and gives back. */
export interface Holdings {
  /** At the turnstile, from its time on until it does something new. */
  readonly place: Turnstile.Pass
  /** The gate's answer for its next attempt. */
  readonly pass: Pass
  /** Among the turns in memory ahead of their time. */
  readonly seat: ReadAhead.Place
  /** Among the turns that run (X14). */
  readonly stay: Quarantine.Stay
}

interface Data extends Holdings, Required<Known> {
  /** The gate that its wait ends at. */
  readonly awaited: Awaited
}

type In<Tag extends string, Has extends keyof Data> = { readonly _tag: Tag } & {
  readonly [Key in keyof Data]?: (Key extends Has ? Data[Key] : never) | undefined
}

export type State =
  | In<"Queued", "arrival" | "interruption" | "place" | "pass">
  | In<"Ahead", "seat" | "stay">
  | In<"Due", "seat" | "stay" | "pass">
  | In<"Resuming", "arrival" | "interruption" | "place" | "stay" | "pass">
  | In<"Working", "interruption" | "stay" | "pass">
  | In<"Waiting", "interruption" | "awaited" | "place" | "stay" | "pass">
  | In<"Stopped", "interruption">
  | In<"Parked", never>
  | In<"Ended", never>

/** The states that a turn comes into memory with. */
export type Beginning = Of<"Queued" | "Ahead" | "Stopped">

type Tag = State["_tag"]
type Of<T extends Tag> = Extract<State, { readonly _tag: T }>
type Brought = { readonly [Key in keyof Holdings]?: Holdings[Key] | undefined }

/** A change of state: the next one, or `undefined` where it does not fit (L1). */
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

/** It is run. */
export const begin = from(["Queued", "Stopped"], (state) => ({ ...state, _tag: "Resuming" }))

/** It is counted among the turns that run. */
export const enter = (stay: Quarantine.Stay): Transition =>
  from(["Ahead", "Resuming"], (state) => ({ ...state, stay }), { stay })

/** It is wanted. */
export const call = from(["Ahead"], (state) => ({ ...state, _tag: "Due" }))

/** The turnstile admits it. */
export const admit = (place: Turnstile.Pass): Transition =>
  from(["Queued", "Due"], (state) => (state._tag === "Due" ? { ...resuming(state), place } : { ...state, place }), {
    place
  })

/** It goes on without a place: a command, or its gate ahead of its time, ends its wait. */
export const goOn = from(["Due"], (state) => resuming(state))

const resuming = ({ pass, stay }: Of<"Due">): Of<"Resuming"> => ({ _tag: "Resuming", pass, stay })

/** The gate lets it in. */
export const letIn = (pass: Pass): Transition =>
  from(["Queued", "Due", "Resuming", "Waiting"], (state) => ({ ...state, pass }), { pass })

/** It does something that is on no record yet, and no wait. */
export const act = from(RUNNING, ({ interruption, pass, stay }) => ({ _tag: "Working", interruption, pass, stay }))

/** It begins a wait. `isOver`: it comes to the one that it was parked in, which has ended already. */
export const sleep = (isOver: boolean): Transition =>
  from(["Resuming", "Working", "Waiting"], ({ interruption, pass, place, stay }) => ({
    _tag: "Waiting",
    interruption,
    pass,
    stay,
    place: isOver ? place : undefined
  }))

/** Its wait ends at this gate. */
export const waitAt = (awaited: Awaited | undefined): Transition =>
  from(["Waiting"], (state) => ({ ...state, awaited }))

/** It gives something back, or has come further than where it was interrupted. */
export const without = (what: "interruption" | "pass" | "place"): Transition =>
  from(ALL, (state) => ({ ...state, [what]: undefined }))

/** It has left off. */
export const stop = from(RUNNING, ({ interruption }) => ({ _tag: "Stopped", interruption }))

/** It leaves memory to wait. */
export const park = from(["Ahead", "Stopped"], () => ({ _tag: "Parked" }))

/** It is over for this life. */
export const end = from([...RUNNING, "Queued", "Ahead", "Stopped"], () => ({ _tag: "Ended" }))

// --- the turn

/**
 * A turn in memory, with the handles that commands reach it by. They stay the same for as long as it is there: a command that comes while
 * it is queued, read from the disk, or about to leave is taken when it runs.
 */
export class TurnLife {
  readonly turnId: Ids.TurnId
  readonly abort = Deferred.makeUnsafe<void>()
  /** Its seal is on disk, or it has stopped without one. */
  readonly ended = Deferred.makeUnsafe<void, TurnStopped.TurnStopped>()
  readonly wait = new Wait()
  /** Called when it is aborted, where no fiber waits for that. */
  onAbort: (() => void) | undefined = undefined
  private readonly leave: () => void
  private current: State

  /** `leave` takes it out of its session (L3). */
  constructor(turnId: Ids.TurnId, beginning: Beginning, leave = () => {}) {
    this.turnId = turnId
    this.current = beginning
    this.leave = leave
  }

  get state(): State {
    return this.current
  }

  /** Changes the state; whether the transition fits. */
  move({ brings, next }: Transition): boolean {
    const before = this.current
    const after = next(before)
    this.current = after ?? before
    if (after !== undefined && is(after, ["Parked", "Ended"])) this.leave()
    giveBack(before, this.current)
    giveBack(brings, this.current)
    return after !== undefined
  }

  /** It does something that is on no record yet: it waits, or acts. */
  begins(isWait: boolean): void {
    if (isWait) this.wait.open()
    else this.wait.pass()
    this.move(isWait ? sleep(this.wait.hasNews) : act)
    this.state.seat?.ready()
  }

  /** A person wants it to end. */
  abortNow(): void {
    Deferred.doneUnsafe(this.abort, Exit.void)
    this.onAbort?.()
  }

  /** The gate lets it in, at its time or before. */
  letIn(pass: Pass, onTime: () => void): void {
    this.move(letIn(pass))
    if (pass.isEarly) this.wait.steer(wakeEarly(pass))
    else onTime()
  }

  /** It is over for this life. Commands that wait to be on record, and callers that wait for its end, get the outcome. */
  end(outcome: Exit.Exit<unknown, TurnStopped.TurnStopped>): void {
    this.move(end)
    this.wait.end(outcome)
    Deferred.doneUnsafe(this.ended, Exit.asVoid(outcome))
  }

  /** Whether it stands by at the wait that it was parked in, or will when it has come there. */
  get standsBy(): boolean {
    return is(this.state, ["Ahead", "Due"])
  }

  /** Whether there is an abort, or a command of a person or a gate, that it has not taken yet. */
  get isCalled(): boolean {
    return Deferred.isDoneUnsafe(this.abort) || this.wait.isSteered
  }

  /** Whether it has to go on: it is called, or its time has come. */
  get isWanted(): boolean {
    return this.isCalled || this.wait.hasNews
  }
}

// --- internal

const is = <T extends Tag>(state: State, tags: ReadonlyArray<T>): state is Of<T> =>
  tags.some((tag) => tag === state._tag)

/** L2 */
const giveBack = (held: Brought, kept: State): void => {
  if (held.stay !== kept.stay) held.stay?.leave()
  if (held.place !== kept.place) held.place?.()
  if (held.pass !== kept.pass) held.pass?.giveBack()
  if (held.seat !== kept.seat) held.seat?.leave()
}
