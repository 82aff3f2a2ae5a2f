import { assert, describe, it } from "@effect/vitest"
import { Effect, Exit, Fiber } from "effect"
import * as ScriptedServer from "../testing/ScriptedServer.ts"

const { ErrorBody } = ScriptedServer

/** The response that a client gets; `broken` where the connection broke. */
const ask = (url: string, path = "/v1/messages") =>
  Effect.promise(async () => {
    let text = ""
    try {
      const response = await fetch(url + path, { method: "POST", body: "{}", headers: { "x-api-key": "k" } })
      const decoder = new TextDecoder()
      const { headers, status } = response
      try {
        for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true })
        return { status, headers, text, broken: false }
      } catch {
        return { status, headers, text, broken: true }
      }
    } catch {
      return { status: undefined, headers: undefined, text, broken: true }
    }
  })

describe("ScriptedServer", () => {
  it.effect("responses are sent in the order given, to any client", () =>
    Effect.gen(function* () {
      const server = yield* ScriptedServer.start()
      server.respond(
        { status: 429, headers: { "retry-after": "7" }, body: ErrorBody.envelope("overloaded", "anthropic") },
        { status: 502, headers: { "content-type": "text/html" }, body: ErrorBody.page(502) }
      )
      server.respond({ frames: ScriptedServer.answerFrames("openai", "Hello there") })
      const first = yield* ask(server.url)
      assert.strictEqual(first.status, 429)
      assert.strictEqual(first.headers?.get("retry-after"), "7")
      assert.strictEqual(first.text, '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')
      assert.deepInclude(yield* ask(server.url, "/elsewhere"), { status: 502, text: ErrorBody.page(502) })
      assert.strictEqual(server.left(), 1)
      const answer = yield* ask(server.url)
      assert.isTrue(answer.text.endsWith("data: [DONE]\n\n"))
      assert.deepStrictEqual([server.count(), server.count("/elsewhere")], [3, 1])
    })
  )

  it.effect("rule C9: a surplus request gets an error with that reason, and is counted", () =>
    Effect.gen(function* () {
      const server = yield* ScriptedServer.start()
      const refused = yield* ask(server.url)
      assert.strictEqual(refused.status, 400)
      assert.include(refused.text, "No response is scripted for request 1, POST /v1/messages.")
      assert.strictEqual(server.count(), 1)
      server.fallback({ status: 503 })
      assert.deepInclude(yield* ask(server.url), { status: 503, text: "" })
      server.fallback(({ path }) => ({ status: 500, body: path }))
      assert.deepInclude(yield* ask(server.url, "/v1/other"), { status: 500, text: "/v1/other" })
    })
  )

  it.effect("requests are kept with their headers and bodies", () =>
    Effect.gen(function* () {
      const server = yield* ScriptedServer.start()
      yield* ask(server.url, "/v1/messages?beta=true")
      const [request] = server.requests()
      assert.deepInclude(request, { method: "POST", path: "/v1/messages", body: "{}" })
      assert.strictEqual(request?.headers["x-api-key"], "k")
      assert.include(request?.headerNames ?? [], "x-api-key")
    })
  )

  it.effect("frames are sent verbatim, and a cut after them loses none", () =>
    Effect.gen(function* () {
      const server = yield* ScriptedServer.start()
      const frames = ['data: {"a":1}\n\n', 'data: {"ha', "never"]
      for (const cutAfter of [0, 1, 2]) {
        server.respond({ frames, cutAfter })
        const { broken, text } = yield* ask(server.url)
        assert.deepStrictEqual({ broken, text }, { broken: true, text: frames.slice(0, cutAfter).join("") })
      }
      server.respond("reset")
      assert.deepInclude(yield* ask(server.url), { status: undefined, broken: true })
    })
  )

  it.effect("a stream waits at a gate until it is opened", () =>
    Effect.gen(function* () {
      const server = yield* ScriptedServer.start()
      const gate = ScriptedServer.gate()
      server.respond({ frames: ["data: 1\n\n", gate, "data: 2\n\n"] })
      const asking = yield* Effect.forkChild(ask(server.url))
      yield* gate.reached
      assert.isUndefined(asking.pollUnsafe())
      yield* gate.open
      assert.strictEqual((yield* Fiber.join(asking)).text, "data: 1\n\ndata: 2\n\n")
    })
  )

  it.effect("a response is held until its gate is opened, and others are not", () =>
    Effect.gen(function* () {
      const server = yield* ScriptedServer.start()
      const hold = ScriptedServer.gate()
      server.respond({ status: 500, body: "held", hold }, { status: 200, body: "free" })
      const held = yield* Effect.forkChild(ask(server.url))
      yield* hold.reached
      assert.strictEqual((yield* ask(server.url)).text, "free")
      yield* hold.open
      assert.deepInclude(yield* Fiber.join(held), { status: 500, text: "held" })
    })
  )

  it.effect("silence lasts until the client disconnects or the server stops", () =>
    Effect.gen(function* () {
      const asking = yield* Effect.scoped(
        Effect.gen(function* () {
          const server = yield* ScriptedServer.start()
          server.respond("never", { frames: ["data: 1\n\n", "never"], stallAfter: 1 })
          const asking = [yield* Effect.forkDetach(ask(server.url)), yield* Effect.forkDetach(ask(server.url))]
          yield* server.received(2)
          return asking
        })
      )
      for (const fiber of asking) assert.isTrue((yield* Fiber.join(fiber)).broken)
    })
  )

  it("recordings become their original frames", () => {
    assert.deepStrictEqual(ScriptedServer.openAiFrames(['{"id":1}']), ['data: {"id":1}\n\n', "data: [DONE]\n\n"])
    assert.deepStrictEqual(ScriptedServer.anthropicFrames(['{"type":"ping"}', '{"type":"message_stop"}']), [
      'event: ping\ndata: {"type":"ping"}\n\n',
      'event: message_stop\ndata: {"type":"message_stop"}\n\n'
    ])
  })

  it("the frames of common responses are available", () => {
    assert.strictEqual(ScriptedServer.answerFrames("anthropic", "Hello there").length, 4)
    assert.include(ScriptedServer.toolCallFrames("openai", "look_up", { query: "tide" }).join(""), '"name":"look_up"')
    assert.strictEqual(
      ScriptedServer.errorFrame("anthropic", "overloaded"),
      'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
    )
  })

  it.effect("a wait for a number of requests ends when they have arrived", () =>
    Effect.gen(function* () {
      const server = yield* ScriptedServer.start()
      const waiting = yield* Effect.forkChild(server.received(2))
      yield* ask(server.url)
      assert.isUndefined(waiting.pollUnsafe())
      yield* ask(server.url)
      assert.isTrue(Exit.isSuccess(yield* Fiber.await(waiting)))
    })
  )
})
