/** Tests turns that came due without a process: they start in a spread. */
import { assert, it } from "@effect/vitest"
import { Spread } from "@holdfast/journal"
import { Ids } from "@holdfast/wire"
import { Clock, Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { memory, Rig } from "../conversation/Rig.ts"

const TURNS = 30

it.effect(
  "rule X1: turns that came due while no process was up start one step apart, in the order of their wake times",
  () =>
    Effect.gen(function* () {
      const rig = new Rig(yield* memory, ["fails"], false)
      yield* rig.up
      yield* Effect.addFinalizer(() => rig.down(true))
      const turns = Array.from({ length: TURNS }, (_, n) => Ids.TurnId.make(`t${n}`))
      for (const turnId of turns) {
        const id =
          (yield* rig.ask((conversations) => conversations.create({}))) ?? assert.fail("there is no conversation")
        yield* rig.ask((conversations) => conversations.prompt(id, { prompt: turnId, turnId }))
        yield* loopTurns
        yield* TestClock.adjust(1)
      }
      yield* rig.down(true)
      yield* TestClock.adjust("1 minute")
      rig.calm()
      yield* rig.up
      const upAt = yield* Clock.currentTimeMillis
      for (let ms = 0; ms <= TURNS * Spread.STEP_MS; ms++) {
        yield* loopTurns
        yield* TestClock.adjust(1)
      }
      assert.deepStrictEqual(
        rig.asked.slice(TURNS).map(({ at, turnId }) => [turnId, Math.round((at - upAt) / Spread.STEP_MS)]),
        turns.map((turnId, place) => [turnId, place])
      )
      assert.deepStrictEqual(rig.faults, [])
    }).pipe(Effect.provide(Logger.layer([])))
)

// --- internal

const loopTurn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Lets all work run that is ready. */
const loopTurns = Effect.repeat(loopTurn, { times: 20 })
