/** Tests which turns are taken up, and in which order. */
import { Interruption, Interruptions } from "@holdfast/journal"
import { assert, describe, it } from "@effect/vitest"
import { GivenRecords } from "@holdfast/kernel/testing"
import { Effect } from "effect"
import { TestClock } from "effect/testing"
import * as Gates from "../../../src/engine/gate/Gates.ts"
import * as Acceptance from "../../../src/engine/orchestrator/Acceptance.ts"
import type { Parts } from "../../../src/engine/orchestrator/Parts.ts"
import * as Orchestrator from "../../../src/engine/orchestrator/Orchestrator.ts"
import * as Condition from "../../../src/base/system/Condition.ts"
import type { Parking } from "../../../src/engine/parking/Parking.ts"
import { Sessions } from "../../../src/engine/session/Session.ts"
import * as MemoryStore from "../../storage/MemoryStore.ts"
import { Store } from "../../../src/storage/Store.ts"
import * as NumberedData from "../../storage/NumberedData.ts"
import * as Logged from "../../storage/Logged.ts"
import { TurnLog } from "../../../src/storage/TurnLog.ts"
import * as It from "../../It.ts"

const { turnId } = NumberedData

/** The dependencies of acceptance, with a queue that notes its calls. */
const given = Effect.gen(function* () {
  const store = yield* Store
  const log = yield* TurnLog
  const interruptions = yield* Interruptions.Interruptions
  const done: Array<string> = []
  const has = new Set<string>()
  const state: { isStopping: boolean; predecessor?: string; providers: ReadonlyArray<string>; addsMs: number } = {
    isStopping: false,
    addsMs: 0,
    providers: ["simulated"]
  }
  const parking = {
    find: () => undefined,
    park: (_: unknown, turn: string, wakeAt: number) => void done.push(`park ${turn} until ${wakeAt}`)
  } as unknown as Parking // the part of it that acceptance uses
  const queue: Pick<Parts["queue"], "add" | "has" | "parking"> = {
    parking,
    add: (_, turn) =>
      Effect.map(TestClock.adjust(state.addsMs), () => {
        done.push(`add ${turn}`)
        has.add(turn)
        return true
      }),
    has: ({ turnId }) => has.has(turnId)
  }
  const dependencies = (): Parts => {
    const given: Partial<Parts> = {
      started: Effect.void,
      find: (id) =>
        Effect.map(store.conversation(id), (found) => (found._tag === "Some" ? found.value : assert.fail())),
      store: { ...store, noteDeath: () => Effect.sync(() => void done.push("a death")) },
      log,
      interruptions,
      receivers: [],
      sessions: new Sessions(),
      queue: queue as Parts["queue"],
      tenancy: { predecessor: state.predecessor },
      gates: Gates.noop,
      providers: { names: state.providers } as Parts["providers"],
      life: "life 2",
      isStopping: () => state.isStopping,
      doubtful: new Set()
    }
    return given as Parts
  }
  const accepted = (n: number, of: number) => Logged.accept(NumberedData.turn(n, of))
  /** The turn's process dies `deaths` times. */
  const died = (n: number, deaths: number) =>
    interruptions.takeUp(turnId(n), { ...Interruption.none("life 1"), deaths: deaths - 1 })
  for (let of = 1; of <= 12; of++) yield* store.createConversation(NumberedData.conversation(of))
  return { dependencies, done, state, accepted, died }
})

const logged = (test: It.Body<[lines: Array<string>], Effect.Services<typeof given>>) => {
  const { layer, lines } = It.logged()
  return Effect.gen(() => test(lines)).pipe(Effect.provide(MemoryStore.layer), Effect.provide(layer))
}

describe("a prompt", () => {
  it.effect("rule C1: behind a turn that another process has accepted since runs after it", () =>
    logged(function* () {
      const { accepted, dependencies, done } = yield* given
      yield* accepted(1, 1)
      yield* Acceptance.prompt(dependencies(), NumberedData.conversationId(1), { prompt: "Hi", turnId: turnId(2) })
      assert.deepStrictEqual(done, ["add turn-1", "add turn-2"])
    })
  )
})

describe("a turn that is brought into memory", () => {
  it.effect("rule X3: its watchers get what another process has written of it", () =>
    logged(function* () {
      const { accepted, dependencies, done } = yield* given
      yield* accepted(1, 1)
      const parts = dependencies()
      const conversationId = NumberedData.conversationId(1)
      const watcher = parts.sessions.wake(conversationId).hub.subscribe()
      yield* Logged.events(turnId(1), [NumberedData.message(1, 1, 1), NumberedData.usage(1, 1, 1)], 0)
      assert.deepStrictEqual([yield* Acceptance.recover(parts, conversationId), done], [true, ["add turn-1"]])
      const stored = yield* parts.store.turnEvents(turnId(1))
      assert.isNotEmpty(stored)
      const idsOf = (of: ReadonlyArray<{ readonly id: number | undefined }>) => of.map(({ id }) => id)
      assert.deepStrictEqual(idsOf(watcher.take()), idsOf(stored))
    })
  )
})

describe("turns that an earlier process has left", () => {
  it.effect("are logged with the process that died", () =>
    logged(function* (lines) {
      const { accepted, dependencies, done, state } = yield* given
      yield* accepted(1, 1)
      yield* Logged.append(turnId(1), 0, [GivenRecords.failed(0, 1_000), GivenRecords.retry(0, 5_000, 6_000)])
      state.predecessor = "process 7 on mill"
      yield* Orchestrator.takeUp(dependencies(), Condition.make())
      const taken =
        "Info Took up 1 unfinished turn(s) in 0 ms, from process 7 on mill, which died; 1 of them waits for its time."
      assert.deepStrictEqual([lines, done[0]], [[taken], "a death"])
      // A turn of a provider that was removed would fail in the night.
      state.providers = ["other"]
      yield* Orchestrator.takeUp(dependencies(), Condition.make())
      assert.deepStrictEqual(lines, [
        taken,
        'Warn 1 turn waits for provider "simulated", which the configuration does not have: calls to it fail. ' +
          "Configure it again and restart, or: holdfast switch --model simulated --to PROVIDER/MODEL",
        taken
      ])
    })
  )

  it.effect("rule X1: are parked at their times, those that are past one after the other, and progress is logged", () =>
    logged(function* (lines) {
      const { accepted, dependencies, done, state } = yield* given
      for (const [n, retryAt] of [6_000, 5_000, 70_000].entries()) {
        yield* accepted(n + 1, n + 1)
        yield* Logged.append(turnId(n + 1), 0, [GivenRecords.failed(0, 1_000), GivenRecords.retry(0, 5_000, retryAt)])
      }
      for (const n of [4, 5, 6]) yield* accepted(n, n)
      yield* TestClock.adjust(60_000)
      state.addsMs = 1_500
      yield* Orchestrator.takeUp(dependencies(), Condition.make())
      const parked = ["park turn-1 until 60010", "park turn-2 until 60000", "park turn-3 until 65000"]
      assert.deepStrictEqual(done, [...parked, "add turn-4", "add turn-5", "add turn-6"])
      assert.deepStrictEqual(lines, [
        "Info Taking up unfinished turns: 2 s so far, 4 of 6 taken up.",
        "Info Taking up unfinished turns: done after 4.5 s.",
        "Info Took up 6 unfinished turn(s) in 4500 ms, from the last process; 3 of them wait for their time."
      ])
    })
  )

  it.effect.each([
    [11, ""],
    [12, " …"]
  ] as const)(
    "rule X14: come last if they were in progress at three deaths in a row, and ten of them are named",
    ([left, more]) =>
      logged(function* (lines) {
        const { accepted, dependencies, died, done } = yield* given
        for (let n = 1; n <= left; n++) {
          yield* accepted(n, n)
          yield* died(n, n === 5 ? 2 : 3)
        }
        yield* accepted(13, 1)
        yield* Orchestrator.takeUp(dependencies(), Condition.make())
        // The turns behind a suspect in its conversation wait too.
        const suspects = [1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 12].filter((n) => n <= left)
        assert.deepStrictEqual(done, ["add turn-5", ...[...suspects, 13].map((n) => `add turn-${n}`)])
        const names = (all: ReadonlyArray<number>) => all.map((n) => `turn-${n}`).join(", ")
        assert.deepStrictEqual(lines.slice(0, -1), [
          `Warn ${left - 1} turn(s) were in progress at 3 deaths of their process in a row. They are ` +
            `taken up after the others, one at a time: ${names(suspects.slice(0, 10))}${more}`
        ])
      })
  )
})
