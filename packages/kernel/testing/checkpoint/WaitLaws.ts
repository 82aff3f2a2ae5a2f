/** Laws of waits on a `Checkpoint`: each runs once, and ends on time. */
import { assert } from "@effect/vitest"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Option from "effect/Option"
import { TestClock } from "effect/testing"
import * as Records from "../../src/records/Records.ts"
import { TurnParked } from "../../src/ports/TurnParked.ts"
import { answer, emits, overloaded } from "../ScriptedProvider.ts"
import { type Law, ofLives, ofOneLife } from "./Law.ts"
import type { Point } from "./SimulatedProcess.ts"
import { type Life, type TurnSetup, TurnLives } from "./TurnLives.ts"

/** Waits from 0 to 8,000, and from there to 12,000. */
const PLAY: TurnSetup = { scripts: [emits(overloaded), emits(overloaded), answer("Done.")], delays: [8_000, 4_000] }

const WAKE = Records.nameOf("Wake", 0)

const parkedUntil = (exit: Exit.Exit<unknown, unknown>): number | undefined => {
  const error = Exit.isFailure(exit) ? Option.getOrUndefined(Cause.findErrorOption(exit.cause)) : undefined
  return error instanceof TurnParked ? error.retryAt : undefined
}

const told = (lives: TurnLives): ReadonlyArray<number> => lives.sink.of("provider-retry").map(({ retryAt }) => retryAt)

/** The laws of waits. */
export const laws: ReadonlyArray<Law> = [
  ofLives("rule X1: a wait that has ended does not run again", (make, { waits }) =>
    Effect.gen(function* () {
      const lives = new TurnLives(yield* make, PLAY)
      const end = yield* lives.toSeal({ dies: ({ at, name }) => at === "recorded" && name === WAKE })
      assert.deepStrictEqual(lives.sleeps, waits === "once" ? [8_000, 4_000] : [8_000, 0, 4_000])
      assert.deepStrictEqual([end.endedAt, end.sleptMs, end.waitedMs], [12_000, 12_000, 12_000])
      // A wait that is entered again in the millisecond of its end is announced again.
      assert.deepStrictEqual(told(lives), waits === "once" ? [8_000, 12_000] : [8_000, 8_000, 12_000])
    })
  ),
  ofLives("rule X1: a wait keeps its absolute end across a death, and the turn sleeps the rest of it", (make) =>
    Effect.gen(function* () {
      const asleep = ({ at, name }: Point) => at === "asleep" && name === "8000"
      const cases: ReadonlyArray<readonly [life: Life, awayMs: number, sleeps: ReadonlyArray<number>, ends: number]> = [
        [{ dies: asleep }, 0, [8_000, 4_000, 4_000], 12_000],
        [{ dies: asleep }, 1_000, [8_000, 3_000, 4_000], 12_000],
        [{ dies: asleep }, 50_000, [8_000, 0, 4_000], 58_000],
        [{ dies: ({ at, name }) => at === "done" && name === WAKE }, 0, [8_000, 0, 4_000], 12_000],
        [{ dies: ({ at, name }) => at === "begun" && name === WAKE }, 2_000, [6_000, 4_000], 12_000]
      ]
      for (const [life, awayMs, sleeps, ends] of cases) {
        yield* TestClock.setTime(0)
        const lives = new TurnLives(yield* make, PLAY)
        yield* lives.life(life)
        const end = yield* lives.toSeal({ awayMs })
        assert.deepStrictEqual(lives.sleeps, sleeps)
        assert.strictEqual(end.endedAt, ends)
        assert.strictEqual(end.sleptMs, 12_000)
      }
    })
  ),
  ofLives("rule D5: a wait is announced again while it lasts, and not after its end", (make) =>
    Effect.gen(function* () {
      const asleep = { dies: ({ at }: Point) => at === "asleep" }
      const early = new TurnLives(yield* make, PLAY)
      yield* early.toSeal(asleep, { awayMs: 1_000 })
      assert.deepStrictEqual(told(early), [8_000, 8_000, 12_000])
      yield* TestClock.setTime(0)
      const late = new TurnLives(yield* make, PLAY)
      yield* late.toSeal(asleep, { awayMs: 50_000 })
      assert.deepStrictEqual(told(late), [8_000, 58_000])
    })
  ),
  ofOneLife("a parked turn ends unsealed, with `TurnParked` and the end of its wait", (make) =>
    Effect.gen(function* () {
      const lives = new TurnLives(yield* make, PLAY)
      const { exit } = yield* lives.life({ parks: true })
      assert.strictEqual(parkedUntil(exit), 8_000)
      assert.deepStrictEqual(told(lives), [8_000])
      assert.deepStrictEqual(lives.sink.of("turn-end"), [])
    })
  ),
  ofLives("rule X1: a parked turn returns to its wait, before its end and after", (make) =>
    Effect.gen(function* () {
      const lives = new TurnLives(yield* make, PLAY)
      const retryAts: Array<number | undefined> = []
      for (const awayMs of [0, 5_000, 3_000]) {
        const { exit } = yield* lives.life({ parks: true, awayMs })
        retryAts.push(parkedUntil(exit))
      }
      // A command, or a host that is too early, resumes it; it parks again.
      assert.deepStrictEqual(retryAts, [8_000, 8_000, 12_000])
      const end = yield* lives.toSeal({ parks: true, awayMs: 50_000 })
      assert.deepStrictEqual([end.status, end.endedAt, end.sleptMs], ["completed", 58_000, 12_000])
      assert.deepStrictEqual(told(lives), [8_000, 8_000, 8_000, 12_000])
    })
  )
]
