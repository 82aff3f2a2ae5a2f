/** Tests `ProviderCall`: what the listener of a call gets, and the streams that are made of calls. */
import { assert, describe, it } from "@effect/vitest"
import { Property, ScriptedProvider } from "@holdfast/kernel/testing"
import { Failure, Ids } from "@holdfast/wire"
import { Cause, Effect, Exit, Fiber, References, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import * as ProviderCall from "../src/calls/ProviderCall.ts"
import { ResponseProgress } from "../src/calls/ResponseProgress.ts"
import type { Provider, ProviderEvent, ProviderRequest } from "../src/ports/Provider.ts"

const delta = (delta: string): ProviderEvent => ({ type: "text-delta", delta })
const thrown = new Failure.ProviderFailure({ failure: ScriptedProvider.badGateway })
const refusal: ProviderCall.Refusal = { type: "error", failure: ScriptedProvider.overloaded }
const request: ProviderRequest = {
  conversationId: Ids.ConversationId.make("c"),
  turnId: Ids.TurnId.make("t"),
  step: 0,
  attempt: 0,
  target: { provider: "p", model: "m" },
  messages: [],
  tools: []
}

/** Reads that come at once or later, and how the stream ends. */
interface Course {
  readonly reads: ReadonlyArray<{ readonly events: ProviderCall.Events; readonly isLate: boolean }>
  readonly end: "over" | "fails" | "dies"
}

const courses: fc.Arbitrary<Course> = fc.record({
  reads: fc.array(
    fc.record({
      events: fc
        .array(fc.string().map(delta), { minLength: 1, maxLength: 3 })
        .map((events) => events as [ProviderEvent, ...Array<ProviderEvent>]), // it has one at least
      isLate: fc.boolean()
    }),
    { maxLength: 8 }
  ),
  end: fc.constantFrom("over", "fails", "dies")
})

const played = ({ end, reads }: Course): Provider["Service"] => ({
  stream: () =>
    Stream.concat(
      Stream.flatMap(Stream.fromIterable(reads), ({ events, isLate }) =>
        Stream.concat(
          isLate ? Stream.drain(Stream.fromEffect(Effect.yieldNow)) : Stream.empty,
          Stream.fromArray(events)
        )
      ),
      end === "over" ? Stream.empty : end === "fails" ? Stream.fail(thrown) : Stream.die(BUG)
    )
})

const BUG = new TypeError("a bug")

const outcomeOf = (exit: Exit.Exit<void, unknown>): Course["end"] =>
  Exit.isSuccess(exit) ? "over" : Cause.squash(exit.cause) === BUG ? "dies" : "fails"

const collected = (provider: Provider["Service"], isSlow: (n: number) => boolean) =>
  Effect.gen(function* () {
    const seen: Array<ReadonlyArray<ProviderEvent>> = []
    const exit = yield* Effect.exit(
      Stream.runForEachArray(provider.stream(request), (events) => {
        seen.push(events)
        return isSlow(seen.length) ? Effect.yieldNow : Effect.void
      })
    )
    return { seen, end: outcomeOf(exit) }
  })

describe("a call", () => {
  Property.prop(
    "ProviderCall.L1: the stream of a stream's call is the stream, read by read, at whatever pace it is read",
    fc.record({
      course: courses,
      slow: fc.array(fc.boolean(), { maxLength: 8 }),
      ops: fc.integer({ min: 3, max: 40 }) // with fewer Effect itself does not get on
    }),
    ({ course, ops, slow }) =>
      Effect.gen(function* () {
        const plain = played(course)
        const isSlow = (n: number): boolean => slow[n] === true
        const called = ProviderCall.provider(ProviderCall.of(plain))
        assert.deepStrictEqual(yield* collected(called, isSlow), yield* collected(plain, isSlow))
        const twice: Provider["Service"] = { stream: called.stream.bind(undefined) }
        assert.deepStrictEqual(yield* collected(twice, isSlow), yield* collected(plain, isSlow))
      }).pipe(Effect.provideService(References.MaxOpsBeforeYield, ops)) // fibers give way anywhere
  )

  Property.prop(
    "ProviderCall.L1, ProviderCall.L2: gives no read while it is paused, and one end, behind all reads",
    fc.record({ course: courses, pauses: fc.array(fc.constantFrom("no", "at once", "later"), { maxLength: 8 }) }),
    ({ course, pauses }) =>
      Effect.scoped(
        Effect.gen(function* () {
          const seen: Array<ProviderCall.Events> = []
          const ends: Array<ProviderCall.End> = []
          let isPaused = false
          let more = (): void => {}
          const world = yield* ProviderCall.worldOf(yield* Effect.scope)
          const running = ProviderCall.of(played(course))(request, world, {
            events: (events) => {
              assert.isFalse(isPaused)
              seen.push(events)
              const pause = pauses[seen.length - 1] ?? "no"
              isPaused = pause === "later"
              if (pause === "at once") more()
              return pause === "no"
            },
            end: (end) => {
              assert.isFalse(isPaused)
              ends.push(end)
            },
            progress: () => {}
          })
          more = running.more
          yield* Effect.repeat(
            Effect.andThen(
              Effect.yieldNow,
              Effect.sync(() => {
                if (ends.length > 0) return
                isPaused = false
                running.more()
              })
            ),
            { until: () => ends.length > 0 }
          )
          yield* Effect.yieldNow
          assert.deepStrictEqual(
            seen,
            course.reads.map(({ events }) => events)
          )
          assert.deepStrictEqual(ends.map(outcomeOf), [course.end])
        })
      )
  )

  it.effect("ProviderCall.L1: asks for more once a read, however often it is left and pulled again", () =>
    Effect.scoped(
      Effect.gen(function* () {
        let reads = 0
        let asked = 0
        let read = (): void => {}
        const provider = ProviderCall.provider((_request, _world, listener) => {
          read = () => void listener.events([delta(`${reads++}`)])
          return { more: () => void asked++, cancel: () => {} }
        })
        const pull = yield* Stream.toPull(provider.stream(request))
        const left = Effect.flatMap(Effect.forkChild(pull, { startImmediately: true }), Fiber.interrupt)
        for (const times of [0, 1, 2]) {
          yield* Effect.andThen(left, left)
          assert.strictEqual(asked, times)
          const pulled = yield* Effect.forkChild(pull, { startImmediately: true })
          read()
          assert.deepStrictEqual(yield* Fiber.join(pulled), [delta(`${times}`)])
        }
      })
    )
  )

  it.effect("ProviderCall.L2: calls nothing after `cancel`, and releases the stream", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const seen: Array<string> = []
        const stream = Stream.concat(Stream.make(delta("a")), Stream.never).pipe(
          Stream.ensuring(Effect.sync(() => seen.push("released")))
        )
        const world = yield* ProviderCall.worldOf(yield* Effect.scope)
        const running = ProviderCall.fromStream(() => stream)(request, world, {
          events: () => seen.push("events") > 0,
          end: () => seen.push("end"),
          progress: () => {}
        })
        running.cancel()
        running.more()
        yield* Effect.yieldNow
        assert.deepStrictEqual(seen, ["events", "released"])
      })
    )
  )

  it.effect("ProviderCall.L3: what a provider throws, and what its listener throws, is the end of the call", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const world = yield* ProviderCall.worldOf(yield* Effect.scope)
        const ends = (provider: Provider["Service"], events: () => boolean) => {
          const seen: Array<string> = []
          const end = (end: ProviderCall.End): void => void seen.push(outcomeOf(end))
          ProviderCall.of(provider)(request, world, { events, end, progress: () => {} })
          return seen
        }
        const throws = (): never => {
          throw BUG
        }
        assert.deepStrictEqual(
          ends({ stream: throws }, () => true),
          ["dies"]
        )
        assert.deepStrictEqual(
          ends(ProviderCall.provider(throws), () => true),
          ["dies"]
        )
        assert.deepStrictEqual(ends({ stream: () => Stream.make(delta("a")) }, throws), ["dies"])
      })
    )
  )

  it.effect("rule C8: progress of a stream is the call's, and the stream's that is made of it", () =>
    Effect.gen(function* () {
      let count = 0
      const plain = { stream: () => Stream.drain(Stream.fromEffect(Effect.map(ResponseProgress, (seen) => seen()))) }
      yield* Stream.runDrain(ProviderCall.provider(ProviderCall.of(plain)).stream(request)).pipe(
        Effect.provideService(ResponseProgress, () => count++)
      )
      assert.strictEqual(count, 1)
    })
  )

  it.effect("ProviderCall.L2: no progress is reported after the end of a call, or after `cancel`", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const world = yield* ProviderCall.worldOf(yield* Effect.scope)
        const called = (rest: Stream.Stream<ProviderEvent>) => {
          const seen: Array<string> = []
          const progress: Array<() => void> = []
          const kept = Effect.map(ResponseProgress, (report) => void progress.push(report))
          const running = ProviderCall.fromStream(() => Stream.concat(Stream.drain(Stream.fromEffect(kept)), rest))(
            request,
            world,
            { events: () => true, end: () => seen.push("end"), progress: () => seen.push("progress") }
          )
          const report = (): void => progress.forEach((each) => each())
          report()
          return { report, running, seen }
        }
        const under = called(Stream.never)
        const over = called(Stream.empty)
        under.running.cancel()
        for (const { report } of [under, over]) report()
        assert.deepStrictEqual([under.seen, over.seen], [["progress"], ["end"]])
      })
    )
  )

  it("a copy of a provider with a stream of its own has that stream's call", () => {
    const made = ProviderCall.provider((_request, _world, listener) => ProviderCall.refuse(listener, refusal))
    assert.strictEqual(ProviderCall.of({ ...made }), ProviderCall.of(made))
    assert.notStrictEqual(ProviderCall.of({ ...made, stream: (asked) => made.stream(asked) }), ProviderCall.of(made))
  })

  it.effect("a refusal is emitted, and ends the call when the listener goes on", () =>
    Effect.gen(function* () {
      const refused = ProviderCall.provider((_request, _world, listener) => ProviderCall.refuse(listener, refusal))
      assert.deepStrictEqual(yield* Stream.runCollect(refused.stream(request)), [refusal])
      const failed = ProviderCall.provider((_request, _world, listener) => ProviderCall.refuse(listener, thrown))
      assert.strictEqual(yield* Effect.flip(Stream.runCollect(failed.stream(request))), thrown)
    })
  )

  it("ProviderCall.L2: a refused call ends once, when its listener goes on, and not after a cancel", () => {
    const refusedOf = (goesOn: boolean) => {
      const ends: Array<ProviderCall.End> = []
      const listener = { events: () => goesOn, end: (end: ProviderCall.End) => ends.push(end), progress: () => {} }
      return { ...ProviderCall.refuse(listener, refusal), ends }
    }
    const over = refusedOf(true)
    over.more()
    assert.deepStrictEqual(over.ends, [Exit.void])
    const paused = refusedOf(false)
    assert.deepStrictEqual(paused.ends, [])
    paused.more()
    paused.more()
    assert.deepStrictEqual(paused.ends, [Exit.void])
    const left = refusedOf(false)
    left.cancel()
    left.more()
    assert.deepStrictEqual(left.ends, [])
  })

  it.effect("a call that begins later is waited for, or left", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const left: Array<string> = []
        let begun = 0
        let begin = (): void => {}
        const late = ProviderCall.provider((asked, world, listener) =>
          ProviderCall.later((go) => {
            begin = () =>
              go(() => {
                begun++
                return ProviderCall.of(played(HELLO))(asked, world, listener)
              })
            return () => void left.push("left")
          })
        )
        const first = yield* Effect.forkChild(
          collected(late, () => true),
          { startImmediately: true }
        )
        begin()
        assert.deepStrictEqual(yield* Fiber.join(first), { seen: [[delta("Hello")]], end: "over" })
        assert.deepStrictEqual(left, [])
        const second = yield* Effect.forkChild(
          collected(late, () => true),
          { startImmediately: true }
        )
        yield* Fiber.interrupt(second)
        begin()
        // A call that was left is not made.
        assert.deepStrictEqual([left, begun], [["left"], 1])
      })
    )
  )

  it("a call that begins later passes on what was asked of it before, and is left while it has not begun", () => {
    const course = (...acts: ReadonlyArray<"begin" | "begin and cancel" | "more" | "cancel">): string => {
      const seen: Array<string> = []
      let go: (begin: () => ProviderCall.Running) => void = () => {}
      const call = ProviderCall.later((begin) => {
        go = begin
        return () => seen.push("left")
      })
      const begun = { more: () => seen.push("more"), cancel: () => seen.push("cancelled") }
      for (const act of acts) {
        if (act === "more" || act === "cancel") call[act]()
        else {
          go(() => {
            seen.push("begun")
            if (act === "begin and cancel") call.cancel()
            return begun
          })
        }
      }
      return seen.join(", ")
    }
    assert.strictEqual(course("begin"), "begun")
    assert.strictEqual(course("more", "begin"), "begun, more")
    assert.strictEqual(course("begin", "more", "more", "cancel"), "begun, more, more, cancelled")
    assert.strictEqual(course("more", "cancel", "begin"), "left")
    assert.strictEqual(course("more", "begin and cancel"), "begun, left, cancelled")
  })

  it.effect("a call behind an effect begins when that has run, and ends with what fails it", () =>
    Effect.gen(function* () {
      const behind = (effect: Effect.Effect<void, Failure.ProviderFailure>) =>
        ProviderCall.provider((asked, world, listener) =>
          ProviderCall.behind(effect, world, listener, () => ProviderCall.of(played(HELLO))(asked, world, listener))
        )
      const fast = () => false
      assert.deepStrictEqual(yield* collected(behind(Effect.yieldNow), fast), { seen: [[delta("Hello")]], end: "over" })
      assert.deepStrictEqual(yield* collected(behind(Effect.fail(thrown)), fast), { seen: [], end: "fails" })
    })
  )

  it.effect("the world of a fiber measures time in milliseconds", () =>
    Effect.scoped(
      Effect.gen(function* () {
        const world = yield* ProviderCall.worldOf(yield* Effect.scope)
        const [now, elapsed] = [world.now(), world.elapsed()]
        yield* TestClock.adjust(1_500)
        assert.deepStrictEqual([world.now() - now, world.elapsed() - elapsed], [1_500, 1_500])
      })
    )
  )

  it("returns the failure of an end", () => {
    assert.deepStrictEqual(ProviderCall.brokenOf(Exit.fail(thrown)), { failure: ScriptedProvider.badGateway })
    assert.strictEqual(ProviderCall.brokenOf(Exit.void).failure.reason, "network")
    assert.strictEqual(ProviderCall.brokenOf(Exit.die(BUG)).failure.defect, true)
    assert.strictEqual(ProviderCall.brokenOf(Exit.interrupt(1)).failure.reason, "aborted")
  })
})

const HELLO: Course = { reads: [{ events: [delta("Hello")], isLate: false }], end: "over" }
