/**
 * Runs one gate in the service: reports calls to it, wakes waiting turns when it lets them in.
 *
 * `Gate` decides which turns may call (rule X5), and `Sleepers` has their order. This file adds the clock, the tickets and the announcements
 * of holds. Nothing here is on disk: a process that dies loses its gates; turns that were held are due when the next process starts.
 *
 * Gatekeeper.K1. An admitted turn holds a ticket. It is used for one call or given back, so that the gate's count is right.
 * Gatekeeper.K2. A wait that the provider asked for is not cut short (rule A15). A wait whose end a person chose ends exactly then
 *     (rule X4).
 */
import type { RetryStrategy } from "@holdfast/kernel"
import { Gate, News, Sleepers } from "@holdfast/policy"
import type { Failure, Ids } from "@holdfast/wire"
import { Alarm, type At } from "../../base/system/Alarm.ts"
import type { Command } from "../pacing/TurnWait.ts"

/** The first hold that is announced to a turn; each further one is twice as long, up to the limit without an answer. */
export const HOLD_STEP_MS = 15_000

/** Origins of the gate's wakes, as they stand in the record. */
const ORIGINS = { room: "the gate: the endpoint answers again", probe: "the gate: to see whether the endpoint answers" }

/** Whether the gate ended a wait. */
export const isByGate = ({ by }: Pick<RetryStrategy.Wake, "by">): boolean =>
  by !== undefined && Object.values(ORIGINS).includes(by.origin)

/** Clock and timer of a gatekeeper. */
export interface GateClock {
  /** Epoch milliseconds. */
  readonly now: () => number
  readonly at: At
}

/** The wait of a turn. A failed early attempt returns to the wait that it interrupted: same `since`, same `waitMs`. */
export interface GateWait extends Sleepers.Sleeper {
  readonly gatekeeper: Gatekeeper
  readonly turnId: Ids.TurnId
  /** A person has chosen its end: then it is admitted, whatever the gate decides (rule X4). */
  readonly isWanted: boolean
}

/** A turn that waits. It belongs to one gatekeeper, from `enter` until it is woken or leaves. */
export interface Sleeper extends GateWait {
  /** Lets the turn continue. Called at most once, at any time after `enter` and before `leave`. */
  readonly wake: (ticket: GateTicket) => void
  /** The turn's time has come and it is held; `until` is the expected end, in epoch milliseconds. */
  readonly held: (until: number) => void
}

/** The gate's decision for a turn whose wait is over. */
export type GateTicket = ReturnType<typeof ticketOf>

/** Makes the ticket of an admission. */
export const ticketOf = (gatekeeper: Gatekeeper, admission: Sleepers.Admission) => {
  let isSpent = false
  const ticket = {
    ...admission,
    gatekeeper,
    /** Spends the ticket; returns whether it was still unspent. */
    spend: (): boolean => {
      const isLeft = !isSpent
      isSpent = true
      return isLeft
    },
    /** Gives the ticket back: no call follows (Gatekeeper.K1). */
    giveBack: (): void => {
      if (ticket.spend()) gatekeeper.unused(admission)
    }
  }
  return ticket
}

/** The command by which the gate ends a wait early. It is recorded like a person's command, with the gate as its origin. */
export const wakeEarly = ({ isProbe }: Pick<GateTicket, "isProbe">): Command => ({
  type: "now",
  early: true,
  by: { commandId: globalThis.crypto.randomUUID(), origin: isProbe ? ORIGINS.probe : ORIGINS.room }
})

/** A gate and its turns at one moment. */
export type GateView = Gatekeeper["view"]

/** A call in progress. Reports after its end change nothing. */
export interface Call {
  /** The call has yielded content. */
  readonly answered: () => void
  /** The call has failed. */
  readonly failed: (failure: Failure.Failure) => void
  /** The call has ended in another way. */
  readonly ended: () => void
}

/** One gate with the turns that wait at it. */
export class Gatekeeper {
  private readonly clock: GateClock
  private readonly sleepers: Sleepers.Sleepers<Sleeper>
  /** Announcements to the turns that are held. */
  private readonly holds = new Map<Sleeper, Hold>()

  constructor(clock: GateClock) {
    this.clock = clock
    const alarm = new Alarm(clock.at, () => this.sleepers.settle(clock.now()))
    this.sleepers = new Sleepers.Sleepers({
      lookAgain: (at) => alarm.set(at),
      admit: (sleeper, admission) => {
        this.announced(sleeper)
        sleeper.wake(ticketOf(this, admission))
      }
    })
  }

  /** Whether no turn waits and no call is in progress. */
  get isIdle(): boolean {
    return !this.sleepers.isAwaited && this.sleepers.gate.under === 0
  }

  /** Whether a due turn would continue at once. */
  get isOpen(): boolean {
    return this.sleepers.held === 0 && !Gate.isOff(this.sleepers.gate)
  }

  /** The gate and its turns now, for a report. Times are in epoch milliseconds. */
  get view() {
    const { gate, held, nextLookAt, sleeping, waiting } = this.sleepers
    const { answeredAt, failure, refusedAt, under } = gate
    const phase = Gate.phaseOf(gate)
    return {
      phase: phase === "ramp" && waiting === 0 ? ("open" as const) : phase,
      /** Calls under way. */
      underway: under,
      /** The number of calls under way up to which due turns call. */
      room: phase === "shut" ? 1 : Gate.roomOf(gate),
      last: failure && { failure, at: refusedAt },
      /** Turns that wait; with those that are held. */
      waiting,
      held,
      /** When a call last had content; 0: never. */
      answeredAt: Math.max(0, answeredAt),
      /** When a turn calls at the latest; infinity: none waits, or a call of another turn decides. */
      nextTryAt: sleeping.reduce((first, { since, waitMs }) => Math.min(first, since + waitMs), nextLookAt)
    }
  }

  /** What the record of a turn's wait keeps of it. */
  pastOf(turnId: Ids.TurnId): Sleepers.Remembered | undefined {
    return this.sleepers.pastOf(turnId)
  }

  /** Findings for the gatekeepers of this endpoint on other runners. */
  get news(): News.News {
    return News.of(this.sleepers.gate)
  }

  /** Applies findings of other runners about the endpoint. */
  hear(news: News.News): void {
    this.sleepers.hear(news, this.clock.now())
  }

  /** A turn begins to wait. */
  enter(sleeper: Sleeper): void {
    this.sleepers.enter(sleeper, this.clock.now())
  }

  /** The sleeper's time has come: it is woken now, or held. */
  due(sleeper: Sleeper): void {
    const now = this.clock.now()
    if (sleeper.isWanted) {
      this.sleepers.leave(sleeper, now)
      return sleeper.wake(this.admit(sleeper.turnId))
    }
    if (!this.sleepers.due(sleeper, now)) return
    const hold = { since: now, cancel: () => {} }
    this.holds.set(sleeper, hold)
    this.hold(sleeper, hold)
  }

  /** A sleeper stops waiting. Without effect on a sleeper that was woken. */
  leave(sleeper: Sleeper): void {
    this.announced(sleeper)
    this.sleepers.leave(sleeper, this.clock.now())
  }

  /** Admits a turn that must not be held, because a person ordered it to continue. */
  admit(turnId?: Ids.TurnId): GateTicket {
    const flight = this.sleepers.begin(turnId, this.clock.now())
    return ticketOf(this, { flight, shared: undefined, heldMs: 0, isEarly: false, isProbe: false })
  }

  /** The failure that a first attempt shares instead of calling, if there is one after which its turn goes on. */
  shareFirst(goesOn: (failure: Failure.Failure) => boolean): Failure.Failure | undefined {
    return this.sleepers.shareFirst(this.clock.now(), goesOn)
  }

  /** A call begins: with the ticket that it has spent, or as a first attempt. */
  begin(turnId: Ids.TurnId | undefined, ticket?: GateTicket): Call {
    const { sleepers } = this
    const now = this.clock.now()
    const flight = ticket?.flight ?? sleepers.begin(turnId, now)
    sleepers.began(flight, now)
    return {
      answered: () => sleepers.answered(flight, this.clock.now()),
      failed: (failure) =>
        Gate.concerns(failure)
          ? sleepers.refused(flight, failure, this.clock.now())
          : sleepers.ended(flight, this.clock.now()),
      ended: () => sleepers.ended(flight, this.clock.now())
    }
  }

  /** A turn makes no call with the ticket that it has spent. */
  unused({ flight }: Pick<Sleepers.Admission, "flight">): void {
    if (flight !== undefined) this.sleepers.unused(flight, this.clock.now())
  }

  /** Announces a hold, again and again; nothing for a turn that is not held any more. */
  private hold(sleeper: Sleeper, hold: Hold): void {
    if (this.holds.get(sleeper) !== hold) return
    const now = this.clock.now()
    const until = now + Math.min(Gate.HOLD_LIMIT_MS, Math.max(HOLD_STEP_MS, now - hold.since))
    hold.cancel = this.clock.at(until, () => this.hold(sleeper, hold))
    sleeper.held(until)
  }

  private announced(sleeper: Sleeper): void {
    this.holds.get(sleeper)?.cancel()
    this.holds.delete(sleeper)
  }
}

// --- internal

interface Hold {
  readonly since: number
  cancel: () => void
}
