import { assert, describe } from "@effect/vitest"
import { TurnStopped } from "@holdfast/kernel"
import { Effect, Exit, Fiber } from "effect"
import { type CommandResult, TurnWait } from "../../../src/engine/pacing/TurnWait.ts"
import * as It from "../../It.ts"

const now = { startImmediately: true } as const
const nothing = () => {}

const by = (commandId: string) => ({ commandId, origin: "a test" })

/** A client that waits for a command's result; `undefined` while it is undecided. */
const asking = (answer: CommandResult) =>
  Effect.map(
    Effect.forkChild(answer, now),
    (fiber) => () =>
      fiber.pollUnsafe()?.pipe(Exit.getSuccess, (taken) => (taken._tag === "Some" ? taken.value : "failed"))
  )

/** Stands by until there is news. */
const standsBy = (wait: TurnWait): Effect.Effect<void> =>
  Effect.callback((resume) => wait.whenNews(() => resume(Effect.void)))

/** Sleeps until the time has come, or there is news. */
const sleeps = (wait: TurnWait, elapsed: Effect.Effect<void>, over: () => void) =>
  Effect.suspend(() =>
    Effect.map(wait.hasNews ? Effect.void : Effect.raceFirst(standsBy(wait), elapsed), () => wait.take(over))
  )

describe("a wait", () => {
  It.effect("rule X4: loses no command between two of its parts, and takes them in order", function* () {
    const wait = new TurnWait()
    const sleep = sleeps(wait, Effect.never, nothing)
    const first = yield* Effect.forkChild(sleep, now)
    const a = yield* asking(wait.steer({ type: "extended", byMs: 1, by: by("a") }))
    const b = yield* asking(wait.steer({ type: "until", until: 5, by: by("b") }))
    wait.recordedEnd(yield* Fiber.join(first))
    // The first is on record; the wait is not over.
    const c = yield* asking(wait.steer({ type: "now", by: by("c") }))
    yield* Effect.yieldNow
    assert.deepStrictEqual([a(), b(), c()], [true, undefined, undefined])
    wait.recordedEnd(yield* sleep)
    wait.recordedEnd(yield* sleep)
    yield* Effect.yieldNow
    assert.deepStrictEqual([a(), b(), c(), yield* wait.steer({ type: "now", by: by("d") })], [true, true, true, false])
  })

  It.effect("rule X11: loses no command that comes while its end becomes a question: that answers it", function* () {
    const wait = new TurnWait()
    const asks = { because: "turn" as const, tokens: 9, limit: 1, waitedMs: 0, message: "May it go on?" }
    wait.elapse()
    const ended = { count: 0 }
    assert.deepStrictEqual(yield* sleeps(wait, Effect.never, () => void ended.count++), { type: "elapsed" })
    assert.deepStrictEqual([ended.count, wait.hasNews], [1, false])
    const answer = yield* asking(wait.steer({ type: "now", by: by("a") }))
    wait.recordedEnd({ type: "asked", asks, until: 9 })
    assert.deepStrictEqual([answer(), wait.hasNews, wait.isSteered], [undefined, true, true])
    const wake = yield* sleeps(wait, Effect.never, nothing)
    assert.deepStrictEqual(wake, { type: "now", by: by("a") })
    wait.recordedEnd(wake)
    yield* Effect.yieldNow
    assert.isTrue(answer())
  })

  It.effect("TurnWait.W4: a command that was never recorded is answered by the turn's outcome", function* () {
    const elsewhere = new TurnStopped.TurnStopped({ message: "elsewhere" })
    for (const [ends, expected] of [
      [(wait: TurnWait) => wait.end(Exit.void), false],
      [(wait: TurnWait) => wait.end(Exit.fail(elsewhere)), "failed"],
      [(wait: TurnWait) => wait.notWaiting(), false] // it comes back to no wait
    ] as const) {
      const wait = new TurnWait()
      const sleep = yield* Effect.forkChild(sleeps(wait, Effect.never, nothing), now)
      const taken = yield* asking(wait.steer({ type: "now", by: by("a") }))
      yield* Fiber.join(sleep)
      const waiting = yield* asking(wait.steer({ type: "until", until: 5, by: by("b") }))
      wait.elapse()
      ends(wait)
      yield* Effect.yieldNow
      assert.deepStrictEqual([taken(), waiting(), wait.hasNews], [expected, expected, false])
      for (const id of ["a", "c"]) assert.isFalse(yield* wait.steer({ type: "now", by: by(id) }))
    }
    const wait = new TurnWait()
    const defective = yield* asking(wait.steer({ type: "now", by: by("a") }))
    wait.take(nothing)
    wait.failTaken(elsewhere)
    // It is sent again, while the turn runs again.
    const again = yield* asking(wait.steer({ type: "now", by: by("a") }))
    yield* Effect.yieldNow
    assert.deepStrictEqual([defective(), again(), wait.isSteered], ["failed", undefined, true])
  })

  It.effect("reports news once, and nothing that was taken; a command on record has its result again", function* () {
    const wait = new TurnWait()
    let news = 0
    const heard = (act: () => void = () => {}) => (act(), news)
    const listen = () => wait.whenNews(() => void news++)
    wait.resume()
    assert.deepStrictEqual([heard(listen), heard(listen), heard(() => wait.resume())], [1, 1, 2])
    wait.resume()
    wait.steer({ type: "extended", byMs: 1, by: by("a") })
    wait.recordedEnd(wait.take(nothing))
    // What was taken, and that it was resumed before, is no news of the next sleep.
    assert.deepStrictEqual([heard(listen), wait.take(nothing).type, heard(() => wait.resume())], [2, "elapsed", 2])
    // Commands that the records have; another that fits no longer.
    const [b, c] = yield* Effect.forEach(["b", "c"], (id) => asking(wait.steer({ type: "now", by: by(id) })))
    const d = yield* asking(wait.steer({ type: "now", by: by("d") }))
    wait.markTaken(["c", "b"])
    const until = { type: "until", until: 9, by: by("f") } as const
    const moved = yield* asking(wait.steer(until))
    wait.expect(["call"])
    assert.deepStrictEqual([yield* wait.steer({ type: "now", by: by("g") }), wait.take(assert.fail)], [false, until])
    wait.recordedEnd(until)
    assert.isFalse(wait.hasNews)
    wait.recordedEnd({ type: "elapsed" })
    for (const id of ["a", "b"]) assert.isTrue(yield* wait.steer({ type: "now", by: by(id) }))
    assert.isFalse(yield* wait.steer({ type: "now", by: by("d") }))
    wait.open()
    const early = yield* asking(wait.steer({ type: "now", early: true, by: by("e") }))
    // Clients count on to the end of a wait that the gate has ended.
    wait.recordedEnd(wait.take(assert.fail))
    yield* Effect.yieldNow
    assert.deepStrictEqual([b?.(), c?.(), d(), moved(), early()], [true, true, false, true, true])
  })

  It.effect("rule X4: an end that was moved ends no wait though its time had come (TurnWait.W3)", function* () {
    const wait = new TurnWait()
    wait.elapse()
    yield* asking(wait.steer({ type: "until", until: 60_000, by: by("a") }))
    wait.recordedEnd(yield* sleeps(wait, Effect.never, nothing))
    assert.isFalse(wait.hasNews)
    // An extended budget moves no end.
    wait.elapse()
    yield* asking(wait.steer({ type: "extended", byMs: 1, by: by("b") }))
    wait.recordedEnd(yield* sleeps(wait, Effect.never, nothing))
    assert.strictEqual((yield* sleeps(wait, Effect.never, nothing)).type, "elapsed")
  })
})
