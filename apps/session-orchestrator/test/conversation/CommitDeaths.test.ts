/** Kills a process at each write of a turn, before or right after the write. */
import { assert, describe, it } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { Effect, Fiber, Logger, Stream } from "effect"
import { TestClock } from "effect/testing"
import { type Attempt, memory, Rig } from "./Rig.ts"

/** The attempts of a turn, in order. */
const SCRIPTS: ReadonlyArray<ReadonlyArray<Attempt>> = [["answers"], ["answers late"], ["fails", "answers"], ["breaks"]]

/** More writes than any of these turns makes, so that the last run is one without a death. */
const MOST_WRITES = 7

const settled = Effect.promise(async () => {
  for (let n = 0; n < 60; n++) await new Promise((resolve) => setImmediate(resolve))
})

/** Lets a minute pass. */
const minute = Effect.repeat(Effect.andThen(TestClock.adjust("2 seconds"), settled), { times: 30 })

const lived = Effect.fnUntraced(function* (
  script: ReadonlyArray<Attempt>,
  diesAt: { readonly write: number; readonly isMade: boolean },
  turnId: Ids.TurnId | undefined
) {
  const rig = new Rig(yield* memory, script, false)
  yield* rig.up
  yield* Effect.addFinalizer(() => rig.down(true))
  const c = (yield* rig.ask((conversations) => conversations.create({}))) ?? assert.fail("it was not made")
  yield* rig.watch(c)
  yield* settled
  rig.writes = 0
  rig.diesAt = diesAt
  const asked = turnId === undefined ? { prompt: "Hi" } : { prompt: "Hi", turnId }
  const prompting = yield* Effect.forkChild(
    rig.ask((conversations) => conversations.prompt(c, asked)),
    { startImmediately: true }
  )
  yield* settled
  for (let n = 0; n < 10 && !rig.isDying; n++) yield* Effect.andThen(TestClock.adjust("1 second"), settled)
  rig.diesAt = undefined
  yield* rig.down(true)
  const accepted = yield* Fiber.join(prompting)
  yield* rig.up
  rig.calm()
  yield* minute
  const events = Array.from(yield* Stream.runCollect(rig.store.events(c, 0)))
  const watcher = rig.watchers.get(c) ?? assert.fail("nobody watched")
  const types = events.map(({ event }) => event.type)
  assert.deepStrictEqual([rig.faults, watcher.faults, yield* rig.store.unsealedTurns], [[], [], []])
  // Rule X1: every accepted turn is there, and every turn there is sealed once.
  const starts = types.filter((type) => type === "turn-start").length
  assert.strictEqual(types.filter((type) => type === "turn-end").length, starts)
  assert.isAtMost(starts, 1)
  if (accepted !== undefined) assert.strictEqual(starts, 1)
  assert.deepStrictEqual(
    watcher.events,
    events.map(({ event }) => event)
  )
  return { accepted, starts, writes: rig.writes, types }
})

describe("a process that dies at a write of its turn", () => {
  for (const script of SCRIPTS) {
    for (const turnId of [undefined, Ids.TurnId.make("a")]) {
      const how = turnId === undefined ? "begins before it is accepted" : "begins when it is accepted"
      it.effect(
        `rule X1, X2: loses nothing that was acknowledged, and shows nothing twice: a turn that ${script.join(", then ")} and ${how}`,
        () =>
          Effect.gen(function* () {
            const lost: Array<string> = []
            for (let write = 0; write < MOST_WRITES; write++)
              for (const isMade of [false, true]) {
                const { accepted, starts } = yield* Effect.scoped(lived(script, { write, isMade }, turnId))
                if (starts === 0) lost.push(`${write} ${isMade ? "behind" : "before"}: ${accepted}`)
              }
            assert.deepStrictEqual(lost, ["0 before: undefined"])
          }).pipe(Effect.provide(Logger.layer([])))
      )
    }
  }
})
