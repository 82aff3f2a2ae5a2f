/** Tests the report on endpoints and configuration of the whole service, over HTTP and on the command line. */
import { assert, describe } from "@effect/vitest"
import { EffectiveConfiguration, Health } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import * as CommandLine from "../cli/CommandLine.ts"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Service from "./Service.ts"
import * as It from "../It.ts"

const OVERLOADED = { status: 529, body: JSON.stringify({ error: { message: "Overloaded" } }) }

const decodeHealth = Schema.decodeUnknownSync(Schema.fromJsonString(Health.Health))
const decodeConfiguration = Schema.decodeUnknownSync(
  Schema.fromJsonString(EffectiveConfiguration.EffectiveConfiguration)
)

describe("health", () => {
  It.live("the report shows an endpoint that fails, its gate, open after one refusal (X5), and the call", function* () {
    const service = yield* Service.start({ retry: Service.LONG, credentials: ["SECOND_KEY"] })
    service.provider.respond(OVERLOADED)
    const read = Effect.map(service.call({ path: "/v1/health" }), ({ text }) => decodeHealth(text))
    const standings = (yield* read).endpoints.flatMap(({ credential, state, target }) => [target, credential, state])
    assert.deepStrictEqual(standings, ["scripted/m", "SCRIPTED_API_KEY", "idle", "scripted/m", "SECOND_KEY", "idle"])
    const id = yield* service.create()
    const turn = yield* service.open(ProcessSetup.request(id, "one"))
    yield* turn.until("provider-retry")
    const { endpoints } = yield* read
    assert.deepInclude(endpoints[0], { target: "scripted/m", credential: "SCRIPTED_API_KEY", state: "failing" })
    assert.deepInclude(endpoints[0]?.gate, { phase: "open", waiting: 1, held: 0 })
    assert.deepInclude(endpoints[0]?.lastHour, { calls: 1, failed: 1 })
    assert.deepInclude(endpoints[0]?.lastFailure, { reason: "overloaded", code: "529", message: "Overloaded" })
    assert.deepInclude(endpoints[1], { state: "idle" })
    const { code, stdout } = yield* CommandLine.run(["health", "--url", `http://127.0.0.1:${service.port}`])
    assert.strictEqual(code, 0)
    assert.match(
      stdout,
      /^FAILING {5}scripted\/m, SCRIPTED_API_KEY\n {2}gate {4}open\. Every turn may call\. 1 turn waits for a time of its own/
    )
    assert.match(stdout, /\nIDLE {8}scripted\/m, SECOND_KEY\n/)
  })

  It.live("the configuration has each key with its source, and no key of a provider", function* () {
    const service = yield* Service.start()
    const { text } = yield* service.call({ path: "/v1/configuration" })
    const budget = { key: "retry.budget", value: "8 h", source: { from: "profile", name: "overnight" } } as const
    assert.deepInclude(decodeConfiguration(text).entries, budget)
    assert.include(text, "SCRIPTED_API_KEY=[redacted]")
    assert.notInclude(text, "sk-test-")
  })
})
