/** Where a turn keeps the whole body of a failed response. */
import { assert, describe, it } from "@effect/vitest"
import { ReplayCheckpoint, Scenario, ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Failure } from "@holdfast/wire"
import { Effect } from "effect"

const { answer, badGateway, emits, emitsBody, overloaded } = ScriptedProvider

describe("the whole body of a failed response", () => {
  it.effect("rule D5: is in the record of its attempt, once a step if it repeats, and in no event", () =>
    Effect.gen(function* () {
      const replay = new ReplayCheckpoint.ReplayCheckpoint()
      const thrown = new Failure.ProviderFailure({ failure: badGateway, body: "<b>maintenance</b>" })
      const scripts = [
        emits(overloaded),
        emitsBody(overloaded, "<b>maintenance</b>"),
        emitsBody(overloaded, "<b>maintenance</b>"),
        emits(overloaded),
        { reads: [], end: Effect.fail(thrown) },
        emitsBody(overloaded, "<b>back at six</b>"),
        answer("ok")
      ]
      const strategy = new TestStrategy.TestStrategy({ delays: scripts.map(() => 1_000) })
      const run = yield* Scenario.replayed({ scripts, strategy, replay })
      const end = yield* Scenario.settle(run)
      assert.strictEqual(end.status, "completed")
      const bodies = scripts.map((_, n) => {
        const record = replay.records.get(`step/0/attempt/${n}`)
        return typeof record === "object" && record !== null
          ? Reflect.get(record, "body")
          : assert.fail(`no attempt ${n}`)
      })
      assert.deepStrictEqual(bodies, [
        undefined,
        "<b>maintenance</b>",
        true,
        undefined,
        true,
        "<b>back at six</b>",
        undefined
      ])
      assert.notInclude(JSON.stringify(run.sink.events), "<b>")
    })
  )

  it.effect("rule D5: is not in the seal of a turn that fails with it", () =>
    Effect.gen(function* () {
      const run = yield* Scenario.replayed({ scripts: [emitsBody(overloaded, "<b>maintenance</b>")] })
      const end = yield* Scenario.settle(run)
      assert.deepStrictEqual(end.error, overloaded)
      assert.notInclude(JSON.stringify(run.sink.events), "<b>")
    })
  )
})
