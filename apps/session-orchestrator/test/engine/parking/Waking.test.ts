/** Tests a crowd of parked turns whose times come together. */
import { assert, it } from "@effect/vitest"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Effect, Scheduler } from "effect"
import { TestClock } from "effect/testing"
import type { TurnLog } from "../../../src/storage/TurnLog.ts"
import { waits, withService } from "../conversation/ConversationSetup.ts"

const { answer, emits, overloaded } = ScriptedProvider

/** More than are taken up at once. */
const CROWD = 100

/** Fewer than all: shows that turns are not read all together. */
const AT_MOST = 80

const crowd = Array.from({ length: CROWD }, (_, i) => Ids.TurnId.make(`turn-${i}`))

/** Counts how many do something at the same time. */
class Inside {
  most = 0
  private now = 0
  during<A, E>(effect: Effect.Effect<A, E>, count = 1): Effect.Effect<A, E> {
    return Effect.suspend(() => {
      this.now += count
      this.most = Math.max(this.most, this.now)
      return Effect.ensuring(
        effect,
        Effect.sync(() => (this.now -= count))
      )
    })
  }
}

/** A log whose appends of ends of waits pass through `during`, with the turns that they are of. */
const recordingWakes =
  (during: <A, E>(append: Effect.Effect<A, E>, turnIds: ReadonlyArray<string>) => Effect.Effect<A, E>) =>
  (real: TurnLog["Service"]): Pick<TurnLog["Service"], "append"> => ({
    append: (appends) => {
      const turnIds = appends.flatMap(({ records, turnId }) =>
        records.some(({ record: { kind } }) => kind === "Wake") ? [turnId] : []
      )
      return turnIds.length === 0 ? real.append(appends) : during(real.append(appends), turnIds)
    }
  })

const parksThenAnswers = [...crowd.map(() => emits(overloaded)), ...crowd.map(() => answer("At last"))]

it.effect("Waking.U1: turns that are due together are read and continue a few at a time", () => {
  const reading = new Inside()
  const goingOn = new Inside()
  return withService(
    {
      scripts: parksThenAnswers,
      retry: waits(60),
      store: (real) => ({ resumption: (...of) => reading.during(real.resumption(...of)) }),
      log: recordingWakes((append, turnIds) => goingOn.during(append, turnIds.length))
    },
    function* ({ conversations }) {
      for (const turnId of crowd) yield* conversations.prompt(yield* conversations.create({}), { prompt: "Hi", turnId })
      yield* Effect.repeat(conversations.counts, { until: ({ retrying }) => retrying === CROWD })
      reading.most = 0
      yield* TestClock.adjust("2 minutes")
      for (const turnId of crowd) yield* conversations.result(turnId)
      assert.isAtMost(reading.most, AT_MOST)
      assert.isAtMost(goingOn.most, AT_MOST)
    }
  ).pipe(Effect.provideService(Scheduler.MaxOpsBeforeYield, 300)) // fibers give way anywhere
})
