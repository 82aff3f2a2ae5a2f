/** Tests a client that reconnect repeatedly: it assembles the text once, without a gap. */
import { assert, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect } from "effect"
import * as CrashHarness from "./CrashHarness.ts"
import { stillWaits, WaitIsOver, withWait } from "./LongerWaits.ts"
import * as ProcessSetup from "./ProcessSetup.ts"

const { answerFrames } = ScriptedServer

const words = (name: string) => Array.from({ length: 12 }, (_, n) => `${name}${n}`).join(" ")

/**
 * An answer that stops after so many of its words, and continues when a gate is opened. The first frame is a preamble, and each one after
 * it is a word.
 */
const stopping = (text: string, ...counts: ReadonlyArray<number>) => {
  const frames = answerFrames("openai", text)
  const stops = counts.map((count) => ({
    gate: ScriptedServer.gate(),
    prefix: text.split(" ").slice(0, count).join(" ") + " "
  }))
  const parts = stops.flatMap(({ gate }, i) => [...frames.slice(endOf(counts[i - 1]), endOf(counts[i])), gate])
  return { stops, response: { frames: [...parts, ...frames.slice(endOf(counts.at(-1)))] } }
}

const endOf = (count: number | undefined): number => (count === undefined ? 0 : count + 1)

/** Reconnects at each stop, and gets the text so far, from the beginning, once. */
const comesBackAt = (harness: CrashHarness.Harness, { stops }: ReturnType<typeof stopping>) =>
  Effect.forEach(
    stops,
    ({ gate, prefix }) =>
      Effect.gen(function* () {
        yield* gate.reached
        yield* harness.waitUntilSeen("what was prefix", ({ current }) => current === prefix)
        const { begun } = harness.watcher
        yield* harness.reconnect
        yield* harness.waitUntilSeen(
          "it again, from the beginning",
          (now) => now.begun > begun && now.current === prefix
        )
        yield* gate.open
      }),
    { discard: true }
  )

/** Checks that the watcher and the history have the answer once, unchanged. */
const assertOnce = Effect.fnUntraced(function* (harness: CrashHarness.Harness, text: string) {
  yield* harness.waitUntilSeen("the end", (watcher) => watcher.has("turn-end", "one"))
  assert.deepStrictEqual(harness.watcher.faults, [])
  assert.deepStrictEqual(harness.watcher.answers, [text])
  assert.deepStrictEqual(yield* harness.alive.history(harness.conversationId), [
    "user: prompt one",
    `assistant: ${text}`
  ])
})

describe.concurrent("a client that reconnect", () => {
  it.live("rule X3: in the middle of a step, twice, assembles the text once", () =>
    Effect.gen(function* () {
      const harness = yield* CrashHarness.make(1)
      const text = words("a")
      const kept = stopping(text, 3, 7)
      harness.provider.respond(kept.response)
      yield* harness.begin("50 millis")
      yield* harness.post("one")
      yield* comesBackAt(harness, kept)
      yield* assertOnce(harness, text)
    }).pipe(Effect.scoped)
  )

  it.live("rule X2, X3: over a kill after content had been shown, forgets it and assembles the new text once", () =>
    Effect.gen(function* () {
      const harness = yield* CrashHarness.make(2)
      const text = words("a")
      const lost = stopping(words("lost"), 2, 5)
      const kept = stopping(text, 3, 7)
      harness.provider.respond(lost.response, kept.response)
      yield* harness.begin("50 millis")
      yield* harness.post("one")
      yield* comesBackAt(harness, { ...lost, stops: lost.stops.slice(0, 1) })
      yield* harness.waitUntilSeen("more of it", ({ current }) => current === lost.stops[1]?.prefix)
      yield* harness.kill
      assert.strictEqual(harness.watcher.current, lost.stops[1]?.prefix)
      yield* harness.restart
      yield* comesBackAt(harness, kept)
      yield* assertOnce(harness, text)
      assert.strictEqual(harness.watcher.events.filter(({ type }) => type === "step-discarded").length, 1)
    }).pipe(Effect.scoped)
  )

  it.live("rule X3: over a kill in a later attempt that had shown nothing, assembles the text of the next once", () =>
    Effect.gen(function* () {
      const harness = yield* CrashHarness.make(3)
      const text = words("a")
      const silent = stopping(words("never"), 0)
      const kept = stopping(text, 3, 7)
      // Retries 0 and 1 come before it: the process that makes this attempt never made the first.
      harness.provider.respond(ProcessSetup.overloaded, ProcessSetup.overloaded, silent.response, kept.response)
      yield* harness.begin("50 millis")
      yield* harness.post("one")
      yield* Effect.forEach(silent.stops, ({ gate }) => gate.reached)
      yield* harness.kill
      yield* harness.restart
      yield* comesBackAt(harness, kept)
      yield* assertOnce(harness, text)
    }).pipe(Effect.scoped)
  )

  it.live("rule X3: over a kill in a wait, gets the wait, and assembles the text that follows it once", () =>
    withWait(
      2,
      Effect.fnUntraced(function* (seconds) {
        const harness = yield* CrashHarness.make(4)
        const { watcher } = harness
        const text = words("a")
        const kept = stopping(text, 3)
        harness.provider.respond(ProcessSetup.overloaded, kept.response)
        yield* harness.begin(`${seconds} seconds`)
        yield* harness.post("one")
        yield* harness.waitUntilSeen("the wait", ({ announced }) => announced === 1)
        yield* harness.kill
        yield* stillWaits(watcher.retries[0]?.retryAt)
        yield* harness.restart
        yield* harness.waitUntilSeen(
          "the wait again, or its end",
          ({ announced, current }) => announced > 1 || current !== ""
        )
        if (watcher.announced === 1) return yield* new WaitIsOver()
        yield* comesBackAt(harness, kept)
        yield* assertOnce(harness, text)
        // The countdown that it got was to the same moment.
        assert.strictEqual(watcher.retries.length, 1)
      })
    )
  )
})
