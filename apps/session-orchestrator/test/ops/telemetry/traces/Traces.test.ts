import { assert, describe } from "@effect/vitest"
import type { Observer } from "@holdfast/kernel"
import { Effect, Logger, Redacted } from "effect"
import { HttpClient, HttpClientError, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import * as Traces from "../../../../src/ops/telemetry/traces/Traces.ts"
import * as Observations from "../Observations.ts"
import * as Receivers from "../Receivers.ts"
import * as It from "../../../It.ts"

type Answer = number | "refused" | "hangs"

/** Adds a span every 70 s, for a collector with these answers, the last one repeated. */
const traced = Effect.fnUntraced(function* (spans: number, answers: ReadonlyArray<Answer>) {
  let posts = 0
  const client = HttpClient.make((request) =>
    Effect.suspend(() => {
      const answer = answers[Math.min(posts++, answers.length - 1)] ?? 200
      if (answer === "hangs") return Effect.never
      return answer === "refused"
        ? Effect.fail(
            new HttpClientError.HttpClientError({
              reason: new HttpClientError.TransportError({ request, cause: new Error("connect ECONNREFUSED ::1:4318") })
            })
          )
        : Effect.succeed(HttpClientResponse.fromWeb(request, new Response("", { status: answer })))
    })
  )
  const traces = yield* Traces.make({
    url: "http://collector.test/v1/traces",
    headers: { "x-key": Redacted.make("planted") },
    version: "0",
    addressOf: () => undefined,
    redact: (text) => text
  }).pipe(Effect.provideService(HttpClient.HttpClient, client))
  for (let n = 0; n < spans; n++) {
    traces.attempt?.(Observations.attempt())
    yield* TestClock.adjust("70 seconds")
  }
}, Effect.scoped)

/** The log lines so far. */
const log = (spans: number, ...answers: ReadonlyArray<Answer>) => {
  const lines: Array<string> = []
  const logger = Logger.make(({ logLevel, message }) => lines.push(`${logLevel} ${String(message)}`))
  return Effect.map(Effect.provide(traced(spans, answers), Logger.layer([logger])), () => lines)
}

describe("a collector", () => {
  It.effect(
    "that refuses is logged once, with its address and the cause, and once more when it accepts spans again",
    function* () {
      // While the exporter pauses it takes no spans: not every span is posted.
      assert.deepStrictEqual(yield* log(9, 401, 401, 401, 200), [
        "Warn Traces are lost: http://collector.test/v1/traces has not taken them (HTTP 401). Turns go on.",
        "Info Traces are taken again by http://collector.test/v1/traces."
      ])
    }
  )
})

describe("a span", () => {
  /** The spans of observations, as a collector reads them, and how long after the observations they arrived. */
  const exported = Effect.fnUntraced(function* (
    tell: (traces: Observer.Listeners) => void,
    redact: (text: string) => string = (text) => text
  ) {
    const bodies: Array<Buffer> = []
    const client = HttpClient.make((request) =>
      Effect.sync(() => {
        if (request.body._tag === "Uint8Array") bodies.push(Buffer.from(request.body.body))
        return HttpClientResponse.fromWeb(request, new Response("", { status: 200 }))
      })
    )
    const traces = yield* Traces.make({
      url: "http://collector.test/v1/traces",
      headers: {},
      version: "0",
      addressOf: () => undefined,
      redact
    }).pipe(Effect.provideService(HttpClient.HttpClient, client))
    tell(traces)
    yield* TestClock.adjust("1999 millis")
    assert.lengthOf(bodies, 0)
    yield* TestClock.adjust("1 milli")
    return Receivers.spansOf(bodies.map((body) => ({ body })))
  }, Effect.scoped)

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
      (text) => text.replaceAll("secret", "***")
    )
    assert.deepStrictEqual(
      spans.flatMap(({ attributes }) => attributes["gen_ai.tool.name"] ?? []),
      ["x".repeat(256), `${"x".repeat(256)}…`, "***"]
    )
  })
})
