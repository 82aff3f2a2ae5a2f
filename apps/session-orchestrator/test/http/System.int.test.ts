import { expect } from "@effect/vitest"
import { Effect } from "effect"
import * as TestServer from "./TestServer.ts"
import * as It from "../It.ts"

It.effect("the service is ready while its storage answers, its start is done and it does not shut down", function* () {
  const { call, condition, conversations, drain } = yield* TestServer.start()
  const ready = Effect.map(call({ path: "/readyz" }), ({ headers, status, text }) => ({
    status,
    retryAfter: headers["retry-after"],
    ...JSON.parse(text)
  }))
  expect(yield* ready).toEqual({ status: "ok", retryAfter: undefined })

  conversations.broken.storage = true
  const away = { type: "/docs#problem-storage-unavailable", detail: "The disk is full." }
  expect(yield* ready).toMatchObject({ status: 503, ...away, retryAfter: "5" })
  conversations.broken.storage = false

  const detail = "Turns are being taken up."
  yield* condition.setStarting(detail)
  expect(yield* ready).toMatchObject({ status: 503, type: "/docs#problem-starting", detail })
  yield* condition.setStarting(undefined)
  expect((yield* call({ path: "/readyz" })).status).toBe(200)

  yield* drain.begin
  expect(yield* ready).toMatchObject({ status: 503, type: "/docs#problem-shutting-down", retryAfter: "5" })
  // The process is still up.
  conversations.broken.storage = true
  expect((yield* call({ path: "/healthz" })).status).toBe(200)
})

It.effect("metrics are Prometheus text, and count requests by method and status, and turns by status", function* () {
  const { call, create, open } = yield* TestServer.start()
  yield* call({ path: "/nowhere" })
  const path = `/v1/conversations/${yield* create}/turns`
  yield* open({ path, headers: { accept: "application/x-ndjson" }, body: { prompt: "hello" } })
  const { headers, text } = yield* call({ path: "/metrics" })
  expect(headers["content-type"]).toBe("text/plain; version=0.0.4; charset=utf-8")
  expect(text).toMatch(/^holdfast_http_requests_total\{method="GET",status="404"\} [1-9]\d*$/m)
  expect(text).toMatch(/^holdfast_http_requests_open 2$/m)
  expect(text).toContain('holdfast_turns{status="running"} 1')
  expect(text).toContain('holdfast_turns{status="retrying"} 0')
})
