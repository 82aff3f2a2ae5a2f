/** What a client assembles that comes back again and again, to one process and to the next: the text, once, without a gap. */
import { assert, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect } from "effect"
import * as CrashStage from "./CrashStage.ts"
import * as Given from "./Given.ts"

const { answerFrames } = ScriptedServer

const words = (name: string) => Array.from({ length: 12 }, (_, n) => `${name}${n}`).join(" ")

/**
 * An answer that stops when so many of its words have been said, and goes on when a gate is opened. The first frame is a
 * preamble, and each one after it is a word.
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

/** At each stop it goes and comes back, and is shown what has been said, from the beginning, once. */
const comesBackAt = (stage: CrashStage.Stage, { stops }: ReturnType<typeof stopping>) =>
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

/** The answer stands there once, as it was given, and so it does in the history. */
const assertOnce = Effect.fnUntraced(function* (stage: CrashStage.Stage, text: string) {
  yield* stage.sees("the end", (onlooker) => onlooker.has("turn-end", "one"))
  assert.deepStrictEqual(stage.onlooker.faults, [])
  assert.deepStrictEqual(stage.onlooker.answers, [text])
  assert.deepStrictEqual(yield* stage.alive.history(stage.conversationId), ["user: prompt one", `assistant: ${text}`])
})

describe.concurrent("a client that reconnects", () => {
  it.live("X3: in the middle of a step, twice, assembles the text once", () =>
    Effect.gen(function* () {
      const stage = yield* CrashStage.make(1)
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
      const stage = yield* CrashStage.make(2)
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
      const stage = yield* CrashStage.make(3)
      const text = words("a")
      const silent = stopping(words("never"), 0)
      const kept = stopping(text, 3, 7)
      // Retries 0 and 1 come before it: the process that makes this attempt never made the first.
      stage.provider.respond(Given.overloaded, Given.overloaded, silent.response, kept.response)
      yield* stage.begin("50 millis")
      yield* stage.post("one")
      yield* Effect.forEach(silent.stops, ({ gate }) => gate.reached)
      yield* stage.kill
      yield* stage.revive
      yield* comesBackAt(stage, kept)
      yield* assertOnce(stage, text)
    }).pipe(Effect.scoped)
  )

  it.live("X3: over a kill in a wait, is told of the wait, and assembles the text that follows it once", () =>
    Effect.gen(function* () {
      const stage = yield* CrashStage.make(4)
      const text = words("a")
      const kept = stopping(text, 3)
      stage.provider.respond(Given.overloaded, kept.response)
      yield* stage.begin("2 seconds")
      yield* stage.post("one")
      yield* stage.sees("the wait", ({ retries }) => retries.length === 1)
      yield* stage.kill
      yield* stage.revive
      yield* comesBackAt(stage, kept)
      yield* assertOnce(stage, text)
      // The countdown that it was shown was to the same moment.
      assert.strictEqual(stage.onlooker.retries.length, 1)
    }).pipe(Effect.scoped)
  )
})
