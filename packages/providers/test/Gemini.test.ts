import { describe, expect, it } from "@effect/vitest"
import { Effect, Layer, Redacted, Stream } from "effect"
import * as Gemini from "../src/Gemini.ts"
import { Http } from "../src/http/Http.ts"
import { KEY, request } from "./harness/Dialect.ts"

/** The addresses and headers of the endpoints that calls of these models prepare. */
const prepared = (baseUrl: string, ...models: ReadonlyArray<string>) => {
  const endpoints: Array<{ readonly url: string; readonly headers: Readonly<Record<string, string>> }> = []
  const http = Layer.succeed(Http, {
    endpoint: (url, headers) => {
      endpoints.push({ url, headers })
      return () => {
        throw new Error("nothing is called")
      }
    }
  })
  return Effect.gen(function* () {
    const provider = yield* Gemini.make({ baseUrl, apiKey: Redacted.make(KEY) })
    for (const model of models) {
      yield* Effect.exit(Stream.runDrain(provider.stream({ ...request, target: { provider: "p", model } })))
    }
    return endpoints
  }).pipe(Effect.provide(http))
}

describe("Gemini", () => {
  it.effect("the address has the version, unless it has one already, and keeps its query", () =>
    Effect.gen(function* () {
      const vertex = "https://aiplatform.googleapis.com/v1/projects/p/locations/global/publishers/google"
      for (const [baseUrl, url] of [
        ["https://g.test", "https://g.test/v1beta/models/m:streamGenerateContent?alt=sse"],
        ["https://g.test/", "https://g.test/v1beta/models/m:streamGenerateContent?alt=sse"],
        ["https://g.test/v1beta/", "https://g.test/v1beta/models/m:streamGenerateContent?alt=sse"],
        ["https://g.test/v1?x=1", "https://g.test/v1/models/m:streamGenerateContent?x=1&alt=sse"],
        [vertex, `${vertex}/models/m:streamGenerateContent?alt=sse`]
      ] as const) {
        expect((yield* prepared(baseUrl, "m")).map(({ url }) => url)).toEqual([url])
      }
    })
  )

  it.effect("each model has one endpoint, and the key is in its header", () =>
    Effect.gen(function* () {
      const endpoints = yield* prepared("https://g.test", "a", "models/b c", "a")
      expect(endpoints.map(({ url }) => new URL(url).pathname)).toEqual([
        "/v1beta/models/a:streamGenerateContent",
        "/v1beta/models/b%20c:streamGenerateContent"
      ])
      expect(endpoints[0]?.headers["x-goog-api-key"]).toBe(KEY)
    })
  )
})
