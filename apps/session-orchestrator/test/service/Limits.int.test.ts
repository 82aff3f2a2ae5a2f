/** Tests the limits of a provider by the requests that it gets. */
import { defined } from "@holdfast/wire"
import { assert, describe, it } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect, Fiber } from "effect"
import * as Configurations from "../config/Configurations.ts"
import * as Service from "./Service.ts"

const TURNS = 10

/** Starts ten turns at once, at a provider that holds each answer until the test releases it. */
const start = Effect.fnUntraced(function* (limits: object | undefined, more: object = {}) {
  const provider = yield* ScriptedServer.start()
  const gates = Array.from({ length: TURNS }, () => ScriptedServer.gate())
  provider.respond(...gates.map((hold) => ({ frames: ScriptedServer.answerFrames("openai", "Yes."), hold })))
  const own = { type: "openai-compatible", baseUrl: `${provider.url}/v1`, ...defined({ limits }) }
  const config = Configurations.config({
    file: { server: { port: 0 }, database: { path: ":memory:" }, providers: { own }, model: "own/m", ...more }
  })
  const service = yield* Service.start({ provider, config })
  const ask = Effect.gen(function* () {
    const id = yield* service.create()
    const { text } = yield* service.call({ path: `/v1/conversations/${id}/turns`, body: { prompt: "Hello" } })
    return JSON.parse(text).status
  })
  const turns = yield* Effect.forkScoped(
    Effect.all(
      Array.from({ length: TURNS }, () => ask),
      { concurrency: TURNS }
    )
  )
  return { provider, gates, service, turns }
})

describe("providers.*.limits", () => {
  it.live.each([true, false])(
    "a server with one place gets one request at a time, and one a turn (gate: %s)",
    (enabled) =>
      Effect.gen(function* () {
        const { gates, provider, turns } = yield* start({ calls: 1 }, { gate: { enabled } })
        for (const [i, gate] of gates.entries()) {
          yield* provider.received(i + 1)
          yield* gate.reached
          assert.strictEqual(provider.count(), i + 1)
          yield* gate.open
        }
        assert.deepStrictEqual(
          yield* Fiber.join(turns),
          Array.from({ length: TURNS }, () => "completed")
        )
        assert.strictEqual(provider.count(), TURNS)
      })
  )

  it.live("the control: without limits all call at once", () =>
    Effect.gen(function* () {
      const { gates, provider, turns } = yield* start(undefined)
      yield* provider.received(TURNS)
      for (const gate of gates) yield* gate.open
      yield* Fiber.join(turns)
    })
  )
})
