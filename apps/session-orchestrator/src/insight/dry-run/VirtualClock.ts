/**
 * A clock that jumps from one moment to the next, for dry runs.
 *
 * Times are whole milliseconds, as those of a timer.
 *
 * VirtualClock.V1. Moments come in the order of their times; of equal times, in the order in which they were set.
 * VirtualClock.V2. A moment that is set never comes while the code that set it runs.
 */
import { Timer } from "@holdfast/journal"
import type { ProviderCall } from "@holdfast/kernel/host"
import { Heap } from "@holdfast/policy"
import { Clock, Context, Duration, Effect, Random, References } from "effect"
import type { GateClock } from "../../engine/gate/Gatekeeper.ts"

interface Moment {
  readonly at: number
  readonly act: () => void
}

/** Time, as a queue of moments: the clock, the timer, the chance and the fibers of a dry run. */
export class VirtualClock implements GateClock, ProviderCall.World {
  private readonly moments = new Heap.Heap<Moment>(({ at }) => at)
  readonly draw: () => number
  /** The services of an effect at this time. It logs nothing, and waits for nothing but this clock. */
  readonly services: Context.Context<Timer.Timer>
  private ms: number

  /** `startMs` is in epoch milliseconds; `draw` returns numbers from 0 (included) to 1 (excluded). */
  constructor(startMs: number, draw: () => number) {
    this.ms = startMs
    this.draw = draw
    const chance = { nextDoubleUnsafe: draw, nextIntUnsafe: () => Math.floor(draw() * Number.MAX_SAFE_INTEGER) }
    this.services = Context.make(Timer.Timer, this.timer).pipe(
      Context.add(References.MinimumLogLevel, "None"),
      Context.add(References.PreventSchedulerYield, true),
      Context.add(Clock.Clock, clockOf(this.now, this.sleep)),
      Context.add(Random.Random, chance)
    )
  }

  readonly now = (): number => this.ms
  readonly elapsed = this.now

  readonly at = (endMs: number, act: () => void): (() => void) => {
    const moment = { at: Math.max(Math.ceil(endMs), this.ms), act }
    if (moment.at !== Infinity) this.moments.add(moment)
    return () => this.moments.delete(moment)
  }

  readonly after = (ms: number, act: () => void): (() => void) => this.at(this.ms + ms, act)

  readonly run: ProviderCall.World["run"] = (effect, ended) => {
    const fiber = Effect.runForkWith(this.services)(effect)
    fiber.addObserver(ended)
    return () => fiber.interruptUnsafe()
  }

  private readonly sleepUntil = (endMs: number): Effect.Effect<void> =>
    Effect.callback((resume) => Effect.sync(this.at(endMs, () => resume(Effect.void))))

  private readonly sleep = (duration: Duration.Duration): Effect.Effect<void> =>
    Effect.suspend(() => this.sleepUntil(this.ms + Duration.toMillis(duration)))

  readonly timer: Timer.Timer["Service"] = {
    at: (endMs, wake) => this.at(endMs, () => wake(true)),
    sleepUntil: this.sleepUntil
  }

  /** Runs the next moment, unless it comes after `until`; returns whether there was one. */
  step(until: number): boolean {
    const next = this.moments.first
    if (next === undefined || next.at > until) return false
    this.moments.delete(next)
    this.ms = next.at
    next.act()
    return true
  }
}

// --- internal

const clockOf = (now: () => number, sleep: Clock.Clock["sleep"]): Clock.Clock => {
  const nanos = () => BigInt(now()) * 1_000_000n
  return {
    currentTimeMillisUnsafe: now,
    currentTimeMillis: Effect.sync(now),
    currentTimeNanosUnsafe: nanos,
    currentTimeNanos: Effect.sync(nanos),
    monotonicTimeNanosUnsafe: nanos,
    monotonicTimeNanos: Effect.sync(nanos),
    sleep
  }
}
