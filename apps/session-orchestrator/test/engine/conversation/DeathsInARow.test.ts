/** Tests turns whose process dies several times in a row (rule X14). */
import { assert, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Effect, Logger, Option } from "effect"
import { TestClock } from "effect/testing"
import { type Attempt, memory, Rig } from "./Rig.ts"

const id = Ids.TurnId.make

/** A process on a database in memory. Its provider does not answer until a test advances the clock. */
const test = (
  title: string,
  body: (rig: Rig) => Effect.Effect<void, unknown>,
  script: ReadonlyArray<Attempt> = ["answers late"]
) =>
  it.effect(title, () =>
    Effect.scoped(
      Effect.gen(function* () {
        const rig = new Rig(yield* memory, script, false)
        yield* rig.up
        yield* body(rig)
        yield* rig.down(false)
        assert.deepStrictEqual(rig.faults, [])
      })
    )
  )

const begin = (rig: Rig, turnId: string) =>
  Effect.gen(function* () {
    const conversationId = Option.getOrThrow(Option.fromUndefinedOr(yield* rig.ask(({ create }) => create({}))))
    yield* rig.ask(({ prompt }) => prompt(conversationId, { prompt: "Hi", turnId: id(turnId) }))
    return conversationId
  })

/** Lets all work run that is possible without the clock. */
const settle = TestClock.adjust(0).pipe(Effect.repeat({ times: 50 }))

/** Runs `times` lives that each end in a crash; lists the turns that called the provider in each. */
const crashes = (rig: Rig, times: number) =>
  Effect.forEach(Array.from({ length: times }), () =>
    Effect.gen(function* () {
      yield* settle
      yield* rig.down(true)
      const from = rig.asked.length
      yield* rig.up
      yield* settle
      return rig.asked.slice(from).map(({ turnId }) => turnId)
    })
  )

const endOf = (rig: Rig, turnId: string) =>
  Effect.map(rig.store.turn(id(turnId)), (turn) => Option.getOrThrow(turn).end)

const finish = (rig: Rig) =>
  Effect.gen(function* () {
    rig.calm()
    yield* TestClock.adjust("1 minute")
    yield* settle
  })

test("rule X14: after three deaths turns run alone, one death more seals the one that ran, and the others are unharmed", (rig) =>
  Effect.gen(function* () {
    for (const name of ["a", "b", "c"]) yield* begin(rig, name)
    const lives = yield* crashes(rig, 4)
    assert.deepStrictEqual(lives.slice(0, 2), [
      ["a", "b", "c"],
      ["a", "b", "c"]
    ])
    assert.deepStrictEqual(lives.slice(2), [["a"], ["b"]])
    const failed = yield* endOf(rig, "a")
    assert.strictEqual(failed?.status, "failed")
    assert.deepInclude(failed?.error, { reason: "unknown", retryable: false, defect: true })
    assert.include(failed?.error?.message, "died 4 times in a row")
    yield* finish(rig)
    assert.strictEqual((yield* endOf(rig, "b"))?.status, "completed")
    assert.strictEqual((yield* endOf(rig, "c"))?.status, "completed")
  }))

test("rule X14: a turn that runs alone comes after the others, and a new turn waits for its next record", (rig) =>
  Effect.gen(function* () {
    yield* begin(rig, "suspect")
    yield* crashes(rig, 2)
    yield* begin(rig, "young")
    assert.deepStrictEqual(yield* crashes(rig, 1), [["young"]])
    rig.calm()
    yield* TestClock.adjust("10 seconds")
    yield* settle
    assert.strictEqual((yield* endOf(rig, "young"))?.status, "completed")
    assert.strictEqual((yield* endOf(rig, "suspect"))?.status, "completed")
  }))

test(
  "rule X14: a turn runs alone until its next record; a turn that waits for it continues while the first still retries",
  (rig) =>
    Effect.gen(function* () {
      yield* begin(rig, "suspect")
      yield* crashes(rig, 3)
      const asked = rig.asked.length
      yield* begin(rig, "young")
      yield* settle
      assert.strictEqual(rig.asked.length, asked)
      // Its attempt fails, which is a record; then it waits for a second in memory.
      yield* TestClock.adjust("400 millis")
      yield* settle
      assert.deepStrictEqual(
        rig.asked.slice(asked).map(({ turnId }) => turnId),
        [id("young")]
      )
      yield* finish(rig)
    }),
  ["fails late"]
)

test("rule X2, X14: a turn that died in the middle of each answer is sealed with every attempt counted once", (rig) =>
  Effect.gen(function* () {
    yield* begin(rig, "a")
    for (let death = 0; death < 4; death++) {
      yield* settle
      // Some of its answer has left by then.
      yield* TestClock.adjust("900 millis")
      yield* settle
      yield* rig.down(true)
      yield* rig.up
    }
    yield* settle
    const end = yield* endOf(rig, "a")
    assert.deepInclude(end, { status: "failed", attempts: rig.asked.length })
    assert.strictEqual(rig.asked.length, 4)
  }))

test("rule X14: an orderly stop restarts the count", (rig) =>
  Effect.gen(function* () {
    yield* begin(rig, "a")
    for (let round = 0; round < 4; round++) {
      yield* crashes(rig, 2)
      yield* settle
      yield* rig.down(false)
      yield* rig.up
    }
    yield* settle
    yield* finish(rig)
    assert.strictEqual((yield* endOf(rig, "a"))?.status, "completed")
  }))

test("rule X14: turns behind a turn that runs alone are not counted", (rig) =>
  Effect.gen(function* () {
    const conversationId = yield* begin(rig, "a")
    yield* rig.ask(({ prompt }) => prompt(conversationId, { prompt: "And then?", turnId: id("b") }))
    assert.deepStrictEqual(yield* crashes(rig, 4), [["a"], ["a"], ["a"], ["b"]])
    yield* finish(rig)
    assert.strictEqual((yield* endOf(rig, "a"))?.status, "failed")
    assert.strictEqual((yield* endOf(rig, "b"))?.status, "completed")
  }))

test("rule P14: an abort ends a turn at once that waits to run alone", (rig) =>
  Effect.gen(function* () {
    yield* begin(rig, "a")
    const conversationId = yield* begin(rig, "b")
    yield* crashes(rig, 3)
    assert.isTrue(yield* rig.ask(({ abort }) => abort(conversationId)))
    assert.strictEqual((yield* endOf(rig, "b"))?.status, "aborted")
  }))

it.effect("rule X14: a warning names the turns that run alone, the first ten of them", () => {
  const logLines: Array<string> = []
  const turns = (count: number) =>
    Effect.gen(function* () {
      const rig = new Rig(yield* memory, ["answers late"], false)
      yield* rig.up
      for (let n = 0; n < count; n++) yield* begin(rig, `t${n}`)
      yield* crashes(rig, 2)
      logLines.length = 0
      yield* crashes(rig, 1)
      const warnings = logLines.filter((line) => line.includes("deaths"))
      yield* crashes(rig, 1)
      yield* rig.down(false)
      assert.lengthOf(
        logLines.filter((line) => line.startsWith("Error Turn t0 is sealed as failed. The process died 4 times")),
        1
      )
      return warnings
    }).pipe(Effect.scoped)
  const named = (count: number) => Array.from({ length: count }, (_, n) => `t${n}`).join(", ")
  const warning = (count: number, names: string) =>
    `Warn ${count} turn(s) were in progress at 3 deaths of their process in a row. They are taken up after the others, one at a time: ${names}`
  return Effect.gen(function* () {
    assert.deepStrictEqual(yield* turns(10), [warning(10, named(10))])
    assert.deepStrictEqual(yield* turns(11), [warning(11, `${named(10)} …`)])
  }).pipe(
    Effect.provide(
      Logger.layer([Logger.make(({ logLevel, message }) => void logLines.push(`${logLevel} ${String(message)}`))])
    )
  )
})
