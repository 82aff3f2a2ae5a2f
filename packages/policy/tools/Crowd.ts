/**
 * Simulates a crowd that waits for one endpoint, with and without the gate (X5, X10).
 *
 * The turns follow a `RetryPolicy`, the gate and its order are `Gate.ts` and `Sleepers.ts`, time is a queue of moments: there is no clock and
 * no socket, and random numbers are an argument. The endpoint is a plain function of the moment and of the calls under way.
 */
import type { Failure } from "@holdfast/wire"
import { Heap } from "../src/Heap.ts"
import * as RetryPolicy from "../src/decision/RetryPolicy.ts"
import * as News from "../src/gate/News.ts"
import { type Admission, type Flight, type Sleeper, Sleepers } from "../src/gate/Sleepers.ts"

/** The behaviour of an endpoint. */
export interface Endpoint {
  /** Whether it answers a call that turn `turn` makes at `now` (milliseconds from the start) while `busy` others are under way. */
  readonly answers: (now: number, busy: number, turn: number) => boolean
  /** The delay that a refusal at `now` asks for, in milliseconds. */
  readonly hintMs?: (now: number) => number | undefined
  /** Milliseconds from a call to its first content, and to its refusal unless `refusalMs` is another. */
  readonly latencyMs: number
  readonly refusalMs?: number
  /** Milliseconds from a call to the end of its answer. */
  readonly serviceMs: number
}

/** A simulated crowd and its endpoint. */
export interface Options {
  readonly turns: number
  readonly policy: RetryPolicy.RetryPolicy
  readonly endpoint: Endpoint
  /** Milliseconds from the start over which the turns' first attempts are spread evenly; or the moment of each. */
  readonly arrivalMs: number | ReadonlyArray<number>
  readonly gated: boolean
  /** Processes that share the crowd, each with a gate of its own, and exchange news once a second. Default: 1. */
  readonly runners?: number
}

/** What became of one turn. Times are milliseconds from the start; infinity: never. */
export interface TurnOutcome {
  readonly arrivedAt: number
  readonly doneAt: number
  readonly gaveUpAt: number
  readonly calls: number
  /** Calls before its time, which cost it nothing (D2). */
  readonly early: number
  /** When it took a failure of another one as its own. */
  readonly sharedAt: ReadonlyArray<number>
  /** The call that was answered came before its time. */
  readonly isEarly: boolean
  /** Scheduled sleep that its budget was charged. */
  readonly sleptMs: number
}

/** The result of a simulation. */
export interface Outcome {
  readonly calls: number
  /** Calls that were refused. */
  readonly wasted: number
  /** Turns that were answered. */
  readonly answered: number
  /** Turns whose policy gave up. */
  readonly gaveUp: number
  /** Milliseconds from the start to the last answer. */
  readonly doneMs: number
  readonly turns: ReadonlyArray<TurnOutcome>
}

/** Simulates a crowd until every turn has ended. */
export const play = (options: Options): Outcome => new Play(options).run()

// --- internal

/** A turn, and its wait while it has one. */
interface Turn {
  readonly id: number
  readonly sleepers: Keeper | undefined
  readonly arrivedAt: number
  retries: number
  sleptMs: number
  firstFailureAt: number
  sleeper: (Sleeper & { readonly turn: Turn }) | undefined
  since: number
  dueAt: number
  askedUntil: number
  heldMs: number
  doneAt: number
  gaveUpAt: number
  calls: number
  early: number
  readonly sharedAt: Array<number>
  isEarly: boolean
}

const outcomeOf = ({ arrivedAt, calls, doneAt, early, gaveUpAt, isEarly, sharedAt, sleptMs }: Turn): TurnOutcome => ({
  arrivedAt,
  doneAt,
  gaveUpAt,
  calls,
  early,
  sharedAt,
  isEarly,
  sleptMs
})

/** The gate of one runner. */
interface Keeper {
  readonly sleepers: Sleepers<Sleeper & { readonly turn: Turn }>
  posted: News.News | undefined
}

const OVERLOADED: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }

const EXCHANGE_MS = 1_000

/** After a hold the next wait is shorter by it, and not below this. */
const LEAST_WAIT_MS = 1_000

class Play {
  private readonly moments = new Agenda()
  private readonly keepers: ReadonlyArray<Keeper>
  private readonly turns: ReadonlyArray<Turn>
  private now = 0
  private busy = 0
  private left: number
  private outcome = { calls: 0, wasted: 0, answered: 0, gaveUp: 0, doneMs: 0 }
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
    const { arrivalMs, gated, runners = 1, turns } = options
    this.keepers = Array.from({ length: gated ? runners : 0 }, () => this.keeper())
    this.left = turns
    this.turns = Array.from({ length: turns }, (_, id) => {
      const arrivedAt = typeof arrivalMs === "number" ? (id / turns) * arrivalMs : (arrivalMs[id] ?? 0)
      const turn: Turn = {
        id,
        sleepers: this.keepers[id % runners],
        arrivedAt,
        retries: 0,
        sleptMs: 0,
        firstFailureAt: 0,
        sleeper: undefined,
        since: 0,
        dueAt: 0,
        askedUntil: 0,
        heldMs: 0,
        doneAt: Infinity,
        gaveUpAt: Infinity,
        calls: 0,
        early: 0,
        sharedAt: [],
        isEarly: false
      }
      this.moments.add(arrivedAt, () => this.arrive(turn))
      return turn
    })
    if (this.keepers.length > 1) this.moments.add(EXCHANGE_MS, () => this.exchange())
  }

  run(): Outcome {
    for (let next = this.moments.take(); next !== undefined && this.left > 0; next = this.moments.take()) {
      this.now = next.at
      next.act()
    }
    return { ...this.outcome, turns: this.turns.map(outcomeOf) }
  }

  private keeper(): Keeper {
    let pending = Infinity
    const look = (): void => {
      if (pending > this.now) return
      pending = Infinity
      sleepers.settle(this.now)
    }
    const sleepers = new Sleepers<Sleeper & { readonly turn: Turn }>({
      admit: ({ turn }, admission) => this.admit(turn, admission),
      lookAgain: (at) => {
        if (at >= pending) return
        pending = at
        this.moments.add(at, look)
      }
    })
    return { sleepers, posted: undefined }
  }

  private exchange(): void {
    for (const keeper of this.keepers) {
      const { posted } = keeper
      for (const { sleepers } of posted === undefined ? [] : this.keepers.filter((other) => other !== keeper))
        if (posted !== undefined) sleepers.hear(posted, this.now)
    }
    for (const keeper of this.keepers) keeper.posted = News.of(keeper.sleepers.gate)
    this.moments.add(this.now + EXCHANGE_MS, () => this.exchange())
  }

  private arrive(turn: Turn): void {
    const shared = turn.sleepers?.sleepers.shareFirst(this.now, () => true)
    if (shared !== undefined) return this.share(turn, shared)
    this.call(turn, turn.sleepers?.sleepers.begin(String(turn.id), this.now))
  }

  private admit(turn: Turn, { flight, heldMs, isEarly, shared }: Admission): void {
    turn.sleeper = undefined
    turn.heldMs = heldMs
    if (isEarly) turn.early++
    if (shared === undefined) this.call(turn, flight)
    else this.share(turn, shared)
  }

  private share(turn: Turn, failure: Failure.Failure): void {
    turn.sharedAt.push(this.now)
    this.fail(turn, failure)
  }

  private call(turn: Turn, flight: Flight | undefined): void {
    const { answers, hintMs, latencyMs, refusalMs = latencyMs, serviceMs } = this.options.endpoint
    const gate = turn.sleepers?.sleepers
    this.outcome.calls++
    turn.calls++
    if (!answers(this.now, this.busy, turn.id)) {
      this.outcome.wasted++
      const retryAfterMs = hintMs?.(this.now)
      const failure: Failure.Failure =
        retryAfterMs === undefined ? OVERLOADED : { ...OVERLOADED, hint: { retryAfterMs, source: "retry-after" } }
      this.moments.add(this.now + refusalMs, () => {
        if (flight !== undefined) gate?.refused(flight, failure, this.now)
        // D2: an early attempt that fails before its turn's time returns to the rest of the wait.
        if (flight?.call.isGift === true && this.now < turn.dueAt) this.rest(turn)
        else this.fail(turn, failure)
      })
      return
    }
    this.busy++
    if (flight !== undefined)
      this.moments.add(this.now + Math.min(latencyMs, serviceMs), () => gate?.answered(flight, this.now))
    this.moments.add(this.now + serviceMs, () => {
      this.busy--
      this.left--
      this.outcome.answered++
      this.outcome.doneMs = turn.doneAt = this.now
      turn.isEarly = flight?.call.isGift === true
      if (flight !== undefined) gate?.ended(flight, this.now)
    })
  }

  private fail(turn: Turn, failure: Failure.Failure): void {
    if (turn.retries === 0) turn.firstFailureAt = this.now
    const delayMs = this.delay(turn, failure)
    if (delayMs === undefined) {
      this.outcome.gaveUp++
      this.left--
      turn.gaveUpAt = this.now
      return
    }
    turn.retries++
    turn.sleptMs += delayMs
    const askedMs = failure.hint?.retryAfterMs ?? 0
    const waitMs = Math.max(askedMs, delayMs - turn.heldMs, Math.min(delayMs, LEAST_WAIT_MS))
    turn.heldMs = 0
    turn.since = this.now
    turn.dueAt = this.now + waitMs
    turn.askedUntil = this.now + askedMs
    const { dueAt } = turn
    this.moments.add(dueAt, () => {
      if (turn.dueAt === dueAt) this.due(turn)
    })
    this.rest(turn)
  }

  private delay(turn: Turn, failure: Failure.Failure): number | undefined {
    const spent = { sleptMs: turn.sleptMs, elapsedMs: this.now - turn.firstFailureAt, spread: 0 }
    return RetryPolicy.delay(this.options.policy, turn.retries, failure, spent)
  }

  /** Begins a wait until `dueAt`, or continues it. */
  private rest(turn: Turn): void {
    if (turn.sleepers === undefined) return
    const { askedUntil: notBefore, dueAt, since } = turn
    const mayShare = this.delay(turn, OVERLOADED) !== undefined
    turn.sleeper = { turn, turnId: String(turn.id), since, waitMs: dueAt - since, notBefore, mayShare }
    turn.sleepers.sleepers.enter(turn.sleeper, this.now)
  }

  private due(turn: Turn): void {
    const { sleeper, sleepers } = turn
    if (sleepers === undefined) return this.call(turn, undefined)
    // Without a wait an early call is under way: if it fails, that was this attempt.
    if (sleeper !== undefined) sleepers.sleepers.due(sleeper, this.now)
  }
}

/** Events of the simulation by their time; of events at one time the first that was added comes first. */
class Agenda {
  private readonly heap = new Heap<Moment>(({ at }) => at)

  add(at: number, act: () => void): void {
    this.heap.add({ at, act })
  }

  /** Removes the next event. */
  take(): Moment | undefined {
    const moment = this.heap.first
    if (moment !== undefined) this.heap.delete(moment)
    return moment
  }
}

interface Moment {
  readonly at: number
  readonly act: () => void
}
