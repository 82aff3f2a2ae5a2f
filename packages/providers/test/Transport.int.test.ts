import { describe, expect, it } from "@effect/vitest"
import type { Provider } from "@holdfast/kernel"
import { ResponseProgress } from "@holdfast/kernel/host"
import { Classification } from "@holdfast/policy"
import { Cause, Effect, Exit, Fiber, type Layer, Redacted, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as Anthropic from "../src/Anthropic.ts"
import * as Fetch from "../src/http/Fetch.ts"
import * as PlainBody from "../src/http/PlainBody.ts"
import type { Http } from "../src/http/Http.ts"
import * as Limits from "../src/limits/Limits.ts"
import * as OpenAiCompatible from "../src/OpenAiCompatible.ts"
import { AWAIT_USAGE_MS } from "../src/transport/HttpAttempt.ts"
import * as Undici from "../src/http/Undici.ts"
import { KEY, openAiCompatible as dialect, request } from "./harness/Dialect.ts"
import { advanceUntilDone, run, signal, text, usage } from "./harness/AttemptRun.ts"
import { cut, type Handler, hang, pieces, serve } from "./harness/Server.ts"

const clients: ReadonlyArray<readonly [string, Layer.Layer<Http>]> = [
  ["undici", Undici.layer],
  ["the runtime's fetch", Fetch.layer]
]

/** A provider that also reports its progress to a test, after `Limits`. */
const told = ({ stream }: Provider.Provider["Service"], listener: () => void): Provider.Provider["Service"] => ({
  stream: (request) =>
    Stream.unwrap(
      Effect.map(ResponseProgress.ResponseProgress, (progressed) =>
        Stream.provideService(stream(request), ResponseProgress.ResponseProgress, () => {
          progressed()
          listener()
        })
      )
    )
})

const misdirected: Handler = (response) => response.writeHead(421).end()

describe.each(clients)("Transport over %s", (name, layer) => {
  it.layer(layer)((it) => {
    it.effect("rule C9: whatever goes wrong, one attempt is one request", () =>
      Effect.gen(function* () {
        const wrongs: ReadonlyArray<Handler> = [
          (response) => response.writeHead(307, { location: "/v1/chat/completions" }).end(),
          // `fetch` has to send again after a 421 (Fetch standard, HTTP-network-or-cache fetch); the service does not use it.
          ...(name.endsWith("fetch") ? [] : [misdirected]),
          (response) => response.writeHead(503, { "retry-after": "0" }).end(),
          (response) => response.socket?.destroy(),
          cut([dialect.delta("Hi")]),
          pieces([dialect.delta("Hi")]),
          pieces([dialect.error])
        ]
        const server = yield* serve((response, request, n) => wrongs[n - 1]?.(response, request, n))
        const provider = yield* dialect.make(server.url)
        for (let n = 1; n <= wrongs.length; n++) {
          const ending = yield* run(provider)
          expect(ending.isSuccess).toBe(false)
          expect(ending.failure ?? ending.emitted).toBeDefined()
          expect(server.received.length).toBe(n)
        }
      })
    )

    it.effect("a refused connection is a network failure with Node's code", () =>
      Effect.gen(function* () {
        const provider = yield* dialect.make("http://127.0.0.1:9")
        const { failure } = yield* run(provider)
        // `fetch` wraps the error of a refused connection, and rejects some ports by itself.
        expect(failure).toMatchObject({ reason: "network", retryable: true })
        if (!name.endsWith("fetch")) expect(failure?.code).toBe("ECONNREFUSED")
      })
    )

    it.effect("rule C6: a response without a body has ended too early, which differs from a broken connection", () =>
      Effect.gen(function* () {
        const server = yield* serve((response, request, n) =>
          n === 1 ? response.writeHead(204).end() : cut([dialect.delta("Hi")])(response, request, n)
        )
        const provider = yield* dialect.make(server.url)
        expect((yield* run(provider)).failure).toEqual(Classification.incomplete())
        const { failure } = yield* run(provider)
        expect(failure).toMatchObject({ reason: "network", retryable: true })
        expect(failure).not.toEqual(Classification.incomplete())
      })
    )

    it.effect("an error whose text never ends is classified by the text received", () =>
      Effect.gen(function* () {
        const server = yield* serve((response) => {
          response.writeHead(503)
          response.write("upstream connect error")
        })
        const fiber = yield* Effect.forkChild(run(yield* dialect.make(server.url)))
        const { exit, passedMs } = yield* advanceUntilDone(fiber, 500)
        expect(exit).toMatchObject({ value: { emitted: { status: 503, retryable: true } } })
        expect(passedMs).toBeGreaterThanOrEqual(PlainBody.MAX_WAIT_MS)
        yield* server.closed(1)
      })
    )

    it.effect("an invalid URL fails each call with that reason", () =>
      Effect.gen(function* () {
        const provider = yield* OpenAiCompatible.make({ baseUrl: "http://[nowhere" })
        for (let n = 0; n < 2; n++) expect((yield* run(provider)).failure?.message).toMatch(/url/i)
      })
    )

    it.effect("a stream is read to its finish", () =>
      Effect.gen(function* () {
        const server = yield* serve(pieces(dialect.text))
        expect((yield* run(yield* dialect.make(server.url))).isSuccess).toBe(true)
      })
    )

    it.effect("an interruption closes the socket", () =>
      Effect.gen(function* () {
        const server = yield* serve(() => {})
        const fiber = yield* Effect.forkChild(run(yield* dialect.make(server.url)))
        yield* server.arrived(1)
        yield* Fiber.interrupt(fiber)
        yield* server.closed(1)
      })
    )
  })
})

describe("Transport", () => {
  it.layer(Undici.layer)((it) => {
    it.effect("the key reaches the provider, and nothing else", () =>
      Effect.gen(function* () {
        const secret = Redacted.make("header-secret-42")
        const server = yield* serve((response) =>
          response
            .writeHead(401, { "x-request-id": `req-${KEY}` })
            .end(JSON.stringify({ error: { message: `bad ${KEY} header-secret-42`, code: KEY } }))
        )
        const options = {
          baseUrl: server.url,
          apiKey: Redacted.make(KEY),
          headers: { "X-Extra": secret, "x-tag": "t" }
        }
        for (const provider of [yield* OpenAiCompatible.make(options), yield* Anthropic.make(options)]) {
          const exit = yield* Effect.exit(run(provider))
          const shown = [JSON.stringify(exit), String(exit), JSON.stringify(provider), String(provider)].join()
          expect(shown).toContain("bad [redacted] [redacted]")
          expect(shown).toContain("req-[redacted]")
          expect(shown).not.toContain(KEY)
          expect(shown).not.toContain("header-secret-42")
        }
        expect(
          server.received.map(({ headers }) => [headers.authorization, headers["x-api-key"], headers["x-extra"]])
        ).toEqual([
          [`Bearer ${KEY}`, undefined, "header-secret-42"],
          [undefined, KEY, "header-secret-42"]
        ])
        expect(server.received[1]?.headers).toMatchObject({ "anthropic-version": Anthropic.VERSION, "x-tag": "t" })
      })
    )

    it.effect("a connection failure does not contain the request, and so not the key", () =>
      Effect.gen(function* () {
        const provider = yield* dialect.make("http://127.0.0.1:9")
        const exit = yield* Effect.exit(Stream.runDrain(provider.stream(request)))
        const shown = Exit.isFailure(exit) ? Cause.pretty(exit.cause) + JSON.stringify(exit) : ""
        expect(shown).toContain("ECONNREFUSED")
        expect(shown).not.toContain(KEY)
      })
    )

    it.effect("a query of the base URL stays behind the path, and /v1 is not doubled", () =>
      Effect.gen(function* () {
        const server = yield* serve((response) => response.writeHead(500).end())
        yield* run(yield* OpenAiCompatible.make({ baseUrl: `${server.url}/openai/?api-version=1` }))
        yield* run(yield* Anthropic.make({ baseUrl: `${server.url}/v1/` }))
        yield* run(yield* Anthropic.make({ baseUrl: `${server.url}/anthropic` }))
        expect(server.received.map(({ url }) => url)).toEqual([
          "/openai/chat/completions?api-version=1",
          "/v1/messages",
          "/anthropic/v1/messages"
        ])
      })
    )

    it.effect("an error is read up to its limit only", () =>
      Effect.gen(function* () {
        const server = yield* serve((response) => {
          response.writeHead(500)
          const more = () => {
            while (!response.destroyed && response.write("x".repeat(65_536)));
            if (!response.destroyed) response.once("drain", more)
          }
          more()
        })
        const { emitted } = yield* run(yield* dialect.make(server.url))
        expect(emitted).toMatchObject({ reason: "server-error", status: 500 })
        yield* server.closed(1)
      })
    )

    it.effect(
      "rule C3: a page or an error of ten megabytes is a failure like any other, and little of it is kept",
      () =>
        Effect.gen(function* () {
          const long = "x".repeat(10_000_000)
          const error = JSON.stringify({ error: { message: long, type: "overloaded_error" } })
          const answers: ReadonlyArray<readonly [status: number, body: string, expected: object]> = [
            [503, `<html><title>Down</title>${long}</html>`, { status: 503, message: "Down (HTTP 503, an HTML page)" }],
            [503, error, { status: 503 }],
            [200, `<html><title>Down</title>${long}</html>`, { reason: "invalid-response" }],
            [200, error, { reason: "invalid-response" }],
            [200, `data: ${error}\n\n`, { reason: "overloaded" }],
            [200, `error: ${error}\n\n`, { reason: "overloaded" }]
          ]
          for (const [status, body, expected] of answers) {
            const server = yield* serve((response) => response.writeHead(status).end(body))
            const { emitted } = yield* run(yield* dialect.make(server.url))
            expect(emitted).toMatchObject({ retryable: true, ...expected })
            expect(JSON.stringify(emitted).length).toBeLessThan(5_000)
          }
        })
    )

    it.effect("usage that comes a while after the model has stopped is not lost", () =>
      Effect.gen(function* () {
        const content = signal()
        let write = (_frame: string) => {}
        const server = yield* serve((response, request, n) => {
          hang([`${dialect.delta("Hi")}data: {"choices":[{"delta":{},"finish_reason":"stop"}]}\n\n`])(
            response,
            request,
            n
          )
          write = (frame) => response.write(frame)
        })
        const fiber = yield* Effect.forkChild(run(yield* dialect.make(server.url), () => content.give()))
        yield* content.given
        yield* TestClock.adjust(AWAIT_USAGE_MS / 2)
        expect(fiber.pollUnsafe()).toBeUndefined()
        write('data: {"choices":[],"usage":{"prompt_tokens":7}}\n\n')
        const { exit, passedMs } = yield* advanceUntilDone(fiber, 1)
        expect(usage(exit._tag === "Success" ? exit.value.events : [])).toEqual({ inputTokens: 7 })
        expect(passedMs).toBeLessThanOrEqual(AWAIT_USAGE_MS / 2)
      })
    )

    it.effect("rule C8: a tool call that grows for longer than the limit is no stall", () =>
      Effect.gen(function* () {
        let write = (_piece: string) => {}
        const server = yield* serve((response, request, n) => {
          hang([dialect.parallel[0] ?? ""])(response, request, n)
          write = (piece) => response.write(piece)
        })
        let read = signal()
        const adapter = told(yield* dialect.make(server.url), () => read.give())
        const limited = Limits.withLimits(adapter, { firstContentMs: 1000, idleMs: 1000 })
        const fiber = yield* Effect.forkChild(run(limited))
        yield* server.arrived(1)
        const frame = (text: string) =>
          `data: {"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":${JSON.stringify(text)}}}]}}]}\n\n`
        yield* read.given
        for (let i = 0; i < 20; i++) {
          read = signal()
          write(frame(i === 0 ? '{"a":"x' : "x"))
          yield* read.given
          yield* TestClock.adjust(900)
        }
        write(frame('"}') + 'data: {"choices":[{"delta":{},"finish_reason":"tool_calls"}]}\n\ndata: [DONE]\n\n')
        const { exit } = yield* advanceUntilDone(fiber, 10)
        expect(exit).toMatchObject({ value: { isSuccess: true } })
        expect(text(exit._tag === "Success" ? exit.value.events : [])).toBe("")
      })
    )

    it.effect("rule C8: a tool call that has stopped growing is a stall, however many pings come after it", () =>
      Effect.gen(function* () {
        let ping = () => {}
        const content = signal()
        const server = yield* serve((response, request, n) => {
          hang([dialect.delta("Hi") + (dialect.parallel[0] ?? "")])(response, request, n)
          ping = () => response.write(dialect.ping)
        })
        const limited = Limits.withLimits(yield* dialect.make(server.url), { firstContentMs: 2000, idleMs: 2000 })
        const fiber = yield* Effect.forkChild(run(limited, (event) => event.type === "text-delta" && content.give()))
        yield* content.given
        for (let i = 0; i < 30 && fiber.pollUnsafe() === undefined; i++) {
          ping()
          for (let turn = 0; turn < 20; turn++) yield* Effect.promise(() => new Promise(setImmediate))
          yield* TestClock.adjust(1000)
        }
        expect(fiber.pollUnsafe()).toBeDefined()
        expect((yield* Fiber.join(fiber)).failure).toMatchObject({ reason: "timeout" })
      })
    )
  })
})
