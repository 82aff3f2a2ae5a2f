/**
 * Sleeps for any length and number of waits, with one alarm for all.
 *
 * `Wait` decides when a wait is over; this file reads the clocks and wakes the sleepers that are due. For any number of waits there is one
 * timer, set to the earliest of them and never further ahead than `Wait.LONGEST_CHUNK_MS`.
 *
 * Timer.R1. A wait is registered, and the alarm set for it, before its fiber is suspended.
 * Timer.R2. Interrupting a waiting fiber removes its wait at once. Without waits there is no timer.
 * - Sleepers that are due at one reading are woken in the order of their ends, while the clocks agree.
 * - An alarm that was replaced does nothing when it rings.
 * Timer.R5. With `aheadMs` a callback runs first when its time is near, and again when its time has come; a reading that finds both makes
 *     the second call only. Both calls belong to one wait: a clock that is set back in between prolongs nothing.
 */
import * as Clock from "effect/Clock"
import * as Context from "effect/Context"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import { Monotonic } from "@holdfast/kernel/host"
import { Heap } from "@holdfast/policy"
import * as Wait from "./Wait.ts"

/** The sleep of a process that holds many waits. */
export class Timer extends Context.Service<
  Timer,
  {
    /** Sleeps until a time of the wall clock, in epoch milliseconds (rule D11). Returns at once if that is past; infinity never ends. Dies of NaN. */
    readonly sleepUntil: (endMs: number) => Effect.Effect<void>
    /**
     * Calls `wake` at a time of the wall clock, in epoch milliseconds, without a fiber: for large numbers of waits. Returns a function
     * that removes the wait.
     *
     * **Details**
     *
     * With `aheadMs` it also calls back that long before (R5); `isDue` distinguishes the two calls.
     *
     * **Gotchas**
     *
     * For a past time it calls back at the next reading, never synchronously.
     */
    readonly at: (endMs: number, wake: (isDue: boolean) => void, aheadMs?: number) => () => void
  }
>()("@holdfast/journal/Timer") {}

/** The timer of a process, over the `Clock` in the context when the layer is built. */
export const layer: Layer.Layer<Timer> = Layer.effect(
  Timer,
  Effect.gen(function* () {
    const clock = yield* Clock.Clock
    const alarm = alarmOf(clock, Effect.runForkWith(yield* Effect.context<never>()))
    yield* Effect.addFinalizer(() => Effect.sync(alarm.silence))
    return Timer.of({
      sleepUntil: (endMs) => Effect.suspend(() => sleepUntil(alarm, endMs)),
      at: alarm.at
    })
  })
)

// --- internal

interface Sleeper {
  wait: Wait.Wait
  readonly wake: (isDue: boolean) => void
  /** Milliseconds from the end of `wait` to the second call; 0: the sleeper is due at the end of `wait`. */
  aheadMs: number
}

const moved = ({ deadlineMs, endMs }: Wait.Wait, byMs: number): Wait.Wait => ({
  deadlineMs: deadlineMs + byMs,
  endMs: endMs + byMs
})

/** One setting of the alarm; `atMs` is a time of the monotonic clock. */
interface Call {
  readonly atMs: number
  fiber: Fiber.Fiber<void> | undefined
}

interface Alarm extends Pick<Timer["Service"], "at"> {
  readonly read: () => Wait.Readings
  readonly silence: () => void
}

const sleepUntil = (alarm: Alarm, endMs: number): Effect.Effect<void> => {
  if (Number.isNaN(endMs)) return Effect.die(new RangeError("A wait must end at a time, not at NaN"))
  if (endMs === Number.POSITIVE_INFINITY) return Effect.never
  const now = alarm.read()
  if (Wait.next(Wait.until(endMs, now), now)._tag === "Done") return Effect.void
  return Effect.callback<void>((resume) => Effect.sync(alarm.at(endMs, () => resume(Effect.void)))) // R2
}

/**
 * All sleepers, and the one fiber that sleeps for them.
 *
 * This is synchronous code: between reading the sleepers and setting the alarm no other fiber can add a sleeper.
 */
const alarmOf = (clock: Clock.Clock, fork: (effect: Effect.Effect<void>) => Fiber.Fiber<void>): Alarm => {
  // Two orders, because the clocks can disagree about the first sleeper.
  const byEnd = new Heap.Heap<Sleeper>((sleeper) => sleeper.wait.endMs)
  const byDeadline = new Heap.Heap<Sleeper>((sleeper) => sleeper.wait.deadlineMs)
  let current: Call | undefined

  const read = (): Wait.Readings => ({
    wallMs: clock.currentTimeMillisUnsafe(),
    monotonicMs: Monotonic.millis(clock)
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

  /** Sets the alarm for the next sleeper, unless it already rings before that. */
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
    if (current !== call) return
    current = undefined
    const now = read()
    wakeDue(now)
    set(now)
  }

  return {
    read,
    silence,
    at: (endMs, wake, aheadMs = 0) => {
      const now = read()
      const sleeper: Sleeper = { wait: moved(Wait.until(endMs, now), -aheadMs), wake, aheadMs }
      byEnd.add(sleeper)
      byDeadline.add(sleeper)
      set(now)
      return () => remove(sleeper)
    }
  }
}

const sleepFor = (sleeper: Sleeper | undefined, now: Wait.Readings): number => {
  if (sleeper === undefined) return Number.POSITIVE_INFINITY
  const next = Wait.next(sleeper.wait, now)
  return next._tag === "Done" ? MIN_SLEEP_MS : next.sleepMs
}

/** The sleep for a sleeper that became due between two readings of the clocks. */
const MIN_SLEEP_MS = 1
