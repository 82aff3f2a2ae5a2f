import { assert, describe } from "@effect/vitest"
import type { Observer } from "@holdfast/kernel"
import { Effect } from "effect"
import { HttpClient, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import * as Traces from "../../../../src/ops/telemetry/traces/Traces.ts"
import * as Observations from "../Observations.ts"
import * as Receivers from "../Receivers.ts"
import * as It from "../../../It.ts"

/** The spans of observations, as a collector with these answers reads them, two seconds after the first. */
const exported = Effect.fnUntraced(function* (
  tell: (traces: Observer.Listeners) => void,
  { redact = String, status = 200 }: { readonly redact?: (text: string) => string; readonly status?: number } = {}
) {
  const bodies: Array<Buffer> = []
  const client = HttpClient.make((request) =>
    Effect.sync(() => {
      if (request.body._tag === "Uint8Array") bodies.push(Buffer.from(request.body.body))
      return HttpClientResponse.fromWeb(request, new Response("", { status }))
    })
  )
  const to = { url: "http://collector.test/v1/traces", headers: {}, version: "0", addressOf: () => undefined }
  const traces = yield* Effect.provideService(Traces.make({ ...to, redact }), HttpClient.HttpClient, client)
  tell(traces)
  yield* TestClock.adjust("1999 millis")
  assert.lengthOf(bodies, 0)
  yield* TestClock.adjust("1 milli")
  return Receivers.spansOf(bodies.map((body) => ({ body })))
}, Effect.scoped)

describe("a collector", () => {
  It.effect("that refuses is logged, with its address and the cause (CollectorWarnings.test has when)", function* () {
    const { layer, lines } = It.logged()
    const tell = (traces: Observer.Listeners) => traces.attempt?.(Observations.attempt())
    yield* Effect.provide(exported(tell, { status: 401 }), layer)
    assert.deepStrictEqual(lines, [
      "Warn Traces are lost: http://collector.test/v1/traces has not taken them (HTTP 401). Turns go on."
    ])
  })
})

describe("a span", () => {
  It.effect("rule A16: of an attempt is a client's, has dropped nothing, and has its times and its end", function* () {
    const [failed, completed] = yield* exported((traces) => {
      traces.attempt?.(Observations.attempt())
      traces.attempt?.(Observations.attempt({ outcome: Observations.completed }))
    })
    // SpanKind 3: client. Status codes 2: error, 0: unset.
    assert.deepStrictEqual([failed?.kind, failed?.status, failed?.ms, failed?.dropped], [3, 2, 500, 0])
    assert.deepStrictEqual([completed?.kind, completed?.status, completed?.ms, completed?.dropped], [3, 0, 1_500, 0])
  })

  It.effect("rule A16: of work in the service itself is internal", function* () {
    const spans = yield* exported((traces) => traces.wait?.(Observations.wait()))
    assert.deepStrictEqual(
      spans.map(({ dropped, kind, status }) => [kind, status, dropped]),
      spans.map(() => [1, 0, 0])
    )
    assert.isNotEmpty(spans)
  })

  It.effect("has text from outside redacted, and cut to 256 characters", function* () {
    const named = (toolName: string) => ({
      call: { type: "tool-call" as const, toolCallId: "call-1", toolName, input: {} }
    })
    const spans = yield* exported(
      (traces) => {
        for (const length of [256, 257]) traces.tool?.(Observations.tool(named("x".repeat(length))))
        traces.tool?.(Observations.tool(named("secret")))
      },
      { redact: (text) => text.replaceAll("secret", "***") }
    )
    const names = spans.flatMap(({ attributes }) => attributes["gen_ai.tool.name"] ?? [])
    assert.deepStrictEqual(names, ["x".repeat(256), `${"x".repeat(256)}…`, "***"])
  })
})
