/** Work that is left: turns that are submitted, watched and ended by their ids, on the whole service (X15). */
import { assert, describe } from "@effect/vitest"
import { Effect, Redacted } from "effect"
import { createHmac } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as LocalTime from "../../src/base/text/LocalTime.ts"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as Receivers from "../ops/telemetry/Receivers.ts"
import * as Service from "./Service.ts"
import * as It from "../It.ts"

type Running = Effect.Success<ReturnType<typeof Service.start>>

const submit = (service: Running, body: object) =>
  Effect.map(service.call({ path: "/v1/turns", body }), ({ headers, status, text }) => ({
    status,
    location: headers.location,
    body: JSON.parse(text)
  }))

const status = (service: Running, turnId: string) =>
  Effect.map(service.call({ path: `/v1/turns/${turnId}` }), ({ text }): string => JSON.parse(text).status)

const until = (service: Running, turnId: string, wanted: string) =>
  Process.eventually(`turn ${turnId} to be ${wanted}`, status(service, turnId), (found) => found === wanted)

describe("POST /v1/turns", () => {
  It.live("rule X15: opens a conversation; the same prompt again adds nothing, another is refused", function* () {
    const service = yield* Service.start()
    service.provider.respond(ProcessSetup.answer("Here"), ProcessSetup.answer("There"))
    const body = { prompt: "Hello", turnId: "one", system: "Be brief.", retry: { budget: "1 hour", enabled: true } }
    const first = yield* submit(service, body)
    assert.deepStrictEqual(first, {
      status: 202,
      location: "/v1/turns/one",
      body: { turnId: "one", conversationId: "one", isNew: true }
    })
    yield* until(service, "one", "completed")
    // The order of keys is no difference.
    const again = yield* submit(service, { ...body, retry: { enabled: true, budget: "1 hour" } })
    assert.deepStrictEqual(again, { ...first, body: { ...first.body, isNew: false } })
    for (const other of [{ prompt: "Bye" }, { system: "Be long." }, { retry: {} }, { model: "scripted/n" }]) {
      const { body: problem, status } = yield* submit(service, { ...body, ...other })
      assert.deepStrictEqual([status, problem.type], [409, "/docs#problem-turn-conflict"])
    }
    assert.strictEqual(service.provider.count(), 1)

    const unnamed = yield* submit(service, { prompt: "Hello" })
    assert.strictEqual(unnamed.location, `/v1/turns/${unnamed.body.turnId}`)
    assert.notStrictEqual(unnamed.body.conversationId, unnamed.body.turnId)
    yield* until(service, unnamed.body.turnId, "completed")
  })

  It.live("rule X15: a submission that broke off behind its conversation is completed by the same call", function* () {
    const service = yield* Service.start()
    service.provider.respond(ProcessSetup.answer("Here"), ProcessSetup.answer("There"))
    // What a first call leaves whose process ends between its two writes.
    const { conversationId } = (yield* submit(service, { prompt: "Hello", turnId: "one" })).body
    yield* until(service, "one", "completed")
    assert.strictEqual((yield* service.call(ProcessSetup.submission(conversationId, "two"))).status, 202)
    // A conversation of that name with other turns is none that a submission left.
    yield* until(service, "two", "completed")
    const settings = yield* submit(service, { prompt: "Hello", turnId: "three", retry: { budget: "soon" } })
    assert.deepStrictEqual([settings.status, settings.body.type], [400, "/docs#problem-invalid-request"])
    assert.strictEqual((yield* service.call({ path: "/v1/turns/three" })).status, 404)
  })
})

describe("a turn by its id", () => {
  It.live("rule X15: is watched from its first event, as often as a client likes, and ended alone", function* () {
    const service = yield* Service.start({ retry: Service.LONG })
    service.provider.respond(ProcessSetup.overloaded, ProcessSetup.answer("There"))
    yield* submit(service, { prompt: "Hello", turnId: "one" })
    yield* until(service, "one", "waiting")
    for (const turn of ["two", "three"]) yield* service.call(ProcessSetup.submission("one", turn))
    const abort = (turnId: string) => service.call({ path: `/v1/turns/${turnId}/abort`, body: {} })
    const queued = yield* service.call({ path: "/v1/turns/two" })
    assert.deepInclude(JSON.parse(queued.text), { status: "queued", prompt: "two" })
    // Queued behind another one, which goes on.
    assert.deepStrictEqual([(yield* abort("two")).status, yield* status(service, "two")], [202, "aborted"])
    assert.strictEqual(yield* status(service, "one"), "waiting")
    assert.include((yield* service.call({ path: "/v1/conversations/one/turns/two/explain" })).text, "aborted")
    assert.deepStrictEqual([(yield* abort("one")).status, yield* status(service, "one")], [202, "aborted"])
    // Ended before: there is nothing to do, and the next turn is another one.
    assert.strictEqual((yield* abort("one")).status, 202)
    yield* until(service, "three", "completed")
    assert.strictEqual((yield* abort("none")).status, 404)

    const events = yield* service.call({ path: "/v1/turns/one/events" })
    assert.strictEqual(events.headers["content-type"], "application/x-ndjson")
    const types = Service.eventsOf(events.text).map(({ type }) => type)
    assert.deepStrictEqual([types[0], types.at(-1)], ["turn-start", "turn-end"])
    const sse = yield* service.call({ path: "/v1/turns/one/events", headers: { accept: "text/event-stream" } })
    assert.match(sse.text, /^id: 1\ndata: /)
    assert.strictEqual((yield* service.call({ path: "/v1/turns/none/events" })).status, 404)
  })
})

describe("lists", () => {
  It.live("rule X15: turns are listed by status, model and time, in pages; what makes no sense is 400", function* () {
    const service = yield* Service.start({ retry: Service.LONG })
    ProcessSetup.script(service.provider, {
      "Why?": [ProcessSetup.answer("Because.")],
      "How?": [{ status: 400, body: "No." }],
      "When?": [ProcessSetup.overloaded]
    })
    for (const [turnId, prompt, wanted] of [
      ["one", "Why?", "completed"],
      ["two", "How?", "failed"],
      ["three", "When?", "waiting"]
    ] as const) {
      yield* submit(service, { prompt, turnId })
      yield* until(service, turnId, wanted)
    }
    yield* service.call(ProcessSetup.submission("three", "four"))
    const list = (query: string) =>
      Effect.map(service.call({ path: `/v1/turns${query}` }), ({ text }) => JSON.parse(text))
    const ids = (query: string) =>
      Effect.map(list(query), ({ turns }) => turns.map(({ turnId }: { readonly turnId: string }) => turnId))

    assert.deepStrictEqual(yield* ids(""), ["four", "three", "two", "one"])
    assert.deepStrictEqual(yield* ids("?status=failed&model=scripted"), ["two"])
    assert.deepStrictEqual(yield* ids("?status=waiting&model=scripted/m"), ["three"])
    assert.deepStrictEqual([yield* ids("?status=queued"), yield* ids("?model=other")], [["four"], []])
    assert.deepStrictEqual(yield* ids("?status=completed&since=2100-01-01T00:00:00Z"), [])
    const { turns } = yield* list("?status=failed")
    assert.deepInclude(turns[0], { status: "failed", prompt: "How?", model: "scripted/m", attempts: 1 })
    assert.strictEqual(turns[0].error.code, "400")

    const first = yield* list("?limit=3")
    const second = yield* list(`?limit=3&cursor=${first.next}`)
    assert.deepStrictEqual([first.turns.length, second.turns.length, second.next], [3, 1, undefined])
    for (const query of [
      "?cursor=garbage",
      `?cursor=${first.next}&status=failed`,
      "?limit=0",
      "?limit=1e9",
      "?limit=x",
      "?since=yesterday",
      "?status=gone"
    ]) {
      const { status, text } = yield* service.call({ path: `/v1/turns${query}` })
      assert.deepStrictEqual([query, status, JSON.parse(text).type], [query, 400, "/docs#problem-invalid-request"])
    }
    const conversations = JSON.parse((yield* service.call({ path: "/v1/conversations?limit=1" })).text)
    assert.deepInclude(conversations.conversations[0], { conversationId: "three", lastTurnId: "four", isBusy: true })
    assert.isString(conversations.next)
  })
})

describe("labels", () => {
  It.live("rule X15: metadata and tags come back with turn and conversation; lists find them", function* () {
    const service = yield* Service.start()
    service.provider.fallback(() => ProcessSetup.answer("Here."))
    const labels = { tags: ["nightly", "team/ops"], metadata: { ticket: "OPS-1", deep: [{ n: 1 }] } }
    yield* submit(service, { prompt: "Why?", turnId: "one", ...labels })
    yield* submit(service, { prompt: "How?", turnId: "two", tags: ["other"] })
    yield* service.call({
      ...ProcessSetup.submission("two", "three"),
      body: { prompt: "a", turnId: "three", tags: ["nightly"] }
    })
    for (const turnId of ["one", "two", "three"]) yield* until(service, turnId, "completed")
    const read = (path: string) => Effect.map(service.call({ path }), ({ text }) => JSON.parse(text))
    assert.deepInclude(yield* read("/v1/turns/one"), labels)
    const { turns } = yield* read("/v1/turns?tag=nightly&status=completed")
    assert.deepStrictEqual(
      turns.flatMap(({ tags, turnId }: { readonly tags: unknown; readonly turnId: string }) => [turnId, tags]),
      ["three", ["nightly"], "one", labels.tags]
    )
    const report = yield* read("/v1/report?since=0")
    assert.deepInclude(report, { since: 0, timeZone: LocalTime.here(), line: "3 answered, 0 failed" })
    assert.deepStrictEqual(
      report.tags.flatMap(({ name, turns }: { readonly name: string; readonly turns: number }) => [name, turns]),
      ["nightly", 2, "other", 1, "team/ops", 1]
    )
    assert.strictEqual((yield* service.call({ path: "/v1/report?since=yesterday" })).status, 400)
    const { conversations } = yield* read("/v1/conversations?tag=team/ops")
    assert.strictEqual(conversations.length, 1)
    assert.deepInclude(conversations[0], { conversationId: "one", ...labels })
    // The same work again, with other labels, is the same turn, which keeps its own.
    assert.strictEqual((yield* submit(service, { prompt: "Why?", turnId: "one", tags: ["late"] })).body.isNew, false)
    assert.deepInclude(yield* read("/v1/turns/one"), labels)
  })

  It.live("rule X15: a megabyte of metadata is refused, and no label becomes one of a metric", function* () {
    const service = yield* Service.start()
    service.provider.fallback(() => ProcessSetup.answer("Here."))
    const sent = (length: number) => submit(service, { prompt: "a", metadata: { text: "x".repeat(length) } })
    const large = yield* sent(1024 * 1024)
    assert.deepStrictEqual([large.status, large.body.errors[0].path], [400, "metadata"])
    const long = yield* sent(20_000)
    assert.deepStrictEqual([long.status, long.body.errors[0].path], [400, "metadata"])
    assert.match(long.body.errors[0].message, /found 20011 characters as JSON; expected 16384 at most/)
    yield* submit(service, { prompt: "a", turnId: "one", tags: ["planted-tag"], metadata: { planted: "metadata" } })
    yield* until(service, "one", "completed")
    assert.notMatch((yield* service.call({ path: "/metrics" })).text, /planted/)
  })
})

describe("DELETE /v1/conversations/:id", () => {
  It.live("rule X15: ends the turns of a conversation, and no byte of it is left in the file or its log", function* () {
    const directory = yield* Process.directory
    const database = path.join(directory, "holdfast.db")
    const service = yield* Service.start({ retry: Service.LONG, database })
    service.provider.respond(ProcessSetup.answer("planted-answer"), ProcessSetup.overloaded)
    const labels = { tags: ["planted-tag"], metadata: { planted: "planted-metadata" } }
    yield* submit(service, { prompt: "planted-prompt", turnId: "planted-one", system: "planted-system", ...labels })
    yield* until(service, "planted-one", "completed")
    yield* service.call(ProcessSetup.submission("planted-one", "planted-two"))
    yield* until(service, "planted-two", "waiting")
    yield* service.call(ProcessSetup.submission("planted-one", "planted-three"))
    const bytes = () =>
      ["", "-wal"]
        .map((end) => `${database}${end}`)
        .filter((file) => fs.existsSync(file))
        .map((file) => fs.readFileSync(file, "latin1"))
        .join("")
    assert.include(bytes(), "planted-prompt")
    const remove = service.call({ method: "DELETE", path: "/v1/conversations/planted-one" })
    const watcher = yield* service.open({ path: "/v1/conversations/planted-one/events" })
    yield* watcher.until("planted-two")
    assert.strictEqual((yield* remove).status, 204)
    // Its watchers get the ends of its turns, the reason, and the end of their stream.
    const [, last = ""] = (yield* watcher.rest).split("event: reconnect\n")
    assert.include(last, '"code":"conversation-deleted"')
    assert.include(last, "There is no conversation planted-one.")
    assert.notInclude(bytes(), "planted")
    for (const path of ["/v1/conversations/planted-one", "/v1/turns/planted-two"])
      assert.strictEqual((yield* service.call({ path })).status, 404)
    const again = yield* remove
    assert.deepStrictEqual([again.status, JSON.parse(again.text).type], [404, "/docs#problem-conversation-not-found"])
    assert.strictEqual(service.provider.count(), 2)
  })
})

describe("the end of a turn", () => {
  It.live("rule X15: is delivered, signed, in its conversation's order; a private address is refused", function* () {
    const receiver = yield* Receivers.receiver()
    const secret = "planted-webhook-secret"
    const service = yield* Service.start({
      webhooks: { secret: Redacted.make(secret), turnEnd: Redacted.make(`${receiver.url}/path`) }
    })
    service.provider.fallback(() => ProcessSetup.answer("Here."))
    yield* submit(service, { prompt: "Why?", turnId: "one", tags: ["nightly"] })
    yield* service.call(ProcessSetup.submission("one", "two"))
    yield* Receivers.sent(receiver, 2)
    const sent = receiver.requests.map(({ body, headers }) => ({ headers, text: body.toString() }))
    const bodies = sent.map(({ text }) => JSON.parse(text))
    const ends = bodies.flatMap(({ data, type }) => [type, data.turnId])
    assert.deepStrictEqual(ends, ["turn.completed", "one", "turn.completed", "two"])
    assert.deepInclude(bodies[0].data, { status: "completed", text: "Here.", tags: ["nightly"] })
    const [first] = sent
    const { "webhook-id": id, "webhook-signature": signature, "webhook-timestamp": time } = first?.headers ?? {}
    const hmac = createHmac("sha256", secret).update(`${String(id)}.${String(time)}.${first?.text}`)
    assert.strictEqual(signature, `v1,${hmac.digest("base64")}`)

    const refused = yield* submit(service, { prompt: "a", webhook: "http://169.254.169.254/latest" })
    assert.deepStrictEqual([refused.status, refused.body.type], [400, "/docs#problem-invalid-request"])
    assert.include(refused.body.detail, "private")
  })
})
