/** Tests a client that reconnects repeatedly: it assembles the text once, without a gap. */
import { assert, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/providers/testing"
import { Effect } from "effect"
import * as CrashHarness from "./CrashHarness.ts"
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
    said: text.split(" ").slice(0, count).join(" ") + " "
  }))
  const parts = stops.flatMap(({ gate }, i) => [...frames.slice(endOf(counts[i - 1]), endOf(counts[i])), gate])
  return { stops, response: { frames: [...parts, ...frames.slice(endOf(counts.at(-1)))] } }
}

const endOf = (count: number | undefined): number => (count === undefined ? 0 : count + 1)

/** Reconnects at each stop, and gets the text so far, from the beginning, once. */
const comesBackAt = (stage: CrashHarness.Stage, { stops }: ReturnType<typeof stopping>) =>
  Effect.forEach(
    stops,
    ({ gate, said }) =>
      Effect.gen(function* () {
        yield* gate.reached
        yield* stage.sees("what was said", ({ current }) => current === said)
        const { begun } = stage.onlooker
        yield* stage.reconnects
        yield* stage.sees("it again, from the beginning", (now) => now.begun > begun && now.current === said)
        yield* gate.open
      }),
    { discard: true }
  )

/** Checks that the onlooker and the history have the answer once, unchanged. */
const assertOnce = Effect.fnUntraced(function* (stage: CrashHarness.Stage, text: string) {
  yield* stage.sees("the end", (onlooker) => onlooker.has("turn-end", "one"))
  assert.deepStrictEqual(stage.onlooker.faults, [])
  assert.deepStrictEqual(stage.onlooker.answers, [text])
  assert.deepStrictEqual(yield* stage.alive.history(stage.conversationId), ["user: prompt one", `assistant: ${text}`])
})

describe.concurrent("a client that reconnects", () => {
  it.live("X3: in the middle of a step, twice, assembles the text once", () =>
    Effect.gen(function* () {
      const stage = yield* CrashHarness.make(1)
      const text = words("a")
      const kept = stopping(text, 3, 7)
      stage.provider.respond(kept.response)
      yield* stage.begin("50 millis")
      yield* stage.post("one")
      yield* comesBackAt(stage, kept)
      yield* assertOnce(stage, text)
    }).pipe(Effect.scoped)
  )

  it.live("X2, X3: over a kill after content had been shown, forgets it and assembles the new text once", () =>
    Effect.gen(function* () {
      const stage = yield* CrashHarness.make(2)
      const text = words("a")
      const lost = stopping(words("lost"), 2, 5)
      const kept = stopping(text, 3, 7)
      stage.provider.respond(lost.response, kept.response)
      yield* stage.begin("50 millis")
      yield* stage.post("one")
      yield* comesBackAt(stage, { ...lost, stops: lost.stops.slice(0, 1) })
      yield* stage.sees("more of it", ({ current }) => current === lost.stops[1]?.said)
      yield* stage.kill
      assert.strictEqual(stage.onlooker.current, lost.stops[1]?.said)
      yield* stage.revive
      yield* comesBackAt(stage, kept)
      yield* assertOnce(stage, text)
      assert.strictEqual(stage.onlooker.events.filter(({ type }) => type === "step-discarded").length, 1)
    }).pipe(Effect.scoped)
  )

  it.live("X3: over a kill in a later attempt that had shown nothing, assembles the text of the next once", () =>
    Effect.gen(function* () {
      const stage = yield* CrashHarness.make(3)
      const text = words("a")
      const silent = stopping(words("never"), 0)
      const kept = stopping(text, 3, 7)
      // Retries 0 and 1 come before it: the process that makes this attempt never made the first.
      stage.provider.respond(ProcessSetup.overloaded, ProcessSetup.overloaded, silent.response, kept.response)
      yield* stage.begin("50 millis")
      yield* stage.post("one")
      yield* Effect.forEach(silent.stops, ({ gate }) => gate.reached)
      yield* stage.kill
      yield* stage.revive
      yield* comesBackAt(stage, kept)
      yield* assertOnce(stage, text)
    }).pipe(Effect.scoped)
  )

  it.live("X3: over a kill in a wait, gets the wait, and assembles the text that follows it once", () =>
    Effect.gen(function* () {
      const stage = yield* CrashHarness.make(4)
      const text = words("a")
      const kept = stopping(text, 3)
      stage.provider.respond(ProcessSetup.overloaded, kept.response)
      yield* stage.begin("2 seconds")
      yield* stage.post("one")
      yield* stage.sees("the wait", ({ retries }) => retries.length === 1)
      yield* stage.kill
      yield* stage.revive
      yield* comesBackAt(stage, kept)
      yield* assertOnce(stage, text)
      // The countdown that it got was to the same moment.
      assert.strictEqual(stage.onlooker.retries.length, 1)
    }).pipe(Effect.scoped)
  )
})
