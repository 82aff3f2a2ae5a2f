/**
 * Simulates a crowd that waits for one endpoint, with and without the gate (X5, X10).
 *
 * The turns follow a `RetryPolicy`, the gate is `Gate.ts`, time is a queue of moments: there is no clock and no socket, and random numbers
 * are an argument. The endpoint is a plain function of the moment and of the number of calls under way.
 */
import type { Failure } from "@holdfast/wire"
import { Heap } from "../Heap.ts"
import * as RetryPolicy from "../decision/RetryPolicy.ts"
import * as Gate from "./Gate.ts"

/** The behaviour of an endpoint. */
export interface Endpoint {
  /** Whether it answers a call that comes at `now` (milliseconds from the start) while `busy` others are under way. */
  readonly answers: (now: number, busy: number) => boolean
  /** Milliseconds from a call to its refusal, or to its first content. */
  readonly latencyMs: number
  /** Milliseconds from a call to the end of its answer. */
  readonly serviceMs: number
}

/** A simulated crowd and its endpoint. */
export interface Options {
  readonly turns: number
  readonly policy: RetryPolicy.RetryPolicy
  readonly endpoint: Endpoint
  /** Milliseconds from the start over which the turns' first attempts are spread evenly. */
  readonly arrivalMs: number
  readonly gated: boolean
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
}

/** Simulates a crowd until every turn has ended. */
export const play = (options: Options): Outcome => new Play(options).run()

// --- internal

interface Turn {
  readonly id: number
  retries: number
  sleptMs: number
  firstFailureAt: number
  waitedMs: number
  /** The end of its wait; a turn that was woken early has another by then, or none. */
  alarm: Moment | undefined
}

const OVERLOADED: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true, status: 529 }

class Play {
  private readonly moments = new Agenda()
  private readonly sleeping = new Set<Turn>()
  private readonly held: Array<Turn> = []
  private gate: Gate.Gate = Gate.open
  private busy = 0
  private probeAlarm = Infinity
  private sleepingMs = 0
  private outcome = { calls: 0, wasted: 0, answered: 0, gaveUp: 0, doneMs: 0 }
  private readonly options: Options

  constructor(options: Options) {
    this.options = options
    for (let id = 0; id < options.turns; id++) {
      const turn: Turn = { id, retries: 0, sleptMs: 0, firstFailureAt: 0, waitedMs: 0, alarm: undefined }
      this.moments.add((id / options.turns) * options.arrivalMs, (now) => this.call(turn, now, false))
    }
  }

  run(): Outcome {
    for (let next = this.moments.take(); next !== undefined; next = this.moments.take()) next.act(next.at)
    return this.outcome
  }

  private call(turn: Turn, now: number, isRetry: boolean): void {
    const { endpoint, gated } = this.options
    if (gated && !isRetry && Gate.askFirst(this.gate, now)._tag === "Share") return this.fail(turn, now)
    this.outcome.calls++
    const isAnswered = endpoint.answers(now, this.busy)
    if (!isAnswered) {
      this.outcome.wasted++
      this.moments.add(now + endpoint.latencyMs, (then) => {
        if (gated) {
          this.gate = isRetry
            ? Gate.failed(this.gate, then, OVERLOADED, { beganAt: now, hadAnswered: false })
            : Gate.failedFirst(this.gate, then, OVERLOADED)
        }
        this.fail(turn, then)
        this.settle(then)
      })
      return
    }
    this.busy++
    this.moments.add(now + endpoint.latencyMs, (then) => {
      if (gated) this.gate = isRetry ? Gate.answered(this.gate) : Gate.answeredFirst(this.gate)
      this.settle(then)
    })
    this.moments.add(now + endpoint.serviceMs, (then) => {
      this.busy--
      this.outcome.answered++
      this.outcome.doneMs = then
      if (gated && isRetry) this.gate = Gate.ended(this.gate, true)
      this.settle(then)
    })
  }

  private fail(turn: Turn, now: number): void {
    if (turn.retries === 0) turn.firstFailureAt = now
    const spent = { sleptMs: turn.sleptMs, elapsedMs: now - turn.firstFailureAt, spread: 0 }
    const delayMs = RetryPolicy.delay(this.options.policy, turn.retries, OVERLOADED, spent)
    if (delayMs === undefined) {
      this.outcome.gaveUp++
      return
    }
    turn.retries++
    turn.sleptMs += delayMs
    turn.waitedMs = delayMs
    this.sleeping.add(turn)
    this.sleepingMs += delayMs
    const alarm = this.moments.add(now + delayMs, (then) => {
      if (turn.alarm === alarm) this.wake(turn, then)
    })
    turn.alarm = alarm
  }

  private wake(turn: Turn, now: number): void {
    turn.alarm = undefined
    this.sleeping.delete(turn)
    this.sleepingMs -= turn.waitedMs
    if (!this.options.gated) return this.call(turn, now, true)
    this.held.push(turn)
    this.settle(now)
  }

  /** Admits turns and wakes waiting turns into free room, until nothing changes. */
  private settle(now: number): void {
    if (!this.options.gated) return
    for (;;) {
      const first = this.held[0]
      if (first !== undefined) {
        const [answer, gate] = Gate.ask(this.gate, now, first.waitedMs)
        this.gate = gate
        if (answer._tag === "Hold") return
        this.held.shift()
        if (answer._tag === "Go") this.call(first, now, true)
        else this.fail(first, now)
        continue
      }
      const count = this.sleeping.size
      const { count: early, againAt } = Gate.wakes(this.gate, now, {
        count,
        meanWaitMs: count === 0 ? 0 : this.sleepingMs / count
      })
      const [turn] = this.sleeping
      if (early > 0 && turn !== undefined) {
        turn.alarm = undefined
        this.sleeping.delete(turn)
        this.sleepingMs -= turn.waitedMs
        this.gate = Gate.admit(this.gate, now)
        this.call(turn, now, true)
        continue
      }
      if (againAt < this.probeAlarm) {
        this.probeAlarm = againAt
        this.moments.add(againAt, (then) => {
          this.probeAlarm = Infinity
          this.settle(then)
        })
      }
      return
    }
  }
}

/** Events of the simulation by their time; of events at one time the first that was added comes first (`Heap.H1`). */
class Agenda {
  private readonly heap = new Heap<Moment>(({ at }) => at)

  /** Adds an event, and returns it. */
  add(at: number, act: (now: number) => void): Moment {
    const moment = { at, act }
    this.heap.add(moment)
    return moment
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
  readonly act: (now: number) => void
}
