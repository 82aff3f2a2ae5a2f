/** Tests a prompt with an image over HTTP: through a wait on disk alone, a restart, and to the provider. */
import { assert, describe } from "@effect/vitest"
import { TemporaryFile } from "@holdfast/journal/testing"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect } from "effect"
import { freePort } from "../FreePort.ts"
import * as PostgresServer from "../storage/PostgresServer.ts"
import * as Process from "./Process.ts"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Service from "./Service.ts"
import * as It from "../It.ts"

const image = { type: "file", mediaType: "image/png", data: Buffer.alloc(90_000, 7).toString("base64") }
const prompt = [{ type: "text", text: "What is it?" }, image]

describe("an image in a prompt", () => {
  It.live("rule X1: reaches the provider after a wait and a restart, and is nowhere but in its message", function* () {
    const database = yield* TemporaryFile.temporaryFile
    const provider = yield* ScriptedServer.start()
    const bodies: Array<string> = []
    let isAway = true
    provider.fallback((request) => {
      bodies.push(JSON.stringify(request.body))
      return isAway ? ProcessSetup.overloaded : ProcessSetup.answer("A chart.")
    })
    const start = Service.start({ provider, database, retry: Service.LONG })
    const first = yield* start
    const id = yield* first.create()
    const path = `/v1/conversations/${id}`
    const live = yield* first.open(ProcessSetup.request(id, "one", prompt))
    yield* live.until("provider-retry")
    const listed = JSON.parse((yield* first.call({ path: "/v1/turns" })).text)
    assert.strictEqual(listed.turns[0].prompt, "What is it?\n[image image/png 90 kB]")
    for (const read of ["/v1/turns/one", `${path}/turns/one/explain`, "/v1/turns"])
      assert.notInclude((yield* first.call({ path: read })).text, image.data.slice(0, 40))
    yield* first.stop
    isAway = false
    const second = yield* start
    assert.strictEqual((yield* second.call({ path: `${path}/retry-now`, body: {} })).status, 202)
    const events = yield* second.call({ path: "/v1/turns/one/events", headers: { accept: "application/x-ndjson" } })
    const having = Service.eventsOf(events.text).filter((event) => JSON.stringify(event).includes(image.data))
    const typesOfFiles = having.map(({ type }) => type)
    assert.deepStrictEqual([typesOfFiles, bodies.length], [["message"], 2])
    for (const body of bodies) assert.include(body, `data:image/png;base64,${image.data}`)
    const messages = JSON.parse((yield* second.call({ path: `${path}/messages` })).text)
    assert.deepStrictEqual(messages.messages[0].content, prompt)
  })

  It.live("that the model does not take fails the turn before the call", function* () {
    const service = yield* Service.start({ models: { "scripted/m": { files: false } } })
    const id = yield* service.create()
    const answer = yield* service.call({ path: `/v1/conversations/${id}/turns`, body: { prompt } })
    const { error, status } = JSON.parse(answer.text)
    assert.deepStrictEqual([status, error.reason, error.code], ["failed", "bad-request", "unsupported-file"])
    assert.include(error.message, "scripted/m cannot take part 2 of the prompt, [image image/png 90 kB]")
    assert.strictEqual(service.provider.requests.length, 0)
  })
})

describe("an image of the model", () => {
  It.live("is an event, then in its message, and goes back to the model after a restart", function* () {
    const database = yield* TemporaryFile.temporaryFile
    const provider = yield* ScriptedServer.start()
    const bodies: Array<string> = []
    const url = `data:image/png;base64,${image.data}`
    const images = [{ type: "image_url", image_url: { url } }]
    const drawn = { choices: [{ index: 0, delta: { images }, finish_reason: null }] }
    provider.fallback((request) => {
      const { frames } = ProcessSetup.answer("Here.")
      bodies.push(JSON.stringify(request.body))
      return { frames: bodies.length === 1 ? [`data: ${JSON.stringify(drawn)}\n\n`, ...frames] : frames }
    })
    const start = Service.start({ provider, database })
    const first = yield* start
    const id = yield* first.create()
    const turns = { path: `/v1/conversations/${id}/turns`, headers: { accept: "application/x-ndjson" } }
    const answered = yield* first.call({ ...turns, body: { prompt: "Draw", turnId: "one" } })
    const having = Service.eventsOf(answered.text).filter((event) => JSON.stringify(event).includes(image.data))
    assert.strictEqual(having.map(({ type }) => type).join(), "file,message")
    const state = yield* first.call({ path: "/v1/turns/one" })
    assert.deepStrictEqual(JSON.parse(state.text).files, [{ mediaType: "image/png", sizeBytes: 90_000 }])
    assert.notInclude(state.text, image.data.slice(0, 40))
    yield* first.stop
    const second = yield* start
    yield* second.call({ ...turns, body: { prompt: "Bluer" } })
    const [, { messages }] = bodies.map((body) => JSON.parse(JSON.parse(body)))
    assert.strictEqual(messages.map(({ role }: { readonly role: string }) => role).join(), "user,assistant,user,user")
    assert.include(JSON.stringify(messages[2]), url)
  })
})

describe("files of runners that share a PostgreSQL", () => {
  It.live("rule X6: go through every runner, over a wait and the end of one of them", function* () {
    const postgres = yield* PostgresServer.start
    const url = yield* postgres.withTables
    const provider = yield* ScriptedServer.start()
    const drawnUrl = `data:image/png;base64,${image.data.replaceAll("B", "D")}`
    const drawn = {
      choices: [{ index: 0, delta: { images: [{ image_url: { url: drawnUrl } }] }, finish_reason: null }]
    }
    const sent: Array<string> = []
    let isAway = true
    provider.fallback((request) => {
      sent.push(JSON.stringify(request.body))
      const { frames } = ProcessSetup.answer("Here.")
      if (isAway) return ProcessSetup.overloaded
      return { frames: sent.at(-1)?.includes("Again") ? frames : [`data: ${JSON.stringify(drawn)}\n\n`, ...frames] }
    })
    const start = Effect.flatMap(freePort, (runnerPort) =>
      Service.start({ provider, postgres: { url, runnerPort }, retry: Service.LONG })
    )
    type Runner = Effect.Success<typeof start>
    /** Ownership may move while a runner starts or ends, so each call is made until it is answered. */
    const until = (runner: Runner, request: Parameters<Runner["call"]>[0], expected: string) =>
      Process.eventually(
        `${request.path} to have ${expected}`,
        Effect.map(runner.call(request), ({ text }) => text),
        (text) => text.includes(expected)
      )
    const submit = (runner: Runner, turnId: string, prompt: unknown) =>
      until(runner, { path: `${path}/turns`, headers: { prefer: "respond-async" }, body: { prompt, turnId } }, turnId)

    const [one, two] = [yield* start, yield* start]
    const path = `/v1/conversations/${yield* one.create()}`
    yield* submit(one, "first", prompt)
    for (const runner of [one, two]) yield* until(runner, { path: "/v1/turns/first" }, '"waiting"')
    isAway = false
    const retry = two.call({ path: `${path}/retry-now`, body: {} })
    yield* Process.eventually("the retry", retry, ({ status }) => status === 202)
    for (const runner of [one, two]) {
      const state = JSON.parse(yield* until(runner, { path: "/v1/turns/first" }, '"completed"'))
      assert.deepStrictEqual([state.text, state.files], ["Here.", [{ mediaType: "image/png", sizeBytes: 90_000 }]])
      const { messages } = JSON.parse((yield* runner.call({ path: `${path}/messages` })).text)
      assert.deepStrictEqual(messages[0].content, prompt)
      assert.include(JSON.stringify(messages[1].content), drawnUrl.slice(22))
    }
    const ask = Effect.fnUntraced(function* (runner: Runner, turnId: string) {
      yield* submit(runner, turnId, `Again: ${turnId}`)
      yield* until(runner, { path: `/v1/turns/${turnId}` }, '"completed"')
      const last = sent.findLast((body) => body.includes(`Again: ${turnId}`)) ?? ""
      for (const data of [image.data, drawnUrl]) assert.include(last, data)
    })
    yield* ask(two, "second")
    yield* two.stop
    yield* ask(one, "third")
  })
})
