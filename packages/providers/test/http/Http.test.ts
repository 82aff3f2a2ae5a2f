import { assert, describe, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import { HttpClient, HttpClientError, type HttpClientRequest, HttpClientResponse } from "effect/http"
import { layerClient } from "../../src/http/Http.ts"
import { openAiCompatible as dialect } from "../harness/Dialect.ts"
import { run } from "../harness/AttemptRun.ts"

const { InvalidUrlError, TransportError } = HttpClientError
type Request = HttpClientRequest.HttpClientRequest

/** What an attempt ends with over a client of `effect/http`. */
const failureOver = (respond: (request: Request) => Effect.Effect<Response, HttpClientError.HttpClientErrorReason>) => {
  const client = HttpClient.make((request) =>
    respond(request).pipe(
      Effect.map((response) => HttpClientResponse.fromWeb(request, response)),
      Effect.mapError((reason) => new HttpClientError.HttpClientError({ reason }))
    )
  )
  const layer = Layer.provide(layerClient, Layer.succeed(HttpClient.HttpClient, client))
  return dialect.make("http://secret-host.test/v1").pipe(
    Effect.flatMap((provider) => run(provider)),
    Effect.map(({ failure }) => failure),
    Effect.provide(layer)
  )
}

const cutBody = (error: Error) =>
  new Response(
    new ReadableStream({
      start: (controller) => controller.enqueue(new TextEncoder().encode("data: {")),
      pull: (controller) => controller.error(error)
    }),
    { headers: { "content-type": "text/event-stream" } }
  )

describe("layerClient", () => {
  it.effect("rule C1: a body that was cut off is a failure of the network, in the words of the runtime", () =>
    Effect.gen(function* () {
      // workerd, Chromium, and an unknown runtime
      for (const error of [
        new Error("Network connection lost."),
        new TypeError("network error"),
        new Error("The wire was cut")
      ]) {
        const failure = yield* failureOver(() => Effect.succeed(cutBody(error)))
        assert.deepStrictEqual(failure, { reason: "network", message: error.message, retryable: true })
      }
    })
  )

  it.effect("rule C1: a connection that failed has the code and the message of the error beneath, and no address", () =>
    Effect.gen(function* () {
      const cause = Object.assign(new Error("connect ECONNREFUSED"), { code: "ECONNREFUSED" })
      const coded = yield* failureOver((request) => Effect.fail(new TransportError({ request, cause })))
      assert.deepStrictEqual(coded, {
        reason: "network",
        message: "connect ECONNREFUSED",
        code: "ECONNREFUSED",
        retryable: true
      })
      for (const [description, message] of [
        ["the upgrade was refused", "the upgrade was refused"],
        [undefined, "The connection failed."]
      ] as const) {
        const failure = yield* failureOver((request) =>
          Effect.fail(new TransportError({ request, ...(description === undefined ? undefined : { description }) }))
        )
        assert.deepStrictEqual(failure, { reason: "network", message, retryable: true })
      }
    })
  )

  it.effect("rule C10: a bug of the client is a defect, and an address that is none is no outage", () =>
    Effect.gen(function* () {
      const bug = yield* failureOver((request) =>
        Effect.fail(new TransportError({ request, cause: new TypeError("x is not a function") }))
      )
      assert.deepInclude(bug, { reason: "unknown", defect: true })
      const address = yield* failureOver((request) => Effect.fail(new InvalidUrlError({ request })))
      assert.deepInclude(address, { reason: "bad-request", retryable: false })
    })
  )

  it.effect("an empty body is an answer without its end", () =>
    Effect.gen(function* () {
      const failure = yield* failureOver(() => Effect.succeed(new Response(null)))
      assert.deepInclude(failure, { reason: "network", retryable: true })
    })
  )
})
