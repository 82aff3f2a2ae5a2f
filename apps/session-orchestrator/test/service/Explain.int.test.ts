/** Tests explanations over HTTP, of turns that the whole service has run. */
import { assert, describe } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { TurnExplanation } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import { readFileSync } from "node:fs"
import { join } from "node:path"
import * as Process from "./Process.ts"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Service from "./Service.ts"
import * as It from "../It.ts"

const { ErrorBody, answerFrames } = ScriptedServer

const overloaded = {
  status: 529,
  headers: { "request-id": "req_011", "set-cookie": "session=planted" },
  body: ErrorBody.envelope("overloaded", "anthropic")
}

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(TurnExplanation.TurnExplanation))

const pathOf = (id: string, turnId: string) => `/v1/conversations/${id}/turns/${turnId}/explain`

type Running = Effect.Success<ReturnType<typeof Service.start>>

const explain = (service: Running, id: string, turnId: string) =>
  Effect.map(service.call({ path: pathOf(id, turnId) }), ({ status, text }) => {
    assert.strictEqual(status, 200, text)
    return decode(text)
  })

const prompt = (service: Running, id: string, turnId: string) =>
  service.call({ path: `/v1/conversations/${id}/turns`, body: { prompt: "Hello", turnId } })

describe("GET /v1/conversations/:id/turns/:turnId/explain", () => {
  It.live("rule X9: contains no key that the provider quoted, in its error or in its response's head", function* () {
    const apiKey = "planted-0123456789-key"
    const service = yield* Service.start({ apiKey })
    service.provider.respond({
      status: 401,
      headers: { "x-request-id": `req-${apiKey}` },
      body: JSON.stringify({ error: { message: `Incorrect API key provided: ${apiKey}`, code: "invalid_api_key" } })
    })
    const id = yield* service.create()
    yield* prompt(service, id, "t1")
    const json = yield* service.call({ path: pathOf(id, "t1") })
    const words = yield* service.call({ path: pathOf(id, "t1"), headers: { accept: "text/plain" } })
    assert.include(words.text, "Incorrect API key provided: ")
    assert.include(words.text, "x-request-id: req-")
    assert.notInclude(json.text + words.text, "planted")
  })

  It.live("rule D5: alone has the endpoint's whole response, without keys", function* () {
    const apiKey = "planted-0123456789-key"
    const directory = yield* Process.directory
    const log = join(directory, "retries.jsonl")
    const database = join(directory, "holdfast.db")
    const service = yield* Service.start({
      apiKey,
      database,
      telemetry: { retryLog: { path: log, maxBytes: 1_000_000, keep: 1 } }
    })
    const note = `the upstream is being drained for ${apiKey}`
    const more = { message: "Provider returned error", code: 502, details: { region: "eu-1", note } }
    const page = `<html><title>Bad Gateway</title>${"<p>draining the upstream</p>".repeat(1_000)}</html>`
    service.provider.respond(
      { status: 502, body: JSON.stringify({ error: more }) },
      { status: 502, body: JSON.stringify({ error: more }) },
      { frames: [`data: ${JSON.stringify({ error: { ...more, details: { note: "draining the pool" } } })}\n\n`] },
      { status: 502, body: page },
      overloaded,
      { frames: answerFrames("openai", "Here") }
    )
    const id = yield* service.create()
    const live = yield* service.call(ProcessSetup.request(id, "t1"))
    const { seal, steps } = yield* explain(service, id, "t1")
    assert.strictEqual(seal?.status, "completed")
    const attempts = steps[0]?.attempts ?? []
    const concealed = JSON.stringify({ error: more }).replace(apiKey, "[redacted]")
    assert.deepStrictEqual(
      attempts.map(({ body, failure }) => [failure?.message, body?.slice(0, 200)]),
      [
        ["Provider returned error", concealed],
        ["Provider returned error", concealed],
        ["Provider returned error", JSON.stringify({ error: { ...more, details: { note: "draining the pool" } } })],
        ["Bad Gateway (HTTP 502, an HTML page)", page.slice(0, 200)],
        ["Overloaded", undefined],
        [undefined, undefined]
      ]
    )
    assert.strictEqual(attempts[3]?.body?.length, 8_192)
    const words = yield* service.call({ path: pathOf(id, "t1"), headers: { accept: "text/plain" } })
    assert.include(words.text.replaceAll(/\s+/g, " "), `It answered in full: ${concealed}`)

    const others = yield* Effect.all([
      service.call({ path: `/v1/conversations/${id}` }),
      service.call({ path: `/v1/conversations/${id}/messages` }),
      service.call({ path: "/metrics" })
    ])
    yield* service.stop
    const lines = readFileSync(log, "utf8")
    const elsewhere = [live, ...others].map(({ text }) => text).join("") + lines
    assert.include(elsewhere, "Provider returned error")
    assert.notMatch(elsewhere, /drain/)
    const disk = readFileSync(database, "latin1")
    assert.include(disk, "draining the pool")
    assert.notInclude(elsewhere + words.text + JSON.stringify(steps) + disk, "planted")
  })
})
