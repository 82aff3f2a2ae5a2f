/** Tests turns that their last process left in the middle of a call: how many of them go on at once. */
import { assert, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Deferred, Duration, Effect, Logger } from "effect"
import { TestClock } from "effect/testing"
import { memory, type Options, Rig } from "../conversation/Rig.ts"

/** More than go on at the same time (`Waking`). */
const CROWD = 100
const PLACES = 64

const turns = Array.from({ length: CROWD }, (_, n) => Ids.TurnId.make(`t${n}`))

const loopTurn = Effect.promise(() => new Promise<void>((resolve) => setImmediate(resolve)))

/** Lets all work run that is ready. */
const loopTurns = Effect.repeat(loopTurn, { times: 20 })

const prompt = Effect.fnUntraced(function* (rig: Rig, turnId: Ids.TurnId) {
  const id = (yield* rig.ask((conversations) => conversations.create({}))) ?? assert.fail("there is no conversation")
  yield* rig.ask((conversations) => conversations.prompt(id, { prompt: turnId, turnId }))
  return id
})

/** Dies with what it does, and is up again. */
const dies = Effect.fnUntraced(function* (rig: Rig) {
  yield* rig.down(true)
  yield* rig.up
  yield* loopTurns
})

it.effect(
  "Waking.U1: turns that their last process left in the middle of a call are read and go on a few at a time",
  () =>
    Effect.gen(function* () {
      const read = Deferred.makeUnsafe<void>()
      let isAgain = false
      let reading = 0
      const ports = yield* memory
      const rig = new Rig(
        {
          ...ports,
          store: {
            ...ports.store,
            resumption: (turnId) => {
              if (!isAgain) return ports.store.resumption(turnId)
              reading++
              return Effect.andThen(Deferred.await(read), ports.store.resumption(turnId))
            }
          }
        },
        ["answers late"],
        false
      )
      yield* rig.up
      yield* Effect.addFinalizer(() => rig.down(true))
      for (const turnId of turns) yield* prompt(rig, turnId)
      yield* loopTurns
      assert.strictEqual(rig.asked.length, CROWD)
      isAgain = true
      rig.calm()
      yield* dies(rig)
      assert.strictEqual(reading, PLACES)
      Deferred.doneUnsafe(read, Effect.void)
      yield* loopTurns
      assert.deepStrictEqual(
        rig.asked.slice(CROWD).map(({ turnId }) => turnId),
        turns
      )
      assert.deepStrictEqual(rig.faults, [])
    }).pipe(Effect.provide(Logger.layer([])))
)

it.effect("rule X14: turns that wait to be run alone take no place of those that are due", () =>
  Effect.gen(function* () {
    const retry: Options["retry"] = { schedule: { type: "steps", delays: [Duration.seconds(10)] } }
    const script = ["fails", ...turns.flatMap(() => Array.from({ length: 4 }, () => "answers late" as const))] as const
    const rig = new Rig(yield* memory, script, false, { retry })
    yield* rig.up
    yield* Effect.addFinalizer(() => rig.down(true))
    const waits = Ids.TurnId.make("waits")
    for (const turnId of [waits, ...turns]) yield* prompt(rig, turnId)
    yield* loopTurns
    yield* dies(rig)
    yield* dies(rig)
    const before = rig.asked.length
    yield* dies(rig)
    assert.deepStrictEqual(
      rig.asked.slice(before).map(({ turnId }) => turnId),
      turns.slice(0, 1)
    )
    // An answer takes less than two seconds: most of the crowd still waits.
    for (let s = 0; s < 13; s++) {
      yield* TestClock.adjust("1 second")
      yield* loopTurns
    }
    assert.isTrue(rig.asked.slice(before).some(({ turnId }) => turnId === waits))
    assert.isFalse(rig.asked.slice(before).some(({ turnId }) => turnId === turns.at(-1)))
  }).pipe(Effect.provide(Logger.layer([])))
)
