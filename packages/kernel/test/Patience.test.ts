/** Tests `Patience`: one call that is retried as a turn is, whatever the type of its elements. */
import { assert, describe, it } from "@effect/vitest"
import { Property, ReplayCheckpoint, TestStrategy } from "@holdfast/kernel/testing"
import { Failure, Ids } from "@holdfast/wire"
import { Effect, Fiber, Queue, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import * as Patience from "../src/turn/Patience.ts"
import { Checkpoint } from "../src/ports/Checkpoint.ts"
import { RetryStrategy } from "../src/ports/RetryStrategy.ts"

/** An element of a foreign format. */
type Part =
  | { readonly kind: "start" }
  | { readonly kind: "word"; readonly text: string }
  | { readonly kind: "bad"; readonly code: number }

const start: Part = { kind: "start" }
const word = (text: string): Part => ({ kind: "word", text })
const bad = (code: number): Part => ({ kind: "bad", code })

/** An error of a foreign library. */
class Foreign {
  readonly status: number
  constructor(status: number) {
    this.status = status
  }
}

const failure = (status: number): Failure.Failure => ({
  reason: status === 401 ? "auth" : "overloaded",
  message: `It answered ${status}`,
  retryable: status !== 401,
  status
})

type Script = ReadonlyArray<Part | Foreign>

interface World {
  readonly attempts: Array<Patience.Attempt>
  readonly events: Array<Patience.PatienceEvent>
  readonly call: Patience.Call<Part, Foreign, never>
}

const world = (scripts: ReadonlyArray<Script>): World => {
  const attempts: Array<Patience.Attempt> = []
  const events: Array<Patience.PatienceEvent> = []
  return {
    attempts,
    events,
    call: {
      target: { provider: "p", model: "m" },
      stream: (attempt) =>
        Stream.suspend(() => {
          const script = scripts[attempts.push(attempt) - 1] ?? []
          return Stream.fromIterable(script).pipe(
            Stream.mapEffect((part) => (part instanceof Foreign ? Effect.fail(part) : Effect.succeed(part)))
          )
        }),
      isContent: ({ kind }) => kind === "word",
      errorOf: (part) => (part.kind === "bad" ? failure(part.code) : undefined),
      failureOf: ({ status }) => new Failure.ProviderFailure({ failure: failure(status) }),
      emit: (event) => events.push(event)
    }
  }
}

const run = <A>(effect: Effect.Effect<A>): Effect.Effect<A> =>
  Effect.gen(function* () {
    const fiber = yield* Effect.forkChild(effect, { startImmediately: true })
    yield* TestClock.adjust("1 day")
    return yield* Fiber.join(fiber)
  })

const collected = (
  { call }: World,
  strategy = TestStrategy.make()
): Effect.Effect<{ readonly parts: ReadonlyArray<Part>; readonly end: unknown }> =>
  run(
    Effect.gen(function* () {
      const parts: Array<Part> = []
      const end = yield* Patience.stream(call).pipe(
        Stream.runForEach((part) => Effect.sync(() => parts.push(part))),
        Effect.result
      )
      return { parts, end: Result.isFailure(end) ? end.failure : undefined }
    }).pipe(Effect.provideService(RetryStrategy, strategy.service))
  )

describe("a patient call", () => {
  it.effect("rule D4: gives the elements of the attempt that was answered, and none of those that failed", () =>
    Effect.gen(function* () {
      const one = world([
        [start, new Foreign(529)],
        [start, bad(503)],
        [start, word("Still "), word("here.")]
      ])
      const strategy = TestStrategy.make()
      assert.deepStrictEqual(yield* collected(one, strategy), {
        parts: [start, word("Still "), word("here.")],
        end: undefined
      })
      assert.deepStrictEqual(strategy.sleeps, [5_000, 10_000])
      assert.deepStrictEqual(
        one.attempts.map(({ attempt }) => attempt),
        [0, 1, 2]
      )
      assert.deepStrictEqual(
        one.events.map(({ type }) => type),
        ["provider-retry", "provider-retry", "retry-end"]
      )
    })
  )

  it.effect("rule D4: fails behind the content that it gave, and does not call again", () =>
    Effect.gen(function* () {
      const one = world([[start, word("Half"), new Foreign(529)], [word("Never")]])
      const { end, parts } = yield* collected(one)
      assert.deepStrictEqual(parts, [start, word("Half")])
      assert.instanceOf(end, Patience.CallEnded)
      assert.deepInclude(end, { status: "failed", cause: new Foreign(529) })
      assert.strictEqual(one.attempts.length, 1)
    })
  )

  it.effect("rule X7: whatever the strategy's setting is, content that was given is not void", () =>
    Effect.gen(function* () {
      const one = world([[start, word("Half"), new Foreign(529)], [word("Never")]])
      const { parts } = yield* collected(one, TestStrategy.make({ midStream: () => "discard" }))
      assert.deepStrictEqual(parts, [start, word("Half")])
      assert.strictEqual(one.attempts.length, 1)
    })
  )

  it.effect("fails with what the last attempt failed with: thrown, or as an element", () =>
    Effect.gen(function* () {
      const thrown = yield* collected(world([[new Foreign(401)]]))
      assert.deepInclude(thrown.end, { cause: new Foreign(401), failure: failure(401) })
      const said = yield* collected(world([[bad(401)]]))
      assert.deepInclude(said.end, { cause: undefined, failure: failure(401) })
      const after = yield* collected(world([[new Foreign(529)], [bad(401)]]))
      assert.deepInclude(after.end, { cause: undefined, failure: failure(401) })
    })
  )

  it.effect("rule D9: without a policy it makes one attempt", () =>
    Effect.gen(function* () {
      const one = world([[new Foreign(529)], [word("Never")]])
      const end = yield* Effect.flip(Stream.runDrain(Patience.stream(one.call)))
      assert.strictEqual(end._tag, "CallEnded")
      assert.strictEqual(one.attempts.length, 1)
    })
  )

  it.effect("an abort ends a wait", () =>
    Effect.gen(function* () {
      const one = world([[new Foreign(529)]])
      const aborted = yield* Effect.flip(
        Stream.runDrain(Patience.stream({ ...one.call, abort: Effect.void })).pipe(
          Effect.provideService(RetryStrategy, TestStrategy.make().service)
        )
      )
      assert.deepInclude(aborted, { _tag: "CallEnded", status: "aborted" })
      assert.deepInclude(aborted._tag === "CallEnded" && aborted.failure, { reason: "aborted", retryable: false })
    })
  )

  it.effect("a consumer that stops closes the connection", () =>
    Effect.gen(function* () {
      const closed = yield* Queue.unbounded<string>()
      const one = world([])
      const endless = Stream.fromIterable([start, word("First")]).pipe(
        Stream.concat(Stream.never),
        Stream.ensuring(Queue.offer(closed, "closed"))
      )
      const parts = yield* Patience.stream({ ...one.call, stream: () => endless }).pipe(
        Stream.take(2),
        Stream.runCollect
      )
      assert.deepStrictEqual(parts, [start, word("First")])
      assert.strictEqual(yield* Queue.take(closed), "closed")
    })
  )

  it.effect("rule X1: with a checkpoint it continues after every record in another life", () =>
    Effect.gen(function* () {
      const checkpoint = new ReplayCheckpoint.ReplayCheckpoint()
      const one = world([[new Foreign(529)], [bad(503)], [start, word("Hi")]])
      const strategy = TestStrategy.make({ delays: [0, 0] })
      const live = Stream.runCollect(Patience.stream({ ...one.call, id: Ids.TurnId.make("held") })).pipe(
        Effect.provideService(RetryStrategy, strategy.service),
        Effect.provideService(Checkpoint, checkpoint.service)
      )
      assert.deepStrictEqual(yield* Effect.orDie(checkpoint.toSeal(live)), [start, word("Hi")])
      assert.strictEqual(one.attempts.length, 3)
      assert.isAbove(checkpoint.runs, 3)
    })
  )

  const part = fc.oneof(
    fc.constant(start),
    fc.nat(99).map((n) => word(String(n)))
  )
  const failed = fc.tuple(
    fc.array(fc.constant(start), { maxLength: 3 }),
    fc.constantFrom<Part | Foreign>(bad(503), new Foreign(529))
  )
  const scripts = fc.tuple(fc.array(failed, { maxLength: 3 }), fc.array(part, { maxLength: 200, size: "max" }))

  Property.prop(
    "rule D4: whatever fails before, the consumer gets one response, whole and in order",
    scripts,
    ([failures, answer]) =>
      Effect.gen(function* () {
        const one = world([...failures.map(([parts, end]) => [...parts, end]), answer])
        assert.deepStrictEqual(yield* collected(one), { parts: answer, end: undefined })
        assert.strictEqual(one.attempts.length, failures.length + 1)
      })
  )
})
