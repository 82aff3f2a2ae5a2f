/** Tests what the service remembers of targets over a restart, and settings of a conversation that name targets. */
import { TemporaryFile } from "@holdfast/journal/testing"
import { assert, describe } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import type { Profile } from "@holdfast/policy"
import { Effect } from "effect"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Service from "./Service.ts"
import * as It from "../It.ts"

type Running = Effect.Success<ReturnType<typeof Service.start>>

const chain: Profile.RetrySettings = {
  ...Service.QUICK,
  routing: { type: "fallback-chain", chains: { default: ["second/m"] } }
}

const turn = Effect.fnUntraced(function* (service: Running, id: string) {
  const { status } = yield* service.call({ path: `/v1/conversations/${id}/turns`, body: { prompt: "Hello" } })
  assert.strictEqual(status, 200)
})

/** Where each request went. */
const paths = (service: Running) => service.provider.requests().map(({ path }) => path.split("/")[1])

describe("a service whose target fails", () => {
  It.live("rule P8, P9: remembers over a restart that a target cools down, in all conversations", function* () {
    const database = yield* TemporaryFile.temporaryFile
    const provider = yield* ScriptedServer.start()
    const options = { database, provider, providers: ["scripted", "second"], retry: chain }
    const first = yield* Service.start(options)
    provider.respond(ProcessSetup.overloaded, ProcessSetup.answer("One"))
    yield* turn(first, yield* first.create())
    yield* first.stop
    const second = yield* Service.start(options)
    provider.respond(ProcessSetup.answer("Two"))
    yield* turn(second, yield* second.create())
    assert.deepStrictEqual(paths(second), ["scripted", "second", "second"])
  })
})

describe("retry settings of a conversation", () => {
  It.live("name existing providers, or no conversation is created", function* () {
    const service = yield* Service.start()
    const refused = (retry: object) =>
      Effect.map(service.call({ path: "/v1/conversations", body: { retry } }), ({ status, text }) => {
        assert.strictEqual(status, 400)
        return text
      })
    assert.include(
      yield* refused({ routing: { type: "fallback-chain", chains: { default: ["nobody/m"] } } }),
      "retry.routing.chains.default[0]"
    )
    assert.include(yield* refused({ finalReport: { schema: { type: "objekt" } } }), "retry.finalReport.schema")
  })
})
