/**
 * Real sleep, for everything in the service that waits: one alarm for all.
 *
 * When a wait is over is decided by `Wait`; this file asks the clock and wakes who is due. However many wait, there is one
 * timer, set to the earliest of them and never further ahead than `Wait.LONGEST_CHUNK_MS`.
 *
 * R1. A wait is known, and the alarm set for it, before the fiber that waits is suspended.
 * R2. Interrupting a fiber that waits takes its wait out at once. With nobody waiting there is no timer.
 * R3. Those who are due at one reading are woken in the order of their ends, while the clocks agree.
 * R4. An alarm that was replaced does nothing when it rings.
 * R5. Who wants to hear ahead of a time hears that it is near, and then that it has come; where both are found at one reading, the
 *     second alone. Both belong to one wait: a clock that is set back in between prolongs nothing (T2).
 */
import { Clock, Context, Duration, Effect, type Fiber, Layer } from "effect"
import { Heap } from "./Heap.ts"
import * as Wait from "./Wait.ts"

export class Timer extends Context.Service<
  Timer,
  {
    /** Sleeps until a time of the wall clock, in epoch milliseconds. Returns at once if it is past; infinity never comes. */
    readonly sleepUntil: (endMs: number) => Effect.Effect<void>
    /** Sleeps for a duration, of any length, counted from the moment it is run (D11). */
    readonly sleep: (duration: Duration.Duration) => Effect.Effect<void>
    /**
     * Calls back at a time of the wall clock, without a fiber that waits: for those who are many. Returns what takes it out.
     *
     * **Details**
     *
     * With `aheadMs` it calls back that long before, too (R5); `isDue` says which it is.
     *
     * **Gotchas**
     *
     * A time that is past is called back at the next reading, never on the spot.
     */
    readonly at: (endMs: number, wake: (isDue: boolean) => void, aheadMs?: number) => () => void
  }
>()("@holdfast/session-orchestrator/durable/Timer") {}

/** The timer of a process, on the `Clock` that is there when the layer is built. */
export const layer: Layer.Layer<Timer> = Layer.effect(
  Timer,
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const alarm = alarmOf(clock, Effect.runForkWith(yield* Effect.context<never>()))
    yield* Effect.addFinalizer(() => Effect.sync(alarm.silence))
    return Timer.of({
      sleepUntil: (endMs) => Effect.suspend(() => sleepUntil(alarm, endMs)),
      sleep: (duration) =>
        Effect.suspend(() => sleepUntil(alarm, clock.currentTimeMillisUnsafe() + Duration.toMillis(duration))),
      at: (endMs, wake, aheadMs = 0) => {
        const sleeper: Sleeper = { wait: moved(Wait.until(endMs, alarm.read()), -aheadMs), wake, aheadMs }
        alarm.add(sleeper)
        return () => alarm.remove(sleeper)
      }
    })
  })
)

// --- internal

interface Sleeper {
  wait: Wait.Wait
  readonly wake: (isDue: boolean) => void
  /** How long after the end of `wait` it is due; 0: then. */
  aheadMs: number
}

const moved = ({ deadlineMs, endMs }: Wait.Wait, byMs: number): Wait.Wait => ({
  deadlineMs: deadlineMs + byMs,
  endMs: endMs + byMs
})

/** One setting of the alarm, by the monotonic clock. */
interface Call {
  readonly atMs: number
  fiber: Fiber.Fiber<void> | undefined
}

interface Alarm {
  readonly read: () => Wait.Readings
  readonly add: (sleeper: Sleeper) => void
  readonly remove: (sleeper: Sleeper) => void
  readonly silence: () => void
}

const sleepUntil = (alarm: Alarm, endMs: number): Effect.Effect<void> => {
  if (Number.isNaN(endMs)) return Effect.die(new RangeError("A wait must end at a time, not at NaN"))
  if (endMs === Number.POSITIVE_INFINITY) return Effect.never
  const now = alarm.read()
  const wait = Wait.until(endMs, now)
  if (Wait.next(wait, now)._tag === "Done") return Effect.void
  return Effect.callback<void>((resume) => {
    const sleeper: Sleeper = { wait, wake: () => resume(Effect.void), aheadMs: 0 }
    alarm.add(sleeper)
    return Effect.sync(() => alarm.remove(sleeper)) // R2
  })
}

/**
 * Everybody who waits, and the one fiber that sleeps for them.
 *
 * It is plain code that runs from start to end without giving way: between looking at the sleepers and setting the alarm no
 * other fiber can add one.
 */
const alarmOf = (clock: Clock.Clock, fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>): Alarm => {
  // Two orders, because the clocks can disagree about who is first (T1).
  const byEnd = new Heap<Sleeper>((sleeper) => sleeper.wait.endMs)
  const byDeadline = new Heap<Sleeper>((sleeper) => sleeper.wait.deadlineMs)
  let current: Call | undefined

  const read = (): Wait.Readings => ({
    wallMs: clock.currentTimeMillisUnsafe(),
    monotonicMs: Number(clock.monotonicTimeNanosUnsafe()) / 1e6
  })

  const silence = (): void => {
    current?.fiber?.interruptUnsafe()
    current = undefined
  }

  const remove = (sleeper: Sleeper): void => {
    byEnd.delete(sleeper)
    byDeadline.delete(sleeper)
    if (byEnd.size === 0) silence() // R2
  }

  const wakeDue = (now: Wait.Readings): void => {
    for (const heap of [byEnd, byDeadline]) {
      while (heap.first !== undefined && Wait.next(heap.first.wait, now)._tag === "Done") {
        const sleeper = heap.first
        byEnd.delete(sleeper)
        byDeadline.delete(sleeper)
        const wait = moved(sleeper.wait, sleeper.aheadMs)
        const isDue = Wait.next(wait, now)._tag === "Done" // R5
        if (!isDue) {
          sleeper.wait = wait
          sleeper.aheadMs = 0
          byEnd.add(sleeper)
          byDeadline.add(sleeper)
        }
        sleeper.wake(isDue)
      }
    }
  }

  /** Sets the alarm for whoever is next, unless it rings before that anyway. */
  const set = (now: Wait.Readings): void => {
    const sleepMs = Math.min(sleepFor(byEnd.first, now), sleepFor(byDeadline.first, now))
    if (sleepMs === Number.POSITIVE_INFINITY) return silence()
    const atMs = now.monotonicMs + sleepMs
    if (current !== undefined && current.atMs <= atMs) return
    silence()
    const call: Call = { atMs, fiber: undefined }
    current = call
    call.fiber = fork(
      Effect.andThen(
        clock.sleep(Duration.millis(sleepMs)),
        Effect.sync(() => ring(call))
      )
    )
  }

  const ring = (call: Call): void => {
    if (current !== call) return // R4
    current = undefined
    const now = read()
    wakeDue(now)
    set(now)
  }

  return {
    read,
    remove,
    silence,
    add: (sleeper) => {
      byEnd.add(sleeper)
      byDeadline.add(sleeper)
      set(read())
    }
  }
}

const sleepFor = (sleeper: Sleeper | undefined, now: Wait.Readings): number => {
  if (sleeper === undefined) return Number.POSITIVE_INFINITY
  const next = Wait.next(sleeper.wait, now)
  return next._tag === "Done" ? MIN_SLEEP_MS : next.sleepMs
}

/** For a sleeper that became due between two readings of the clock. */
const MIN_SLEEP_MS = 1
