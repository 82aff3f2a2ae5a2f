import { expect, it } from "@effect/vitest"
import { Effect } from "effect"
import * as TestServer from "./TestServer.ts"

it.effect("the service is ready while its storage answers and it is not going down", () =>
  Effect.gen(function* () {
    const { call, conversations, drain } = yield* TestServer.start()
    expect((yield* call({ path: "/readyz" })).status).toBe(200)
    conversations.broken.storage = true
    expect((yield* call({ path: "/readyz" })).status).toBe(503)
    conversations.broken.storage = false
    yield* drain.begin
    expect((yield* call({ path: "/readyz" })).status).toBe(503)
    // The process is still up.
    expect((yield* call({ path: "/healthz" })).status).toBe(200)
  })
)

it.effect("metrics are Prometheus text, and count requests by method and status", () =>
  Effect.gen(function* () {
    const { call } = yield* TestServer.start()
    yield* call({ path: "/nowhere" })
    const { headers, text } = yield* call({ path: "/metrics" })
    expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8")
    expect(text).toMatch(/^holdfast_http_requests_total\{method="GET",status="404"\} [1-9]\d*$/m)
    expect(text).toMatch(/^holdfast_http_requests_open 1$/m)
  })
)

it.effect("metrics count turns by what they are doing, and say nothing while that cannot be known", () =>
  Effect.gen(function* () {
    const { call, conversations, create, open } = yield* TestServer.start()
    const path = `/v1/conversations/${yield* create}/turns`
    yield* open({ path, headers: { accept: "application/x-ndjson" }, body: { prompt: "hello" } })
    const { text } = yield* call({ path: "/metrics" })
    expect(text).toContain('holdfast_turns{status="running"} 1')
    expect(text).toContain('holdfast_turns{status="retrying"} 0')
    conversations.broken.storage = true
    expect((yield* call({ path: "/metrics" })).text).not.toContain("holdfast_turns{")
  })
)

it.effect("the API describes itself", () =>
  Effect.gen(function* () {
    const { call } = yield* TestServer.start()
    const { text } = yield* call({ path: "/openapi.json" })
    const document = JSON.parse(text)
    expect(document.openapi).toBe("3.1.0")
    expect(Object.keys(document.paths)).toContain("/v1/conversations/{conversationId}/turns")
  })
)

it.effect("the page of the API uses nothing but itself", () =>
  Effect.gen(function* () {
    const { call, port } = yield* TestServer.start()
    const { headers, text } = yield* call({ path: "/docs" })
    expect(headers["content-type"]).toMatch(/^text\/html/)
    expect(headers["content-security-policy"]).toMatch(/^default-src 'none'; style-src 'sha256-/)
    expect(headers["x-content-type-options"]).toBe("nosniff")
    expect(headers["referrer-policy"]).toBe("no-referrer")
    expect(text).not.toMatch(/<script|<link|src=|@import|url\(/)
    expect(text).toContain(`http://127.0.0.1:${port}/v1/conversations`)
  })
)
