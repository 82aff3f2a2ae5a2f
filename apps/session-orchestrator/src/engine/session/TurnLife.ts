/**
 * The life of one turn in this process: where it is (`Residence` has the drawing), and what it holds there (`Holdings`).
 *
 * TurnLife.L1. A turn gives back what it holds, each once: when it needs it no more, and all when it leaves. What a turn gets that has left goes
 *     back at once.
 * TurnLife.L2. A turn that has left is no longer in its session, and nothing brings it back: it comes again as another life.
 */
import type { Interruption } from "@holdfast/journal"
import type { Observer, Records, TurnStopped } from "@holdfast/kernel"
import type { Engine } from "@holdfast/kernel/host"
import type { Ids } from "@holdfast/wire"
import { Deferred, Exit } from "effect"
import type { Resumption } from "../../storage/Stored.ts"
import { type Gatekeeper, type GateTicket, wakeEarly } from "../gate/Gatekeeper.ts"
import type * as Quarantine from "../pacing/Quarantine.ts"
import { TurnWait } from "../pacing/TurnWait.ts"
import type * as WakeQueue from "../pacing/WakeQueue.ts"

/**
 * Where a turn in memory is: about to run, run, or still parked.
 *
 *     accepted, taken up            near its time
 *           │                            │
 *           ▼          begin             ▼    its time, its gate, a command
 *        queued ───────────────► live ◄──── parked, in memory ahead of its time
 *           ▲                     │  │             │
 *           │ wanted              │  └─────────────┴──► sealed, or stopped
 *        parked, in `Parking` ◄───┘
 *
 * A queued turn that is aborted is sealed where it is (`TurnQueue.Q4`).
 */
export type Residence = "queued" | "live" | "parked"

/** Knowledge about a turn that comes into memory. */
export interface Known {
  /** The turn has just been accepted: with its beginning, if that need not be read from the disk, and its records as a draft. */
  readonly arrival?:
    | { readonly resumption: Resumption | undefined; readonly records?: ReadonlyArray<Records.Stored> }
    | undefined
  readonly draft?: Draft | undefined
  /** The interruption with which this process took the turn up in mid-step (rule X14), until the turn makes progress. */
  readonly interruption?: Interruption.Interruption | undefined
}

/** A turn that is not on disk. It is accepted when its first failure is one to wait for; otherwise it leaves nothing there. */
export interface Draft {
  /** Receives its observations, instead of the observer of turns. */
  readonly observer: Observer.Listeners
  /** Its records until now. */
  readonly records: Array<Engine.Named>
  /** It has failed so, and has left memory: it goes on from its records once it is accepted. */
  readonly failed: () => void
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
  /** What it holds. */
  readonly holds: { -readonly [Key in keyof Holdings]?: Holdings[Key] | undefined } = {}
  /** Whether it stands by at the wait that it was parked in, or will when it arrives there. */
  standsBy: boolean
  readonly draft: Draft | undefined
  arrival: Known["arrival"]
  interruption: Known["interruption"]
  /** Called when it is aborted: where it runs now ends it. */
  onAbort: (() => void) | undefined = undefined
  /** The gate of its last call. */
  gatekeeper: Gatekeeper | undefined = undefined
  private readonly remove: () => void
  private current: Residence
  private hasLeft = false

  /** `remove` takes it out of its session (TurnLife.L2). */
  constructor(turnId: Ids.TurnId, residence: Residence = "queued", known: Known = {}, remove = () => {}) {
    this.turnId = turnId
    this.current = residence
    this.standsBy = residence === "parked"
    this.arrival = known.arrival
    this.draft = known.draft
    this.interruption = known.interruption
    this.remove = remove
  }

  get residence(): Residence {
    return this.current
  }

  /** The turn is run. A parked turn stays so. */
  begin(): void {
    if (this.current === "queued") this.current = "live"
  }

  /** Its time, its gate or a command wants a turn that is parked. */
  call(): void {
    if (this.current === "parked") this.current = "live"
  }

  /** A due turn gets a place; returns whether it waits for one. */
  admit(place: WakeQueue.Place): boolean {
    const waits = !this.hasLeft && (this.current === "queued" || (this.current === "live" && this.standsBy))
    if (waits) this.hold("place", place)
    else place.leave()
    this.goOn()
    return waits
  }

  /** A wanted turn stands by no longer. */
  goOn(): void {
    if (this.current !== "live") return
    this.standsBy = false
    this.without("slot")
  }

  /** The turn begins something that has no record yet: a wait, or other work. */
  begins(isWait: boolean): void {
    if (isWait) this.wait.open()
    else this.wait.notWaiting()
    this.holds.slot?.ready()
    if (this.current !== "live") return
    this.arrival = undefined
    if (!isWait) this.goOn()
    // It is parked no longer when it arrives at the wait that it was parked in.
    if (!this.standsBy && !(isWait && this.wait.hasNews)) this.without("place")
  }

  /** The turn gets a resource (TurnLife.L1). */
  hold<Key extends keyof Holdings>(key: Key, what: Holdings[Key]): void {
    if (this.hasLeft) return RELEASES[key](what)
    if (this.holds[key] !== what) this.without(key)
    Object.assign(this.holds, { [key]: what })
  }

  /** The turn gives a resource back, if it holds it. */
  without<Key extends keyof Holdings>(key: Key): void {
    const what: Holdings[Key] | undefined = this.holds[key]
    this.holds[key] = undefined
    if (what !== undefined) RELEASES[key](what)
  }

  /** The turn runs no longer, and has not left. */
  stop(): void {
    this.standsBy = false
    this.arrival = undefined
    for (const key of KEYS) this.without(key)
  }

  /** The turn leaves memory, unsealed: it waits, or goes on elsewhere. Returns whether it was here. */
  park(): boolean {
    if (this.hasLeft) return false
    this.hasLeft = true
    this.remove()
    this.stop()
    return true
  }

  /** Aborts the turn. */
  abortNow(): void {
    Deferred.doneUnsafe(this.abort, Exit.void)
    this.onAbort?.()
  }

  /** The gate admits the turn, at its time or before. */
  letIn(ticket: GateTicket, onTime: () => void): void {
    this.hold("ticket", ticket)
    if (ticket.isEarly) this.wait.steer(wakeEarly(ticket))
    else onTime()
  }

  /** The turn's life here is over. Commands that wait for their record, and callers that wait for its end, get the outcome. */
  end(outcome: Exit.Exit<unknown, TurnStopped.TurnStopped>): void {
    this.park()
    this.wait.end(outcome)
    Deferred.doneUnsafe(this.ended, Exit.asVoid(outcome))
  }

  /** Whether there is an abort, or a command of a person or a gate, that it has not taken yet. */
  get isCalled(): boolean {
    return Deferred.isDoneUnsafe(this.abort) || this.wait.isSteered
  }
}

// --- internal

const KEYS = ["presence", "place", "ticket", "slot"] as const satisfies ReadonlyArray<keyof Holdings>

const RELEASES: { readonly [Key in keyof Holdings]: (what: Holdings[Key]) => void } = {
  presence: (presence) => presence.leave(),
  place: (place) => place.leave(),
  ticket: (ticket) => ticket.giveBack(),
  slot: (slot) => slot.leave()
}
