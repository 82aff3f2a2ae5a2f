/** Laws of a turn on a `Checkpoint`: several lives have the outcome of one. */
import { assert } from "@effect/vitest"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import { TestClock } from "effect/testing"
import * as fc from "fast-check"
import * as Records from "../../src/records/Records.ts"
import * as Eventful from "../Eventful.ts"
import * as Property from "../Property.ts"
import { answer, call, emits, overloaded, tools } from "../ScriptedProvider.ts"
import * as Setting from "../Setting.ts"
import { byName, forgetful } from "./Engine.ts"
import { type Law, ofLives, ofOneLife } from "./Law.ts"
import type { Point } from "./SimulatedProcess.ts"
import { type Life, attemptKeyOf, type TurnSetup, TurnLives } from "./TurnLives.ts"

/** The kinds of records whose effect may run again without a trace. */
const HARMLESS = new Set<Records.Kind>(["Route", "Final", "Decision", "Wake", "Compaction", "Seal"])

/** Whether a death at a point leaves no trace: no content has left, and tools may run again. */
const isTraceless = ({ at, name }: Point): boolean => {
  if (at === "marked") return false
  const kind = Records.positionOf(name)?.kind
  return at !== "done" || (kind !== undefined && HARMLESS.has(kind))
}

/** A life that dies at the `n`th point that counts. */
export const dyingAt = (n: number, counts: (point: Point) => boolean): Life => {
  let passed = 0
  return { dies: (point) => counts(point) && passed++ === n }
}

/** Its tools are idempotent, so that a death leaves no trace. */
const playOf = (setting: Setting.Setting): TurnSetup => ({
  scripts: setting.scripts,
  delays: Setting.DELAYS,
  tools: ["a", "b", "c"].map((name) => ({ name, inputSchema: {}, isIdempotent: true })),
  services: Setting.servicesOf(setting),
  ...(setting.maxTurns === null ? {} : { limits: { maxTurns: setting.maxTurns } })
})

const eventful = (): TurnSetup => {
  const { scripts, services, toolbox } = Eventful.turn()
  return { scripts, services, delays: [0, 0, 0], tools: toolbox.definitions }
}

/** Fails twice, calls two tools, and answers. */
const PLAIN: TurnSetup = {
  scripts: [emits(overloaded), emits(overloaded), tools(call("a"), call("b")), answer("Done.")],
  delays: Setting.DELAYS,
  tools: ["a", "b"].map((name) => ({ name, inputSchema: {}, isIdempotent: true }))
}

/** The names in an order that can be compared: tool calls of one response come in any order, and marks do not go through `run`. */
const inOrder = (names: ReadonlyArray<string>): ReadonlyArray<string> => {
  const sequence = names
    .filter((name) => !name.endsWith("/content"))
    .map((name) => name.replace(/\/tool\/.*$/, "/tools"))
  return sequence.filter((name, i) => sequence.indexOf(name) === i)
}

/** The laws of whole turns. */
export const laws: ReadonlyArray<Law> = [
  ofOneLife("a turn reaches its seal, with no `run` inside another", (make) =>
    Effect.gen(function* () {
      for (const play of [PLAIN, eventful()]) {
        const end = yield* new TurnLives(yield* make, play).toSeal()
        assert.strictEqual(end.status, "completed")
      }
    })
  ),
  ofLives("rule X1: resumed = uninterrupted, at whichever records its processes die", (make, { runs }) =>
    Effect.promise(() =>
      Property.assert(
        fc.record({ setting: Setting.arbitrary, deaths: fc.array(fc.nat(12), { minLength: 1, maxLength: 5 }) }),
        ({ deaths, setting }) =>
          Effect.gen(function* () {
            const straight = new TurnLives(yield* forgetful, playOf(setting))
            const end = yield* straight.toSeal()
            yield* TestClock.setTime(0)
            const lives = new TurnLives(yield* make, playOf(setting))
            const again = yield* lives.toSeal(...deaths.map((n) => dyingAt(n, isTraceless)))
            assert.deepStrictEqual(again, end)
            assert.deepStrictEqual(lives.sink.persisted, straight.sink.persisted)
            assert.strictEqual(lives.sink.shown, straight.sink.shown)
            const asked = new Map(lives.requests.map((request) => [attemptKeyOf(request), request]))
            assert.deepStrictEqual([...asked.values()], straight.requests)
            assert.deepStrictEqual(new Set(lives.ran), new Set(straight.ran))
          }),
        { numRuns: runs }
      )
    )
  ),
  ofLives("order: every life has the records of a turn that never died, in their order", (make) =>
    Effect.gen(function* () {
      const straight = new TurnLives(yield* byName, PLAIN)
      yield* straight.toSeal()
      const order = inOrder(straight.names.flat())
      for (let n = 0, isDead = true; isDead; n++) {
        const lives = new TurnLives(yield* make, PLAIN)
        const first = yield* lives.life(dyingAt(n, ({ at }) => at === "recorded"))
        isDead = first.isDead
        if (!isDead) assert.isAbove(n, 10)
        yield* lives.toSeal()
        for (const names of lives.names) {
          const sequence = inOrder(names)
          assert.deepStrictEqual(sequence, order.slice(0, sequence.length))
        }
        assert.deepStrictEqual(inOrder(lives.names.at(-1) ?? []), order)
      }
    })
  ),
  ofLives(
    "rule D8: an abort waits until a turn that resumes has restored its state, and seals it there",
    (make) =>
      Effect.gen(function* () {
        const lives = new TurnLives(yield* make, PLAIN)
        yield* lives.life({ dies: ({ at, name }) => at === "begun" && name === Records.nameOf("Wake", 0, 1) })
        const { exit } = yield* lives.life({ abort: Effect.void })
        if (Exit.isFailure(exit)) return yield* Effect.failCause(exit.cause)
        yield* lives.sound(undefined)
        assert.strictEqual(exit.value.status, "aborted")
        assert.strictEqual(exit.value.sleptMs, Setting.DELAYS[0])
        assert.deepStrictEqual(lives.requests.map(attemptKeyOf), ["0/0", "0/1"])
        assert.deepStrictEqual(
          lives.sink.persisted.map(({ type }) => type),
          ["turn-start", "message", "retry-end", "message", "turn-end"]
        )
      }),
    "once"
  ),
  ofLives("rule X1: the time of the seal is that of its record", (make, { sealIsInEvents }) =>
    Effect.gen(function* () {
      const lives = new TurnLives(yield* make, PLAIN)
      const seals = ({ at, name }: Point) => at === "persisting" && name === "turn-end"
      yield* lives.life({ dies: seals })
      const { exit } = yield* lives.life({ awayMs: 60_000 })
      if (Exit.isFailure(exit)) return yield* Effect.failCause(exit.cause)
      yield* lives.sound(undefined)
      // An engine whose seal is in the events has no record of it.
      const sealedAt = 3_000 + (sealIsInEvents ? 60_000 : 0)
      assert.strictEqual(exit.value.endedAt, sealedAt)
      assert.deepStrictEqual(lives.sink.of("turn-end"), [exit.value])
      if (sealIsInEvents) return
      const again = yield* lives.toSeal({ awayMs: 60_000 })
      assert.deepStrictEqual(again, exit.value)
    })
  )
]
