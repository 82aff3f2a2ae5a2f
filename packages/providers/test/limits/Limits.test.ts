import { describe, expect, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import { ProviderCall, ResponseProgress } from "@holdfast/kernel/host"
import { PushSource } from "@holdfast/kernel/testing"
import { Failure } from "@holdfast/wire"
import { Array as Arr, Cause, Channel, Clock, Duration, Effect, Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Limits from "../../src/limits/Limits.ts"
import { request } from "../harness/Dialect.ts"
import * as HeardCall from "../harness/HeardCall.ts"
import { run, text } from "../harness/AttemptRun.ts"

const delta = (delta: string): Provider.ProviderEvent => ({ type: "text-delta", delta })
const finish: Provider.ProviderEvent = { type: "finish", finishReason: "stop" }

/** Emits an event after each wait. */
const provider = (
  ...steps: ReadonlyArray<readonly [waitMs: number, ...events: ReadonlyArray<Provider.ProviderEvent>]>
): Provider.Provider["Service"] => ({
  stream: () =>
    Stream.fromIterable(steps).pipe(
      Stream.rechunk(1),
      Stream.mapEffect(([waitMs, ...events]) => Effect.as(Effect.sleep(waitMs), events)),
      Stream.flatMap(Stream.fromArray)
    )
})

const limited = (inner: Provider.Provider["Service"], limits: Limits.Limits) =>
  Effect.forkChild(run(Limits.withLimits(inner, limits)), { startImmediately: true })

describe("Limits", () => {
  it.effect("rule C8: a stream within its limits is passed on unchanged, array by array", () =>
    Effect.gen(function* () {
      const sizes: Array<number> = []
      const fiber = yield* Limits.withLimits(provider([10, delta("a"), delta("b")], [10, delta("c"), finish]), {
        firstContentMs: 100,
        idleMs: 100
      })
        .stream(request)
        .pipe(
          Stream.runForEachArray((array) => Effect.sync(() => sizes.push(array.length))),
          Effect.forkChild
        )
      yield* TestClock.adjust(20)
      yield* Fiber.join(fiber)
      expect(sizes).toEqual([2, 2])
    })
  )

  it.effect("rule C8: the first content has a limit of its own", () =>
    Effect.gen(function* () {
      const fiber = yield* limited(provider([101, delta("a"), finish]), { firstContentMs: 100, idleMs: 10 })
      yield* TestClock.adjust(99)
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      expect(yield* Fiber.join(fiber)).toMatchObject({ failure: { reason: "timeout", retryable: true }, events: [] })
    })
  )

  it.effect(
    "rule C8: once there is content the idle limit holds, to the millisecond, however long the first one is",
    () =>
      Effect.gen(function* () {
        for (const ms of [1, 7]) {
          const inner = provider([ms, delta("a")], [1000, finish])
          const fiber = yield* limited(inner, { firstContentMs: 600_000, idleMs: 50 })
          yield* TestClock.adjust(ms + 49)
          expect(fiber.pollUnsafe()).toBeUndefined()
          yield* TestClock.adjust(1)
          expect(yield* Fiber.join(fiber)).toMatchObject({ failure: { reason: "timeout" } })
        }
      })
  )

  it.effect("rule C8: each content starts the limit anew; there is none on the whole", () =>
    Effect.gen(function* () {
      const steps = Array.from({ length: 50 }, () => [49, delta("a")] as const)
      const fiber = yield* limited(provider(...steps, [49, finish]), { firstContentMs: 50, idleMs: 50 })
      yield* TestClock.adjust(51 * 49)
      expect(yield* Fiber.join(fiber)).toMatchObject({ isSuccess: true, failure: undefined })
    })
  )

  it.effect("rule C8: an empty delta is no content", () =>
    Effect.gen(function* () {
      const fiber = yield* limited(provider([30, delta("")], [30, delta("")], [30, delta("a")]), { firstContentMs: 80 })
      yield* TestClock.adjust(80)
      expect((yield* Fiber.join(fiber)).failure).toMatchObject({ reason: "timeout" })
    })
  )

  it.effect("rule C8: waiting before a content does not count after it", () =>
    Effect.gen(function* () {
      const steps = [
        [30, delta("")],
        [30, delta("a")],
        [49, delta("b")],
        [49, finish]
      ] as const
      const fiber = yield* limited(provider(...steps), { firstContentMs: 80, idleMs: 50 })
      yield* TestClock.adjust(158)
      expect(yield* Fiber.join(fiber)).toMatchObject({ isSuccess: true, failure: undefined })
    })
  )

  it.effect("rule C8: an incomplete tool call that grows is progress, although it is no event yet", () =>
    Effect.gen(function* () {
      const writing: Provider.Provider["Service"] = {
        stream: () =>
          Stream.fromEffect(
            Effect.gen(function* () {
              const progress = yield* ResponseProgress.ResponseProgress
              for (let i = 0; i < 10; i++) {
                yield* Effect.sleep(40)
                progress()
              }
              return finish
            })
          )
      }
      const fiber = yield* limited(writing, { firstContentMs: 50, idleMs: 50 })
      yield* TestClock.adjust(400)
      expect(yield* Fiber.join(fiber)).toMatchObject({ isSuccess: true })
    })
  )

  it.effect("rule C8: progress while the consumer takes nothing begins no wait", () =>
    Effect.gen(function* () {
      const world = yield* Effect.flatMap(Effect.scope, ProviderCall.worldOf)
      const ends: Array<unknown> = []
      let heard = 0
      const busy = ProviderCall.provider((_request, _world, listener) => {
        listener.events([delta("a")])
        listener.progress()
        return { more: () => {}, cancel: () => {} }
      })
      const listener = { events: () => false, progress: () => heard++, end: (end: unknown) => void ends.push(end) }
      const running = ProviderCall.of(Limits.withLimits(busy, { idleMs: 50 }))(request, world, listener)
      yield* TestClock.adjust(1_000)
      expect([heard, ends]).toEqual([1, []])
      running.more()
      yield* TestClock.adjust(50)
      expect(ends).toHaveLength(1)
    })
  )

  it.effect("rule C8: the time of a slow consumer does not count", () =>
    Effect.gen(function* () {
      const inner = provider([40, delta("a")], [40, delta("b")], [40, finish])
      const fiber = yield* Limits.withLimits(inner, { firstContentMs: 50, idleMs: 50 })
        .stream(request)
        .pipe(
          Stream.tap(() => Effect.sleep(10_000)),
          Stream.runCollect,
          Effect.forkChild({ startImmediately: true })
        )
      yield* TestClock.adjust(3 * 10_040)
      expect(text(yield* Fiber.join(fiber))).toBe("ab")
    })
  )

  it.effect("rule C8: a limit is the same for every attempt", () =>
    Effect.gen(function* () {
      const silent = Limits.withLimits({ stream: () => Stream.never }, { firstContentMs: 100 })
      for (let attempt = 0; attempt < 3; attempt++) {
        const fiber = yield* Effect.forkChild(run(silent, undefined, { ...request, attempt }), {
          startImmediately: true
        })
        yield* TestClock.adjust(99)
        expect(fiber.pollUnsafe()).toBeUndefined()
        yield* TestClock.adjust(1)
        expect((yield* Fiber.join(fiber)).failure?.reason).toBe("timeout")
      }
    })
  )

  it.effect("rule C8: connecting counts, and the connection attempt is interrupted", () =>
    Effect.gen(function* () {
      let wasInterrupted = false
      const connecting: Effect.Effect<Stream.Stream<Provider.ProviderEvent>> = Effect.onInterrupt(Effect.never, () =>
        Effect.sync(() => {
          wasInterrupted = true
        })
      )
      const inner = { stream: () => Stream.unwrap(connecting) }
      const fiber = yield* limited(inner, { firstContentMs: 100 })
      yield* TestClock.adjust(100)
      expect((yield* Fiber.join(fiber)).failure?.reason).toBe("timeout")
      expect(wasInterrupted).toBe(true)
    })
  )

  it.effect("an attempt with an immediate response has no watchdog, and one that has to wait has one", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      let slept = 0
      const counting: Clock.Clock = Object.assign(Object.create(clock), {
        sleep: (...duration: Parameters<Clock.Clock["sleep"]>) => {
          slept++
          return clock.sleep(...duration)
        }
      })
      const limits = { firstContentMs: 100, idleMs: 100 }
      const atOnce = { stream: () => Stream.make(delta("a"), finish) }
      yield* Effect.provideService(run(Limits.withLimits(atOnce, limits)), Clock.Clock, counting)
      expect(slept).toBe(0)
      const late = { stream: () => Stream.concat(Stream.make(delta("a")), Stream.never) }
      const fiber = yield* run(Limits.withLimits(late, limits)).pipe(
        Effect.provideService(Clock.Clock, counting),
        Effect.forkChild({ startImmediately: true })
      )
      yield* TestClock.adjust(100)
      expect(yield* Fiber.join(fiber)).toMatchObject({ failure: { reason: "timeout" } })
      expect(slept).toBe(1)
    })
  )

  it.effect("one watchdog sleeps for all the waits of an attempt, and none where there is no limit", () =>
    Effect.gen(function* () {
      const clock = yield* Clock.Clock
      const slept: Array<number> = []
      const counting: Clock.Clock = Object.assign(Object.create(clock), {
        sleep: (duration: Duration.Duration) => {
          slept.push(Duration.toMillis(duration))
          return clock.sleep(duration)
        }
      })
      const steps = [
        [10, delta("a")],
        [10, delta("b")],
        [10, delta("c"), finish]
      ] as const
      const watched = (limits: Limits.Limits) =>
        Effect.gen(function* () {
          slept.length = 0
          const fiber = yield* run(Limits.withLimits(provider(...steps), limits)).pipe(
            Effect.provideService(Clock.Clock, counting),
            Effect.forkChild({ startImmediately: true })
          )
          yield* TestClock.adjust(30)
          expect(yield* Fiber.join(fiber)).toMatchObject({ isSuccess: true })
          return slept.filter((ms) => ms !== 10)
        })
      expect(yield* watched({ firstContentMs: 100, idleMs: 100 })).toEqual([100])
      expect(yield* watched({ firstContentMs: 100 })).toEqual([100])
      expect(yield* watched({})).toEqual([])
    })
  )

  it.effect("rule C8: a limit that ran out while the consumer was slow ends the attempt when it waits again", () =>
    Effect.gen(function* () {
      const inner = provider([80, delta("")], [1_000, delta("a")])
      const fiber = yield* Limits.withLimits(inner, { firstContentMs: 80, idleMs: 500 })
        .stream(request)
        .pipe(
          Stream.tap(() => Effect.sleep(10_000)),
          Stream.runCollect,
          Effect.flip,
          Effect.forkChild({ startImmediately: true })
        )
      yield* TestClock.adjust(10_079)
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(81)
      expect((yield* Fiber.join(fiber)).failure).toMatchObject({ reason: "timeout" })
    })
  )

  it.effect("rule C8: a limit of 0 ms fails every wait, and nothing else", () =>
    Effect.gen(function* () {
      const limits = { firstContentMs: 0, idleMs: 0 }
      const atOnce = { stream: () => Stream.make(delta("a"), finish) }
      expect(yield* run(Limits.withLimits(atOnce, limits))).toMatchObject({ isSuccess: true, failure: undefined })
      const silent = { stream: () => Stream.never }
      expect((yield* run(Limits.withLimits(silent, limits))).failure).toMatchObject({ reason: "timeout" })
    })
  )

  it.effect("rule C8: the failure names the exceeded limit", () =>
    Effect.gen(function* () {
      const first = yield* limited(provider([2000, finish]), { firstContentMs: 1000, idleMs: 5000 })
      const idle = yield* limited(provider([10, delta("a")], [6000, finish]), { firstContentMs: 1000, idleMs: 5000 })
      yield* TestClock.adjust(5010)
      expect((yield* Fiber.join(first)).failure?.message).toBe("No content within 1 s of the request")
      expect((yield* Fiber.join(idle)).failure?.message).toBe("No further content for 5 s")
    })
  )

  it.effect(
    "events that arrive while a pull is interrupted go to the next pull, and the time until then is not counted",
    () =>
      Effect.gen(function* () {
        const inner = provider([40, delta("a")], [40, finish])
        const limits = { firstContentMs: 50, idleMs: 50 }
        yield* Effect.scoped(
          Effect.gen(function* () {
            const pull = yield* Stream.toPull(Limits.withLimits(inner, limits).stream(request))
            const given = yield* Effect.forkChild(pull, { startImmediately: true })
            yield* TestClock.adjust(10)
            yield* Fiber.interrupt(given)
            yield* TestClock.adjust(30)
            yield* TestClock.adjust(10_000)
            expect(yield* pull).toEqual([delta("a")])
            yield* TestClock.adjust(10_000)
            const next = yield* Effect.forkChild(pull, { startImmediately: true })
            yield* TestClock.adjust(40)
            expect(yield* Fiber.join(next)).toEqual([finish])
          })
        )
      })
  )

  it.effect("the provider's failures and defects are passed on", () =>
    Effect.gen(function* () {
      const failure: Failure.Failure = { reason: "network", message: "cut", retryable: true }
      const failing = { stream: () => Stream.fail(new Failure.ProviderFailure({ failure })) }
      expect((yield* run(Limits.withLimits(failing, { idleMs: 10 }))).failure).toEqual(failure)
      const dying = Limits.withLimits({ stream: () => Stream.die(new TypeError("bug")) }, { idleMs: 10 })
      const exit = yield* Effect.exit(Stream.runDrain(dying.stream(request)))
      expect(exit._tag === "Failure" && Cause.hasDies(exit.cause)).toBe(true)
    })
  )

  it.effect("an interruption of the consumer releases the provider's resources", () =>
    Effect.gen(function* () {
      let isReleased = false
      const inner = {
        stream: () =>
          Stream.never.pipe(
            Stream.ensuring(
              Effect.sync(() => {
                isReleased = true
              })
            )
          )
      }
      const fiber = yield* limited(inner, { firstContentMs: 100 })
      yield* Fiber.interrupt(fiber)
      expect(isReleased).toBe(true)
    })
  )

  it.effect("ten thousand arrays pass in order and without a stack overflow", () =>
    Effect.gen(function* () {
      const inner = { stream: () => Stream.fromArrays(...Arr.makeBy(10_000, (i) => [delta(`${i},`)])) }
      const { events } = yield* run(Limits.withLimits(inner, { firstContentMs: 100, idleMs: 100 }))
      expect(text(events)).toBe(Arr.makeBy(10_000, (i) => `${i},`).join(""))
    })
  )

  describe("for a call that begins without a fiber", () => {
    /** Gets a response, or a refusal, after `afterMs`. */
    const native = (
      afterMs: number,
      outcome: ProviderCall.Refusal | Provider.Provider["Service"],
      ended: () => void = () => {}
    ): Provider.Provider["Service"] =>
      ProviderCall.provider((request, world, listener) => {
        const running = ProviderCall.later((go) =>
          world.after(afterMs, () =>
            go(() =>
              "stream" in outcome
                ? ProviderCall.of(outcome)(request, world, listener)
                : ProviderCall.refuse(listener, outcome)
            )
          )
        )
        return {
          ...running,
          cancel: () => {
            running.cancel()
            ended()
          }
        }
      })
    const begun = limited

    it.effect("rule C8: a call without a response in time has failed, and is cancelled", () =>
      Effect.gen(function* () {
        let cancelled = 0
        const fiber = yield* begun(
          native(101, provider([0, finish]), () => cancelled++),
          { firstContentMs: 100 }
        )
        yield* TestClock.adjust(99)
        expect(fiber.pollUnsafe()).toBeUndefined()
        yield* TestClock.adjust(1)
        expect(yield* Fiber.join(fiber)).toMatchObject({ failure: { reason: "timeout", retryable: true }, events: [] })
        yield* TestClock.adjust(100)
        expect(cancelled).toBe(1)
      })
    )

    it.effect("rule C8: the time until the response counts towards the first content", () =>
      Effect.gen(function* () {
        const fiber = yield* begun(native(60, provider([41, delta("a"), finish])), {
          firstContentMs: 100
        })
        yield* TestClock.adjust(99)
        expect(fiber.pollUnsafe()).toBeUndefined()
        yield* TestClock.adjust(1)
        expect(yield* Fiber.join(fiber)).toMatchObject({ failure: { reason: "timeout" }, events: [] })
      })
    )

    it.effect("rule C8: after the response the idle limit holds, and events in time are passed on", () =>
      Effect.gen(function* () {
        const late = yield* begun(native(60, provider([10, delta("a")], [51, finish])), {
          firstContentMs: 100,
          idleMs: 50
        })
        const inTime = yield* begun(native(60, provider([10, delta("a")], [49, finish])), {
          firstContentMs: 100,
          idleMs: 50
        })
        yield* TestClock.adjust(200)
        expect(yield* Fiber.join(late)).toMatchObject({ failure: { reason: "timeout" } })
        expect(yield* Fiber.join(inTime)).toMatchObject({ isSuccess: true })
      })
    )

    it.effect("rule C8: a refusal in time is passed on unchanged, and no limit runs out after it", () =>
      Effect.gen(function* () {
        const refusal = { type: "error", failure: { reason: "overloaded", message: "Full" } } as const
        const fiber = yield* begun(native(99, refusal), { firstContentMs: 100 })
        yield* TestClock.adjust(500)
        expect(yield* Fiber.join(fiber)).toMatchObject({ events: [refusal], failure: undefined })
      })
    )
  })
})

describe("limits on what is pushed", () => {
  type Events = readonly [Provider.ProviderEvent, ...ReadonlyArray<Provider.ProviderEvent>]

  /** A provider whose events the test gives, held to limits, and read to its end. */
  const listening = Effect.fnUntraced(function* (limits: Limits.Limits) {
    const source = PushSource.make<Events, Failure.ProviderFailure>()
    const seen: Array<string> = []
    let progress = () => {}
    const inner: Provider.Provider["Service"] = {
      stream: () =>
        Stream.fromChannel(
          Channel.fromTransform(() =>
            Effect.map(ResponseProgress.ResponseProgress, (heard) => {
              progress = heard
              return source.pull
            })
          )
        )
    }
    const fiber = yield* HeardCall.forEach(Limits.withLimits(inner, limits), request, (events) => {
      seen.push(text(events))
      return text(events) === "slow" ? Effect.sleep(1_000) : undefined
    }).pipe(
      Effect.as("done"),
      Effect.catch(({ failure }) => Effect.succeed(failure.reason)),
      Effect.forkChild({ startImmediately: true })
    )
    return { ...source, fiber, seen, give: (said: string) => source.give([delta(said)]), progress: () => progress() }
  })

  it.effect(
    "rule C8: silence between two contents that are pushed is limited, to the millisecond, and each begins it anew",
    () =>
      Effect.gen(function* () {
        const { calls, fiber, give, isPushing, seen } = yield* listening({ firstContentMs: 100, idleMs: 50 })
        for (const said of ["a", "b", "c"]) {
          yield* TestClock.adjust(49)
          give(said)
        }
        expect([isPushing(), calls.pushes, seen]).toEqual([true, 2, ["a", "b", "c"]])
        yield* TestClock.adjust(49)
        expect(fiber.pollUnsafe()).toBeUndefined()
        yield* TestClock.adjust(1)
        expect([yield* Fiber.join(fiber), isPushing()]).toEqual(["timeout", false])
      })
  )

  it.effect("rule C8: empty deltas that are pushed are no content, and progress is some", () =>
    Effect.gen(function* () {
      const { fiber, give, interlude, progress } = yield* listening({ idleMs: 50 })
      give("a")
      yield* TestClock.adjust(40)
      progress()
      yield* TestClock.adjust(30)
      give("")
      yield* TestClock.adjust(10)
      // What had been waited for counts on where the next is pulled.
      interlude()
      yield* TestClock.adjust(9)
      expect(fiber.pollUnsafe()).toBeUndefined()
      yield* TestClock.adjust(1)
      expect(yield* Fiber.join(fiber)).toBe("timeout")
    })
  )

  it.effect("rule C8: the time of a consumer that stops the push is its own", () =>
    Effect.gen(function* () {
      const { end, fiber, give, seen } = yield* listening({ firstContentMs: 100, idleMs: 50 })
      for (const said of ["a", "slow"]) give(said)
      yield* TestClock.adjust(1_040)
      give("b")
      yield* TestClock.adjust(49)
      end()
      expect([yield* Fiber.join(fiber), seen]).toEqual(["done", ["a", "slow", "b"]])
    })
  )

  it.effect("a failure and an interruption come through as ever", () =>
    Effect.gen(function* () {
      const failed = yield* listening({ idleMs: 50 })
      for (const said of ["a", "b"]) failed.give(said)
      failed.end(
        Effect.fail(new Failure.ProviderFailure({ failure: { reason: "network", message: "cut", retryable: true } }))
      )
      expect(yield* Fiber.join(failed.fiber)).toBe("network")
      const left = yield* listening({ idleMs: 50 })
      for (const said of ["a", "b"]) left.give(said)
      yield* Fiber.interrupt(left.fiber)
      expect(left.isPushing()).toBe(false)
    })
  )
})
