import { assert, it } from "@effect/vitest"
import { Http } from "@holdfast/providers"
import { Cause, Effect, Layer, Scope } from "effect"
import { TestClock } from "effect/testing"
import * as RightOfWay from "../../src/pacing/RightOfWay.ts"

/** HTTP whose calls are answered by the status in their path; without one, they are not answered. */
const answering: Http.Http["Service"] = {
  endpoint: (url) => () => {
    const status = Number(url.slice(url.lastIndexOf("/") + 1))
    return status === 0
      ? Effect.fail(new Http.Broken({ cause: new Error("refused") }))
      : Effect.succeed({ status, headers: {}, bytes: Cause.done(), isWhole: () => true })
  }
}

/** HTTP with the right of way of due turns, and the calls that it has answered. */
const make = Effect.gen(function* () {
  const way = yield* RightOfWay.RightOfWay
  const http = RightOfWay.holdingBack(answering, way)
  const scope = yield* Scope.Scope
  const done: Array<string> = []
  const ask = (...names: ReadonlyArray<string>) =>
    Effect.forEach(names, (name) =>
      http
        .endpoint(`http://endpoint/${name}`, {})("", scope)
        .pipe(
          Effect.exit,
          Effect.andThen(Effect.sync(() => done.push(name))),
          Effect.forkScoped({ startImmediately: true })
        )
    )
  return { ask, done, way }
})

const settle = Effect.yieldNow.pipe(Effect.repeat({ times: 20 }))

const test = (title: string, body: Effect.Effect<void, unknown, Scope.Scope>) =>
  it.effect(title, () => body.pipe(Effect.provide(Layer.fresh(RightOfWay.layer))))

test(
  "RightOfWay.W1: a refusal waits until the due turns have called; an answer does not",
  Effect.gen(function* () {
    const { ask, done, way } = yield* make
    const [first, second] = [way.enter(), way.enter()]
    yield* ask("529", "200", "0", "400", "399")
    yield* settle
    assert.deepStrictEqual(done, ["200", "399"])
    first()
    yield* settle
    assert.deepStrictEqual(done, ["200", "399"])
    second()
    yield* settle
    assert.deepStrictEqual(done, ["200", "399", "529", "0", "400"])
  })
)

test(
  "RightOfWay.W1: no refusal waits if no turn is due",
  Effect.gen(function* () {
    const { ask, done, way } = yield* make
    yield* ask("529")
    assert.deepStrictEqual(done, ["529"])
    way.enter()()
    yield* ask("500")
    assert.deepStrictEqual(done, ["529", "500"])
  })
)

test(
  "RightOfWay.W1: each refusal has its own time limit",
  Effect.gen(function* () {
    const { ask, done, way } = yield* make
    way.enter()
    yield* ask("529")
    yield* TestClock.adjust(RightOfWay.LIMIT_MS - 1)
    assert.deepStrictEqual(done, [])
    yield* TestClock.adjust(1)
    yield* settle
    assert.deepStrictEqual(done, ["529"])
    yield* ask("500")
    yield* TestClock.adjust(RightOfWay.LIMIT_MS - 1)
    assert.deepStrictEqual(done, ["529"])
    yield* TestClock.adjust(1)
    yield* settle
    assert.deepStrictEqual(done, ["529", "500"])
  })
)

test(
  "RightOfWay.W2: a crowd of refusals continues in its order, and stops for a turn that becomes due",
  Effect.gen(function* () {
    const { ask, done, way } = yield* make
    const leave = way.enter()
    const crowd = Array.from({ length: 200 }, (_, i) => String(400 + i))
    yield* ask(...crowd)
    leave()
    while (done.length === 0) yield* Effect.yieldNow
    const again = way.enter()
    yield* settle
    const before = done.length
    assert.isBelow(before, crowd.length)
    yield* settle
    assert.strictEqual(done.length, before)
    again()
    while (done.length < crowd.length) yield* Effect.yieldNow
    assert.deepStrictEqual(done, crowd)
  })
)
