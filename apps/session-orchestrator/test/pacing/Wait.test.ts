import { assert, describe, it } from "@effect/vitest"
import { TurnStopped } from "@holdfast/kernel"
import { Effect, Exit, Fiber } from "effect"
import { TestClock } from "effect/testing"
import { type Answer, Wait } from "../../src/pacing/Wait.ts"

const by = (commandId: string) => ({ commandId, origin: "a test" })

/** Somebody who waits for what becomes of a command; `undefined` while nobody knows. */
const asking = (answer: Answer) =>
  Effect.map(
    Effect.forkChild(answer, { startImmediately: true }),
    (fiber) => () =>
      fiber.pollUnsafe()?.pipe(Exit.getSuccess, (heard) => (heard._tag === "Some" ? heard.value : "failed"))
  )

describe("a wait", () => {
  it.effect("ends by itself, once", () =>
    Effect.gen(function* () {
      const wait = new Wait()
      let ended = 0
      const fiber = yield* Effect.forkChild(
        wait.sleep(Effect.sleep("1 minute"), () => ended++),
        { startImmediately: true }
      )
      yield* TestClock.adjust("1 minute")
      assert.deepStrictEqual(yield* Fiber.join(fiber), { type: "elapsed" })
      assert.strictEqual(ended, 1)
    })
  )

  it.effect("X4: loses no command between two of its parts, and takes them in order", () =>
    Effect.gen(function* () {
      const wait = new Wait()
      const sleep = wait.sleep(Effect.never, () => {})
      const first = yield* Effect.forkChild(sleep, { startImmediately: true })
      const a = yield* asking(wait.steer({ type: "extended", byMs: 1, by: by("a") }))
      const b = yield* asking(wait.steer({ type: "until", until: 5, by: by("b") }))
      wait.hear(yield* Fiber.join(first))
      // The first is on record; the wait is not over.
      const c = yield* asking(wait.steer({ type: "now", by: by("c") }))
      assert.deepStrictEqual([a(), b(), c()], [true, undefined, undefined])
      wait.hear(yield* sleep)
      wait.hear(yield* sleep)
      yield* Effect.yieldNow
      assert.deepStrictEqual([a(), b(), c()], [true, true, true])
      assert.isFalse(yield* wait.steer({ type: "now", by: by("d") }))
    })
  )

  it.effect("X11: loses no command that comes while its end becomes a question: it is the answer", () =>
    Effect.gen(function* () {
      const wait = new Wait()
      const asks = { because: "turn" as const, tokens: 9, limit: 1, waitedMs: 0, message: "May it go on?" }
      assert.deepStrictEqual(yield* wait.sleep(Effect.void, () => {}), { type: "elapsed" })
      const answer = yield* asking(wait.steer({ type: "now", by: by("a") }))
      wait.hear({ type: "asked", asks, until: 9 })
      assert.isUndefined(answer())
      wait.open()
      const wake = yield* wait.sleep(Effect.never, () => {})
      assert.deepStrictEqual(wake, { type: "now", by: by("a") })
      wait.hear(wake)
      yield* Effect.yieldNow
      assert.isTrue(answer())
    })
  )

  it.effect("X1: that stands by goes on when it is rung, with its end or without anything to hear", () =>
    Effect.gen(function* () {
      const sent = new Wait()
      const back = yield* Effect.forkChild(
        sent.standBy(() => {}),
        { startImmediately: true }
      )
      sent.ring()
      yield* Fiber.join(back)
      assert.isFalse(sent.hasNews)

      const wait = new Wait()
      const ready = yield* Effect.forkChild(
        wait.standBy(() => {}),
        { startImmediately: true }
      )
      // Its time has come; it is not let in yet.
      wait.elapse()
      yield* Effect.yieldNow
      assert.isUndefined(ready.pollUnsafe())
      wait.ring()
      yield* Fiber.join(ready)
      assert.deepStrictEqual(yield* wait.sleep(Effect.never, () => {}), { type: "elapsed" })
    })
  )

  it.effect("X4: that stands by hears a command at once, and before its end", () =>
    Effect.gen(function* () {
      const wait = new Wait()
      const ready = yield* Effect.forkChild(
        wait.standBy(() => {}),
        { startImmediately: true }
      )
      wait.elapse()
      yield* asking(wait.steer({ type: "until", until: 5, by: by("a") }))
      yield* Fiber.join(ready)
      assert.deepStrictEqual(yield* wait.sleep(Effect.never, () => {}), { type: "until", until: 5, by: by("a") })
      // An end that was moved is no end any more (W3): whoever lets it in has nothing to ring for.
      assert.isFalse(wait.hasNews)
    })
  )

  it.effect("X4: heard before it stands by, what there is to hear is not waited for", () =>
    Effect.gen(function* () {
      const [commanded, rung] = [new Wait(), new Wait()]
      yield* asking(commanded.steer({ type: "now", by: by("a") }))
      yield* commanded.standBy(() => {})
      rung.elapse()
      rung.ring()
      yield* rung.standBy(() => {})
      assert.deepStrictEqual([commanded.hasNews, rung.hasNews], [true, true])
    })
  )

  it.effect("W4: tells nobody that a command was taken before it is on record", () =>
    Effect.gen(function* () {
      const wait = new Wait()
      const sleep = yield* Effect.forkChild(
        wait.sleep(Effect.never, () => {}),
        { startImmediately: true }
      )
      const first = yield* asking(wait.steer({ type: "now", by: by("a") }))
      const wake = yield* Fiber.join(sleep)
      // The same again, and one that comes too late: neither is sure of anything before the first is.
      const again = yield* asking(wait.steer({ type: "now", by: by("a") }))
      const late = yield* asking(wait.steer({ type: "until", until: 5, by: by("b") }))
      yield* TestClock.adjust("1 hour")
      assert.deepStrictEqual([first(), again(), late()], [undefined, undefined, undefined])
      wait.hear(wake)
      yield* Effect.yieldNow
      assert.deepStrictEqual([first(), again(), late()], [true, true, false])
    })
  )

  it.effect("W4: a command that never got on record is answered by what became of the turn", () =>
    Effect.gen(function* () {
      for (const [outcome, expected] of [
        [Exit.void, false],
        [Exit.fail(new TurnStopped.TurnStopped({ message: "elsewhere" })), "failed"]
      ] as const) {
        const wait = new Wait()
        const sleep = yield* Effect.forkChild(
          wait.sleep(Effect.never, () => {}),
          { startImmediately: true }
        )
        const heard = yield* asking(wait.steer({ type: "now", by: by("a") }))
        yield* Fiber.join(sleep)
        const unheard = yield* asking(wait.steer({ type: "until", until: 5, by: by("b") }))
        wait.end(outcome)
        yield* Effect.yieldNow
        assert.deepStrictEqual([heard(), unheard()], [expected, expected])
      }
    })
  )

  it.effect("W4: of a turn that comes back to something else than a wait there was nothing to do", () =>
    Effect.gen(function* () {
      const wait = new Wait()
      const answer = yield* asking(wait.steer({ type: "now", by: by("a") }))
      assert.isUndefined(answer())
      wait.pass()
      yield* Effect.yieldNow
      assert.isFalse(answer())
      assert.isFalse(yield* wait.steer({ type: "now", by: by("b") }))
    })
  )

  it.effect("X4: takes no command twice, nor one that is on record", () =>
    Effect.gen(function* () {
      const wait = new Wait()
      wait.know(["old"])
      const fiber = yield* Effect.forkChild(
        wait.sleep(Effect.never, () => {}),
        { startImmediately: true }
      )
      assert.isTrue(yield* wait.steer({ type: "now", by: by("old") }))
      assert.isUndefined(fiber.pollUnsafe())
      yield* asking(wait.steer({ type: "cancelled", by: by("new") }))
      assert.strictEqual((yield* Fiber.join(fiber)).type, "cancelled")
    })
  )

  it.effect("X4: forgets a command that came before it was known to be on record", () =>
    Effect.gen(function* () {
      const wait = new Wait()
      const old = yield* asking(wait.steer({ type: "extended", byMs: 1, by: by("old") }))
      yield* asking(wait.steer({ type: "now", by: by("new") }))
      wait.know(["old"])
      yield* Effect.yieldNow
      assert.isTrue(old())
      assert.deepStrictEqual((yield* wait.sleep(Effect.never, () => {})).by, by("new"))
    })
  )

  it.effect("W3: hears what a person wants before what the clock says", () =>
    Effect.gen(function* () {
      const wait = new Wait()
      wait.elapse()
      yield* asking(wait.steer({ type: "cancelled", by: by("a") }))
      assert.strictEqual((yield* wait.sleep(Effect.void, () => {})).type, "cancelled")
      assert.isFalse(wait.hasNews)
    })
  )

  it.effect("W3, X4: an end that was moved is no end any more, though its time had come", () =>
    Effect.gen(function* () {
      const wait = new Wait()
      wait.elapse()
      yield* asking(wait.steer({ type: "until", until: 60_000, by: by("a") }))
      wait.hear(yield* wait.sleep(Effect.never, () => {}))
      assert.isFalse(wait.hasNews)
      // More budget moves no end.
      wait.elapse()
      yield* asking(wait.steer({ type: "extended", byMs: 1, by: by("b") }))
      wait.hear(yield* wait.sleep(Effect.never, () => {}))
      assert.strictEqual((yield* wait.sleep(Effect.never, () => {})).type, "elapsed")
    })
  )
})
