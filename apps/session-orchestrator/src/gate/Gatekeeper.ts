/**
 * Runs one gate: reports calls to it, wakes waiting turns when it admits them.
 *
 * `Gate` decides which turns may call (rule X5). This file keeps the waiting turns, their order, and their wakes.
 *
 * Gatekeeper.K1. Due turns are admitted in the order of their times, and before turns that are still asleep.
 * Gatekeeper.K2. A turn is held for `HOLD_LIMIT_MS` at most, and then admitted whatever the gate decides: the schedule plus this limit is
 *     the longest wait.
 * Gatekeeper.K3. An admitted turn holds a ticket. It is used for one call or given back, so that the gate's count is right.
 * Gatekeeper.K4. A wait that the provider asked for is not cut short (rule A15). A wait whose end a person chose ends exactly then
 *     (rule X4).
 * Gatekeeper.K5. Nothing here is on disk. A process that dies loses its gates; turns that were held are due when the next process starts,
 *     and ask again.
 */
import type { RetryStrategy } from "@holdfast/kernel"
import { Gate, News } from "@holdfast/policy"
import type { Failure, Ids } from "@holdfast/wire"
import { Alarm, type At } from "../system/Alarm.ts"
import type { Command } from "../pacing/TurnWait.ts"

/** A probe has an outcome within the time that the profiles allow for a first content. */
export const HOLD_LIMIT_MS = 600_000

/** The first hold that is announced to a turn; each further one is twice as long, up to the limit. */
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

/** The wait of a turn. */
export interface GateWait {
  readonly gatekeeper: Gatekeeper
  readonly turnId: Ids.TurnId
  /** Length of the wait, in milliseconds. A failed early attempt returns to the wait that it interrupted: same begin, same length. */
  readonly waitMs: number
  /** Begin of the wait, in epoch milliseconds. */
  readonly since: number
  /** Earliest wake, in epoch milliseconds; infinity: not before its time (Gatekeeper.K4). */
  readonly notBefore: number
  /** A person has chosen its end: then it is admitted, whatever the gate decides (rule X4). */
  readonly isWanted: boolean
  /** Its policy would go on after one more failure. Otherwise it calls at its time instead of sharing: no turn gives up on another's failure. */
  readonly mayShare: boolean
}

/** A turn that waits. It belongs to one gatekeeper, from `enter` until it is woken or leaves. */
export interface Sleeper extends GateWait {
  /** Lets the turn continue. Called at most once, at any time after `enter` and before `leave`. */
  readonly wake: (ticket: GateTicket) => void
  /** The turn's time has come and it is held; `until` is the expected end, in epoch milliseconds. */
  readonly held: (until: number) => void
}

/** The gate's decision for a turn whose wait is over. */
export class GateTicket {
  readonly gatekeeper: Gatekeeper
  /** A failure that the turn takes as its own instead of calling; if absent, the turn calls. */
  readonly shared: Failure.Failure | undefined
  /** Time that the turn was held, in milliseconds. */
  readonly heldMs: number
  /** The turn was woken before its time. */
  readonly isEarly: boolean
  /** The state of the endpoint is unknown: this call probes it. */
  readonly isProbe: boolean
  private isSpent = false

  constructor(
    gatekeeper: Gatekeeper,
    {
      shared,
      heldMs = 0,
      isEarly = false,
      isProbe = false
    }: Partial<Pick<GateTicket, "shared" | "heldMs" | "isEarly" | "isProbe">> = {}
  ) {
    this.gatekeeper = gatekeeper
    this.shared = shared
    this.heldMs = heldMs
    this.isEarly = isEarly
    this.isProbe = isProbe
  }

  /** Spends the ticket; returns whether it was still unspent. */
  spend(): boolean {
    const isLeft = !this.isSpent
    this.isSpent = true
    return isLeft
  }

  /** Gives the ticket back: no call follows (Gatekeeper.K3). */
  giveBack(): void {
    if (this.spend() && this.shared === undefined) this.gatekeeper.unused(this)
  }
}

/** The command by which the gate ends a wait early. It is recorded like a person's command, with the gate as its origin. */
export const wakeEarly = ({ isProbe }: Pick<GateTicket, "isProbe">): Command => ({
  type: "now",
  early: true,
  by: { commandId: globalThis.crypto.randomUUID(), origin: isProbe ? ORIGINS.probe : ORIGINS.room }
})

/** A gate and its turns at one moment. Times are in epoch milliseconds. */
export interface GateView extends Pick<Gate.Gate, "phase" | "underway" | "room" | "last"> {
  /** Turns that wait; with those that are held. */
  readonly waiting: number
  readonly held: number
  /** When a call last had content; 0: never. */
  readonly answeredAt: number
  /** When a turn calls at the latest; infinity: none waits, or a call of another turn decides. */
  readonly nextTryAt: number
}

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
  private gate: Gate.Gate = Gate.open
  private answeredAt = 0
  private readonly clock: GateClock
  /** Sleepers that may be woken early, in the order of their arrival. */
  private readonly asleep = new Set<Sleeper>()
  /** The sum of their waits, in milliseconds. */
  private asleepMs = 0
  /** Sleepers that may be woken early only later; the function cancels that. */
  private readonly deep = new Map<Sleeper, () => void>()
  /** Sleepers that are not woken early; kept for `view` alone. */
  private readonly undisturbed = new Set<Sleeper>()
  /** Sleepers that are due, in order. */
  private readonly door = new Map<Sleeper, Held>()
  private readonly alarm: Alarm
  private isSettling = false

  constructor(clock: GateClock) {
    this.clock = clock
    this.alarm = new Alarm(clock.at, () => this.settle())
  }

  /** Whether no turn waits and no admitted call is in progress. */
  get isIdle(): boolean {
    return !this.isWaitedAt && this.gate.underway === 0
  }

  /** Whether nothing is known against the endpoint: due turns continue at once. */
  get isOpen(): boolean {
    return this.gate.phase === "open"
  }

  /** The gate and its turns now, for a report. */
  get view(): GateView {
    const { last, phase, room, underway } = this.gate
    const asleep = [...this.asleep, ...this.deep.keys(), ...this.undisturbed]
    const ends = asleep.map(({ since, waitMs }) => since + waitMs)
    return {
      phase,
      underway,
      room,
      last,
      waiting: asleep.length + this.door.size,
      held: this.door.size,
      answeredAt: this.answeredAt,
      nextTryAt: ends.reduce((a, b) => Math.min(a, b), this.wakes.againAt)
    }
  }

  /** Findings for the gatekeepers of this endpoint on other runners. */
  get news(): News.News {
    return News.of(this.gate, this.answeredAt)
  }

  /** Applies findings of other runners about the endpoint. */
  update(change: (gate: Gate.Gate) => Gate.Gate): void {
    this.gate = change(this.gate)
    this.settle()
  }

  /** A turn begins to wait. */
  enter(sleeper: Sleeper): void {
    const now = this.clock.now()
    const { notBefore, since, waitMs } = sleeper
    this.gate = Gate.entered(this.gate, now)
    if (notBefore !== Infinity) this.gate = Gate.remembered(this.gate, since)
    if (notBefore <= now) this.rest(sleeper)
    else if (notBefore < since + waitMs) {
      const cancel = this.clock.at(notBefore, () => {
        this.deep.delete(sleeper)
        this.rest(sleeper)
        this.settle()
      })
      this.deep.set(sleeper, cancel)
    } else this.undisturbed.add(sleeper)
    this.settle()
  }

  /** The sleeper's time has come: it is woken now, or held (Gatekeeper.K1). */
  due(sleeper: Sleeper): void {
    this.take(sleeper)
    if (sleeper.isWanted) return sleeper.wake(this.admit())
    const held: Held = { since: this.clock.now(), until: 0, cancel: () => {} }
    this.door.set(sleeper, held)
    this.settle()
    if (this.door.get(sleeper) === held) this.hold(sleeper, held)
  }

  /** A sleeper stops waiting. Without effect on a sleeper that was woken. */
  leave(sleeper: Sleeper): void {
    this.take(sleeper)
    this.settle()
  }

  /** Admits a turn that must not be held, because a person ordered it to continue. */
  admit(): GateTicket {
    this.gate = Gate.admit(this.gate, this.clock.now())
    return new GateTicket(this)
  }

  /** The failure that a first attempt shares instead of calling, if there is one. */
  shareFirst(): Failure.Failure | undefined {
    const now = this.clock.now()
    const answer = Gate.askFirst(this.gate, now)
    return answer._tag === "Share" ? sharedOf(answer.failure, this.gate, now) : undefined
  }

  /** A call begins: with the ticket that it has spent, or as a first attempt. */
  begin(_turnId: Ids.TurnId | undefined, ticket?: GateTicket): Call {
    const isLetIn = ticket !== undefined
    const beganAt = this.clock.now()
    let isOpen = true
    let hadAnswered = false
    const close = (change: (gate: Gate.Gate) => Gate.Gate): void => {
      if (!isOpen) return
      isOpen = false
      this.update(change)
    }
    return {
      answered: () => {
        if (hadAnswered || !isOpen) return
        hadAnswered = true
        this.answeredAt = this.clock.now()
        this.update(isLetIn ? Gate.answered : Gate.answeredFirst)
      },
      failed: (failure) =>
        close((gate) => {
          if (!Gate.concerns(failure)) return isLetIn ? Gate.ended(gate, hadAnswered) : gate
          const now = this.clock.now()
          if (isLetIn) return Gate.failed(gate, now, failure, { beganAt, hadAnswered })
          return hadAnswered ? gate : Gate.failedFirst(gate, now, failure)
        }),
      ended: () => close((gate) => (isLetIn ? Gate.ended(gate, hadAnswered) : gate))
    }
  }

  /** A turn makes no call with the ticket that it has spent. */
  unused(_ticket: GateTicket): void {
    this.update((gate) => Gate.ended(gate, false))
  }

  private rest(sleeper: Sleeper): void {
    this.asleep.add(sleeper)
    this.asleepMs += sleeper.waitMs
  }

  private take(sleeper: Sleeper): void {
    if (this.asleep.delete(sleeper)) this.asleepMs -= sleeper.waitMs
    this.deep.get(sleeper)?.()
    this.deep.delete(sleeper)
    this.undisturbed.delete(sleeper)
    this.door.get(sleeper)?.cancel()
    this.door.delete(sleeper)
  }

  private hold(sleeper: Sleeper, held: Held): void {
    const now = this.clock.now()
    const limit = held.since + HOLD_LIMIT_MS
    if (now >= limit) return this.wake(sleeper, Gate.CallDecision.Go(), Gate.admit(this.gate, now), now) // Gatekeeper.K2
    held.until = Math.min(limit, now + Math.max(HOLD_STEP_MS, held.until - held.since))
    held.cancel = this.clock.at(held.until, () => this.hold(sleeper, held))
    sleeper.held(held.until)
  }

  private wake(
    sleeper: Sleeper,
    answer: Exclude<Gate.CallDecision, { readonly _tag: "Hold" }>,
    gate: Gate.Gate,
    now: number
  ): void {
    const held = this.door.get(sleeper)
    this.gate = gate
    this.take(sleeper)
    const shared = answer._tag === "Share" ? sharedOf(answer.failure, gate, now) : undefined
    const heldMs = held === undefined ? 0 : now - held.since
    sleeper.wake(new GateTicket(this, { shared, heldMs, isEarly: held === undefined, isProbe: gate.phase === "shut" }))
  }

  /** Admits and wakes turns while there is room. A woken turn may enter again at once; the loop sees its changes. */
  private settle(): void {
    if (this.isSettling) return
    this.isSettling = true
    while (this.letIn() || this.wakeOne()) {}
    this.isSettling = false
    if (!this.isWaitedAt) this.gate = Gate.settled(this.gate, this.clock.now())
  }

  /** How many sleepers may be woken early now, and when to ask again. */
  private get wakes(): ReturnType<typeof Gate.wakes> {
    const count = this.asleep.size
    return Gate.wakes(this.gate, this.clock.now(), { count, meanWaitMs: count === 0 ? 0 : this.asleepMs / count })
  }

  private get isWaitedAt(): boolean {
    return this.asleep.size > 0 || this.deep.size > 0 || this.door.size > 0
  }

  private letIn(): boolean {
    const [sleeper] = this.door.keys()
    if (sleeper === undefined) return false
    const now = this.clock.now()
    const [answer, gate] = Gate.ask(this.gate, now, sleeper.waitMs)
    if (answer._tag === "Hold") return false
    this.wake(sleeper, answer, gate, now)
    return true
  }

  private wakeOne(): boolean {
    // No due turn is left that there is room for (Gatekeeper.K1).
    const [sleeper] = this.asleep
    const early = this.wakes
    if (early.count > 0 && sleeper !== undefined) {
      const now = this.clock.now()
      this.wake(sleeper, Gate.CallDecision.Go(), Gate.admit(this.gate, now), now)
      return true
    }
    this.alarm.set(early.againAt)
    return false
  }
}

// --- internal

interface Held {
  readonly since: number
  until: number
  cancel: () => void
}

/**
 * A failure as another turn's own. The provider's delay counts from the moment of the failure; the rest of the response's head belongs to
 * the original call.
 */
const sharedOf = (failure: Failure.Failure, { last }: Gate.Gate, now: number): Failure.Failure => {
  const { evidence: _, hint, ...rest } = failure
  if (hint === undefined) return { ...rest, shared: true }
  const retryAfterMs = Math.max(0, hint.retryAfterMs - Math.max(0, now - (last?.at ?? now)))
  return { ...rest, hint: { ...hint, retryAfterMs }, shared: true }
}
