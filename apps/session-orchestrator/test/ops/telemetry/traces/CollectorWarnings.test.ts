import { assert, describe } from "@effect/vitest"
import { Cause, Effect, Exit, Fiber } from "effect"
import { HttpClient, HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import { TestClock } from "effect/testing"
import * as Traces from "../../../../src/ops/telemetry/traces/Traces.ts"
import * as It from "../../../It.ts"

/** Tests the log lines about a collector's answers. */
const collector = () => {
  const { layer, lines } = It.logged()
  let answer: number | "hangs" | Error = 200
  const client = HttpClient.make((request) =>
    Effect.suspend(() => {
      if (answer === "hangs") return Effect.never
      if (typeof answer === "number") {
        return Effect.succeed(HttpClientResponse.fromWeb(request, new Response("", { status: answer })))
      }
      const reason = new HttpClientError.TransportError({ request, cause: answer })
      return Effect.fail(new HttpClientError.HttpClientError({ reason }))
    })
  )
  const watched = Traces.watched(client, "http://collector")
  /** The log lines after this answer, repeated so often. */
  const answers = (next: typeof answer, times = 1) =>
    Effect.gen(function* () {
      answer = next
      for (let n = 0; n < times; n++) {
        const call = yield* Effect.forkChild(Effect.exit(watched.execute(HttpClientRequest.post("http://collector"))))
        yield* TestClock.adjust("10 seconds")
        const exit = yield* Fiber.join(call)
        assert.strictEqual(Exit.isSuccess(exit), typeof next === "number")
        if (next === "hangs" && Exit.isFailure(exit)) assert.isTrue(Cause.hasDies(exit.cause))
      }
      return lines.splice(0)
    }).pipe(Effect.provide(layer))
  return { answers }
}

const lost = (why: string) => [`Warn Traces are lost: http://collector has not taken them (${why}). Turns go on.`]
const AGAIN = ["Info Traces are taken again by http://collector."]

describe("a collector", () => {
  It.effect("is reported at its fourth transient failure in a row, once, and again when it is back", function* () {
    const { answers } = collector()
    assert.deepStrictEqual(yield* answers(503, 3), [])
    assert.deepStrictEqual(yield* answers(200), [])
    assert.deepStrictEqual(yield* answers(503, 3), [])
    assert.deepStrictEqual(yield* answers(503), lost("HTTP 503"))
    assert.deepStrictEqual(yield* answers(503, 9), [])
    assert.deepStrictEqual(yield* answers(201), AGAIN)
    assert.deepStrictEqual(yield* answers(200), [])
    assert.deepStrictEqual(yield* answers(new Error("connect ECONNREFUSED"), 3), [])
    assert.deepStrictEqual(yield* answers(new Error("connect ECONNREFUSED")), lost("connect ECONNREFUSED"))
    assert.deepStrictEqual(yield* answers(200), AGAIN)
    assert.deepStrictEqual(yield* answers(new Error(""), 4), lost("Transport error (POST http://collector)"))
  })

  It.effect("is reported at once if it refuses, or does not answer within ten seconds", function* () {
    for (const status of [300, 401]) {
      const { answers } = collector()
      assert.deepStrictEqual(yield* answers(status), lost(`HTTP ${status}`))
      assert.deepStrictEqual(yield* answers(299), AGAIN)
    }
    assert.deepStrictEqual(yield* collector().answers("hangs"), lost("no answer within 10s"))
  })
})
