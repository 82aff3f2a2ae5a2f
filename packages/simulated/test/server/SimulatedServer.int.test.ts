import { assert, describe, it } from "@effect/vitest"
import { Clock, Effect, Exit } from "effect"
import { TestClock } from "effect/testing"
import * as Server from "../../src/server/SimulatedServer.ts"

type Json = Readonly<Record<string, unknown>>

const PATHS = { openai: "/v1/chat/completions", anthropic: "/v1/messages" } as const

const bodyOf = (model: string, more: Json = {}): Json => ({
  model,
  stream: true,
  messages: [{ role: "user", content: [{ type: "text", text: "Is anybody there?" }] }],
  ...more
})

const post = (url: string, path: string, body: Json | string, signal?: AbortSignal): Effect.Effect<Response> =>
  Effect.promise(() =>
    fetch(url + path, {
      method: "POST",
      headers: { "content-type": "application/json", authorization: "Bearer sk-planted" },
      body: typeof body === "string" ? body : JSON.stringify(body),
      ...(signal === undefined ? {} : { signal })
    })
  )

/** The text received until the body ends or breaks. */
const readAll = (response: Response): Effect.Effect<{ readonly text: string; readonly broken: boolean }> =>
  Effect.promise(async () => {
    let text = ""
    const decoder = new TextDecoder()
    try {
      for await (const bytes of response.body ?? []) text += decoder.decode(bytes, { stream: true })
      return { text, broken: false }
    } catch {
      return { text, broken: true }
    }
  })

/** The JSON of each frame. */
const framesOf = (text: string): ReadonlyArray<Json> =>
  text
    .split("\n")
    .filter((line) => line.startsWith("data: {"))
    .map((line): Json => JSON.parse(line.slice("data: ".length)))

const streamed = (url: string, path: string, model: string, more: Json = {}) =>
  Effect.gen(function* () {
    const response = yield* post(url, path, bodyOf(model, more))
    const { broken, text } = yield* readAll(response)
    return { response, status: response.status, text, broken, frames: framesOf(text) }
  })

/** Advances the test's clock while sockets are served. */
const timePasses = Effect.forever(
  Effect.andThen(
    TestClock.adjust("1 second"),
    Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
  )
)

describe("Server", () => {
  it.effect("OpenAI's format: two statuses, then a stream that ends with [DONE]", () =>
    Effect.gen(function* () {
      const { count, url } = yield* Server.start()
      const model = "simulated/429;retry-after=7,502,ok+instant"
      const first = yield* streamed(url, PATHS.openai, model)
      assert.strictEqual(first.status, 429)
      assert.strictEqual(first.response.headers.get("retry-after"), "7")
      assert.deepNestedInclude(JSON.parse(first.text), { "error.code": "rate_limit_exceeded" })
      const second = yield* streamed(url, PATHS.openai, model)
      assert.strictEqual(second.status, 502)
      assert.strictEqual(second.response.headers.get("content-type"), "text/html")
      assert.include(second.text, "<h1>502 Bad Gateway</h1>")
      const answer = yield* streamed(url, PATHS.openai, model, { stream_options: { include_usage: true } })
      assert.strictEqual(answer.status, 200)
      assert.isTrue(answer.text.endsWith("data: [DONE]\n\n"))
      assert.deepNestedInclude(answer.frames[0], {
        "choices[0].delta.role": "assistant",
        "choices[0].delta.content": ""
      })
      assert.deepNestedInclude(answer.frames.at(-2), { "choices[0].finish_reason": "stop" })
      assert.deepNestedInclude(answer.frames.at(-1), { choices: [], "usage.prompt_tokens": 3 })
      assert.include(answer.text, "failures")
      assert.strictEqual(count(PATHS.openai), 3)
    })
  )

  it.effect("Anthropic's format: its overloaded body, then message_start to message_stop", () =>
    Effect.gen(function* () {
      const { url } = yield* Server.start()
      const first = yield* streamed(url, PATHS.anthropic, "outage-1+instant+reasoning")
      assert.strictEqual(first.status, 529)
      assert.strictEqual(first.text, '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}')
      const { frames } = yield* streamed(url, PATHS.anthropic, "outage-1+instant+reasoning")
      const block = ["content_block_start", "content_block_delta", "content_block_stop"]
      assert.deepStrictEqual(
        frames.map((frame) => frame["type"]).filter((type, n, all) => type !== all[n - 1]),
        ["message_start", "ping", ...block, ...block, "message_delta", "message_stop"]
      )
      assert.deepNestedInclude(frames.at(-2), { "delta.stop_reason": "end_turn" })
    })
  )

  it.effect("an answered prompt starts its script again; a prompt with a tool's result continues it", () =>
    Effect.gen(function* () {
      const { url } = yield* Server.start()
      const statuses: Array<number> = []
      for (let n = 0; n < 4; n++) statuses.push((yield* streamed(url, PATHS.openai, "outage-1+instant")).status)
      assert.deepStrictEqual(statuses, [529, 200, 529, 200])

      const prompt = { role: "user", content: "What time is it?" }
      const tools = [{ name: "get_time", input_schema: { type: "object" } }]
      const called = yield* streamed(url, PATHS.anthropic, "tool-call,503+instant", { messages: [prompt], tools })
      assert.deepNestedInclude(called.frames[2], { "content_block.type": "tool_use", "content_block.name": "get_time" })
      const messages = [
        prompt,
        { role: "assistant", content: [{ type: "tool_use", id: "t", name: "get_time", input: {} }] },
        { role: "user", content: [{ type: "tool_result", tool_use_id: "t", content: "noon" }] }
      ]
      assert.strictEqual((yield* streamed(url, PATHS.anthropic, "tool-call,503+instant", { messages })).status, 503)
      const last = yield* streamed(url, PATHS.anthropic, "tool-call,503+instant", { messages })
      assert.include(last.text, "answered. ")
    })
  )

  it.effect("connections are cut after content, within a tool call, and before any response", () =>
    Effect.gen(function* () {
      const { url } = yield* Server.start()
      for (const path of Object.values(PATHS)) {
        const cut = yield* streamed(url, path, "cut-after-2+instant")
        assert.isTrue(cut.broken)
        assert.include(cut.text, "Nothing ")
        assert.notInclude(cut.text, "this ")
        const half = yield* streamed(url, path, "half-tool-call+instant")
        assert.isTrue(half.broken)
        assert.include(half.text, "what was never")
        const reset = yield* Effect.exit(
          Effect.tryPromise(() => fetch(url + path, { method: "POST", body: JSON.stringify(bodyOf("reset")) }))
        )
        assert.isTrue(Exit.isFailure(reset))
      }
    })
  )

  it.effect("rule C3: errors, pages and empty bodies are sent inside a 200", () =>
    Effect.gen(function* () {
      const { url } = yield* Server.start()
      const error = yield* streamed(url, PATHS.anthropic, "error-in-stream+instant")
      assert.strictEqual(error.status, 200)
      assert.isTrue(
        error.text.endsWith(
          'event: error\ndata: {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}\n\n'
        )
      )
      const later = yield* streamed(url, PATHS.openai, "error-in-stream-after-1;body=server-error+instant")
      assert.deepNestedInclude(later.frames.at(-1), { "error.type": "server_error" })
      assert.strictEqual(later.frames.length, 3)
      assert.deepInclude(yield* streamed(url, PATHS.openai, "empty"), { status: 200, text: "", broken: false })
      assert.match((yield* streamed(url, PATHS.openai, "html")).text, /^<html>/)
    })
  )

  it.effect("rule C6: the body of an unfinished stream ends properly", () =>
    Effect.gen(function* () {
      const { url } = yield* Server.start()
      const ended = yield* streamed(url, PATHS.openai, "ends-after-2+instant")
      assert.deepInclude(ended, { status: 200, broken: false })
      assert.notInclude(ended.text, "[DONE]")
    })
  )

  it.effect("a stall sends no response, and ends when its client disconnects", () =>
    Effect.gen(function* () {
      const { received, url } = yield* Server.start()
      for (const model of ["stall", "stall-after-1+instant"]) {
        const abort = new AbortController()
        const fetching = fetch(url + PATHS.openai, {
          method: "POST",
          body: JSON.stringify(bodyOf(model)),
          signal: abort.signal
        })
        yield* received(model === "stall" ? 1 : 2)
        abort.abort()
        const exit = yield* Effect.exit(Effect.tryPromise(() => fetching.then((response) => response.text())))
        assert.isTrue(Exit.isFailure(exit))
      }
    })
  )

  it.effect("rule C8: a stream of pings has no other frames", () =>
    Effect.gen(function* () {
      const { url } = yield* Server.start()
      const response = yield* post(url, PATHS.anthropic, bodyOf("stall-with-pings"))
      yield* Effect.forkChild(timePasses)
      const text = yield* Effect.promise(async () => {
        let text = ""
        const decoder = new TextDecoder()
        for await (const bytes of response.body ?? []) {
          text += decoder.decode(bytes, { stream: true })
          if (text.split("event: ping").length > 4) break
        }
        return text
      })
      assert.notInclude(text, "content_block")
    })
  )

  it.effect("tokens are sent at their pace", () =>
    Effect.gen(function* () {
      const { url } = yield* Server.start()
      yield* Effect.forkChild(timePasses)
      const started = yield* Clock.currentTimeMillis
      yield* streamed(url, PATHS.openai, "delay-1m+tokens-4+first-token-5m")
      assert.isAtLeast((yield* Clock.currentTimeMillis) - started, 8 * 60_000)
    })
  )

  it.effect("a client that does not stream gets one answer, in either format", () =>
    Effect.gen(function* () {
      const { url } = yield* Server.start()
      const openai = yield* streamed(url, PATHS.openai, "outage-1+instant+tokens-3", { stream: false })
      assert.strictEqual(openai.status, 529)
      const answer = yield* streamed(url, PATHS.openai, "outage-1+instant+tokens-3", { stream: false })
      assert.deepNestedInclude(JSON.parse(answer.text), {
        object: "chat.completion",
        "choices[0].message.content": "You have just ",
        "choices[0].finish_reason": "stop"
      })
      const call = yield* streamed(url, PATHS.openai, "tool-call;name=f", { stream: false })
      assert.deepNestedInclude(JSON.parse(call.text), {
        "choices[0].message.content": null,
        "choices[0].message.tool_calls[0].function": { name: "f", arguments: "{}" }
      })
      const message = yield* streamed(url, PATHS.anthropic, "reasoning+instant+tokens-2", { stream: false })
      assert.deepNestedInclude(JSON.parse(message.text), {
        type: "message",
        "content[0].type": "thinking",
        "content[1].text": "Nothing failed ",
        stop_reason: "end_turn"
      })
      assert.strictEqual((yield* streamed(url, PATHS.anthropic, "error-in-stream", { stream: false })).status, 529)
    })
  )

  it.effect("an invalid script, an invalid body and an unknown path have different errors", () =>
    Effect.gen(function* () {
      const { url } = yield* Server.start()
      const model = yield* streamed(url, PATHS.openai, "otage-2")
      assert.strictEqual(model.status, 404)
      assert.deepNestedInclude(JSON.parse(model.text), { "error.code": "model_not_found" })
      assert.include(model.text, "Valid parts")
      assert.strictEqual((yield* post(url, PATHS.anthropic, "{not json")).status, 400)
      assert.strictEqual((yield* post(url, PATHS.anthropic, { model: "steady" })).status, 400)
      assert.strictEqual((yield* post(url, "/v1/responses", {})).status, 404)
    })
  )

  it.effect("every model of the list is a script", () =>
    Effect.gen(function* () {
      const { url } = yield* Server.start()
      const list: unknown = yield* Effect.promise(() => fetch(`${url}/v1/models`).then((response) => response.json()))
      assert.deepNestedInclude(list, { object: "list", "data[0].id": "simulated/outage-2" })
    })
  )

  it.effect("rule C9: requests are counted by path and recorded unchanged", () =>
    Effect.gen(function* () {
      const { count, requests, url } = yield* Server.start()
      yield* streamed(url, PATHS.openai, "503x*")
      yield* streamed(url, PATHS.openai, "503x*")
      yield* streamed(url, PATHS.anthropic, "steady+instant")
      assert.deepStrictEqual([count(), count(PATHS.openai), count(PATHS.anthropic)], [3, 2, 1])
      const [first] = requests()
      assert.deepInclude(first, { method: "POST", path: PATHS.openai, body: JSON.stringify(bodyOf("503x*")) })
      assert.include(first?.headerNames ?? [], "authorization")
    })
  )

  it.effect("a port in use is a typed failure", () =>
    Effect.gen(function* () {
      const { port } = yield* Server.start()
      const error = yield* Effect.flip(Server.start({ port }))
      assert.strictEqual(error._tag, "ListenError")
      assert.include(error.message, "EADDRINUSE")
    })
  )

  it.effect("connections are refused after the scope has closed", () =>
    Effect.gen(function* () {
      const url = yield* Effect.scoped(Effect.map(Server.start(), ({ url }) => url))
      const exit = yield* Effect.exit(Effect.tryPromise(() => fetch(`${url}/v1/models`)))
      assert.isTrue(Exit.isFailure(exit))
    })
  )
})
