/**
 * Keeps one gate: tells it of every call of its endpoint, and those who wait what it answers (X5).
 *
 * What may call is decided by `Gate`; here is who waits, in what order, and who is woken.
 *
 * K1. Who is due is let in, in the order of their times: those at the door come before those who are still asleep.
 * K2. A turn is held for `HOLD_LIMIT_MS` at the most, and then let in, whatever the gate says: the schedule and this are the
 *     longest that it waits.
 * K3. Who is let in holds a pass. It is used for one call or given back, so that the gate counts right.
 * K4. A wait that the provider asked for is not cut short (A15). One whose end a person chose ends then, neither before nor after (X4).
 * K5. Nothing here is on disk. A process that dies forgets its gates; those who were held are due when the next one starts, and
 *     ask again.
 */
import type { RetryStrategy } from "@holdfast/kernel"
import { Gate, News } from "@holdfast/policy"
import type { Failure } from "@holdfast/wire"
import { Alarm, type At } from "../system/Alarm.ts"
import type { Command } from "../pacing/Wait.ts"

/** A probe has an outcome within the time that a first content may take, by the profiles. */
export const HOLD_LIMIT_MS = 600_000

/** What a turn that is held is told first; then twice as long, and so on up to the limit. */
export const HOLD_STEP_MS = 15_000

/** Where a wake before its time comes from, as it stands in the record. */
const ORIGINS = { room: "the gate: the endpoint answers again", probe: "the gate: to see whether the endpoint answers" }

/** Whether the end of a wait is the gate's doing. */
export const isGates = ({ by }: Pick<RetryStrategy.Wake, "by">): boolean =>
  by !== undefined && Object.values(ORIGINS).includes(by.origin)

/** What a gatekeeper needs of the world. */
export interface World {
  /** Epoch milliseconds. */
  readonly now: () => number
  readonly at: At
}

/** What a turn waits for. */
export interface Awaited {
  readonly gatekeeper: Gatekeeper
  /** How long its wait is, in milliseconds. */
  readonly waitMs: number
  /** When it began, in epoch milliseconds. */
  readonly since: number
  /** It is not woken before; infinity: not before its time (K4). */
  readonly notBefore: number
  /** A person has chosen its end: then it is let in, whatever the gate says (X4). */
  readonly isWanted: boolean
}

/** A turn that waits. It is in one gatekeeper, from `enter` until it is woken or leaves. */
export interface Sleeper extends Awaited {
  /** It may go on. It may be called at any time after `enter` and before `leave`, once. */
  readonly wake: (pass: Pass) => void
  /** Its time has come, and it goes on waiting; until then, as far as is known. */
  readonly held: (until: number) => void
}

/** What the gate has told a turn whose wait is over. */
export class Pass {
  readonly gatekeeper: Gatekeeper
  /** What the turn takes for its own instead of calling; absent: it calls. */
  readonly shared: Failure.Failure | undefined
  /** How long it was held, in milliseconds. */
  readonly heldMs: number
  /** It was woken before its time. */
  readonly isEarly: boolean
  /** Nobody knows whether the endpoint answers: this one finds out. */
  readonly isProbe: boolean
  private isSpent = false

  constructor(
    gatekeeper: Gatekeeper,
    {
      shared,
      heldMs = 0,
      isEarly = false,
      isProbe = false
    }: Partial<Pick<Pass, "shared" | "heldMs" | "isEarly" | "isProbe">> = {}
  ) {
    this.gatekeeper = gatekeeper
    this.shared = shared
    this.heldMs = heldMs
    this.isEarly = isEarly
    this.isProbe = isProbe
  }

  /** Uses it up; whether it could be. */
  spend(): boolean {
    const isLeft = !this.isSpent
    this.isSpent = true
    return isLeft
  }

  /** There will be no call (K3). */
  giveBack(): void {
    if (this.spend() && this.shared === undefined) this.gatekeeper.unused()
  }
}

/** The end of a wait that the gate cuts short: it goes on record like a person's command, and says whose it is. */
export const wakeEarly = ({ isProbe }: Pass): Command => ({
  type: "now",
  early: true,
  by: { commandId: globalThis.crypto.randomUUID(), origin: isProbe ? ORIGINS.probe : ORIGINS.room }
})

/** A call that is under way. What it says after its end changes nothing. */
export interface Call {
  /** It has shown content. */
  readonly answered: () => void
  /** It has failed. */
  readonly failed: (failure: Failure.Failure) => void
  /** It has ended otherwise. */
  readonly ended: () => void
}

export class Gatekeeper {
  private gate: Gate.Gate = Gate.open
  private answeredAt = 0
  private readonly world: World
  /** Who may be woken early, the first to come first. */
  private readonly asleep = new Set<Sleeper>()
  /** Of those, the sum of their waits. */
  private asleepMs = 0
  /** Who may be woken early later; what takes them out of that. */
  private readonly deep = new Map<Sleeper, () => void>()
  /** Who is due, in order. */
  private readonly door = new Map<Sleeper, Held>()
  private readonly alarm: Alarm
  private isSettling = false

  constructor(world: World) {
    this.world = world
    this.alarm = new Alarm(world.at, () => this.settle())
  }

  /** Nobody waits, and nobody who was let in is under way. */
  get isIdle(): boolean {
    return !this.isWaitedAt && this.gate.underway === 0
  }

  /** Nothing is known against the endpoint: whoever is due goes on. */
  get isOpen(): boolean {
    return this.gate.phase === "open"
  }

  /** What it has to tell the gatekeepers of this endpoint elsewhere. */
  get news(): News.News {
    return News.of(this.gate, this.answeredAt)
  }

  /** Hears what others have found out about the endpoint. */
  hear(change: (gate: Gate.Gate) => Gate.Gate): void {
    this.gate = change(this.gate)
    this.settle()
  }

  /** Begins to wait. */
  enter(sleeper: Sleeper): void {
    const now = this.world.now()
    const { notBefore, since, waitMs } = sleeper
    this.gate = Gate.entered(this.gate, now)
    if (notBefore !== Infinity) this.gate = Gate.remembered(this.gate, since)
    if (notBefore <= now) this.rest(sleeper)
    else if (notBefore < since + waitMs) {
      const cancel = this.world.at(notBefore, () => {
        this.deep.delete(sleeper)
        this.rest(sleeper)
        this.settle()
      })
      this.deep.set(sleeper, cancel)
    }
    this.settle()
  }

  /** Its time has come: it is woken now, or held (K1). */
  due(sleeper: Sleeper): void {
    this.take(sleeper)
    if (sleeper.isWanted) return sleeper.wake(this.admit())
    const held: Held = { since: this.world.now(), until: 0, cancel: () => {} }
    this.door.set(sleeper, held)
    this.settle()
    if (this.door.get(sleeper) === held) this.hold(sleeper, held)
  }

  /** Waits no more. Does nothing to one that was woken. */
  leave(sleeper: Sleeper): void {
    this.take(sleeper)
    this.settle()
  }

  /** Lets a turn in that nobody may hold: a person wants it to go on. */
  admit(): Pass {
    this.gate = Gate.admit(this.gate, this.world.now())
    return new Pass(this)
  }

  /** What a first attempt takes for its own instead of calling. */
  shareFirst(): Failure.Failure | undefined {
    const now = this.world.now()
    const answer = Gate.askFirst(this.gate, now)
    return answer._tag === "Share" ? sharedOf(answer.failure, this.gate, now) : undefined
  }

  /** A call begins: of a turn that was let in, or a first attempt. */
  begin(isLetIn: boolean): Call {
    const beganAt = this.world.now()
    let isOpen = true
    let hadAnswered = false
    const close = (change: (gate: Gate.Gate) => Gate.Gate): void => {
      if (!isOpen) return
      isOpen = false
      this.hear(change)
    }
    return {
      answered: () => {
        if (hadAnswered || !isOpen) return
        hadAnswered = true
        this.answeredAt = this.world.now()
        this.hear(isLetIn ? Gate.answered : Gate.answeredFirst)
      },
      failed: (failure) =>
        close((gate) => {
          if (!Gate.concerns(failure)) return isLetIn ? Gate.ended(gate, hadAnswered) : gate
          const now = this.world.now()
          if (isLetIn) return Gate.failed(gate, now, failure, { beganAt, hadAnswered })
          return hadAnswered ? gate : Gate.failedFirst(gate, now, failure)
        }),
      ended: () => close((gate) => (isLetIn ? Gate.ended(gate, hadAnswered) : gate))
    }
  }

  /** Somebody who was let in makes no call. */
  unused(): void {
    this.hear((gate) => Gate.ended(gate, false))
  }

  private rest(sleeper: Sleeper): void {
    this.asleep.add(sleeper)
    this.asleepMs += sleeper.waitMs
  }

  private take(sleeper: Sleeper): void {
    if (this.asleep.delete(sleeper)) this.asleepMs -= sleeper.waitMs
    this.deep.get(sleeper)?.()
    this.deep.delete(sleeper)
    this.door.get(sleeper)?.cancel()
    this.door.delete(sleeper)
  }

  private hold(sleeper: Sleeper, held: Held): void {
    const now = this.world.now()
    const limit = held.since + HOLD_LIMIT_MS
    if (now >= limit) return this.wake(sleeper, Gate.Answer.Go(), Gate.admit(this.gate, now), now) // K2
    held.until = Math.min(limit, now + Math.max(HOLD_STEP_MS, held.until - held.since))
    held.cancel = this.world.at(held.until, () => this.hold(sleeper, held))
    sleeper.held(held.until)
  }

  private wake(
    sleeper: Sleeper,
    answer: Exclude<Gate.Answer, { readonly _tag: "Hold" }>,
    gate: Gate.Gate,
    now: number
  ): void {
    const held = this.door.get(sleeper)
    this.gate = gate
    this.take(sleeper)
    const shared = answer._tag === "Share" ? sharedOf(answer.failure, gate, now) : undefined
    const heldMs = held === undefined ? 0 : now - held.since
    sleeper.wake(new Pass(this, { shared, heldMs, isEarly: held === undefined, isProbe: gate.phase === "shut" }))
  }

  /** Lets in and wakes whom there is room for. Whoever is woken may come back at once: what they change is seen here. */
  private settle(): void {
    if (this.isSettling) return
    this.isSettling = true
    while (this.letIn() || this.wakeOne()) {}
    this.isSettling = false
    if (!this.isWaitedAt) this.gate = Gate.settled(this.gate, this.world.now())
  }

  private get isWaitedAt(): boolean {
    return this.asleep.size > 0 || this.deep.size > 0 || this.door.size > 0
  }

  private letIn(): boolean {
    const [sleeper] = this.door.keys()
    if (sleeper === undefined) return false
    const now = this.world.now()
    const [answer, gate] = Gate.ask(this.gate, now, sleeper.waitMs)
    if (answer._tag === "Hold") return false
    this.wake(sleeper, answer, gate, now)
    return true
  }

  private wakeOne(): boolean {
    // Nobody is left at the door that there is room for (K1).
    const [sleeper] = this.asleep
    const count = this.asleep.size
    const now = this.world.now()
    const early = Gate.wakes(this.gate, now, { count, meanWaitMs: count === 0 ? 0 : this.asleepMs / count })
    if (early.count > 0 && sleeper !== undefined) {
      this.wake(sleeper, Gate.Answer.Go(), Gate.admit(this.gate, now), now)
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
 * A failure as another turn's own. What its provider asked for counts from the moment of the failure; what else was in the response
 * belongs to the call that was made.
 */
const sharedOf = (failure: Failure.Failure, { last }: Gate.Gate, now: number): Failure.Failure => {
  const { evidence: _, hint, ...rest } = failure
  if (hint === undefined) return { ...rest, shared: true }
  const retryAfterMs = Math.max(0, hint.retryAfterMs - Math.max(0, now - (last?.at ?? now)))
  return { ...rest, hint: { ...hint, retryAfterMs }, shared: true }
}
