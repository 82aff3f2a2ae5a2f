/**
 * Keeps the turns that wait at one gate, and lets them in: the due ones in their order, then those that are woken early (X5).
 *
 * `Gate` decides whether a turn calls; this file decides which. It has no clock and no timer: every call of it has the time as an argument, and
 * it asks for its next look by `lookAgain`. The service and the simulation run it. The cost of a call does not depend on how many turns wait.
 *
 * Sleepers.S1. Due turns are let in by the order of their times, and before turns that are still asleep.
 * Sleepers.S2. Early wakes go to turns that have not called yet, then to those whose refusals are least their own, then to the longest waiting;
 *     and, unless it is a probe, only to turns that have seen another one's answer since their last call began.
 */
import type { Failure } from "@holdfast/wire"
import { Heap } from "../Heap.ts"
import * as Gate from "./Gate.ts"
import * as News from "./News.ts"

/** A turn that waits. */
export interface Sleeper {
  readonly turnId: string
  /** Begin of the wait, in epoch milliseconds, and its length. */
  readonly since: number
  readonly waitMs: number
  /** Earliest early wake, in epoch milliseconds; infinity: it is not woken early. */
  readonly notBefore: number
  /** Its policy would go on after one more failure. */
  readonly mayShare: boolean
  /** By its record, for a turn that this process has not seen before. */
  readonly past?: Remembered
}

/** What a gate keeps of a turn in the record of its wait: the next process wakes it as rarely (X1). */
export interface Remembered {
  /** How many of its refusals came while others were answered: its own. */
  readonly odd: number
  /** No early wake before, in epoch milliseconds. */
  readonly restsUntil: number
}

/** How a wait ends. */
export interface Admission {
  /** The call that follows; absent: the turn shares a failure instead. */
  readonly flight: Flight | undefined
  readonly shared: Failure.Failure | undefined
  /** Time that the turn was held, in milliseconds. */
  readonly heldMs: number
  /** It was woken before its time. */
  readonly isEarly: boolean
  /** The endpoint counts as down, or has answered another process alone. */
  readonly isProbe: boolean
}

/** A call under way, or admitted. */
export interface Flight {
  readonly turnId: string | undefined
  call: Gate.Call
  /** `late`: without an outcome for `Gate.LATE_MS`. */
  state: "flying" | "late" | "answered" | "over"
}

/** What the sleepers need of their owner. */
export interface Owner<S extends Sleeper> {
  /** A turn continues. It may enter again at once. */
  readonly admit: (sleeper: S, admission: Admission) => void
  /** Asks for `settle` at this time; infinity: not by time. The last one counts. */
  readonly lookAgain: (at: number) => void
}

/** The most turns whose refusals are remembered between their waits. A turn that is forgotten is woken early a few times more. */
const MOST_PASTS = 20_000

/** The distance of a turn's early wakes, and its growth with each refusal that was the turn's own. */
const GIFT_MS = 2_000
const GIFT_GROWTH = 3
const GIFT_MOST_MS = 1_800_000

/** Turns with more refusals of their own than this are woken in the order of their waits. */
const MOST_LEVEL = 40

/** The turns that wait at one gate. */
export class Sleepers<S extends Sleeper> {
  gate: Gate.Gate = Gate.open
  private readonly owner: Owner<S>
  private readonly places = new Map<S, Place<S>>()
  /** Those whose time has not come, by that time. */
  private readonly dues = new Heap<Place<S>>(({ sleeper: { since, waitMs } }) => since + waitMs)
  private readonly door = new Set<Place<S>>()
  private readonly levels: Array<Level<S>> = []
  /** Turns that may be woken early only later. */
  private readonly resting = new Heap<Place<S>>(({ restsUntil }) => restsUntil)
  /** The number of turns that may be woken early, now or later, and the sum of their waits. */
  private asleep = 0
  private asleepMs = 0
  private readonly pasts = new Map<string, Past>()
  /** Calls in the order of their begin, from `nextLate` on not yet late. */
  private readonly flights: Array<Flight> = []
  private nextLate = 0
  private late = 0
  private isSettling = false
  /** When it looks again if nothing changes, in epoch milliseconds. */
  nextLookAt = Infinity

  constructor(owner: Owner<S>) {
    this.owner = owner
  }

  /** The number of turns that wait; with those that are held. */
  get waiting(): number {
    return this.places.size
  }

  /** The number of turns that are due and held. */
  get held(): number {
    return this.door.size
  }

  /** The turns that wait and are not due. */
  get sleeping(): ReadonlyArray<S> {
    return Array.from(this.places.values()).flatMap((place) => (this.door.has(place) ? [] : [place.sleeper]))
  }

  /** Whether a turn waits that is held or may be woken early. */
  get isAwaited(): boolean {
    return this.asleep > 0 || this.door.size > 0
  }

  /** What is kept of a turn in the record of its wait; `undefined`: no refusal was its own. */
  pastOf(turnId: string): Remembered | undefined {
    const { odd = 0, restsUntil = 0 } = this.pasts.get(turnId) ?? {}
    return odd > 0 ? { odd, restsUntil } : undefined
  }

  /** Applies findings of another process. */
  hear(news: News.News, now: number): void {
    this.gate = News.apply(this.gate, news)
    this.settle(now)
  }

  /** A turn begins or continues to wait. */
  enter(sleeper: S, now: number): void {
    this.recall(now)
    const { notBefore, since, turnId, waitMs } = sleeper
    if (sleeper.past !== undefined && !this.pasts.has(turnId)) this.remember(turnId, since, sleeper.past)
    const past = this.pasts.get(turnId)
    const restsUntil = Math.max(notBefore, past?.restsUntil ?? -Infinity)
    // One whose time has passed is due in a moment, in its place after a restart.
    const isAsleep = notBefore !== Infinity && since + waitMs > now
    const place: Place<S> = { sleeper, isAsleep, restsUntil, level: undefined, doorAt: 0, isDrawn: false }
    this.places.set(sleeper, place)
    this.dues.add(place)
    if (notBefore !== Infinity) this.gate = Gate.remembered(this.gate, since)
    if (isAsleep) {
      this.asleep++
      this.asleepMs += waitMs
      if (restsUntil > now) this.resting.add(place)
      else this.rise(place)
    }
    this.settle(now)
  }

  /** The turn's time has come: it is let in now, or held. Returns whether it is held. */
  due(sleeper: S, now: number): boolean {
    if (!this.places.has(sleeper)) return false
    const place = this.take(sleeper)
    // A wait whose budget a person extends leaves, and goes on.
    const { heldSince = -Infinity } = this.pasts.get(sleeper.turnId) ?? {}
    place.doorAt = heldSince >= sleeper.since ? heldSince : now
    this.places.set(sleeper, place)
    this.door.add(place)
    // Of a crowd at an endpoint that is off each is asked, and not the first alone: the others may share what it met.
    if (Gate.isOff(this.gate)) this.letIn(place, now)
    this.settle(now)
    return this.door.has(place)
  }

  /** The turn does not wait any more. */
  leave(sleeper: S, now: number): void {
    const place = this.places.has(sleeper) ? this.take(sleeper) : undefined
    if (place !== undefined && place.doorAt > 0) this.remember(sleeper.turnId, now, { heldSince: place.doorAt })
    this.settle(now)
  }

  /** The failure that a first attempt shares instead of calling, if there is one after which its turn goes on. */
  shareFirst(now: number, goesOn: (failure: Failure.Failure) => boolean): Failure.Failure | undefined {
    this.recall(now)
    const { failure, refusedAt } = this.gate
    const shared = failure && sharedOf(failure, refusedAt, now)
    if (shared === undefined || !goesOn(shared)) return undefined
    const [answer, gate] = Gate.askFirst(this.gate, now)
    this.gate = gate
    return answer._tag === "Share" ? shared : undefined
  }

  /** A call begins, or is admitted, whatever the gate decides. */
  begin(turnId: string | undefined, now: number, isGift = false): Flight {
    this.recall(now)
    const [call, gate] = Gate.begin(this.gate, now, isGift)
    this.gate = gate
    const flight: Flight = { turnId, call, state: "flying" }
    this.load(now)
    this.flights.push(flight)
    this.began(flight, now)
    return flight
  }

  /** The call of an admission begins: some time after that, as the admission was written first. */
  began(flight: Flight, now: number): void {
    flight.call = { ...flight.call, at: now }
    if (flight.turnId !== undefined) this.remember(flight.turnId, now, { beganAt: now, heldSince: -Infinity })
  }

  /** No call follows the admission. */
  unused(flight: Flight, now: number): void {
    if (flight.state === "over") return
    this.outcome(flight, "over")
    this.gate = Gate.unused(this.gate, flight.call)
    this.settle(now)
  }

  /** A call has shown its first content. Reports after that of its end, and a second one of its content, change nothing. */
  answered(flight: Flight, now: number): void {
    if (flight.state === "answered" || flight.state === "over") return
    this.outcome(flight, "answered")
    this.gate = Gate.answered(this.gate, now, flight.call)
    if (flight.turnId !== undefined) this.pasts.delete(flight.turnId)
    // All that are asleep began their last call before this answer (Sleepers.S2).
    for (const { ready, unanswered } of this.levels) {
      for (const place of unanswered) ready.add(place)
      unanswered.clear()
    }
    this.settle(now)
  }

  /** A call has failed because of the endpoint; after its content that is only its end. */
  refused(flight: Flight, failure: Failure.Failure, now: number): void {
    if (flight.state === "answered" || flight.state === "over") return this.ended(flight, now)
    const { call, turnId } = flight
    this.outcome(flight, "over")
    const past = turnId === undefined ? undefined : this.pasts.get(turnId)
    const odd = (past?.odd ?? 0) + Gate.oddness(this.gate, past?.refusedAt ?? call.at)
    this.gate = Gate.refused(this.gate, now, call, odd, failure)
    if (turnId !== undefined) {
      const restMs = Math.min(GIFT_MOST_MS, GIFT_MS * GIFT_GROWTH ** Math.min(20, odd))
      const hintedUntil = now + (failure.hint?.retryAfterMs ?? 0)
      const restsUntil = Math.max(past?.restsUntil ?? 0, hintedUntil, call.isGift ? now + restMs : 0)
      this.remember(turnId, now, { odd, restsUntil, refusedAt: now, beganAt: call.at })
    }
    this.settle(now)
  }

  /** A call has ended otherwise: its answer is complete or broke off, or its failure is its own. */
  ended(flight: Flight, now: number): void {
    if (flight.state === "over") return
    const hadAnswered = flight.state === "answered"
    this.outcome(flight, "over")
    if (flight.turnId !== undefined && !hadAnswered) this.pasts.delete(flight.turnId)
    this.gate = Gate.ended(this.gate, hadAnswered)
    this.settle(now)
  }

  /** Lets turns in while there is room. A turn that continues may enter again at once; the loop sees its changes. */
  settle(now: number): void {
    if (this.isSettling) return
    this.isSettling = true
    let at = Infinity
    do at = this.next(now)
    while (at === -Infinity)
    this.isSettling = false
    if (!this.isAwaited) this.gate = Gate.settled(this.gate, now)
    this.nextLookAt = at
    this.owner.lookAgain(at)
  }

  /** Lets one turn in, and returns -Infinity; or returns when to look again. */
  private next(now: number): number {
    const [first] = this.door
    if (first !== undefined) {
      if (this.letIn(first, now)) return -Infinity
      return Math.max(now + 1, Gate.askAgainAt(this.gate, now, this.askingOf(first), this.lateAt))
    }
    if (this.asleep === 0) return Infinity
    // A turn whose time has come, and whose timer fires in this moment, is let in first (Sleepers.S1).
    const nextDue = this.dues.first?.sleeper
    if (nextDue !== undefined && nextDue.since + nextDue.waitMs <= now) return Infinity
    for (
      let rested = this.resting.first;
      rested !== undefined && rested.restsUntil <= now;
      rested = this.resting.first
    ) {
      this.resting.delete(rested)
      this.rise(rested)
    }
    const { againAt, isFree } = Gate.gift(this.gate, now, {
      count: this.asleep,
      meanWaitMs: this.asleepMs / this.asleep
    })
    if (!isFree) return Math.max(now + 1, againAt)
    const isProbe = Gate.isProbing(this.gate)
    const place = this.candidate(isProbe)
    if (place === undefined) return Math.max(now + 1, this.resting.first?.restsUntil ?? Infinity)
    const { sleeper } = place
    this.take(sleeper)
    const flight = this.begin(sleeper.turnId, now, true)
    this.owner.admit(sleeper, { flight, shared: undefined, heldMs: 0, isEarly: true, isProbe })
    return -Infinity
  }

  /** Asks the gate for a due turn; returns whether it continues. */
  private letIn(place: Place<S>, now: number): boolean {
    const { sleeper } = place
    const isOff = Gate.isOff(this.gate)
    const [answer, gate] = Gate.ask(this.gate, now, this.askingOf(place), this.load(now), isOff && !place.isDrawn)
    place.isDrawn ||= isOff
    this.gate = gate
    if (answer._tag === "Hold") return false
    this.take(sleeper)
    const shared = answer._tag === "Share" ? sharedOf(answer.failure, gate.refusedAt, now) : undefined
    const flight = shared === undefined ? this.begin(sleeper.turnId, now) : undefined
    this.owner.admit(sleeper, { flight, shared, heldMs: now - place.doorAt, isEarly: false, isProbe: isOff })
    return true
  }

  private askingOf({ doorAt, sleeper: { mayShare, waitMs } }: Place<S>): Gate.Asking {
    return { dueAt: doorAt, waitMs, mayShare }
  }

  /** Sleepers.S2 */
  private candidate(isProbe: boolean): Place<S> | undefined {
    for (const { ready, unanswered } of this.levels) {
      const [place = isProbe ? firstOf(unanswered) : undefined] = ready
      if (place !== undefined) return place
    }
    return undefined
  }

  /** A turn may be woken early from now on. */
  private rise(place: Place<S>): void {
    const past = this.pasts.get(place.sleeper.turnId)
    const index = past === undefined ? 0 : 1 + Math.min(MOST_LEVEL, Math.floor(past.odd))
    while (this.levels.length <= index) this.levels.push({ ready: new Set(), unanswered: new Set() })
    const level = this.levels[index]
    if (level === undefined) return
    place.level = level
    const isReady = past === undefined || past.beganAt <= this.gate.answeredAt
    ;(isReady ? level.ready : level.unanswered).add(place)
  }

  private take(sleeper: S): Place<S> {
    const place = this.places.get(sleeper)
    if (place === undefined) throw new Error("the sleeper does not wait here")
    this.places.delete(sleeper)
    this.dues.delete(place)
    if (!this.door.delete(place) && place.isAsleep) {
      this.asleep--
      this.asleepMs -= sleeper.waitMs
      this.resting.delete(place)
      place.level?.ready.delete(place)
      place.level?.unanswered.delete(place)
      place.level = undefined
    }
    return place
  }

  private recall(now: number): void {
    if (Gate.isForgotten(this.gate, now)) this.pasts.clear()
    this.gate = Gate.entered(this.gate, now)
  }

  private remember(turnId: string, now: number, news: Partial<Past>): void {
    const first = { odd: 0, restsUntil: -Infinity, refusedAt: now, beganAt: now, heldSince: -Infinity }
    const past: Past = { ...first, ...this.pasts.get(turnId), ...news }
    this.pasts.delete(turnId)
    this.pasts.set(turnId, past)
    if (this.pasts.size > MOST_PASTS) for (const oldest of this.pasts.keys()) return void this.pasts.delete(oldest)
  }

  /** The calls under way, without those that are late. */
  private load(now: number): number {
    while (this.lateAt <= now) {
      const flight = this.flights[this.nextLate++]
      if (flight === undefined) break
      flight.state = "late"
      this.late++
    }
    return this.gate.under - this.late
  }

  /** When the next call is late that has no outcome by then. */
  private get lateAt(): number {
    while (this.flights[this.nextLate] !== undefined && this.flights[this.nextLate]?.state !== "flying") this.nextLate++
    if (this.nextLate > 1_000 || this.nextLate === this.flights.length)
      this.nextLate -= this.flights.splice(0, this.nextLate).length
    const next = this.flights[this.nextLate]
    return next === undefined ? Infinity : next.call.at + Gate.LATE_MS
  }

  private outcome(flight: Flight, state: "answered" | "over"): void {
    if (flight.state === "late") this.late--
    flight.state = state
  }
}

// --- internal

/** A turn in its wait. */
interface Place<S> {
  readonly sleeper: S
  /** It may be woken early. */
  readonly isAsleep: boolean
  readonly restsUntil: number
  level: Level<S> | undefined
  /** Since when it is held. */
  doorAt: number
  isDrawn: boolean
}

/** Turns whose refusals are as much their own, the longest waiting first. */
interface Level<S> {
  readonly ready: Set<Place<S>>
  /** No call was answered since their last one began. */
  readonly unanswered: Set<Place<S>>
}

/** What the gate has seen of a turn. */
interface Past extends Remembered {
  readonly refusedAt: number
  readonly beganAt: number
  /** It left while it was held, before it was let in: its hold counts from then if its wait goes on. */
  readonly heldSince: number
}

/**
 * A failure as another turn's own. The provider's delay counts from the moment of the failure; the rest of the response's head belongs to
 * the original call.
 */
const sharedOf = (failure: Failure.Failure, at: number, now: number): Failure.Failure => {
  const { evidence: _, hint, ...rest } = failure
  if (hint === undefined) return { ...rest, shared: true }
  const retryAfterMs = Math.max(0, hint.retryAfterMs - Math.max(0, now - at))
  return { ...rest, hint: { ...hint, retryAfterMs }, shared: true }
}

const firstOf = <A>(set: ReadonlySet<A>): A | undefined => {
  const [first] = set
  return first
}
