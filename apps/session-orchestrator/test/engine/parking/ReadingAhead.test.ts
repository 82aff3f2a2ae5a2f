/** Tests a parked turn in memory ahead of its time: to clients it still waits. */
import { assert, it } from "@effect/vitest"
import { Timer } from "@holdfast/journal"
import { Records } from "@holdfast/kernel"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import { Clock, Effect, Layer } from "effect"
import { TestClock } from "effect/testing"
import { full } from "../gate/GateStates.ts"
import { type Gatekeeper, HOLD_STEP_MS } from "../../../src/engine/gate/Gatekeeper.ts"
import * as Gates from "../../../src/engine/gate/Gates.ts"
import { NEAR_MS } from "../../../src/engine/parking/Parking.ts"
import { type Options, waits, watching, withService } from "../conversation/ConversationSetup.ts"

const { answer, emits, overloaded } = ScriptedProvider

const turnId = Ids.TurnId.make("turn")
const MINUTE = 60_000

/** Lets all work run that is possible without the clock. */
const settle = TestClock.adjust(0).pipe(Effect.repeat({ times: 40 }))

type Test = Parameters<typeof withService>[1]
type Service = Parameters<Test>[0]

/** A turn in the last seconds of its wait of a minute, so that it has been read; and the number of reads. */
const nearly = (
  test: (given: Service & { readonly id: Ids.ConversationId; readonly reads: () => number }) => ReturnType<Test>,
  options: Partial<Options> = {}
) => {
  let reads = 0
  return withService(
    {
      scripts: [emits(overloaded), answer("At last"), answer("And again")],
      retry: waits(60),
      store: (real) => ({
        resumption: (turnId) =>
          Effect.andThen(
            Effect.sync(() => reads++),
            real.resumption(turnId)
          )
      }),
      ...options
    },
    (service) =>
      Effect.gen(function* () {
        const id = yield* service.conversations.create({})
        yield* service.conversations.prompt(id, { prompt: "Hi", turnId })
        yield* Effect.repeat(service.conversations.counts, { until: ({ retrying }) => retrying === 1 })
        yield* TestClock.adjust(MINUTE - NEAR_MS - 1)
        yield* settle
        reads = 0
        yield* TestClock.adjust(1)
        yield* settle
        yield* test({ ...service, id, reads: () => reads })
      })
  )
}

it.effect("Waking.U2: a turn is read before its time, and only continues at its time", () =>
  nearly(
    Effect.fnUntraced(function* ({ conversations, log, provider, reads }) {
      assert.strictEqual(reads(), 1)
      const before = yield* log.load(turnId)
      yield* TestClock.adjust(NEAR_MS - 1)
      yield* settle
      assert.strictEqual(provider.requests.length, 1)
      // Nothing is recorded of it.
      assert.deepStrictEqual(yield* log.load(turnId), before)
      yield* TestClock.adjust(1)
      const { end, text } = yield* conversations.result(turnId)
      assert.deepInclude(end, { status: "completed", attempts: 2, endedAt: MINUTE })
      assert.deepStrictEqual([text, reads()], ["At last", 1])
      const wakes = (yield* log.load(turnId)).flatMap((record) => Records.valueOf("Wake", record) ?? [])
      assert.deepStrictEqual(wakes, [{ type: "elapsed", at: MINUTE }])
    })
  )
)

it.effect("Waking.U3: a turn that cannot be read ahead continues at its time, and no failure is reported", () => {
  let isBroken = false
  return nearly(
    Effect.fnUntraced(function* ({ conversations, id }) {
      const { seen } = yield* watching(conversations.watch(id, 0))
      assert.isTrue(isBroken)
      assert.deepInclude(yield* conversations.state(id), { status: "retrying", retryAt: MINUTE })
      yield* TestClock.adjust(NEAR_MS)
      assert.strictEqual((yield* conversations.result(turnId)).end.endedAt, MINUTE)
      yield* settle
      assert.strictEqual(seen.at(-1)?.event.type, "turn-end")
    }),
    {
      store: (real) => ({
        resumption: (turnId) =>
          Effect.flatMap(Clock.currentTimeMillis, (now) => {
            isBroken = now === MINUTE - NEAR_MS
            return isBroken ? Effect.die(new Error("boom")) : real.resumption(turnId)
          })
      })
    }
  )
})

/** The same before a gate; by default it knows nothing against its endpoint. */
const gated = (
  test: (given: Parameters<Parameters<typeof nearly>[0]>[0] & { readonly gatekeeper: Gatekeeper }) => ReturnType<Test>,
  // The failure concerns one response, and not the endpoint.
  scripts: Options["scripts"] = [
    emits({ reason: "invalid-response", message: "No JSON", retryable: true }),
    answer("At last")
  ]
) =>
  Effect.gen(function* () {
    const gates = yield* Gates.Gates
    const gatekeeper = gates.of({ target: { provider: "test", model: "m" } }) ?? assert.fail("there is no gate")
    yield* nearly((given) => test({ ...given, gatekeeper }), { gates, scripts })
  }).pipe(
    Effect.provide(
      Gates.layer(() => ({ baseUrl: "http://test", credential: undefined })).pipe(Layer.provide(Timer.layer))
    )
  )

it.effect("X5, Waking.U3: a turn that its gate holds leaves memory again, and comes back when it is admitted", () =>
  gated(
    Effect.fnUntraced(function* ({ conversations, gatekeeper, id, log, provider, reads }) {
      assert.strictEqual(reads(), 1)
      const { seen } = yield* watching(conversations.watch(id, 0))
      // The endpoint answers another turn, and has no room for one more.
      const [other] = full(gatekeeper, 1)
      yield* TestClock.adjust(NEAR_MS)
      yield* settle
      const held = MINUTE + HOLD_STEP_MS
      assert.deepInclude(yield* conversations.state(id), { status: "retrying", retryAt: held })
      assert.deepStrictEqual([provider.requests.length, reads()], [1, 1])
      other?.ended()
      const { end } = yield* conversations.result(turnId)
      assert.strictEqual(end.status, "completed")
      assert.strictEqual(reads(), 2)
      const waits = seen.flatMap(({ event }) => (event.type === "provider-retry" ? [event.retryAt] : []))
      assert.deepStrictEqual(waits, [MINUTE, held])
      const wakes = (yield* log.load(turnId)).flatMap((record) => Records.valueOf("Wake", record) ?? [])
      assert.strictEqual(wakes.length, 1)
      assert.isTrue(gatekeeper.isIdle)
    })
  )
)
