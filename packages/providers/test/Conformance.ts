/** The test suite that every provider adapter must pass, whatever its wire format. */
import { describe, expect, it } from "@effect/vitest"
import { Effect, Fiber, type Layer } from "effect"
import { TestClock } from "effect/testing"
import * as Net from "node:net"
import * as Zlib from "node:zlib"
import * as Limits from "../src/limits/Limits.ts"
import * as Fetch from "../src/http/Fetch.ts"
import type { Http } from "../src/http/Http.ts"
import * as Undici from "../src/http/Undici.ts"
import { joined } from "./harness/Decode.ts"
import type { Dialect } from "./harness/Dialect.ts"
import { KEY, request } from "./harness/Dialect.ts"
import { advanceUntilDone, calls, reasoning, run, signal, text, usage } from "./harness/AttemptRun.ts"
import { cut, type Handler, hang, pieces, serve, SSE } from "./harness/Server.ts"

/** Registers the suite for a wire format. */
export const suite = (dialect: Dialect): void => {
  laws(dialect, dialect.name, Undici.layer)
  laws(dialect, `${dialect.name}, over the runtime's fetch`, Fetch.layer)
}

// --- internal

const laws = (dialect: Dialect, name: string, layer: Layer.Layer<Http>): void => {
  /** A server with this handler, and a provider that calls it. */
  const set = (handler: Handler) =>
    Effect.gen(function* () {
      const server = yield* serve(handler)
      const provider = yield* dialect.make(server.url)
      return { server, provider }
    })

  const answer = (handler: Handler) =>
    Effect.gen(function* () {
      const { provider, server } = yield* set(handler)
      const ending = yield* run(provider)
      return { ...ending, server }
    })

  const recordings = ["text", "reasoning", "toolCall", "noArguments", "parallel"] as const

  describe(name, () => {
    it.layer(layer)((it) => {
      /** What no `fetch` has: it decodes by itself, and rejects some ports. */
      const itOfUndici = layer === Undici.layer ? it.effect : it.effect.skip

      it.effect("a recorded text is emitted in its pieces, with usage before the only finish", () =>
        Effect.gen(function* () {
          const { events, isSuccess, server } = yield* answer(pieces([dialect.text.join("")]))
          expect(isSuccess).toBe(true)
          expect(text(events).length).toBeGreaterThan(50)
          expect(usage(events)?.inputTokens).toBeGreaterThan(0)
          expect(usage(events)?.outputTokens).toBeGreaterThan(0)
          expect(events.filter((event) => event.type === "finish")).toEqual([{ type: "finish", finishReason: "stop" }])
          expect(server.received[0]?.url).toBe(dialect.path)
        })
      )

      it.effect("reasoning comes before the answer", () =>
        Effect.gen(function* () {
          const { events } = yield* answer(pieces([dialect.reasoning.join("")]))
          expect(reasoning(events)).toMatch(/^(We need to|The previous result)/)
          expect(text(events)).not.toBe("")
          expect(events.findIndex((event) => event.type === "text-delta")).toBeGreaterThan(
            events.findLastIndex((event) => event.type === "reasoning-delta")
          )
        })
      )

      it.effect("rule C7: a tool call is emitted once, complete", () =>
        Effect.gen(function* () {
          const { events } = yield* answer(pieces(dialect.toolCall))
          expect(calls(events)).toMatchObject([{ toolName: "weather", input: { location: "San Francisco" } }])
          expect(events.at(-1)).toEqual({ type: "finish", finishReason: "tool-calls" })
        })
      )

      it.effect("a call without arguments has an empty object for input", () =>
        Effect.gen(function* () {
          const { events } = yield* answer(pieces(dialect.noArguments))
          expect(calls(events)).toMatchObject([{ input: {} }])
          expect(calls(events)[0]).not.toHaveProperty("malformed")
        })
      )

      it.effect("parallel calls stay separate, however their pieces are interleaved", () =>
        Effect.gen(function* () {
          const { events } = yield* answer(pieces(dialect.parallel))
          expect(calls(events)).toEqual([
            { type: "tool-call", toolCallId: "a", toolName: "read", input: { path: "ü" } },
            { type: "tool-call", toolCallId: "b", toolName: "write", input: { x: 2 } }
          ])
        })
      )

      it.effect("malformed arguments are emitted as text, with the reason", () =>
        Effect.gen(function* () {
          const { events } = yield* answer(pieces(dialect.malformed))
          expect(calls(events)).toMatchObject([
            { input: '{"path": oops}', malformed: expect.stringContaining("not JSON") }
          ])
        })
      )

      for (const name of recordings) {
        it.effect(`the bytes of '${name}' give the same events one by one`, () =>
          Effect.gen(function* () {
            const whole = dialect[name].join("")
            const bytes = new TextEncoder().encode(whole.length > 4000 ? dialect[name].slice(-8).join("") : whole)
            const expected = yield* answer(pieces([bytes]))
            const actual = yield* answer(pieces(Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))))
            expect(joined(actual.events)).toEqual(joined(expected.events))
            expect(actual.isSuccess).toBe(true)
          })
        )

        it.effect(
          `rule A12: '${name}' cut at any frame names the calls that were begun, right before its failure`,
          () =>
            Effect.gen(function* () {
              const frames = dialect[name]
              const complete = dialect.completeFrom(frames)
              const names = calls((yield* answer(pieces([frames.join("")]))).events).map(({ toolName }) => toolName)
              const { provider } = yield* set((response, request, n) => {
                cut([frames.slice(0, n).join("")])(response, request, n)
              })
              let begun: ReadonlyArray<string> = []
              for (let count = 1; count < complete; count++) {
                const { events } = yield* run(provider)
                const unfinished = events.flatMap((event) => (event.type === "tool-calls-cut" ? event.toolNames : []))
                const known = [...calls(events).map(({ toolName }) => toolName), ...unfinished]
                expect(known.length, `after ${count}`).toBeGreaterThanOrEqual(begun.length)
                expect(names, `after ${count}`).toEqual(expect.arrayContaining(known))
                if (unfinished.length > 0) expect(events.at(-1)?.type).toBe("tool-calls-cut")
                begun = known
              }
              // Before the last frame of a response each of its calls has begun.
              if (complete > 1) expect(begun.toSorted()).toEqual(names.toSorted())
            })
        )

        it.effect(`rule C6, C7: '${name}' cut at any frame fails, and gives no call in part`, () =>
          Effect.gen(function* () {
            const frames = dialect[name]
            const complete = dialect.completeFrom(frames)
            const whole = yield* answer(pieces([frames.join("")]))
            const { provider } = yield* set((response, _request, n) => {
              const ending = n % 2 === 0 ? pieces : cut
              ending([frames.slice(0, Math.floor((n + 1) / 2)).join("")])(response, _request, n)
            })
            for (let count = 1; count <= frames.length; count++) {
              for (const how of ["cut", "ended"]) {
                const ending = yield* run(provider)
                if (count >= complete) {
                  expect(ending.isSuccess, `${how} after ${count}`).toBe(true)
                } else {
                  expect(ending.failure, `${how} after ${count}`).toMatchObject({ reason: "network", retryable: true })
                  expect(ending.isSuccess).toBe(false)
                }
                const allowed = calls(whole.events)
                for (const call of calls(ending.events)) expect(allowed).toContainEqual(call)
              }
            }
          })
        )
      }

      it.effect("rule C8: preamble, pings, comments, empty deltas and usage ahead of output give no event", () =>
        Effect.gen(function* () {
          const { emitted, events } = yield* answer(pieces([...dialect.preamble, dialect.ping, dialect.error]))
          expect(events.map((event) => event.type)).toEqual(["error"])
          expect(emitted).toMatchObject({ reason: dialect.errorReason, retryable: true })
        })
      )

      for (const [status, reason, retryable] of [
        [429, "rate-limited", true],
        [500, "server-error", true],
        [529, "overloaded", true],
        [401, "auth", false]
      ] as const) {
        it.effect(`rule C2, C9, D3: a ${status} is emitted after one request, as ${reason}`, () =>
          Effect.gen(function* () {
            const { emitted, failure, server } = yield* answer((response) => {
              response.writeHead(status, { "content-type": "application/json" })
              response.end(JSON.stringify({ error: { message: `No: key ${KEY}` } }))
            })
            expect(emitted).toMatchObject({ reason, status, message: "No: key [redacted]", retryable })
            expect(failure).toBeUndefined()
            expect(server.received.length).toBe(1)
          })
        )
      }

      it.effect("rule C9: a redirect is not followed", () =>
        Effect.gen(function* () {
          const { emitted, server } = yield* answer((response) => {
            response.writeHead(307, { location: "/elsewhere" })
            response.end()
          })
          expect(emitted).toMatchObject({ status: 307, reason: "bad-request", retryable: false })
          expect(emitted?.message).toContain("/elsewhere")
          expect(server.received.length).toBe(1)
        })
      )

      const coded =
        (status: number, coding: string, body: Uint8Array): Handler =>
        (response) => {
          response.writeHead(status, { ...SSE, "content-encoding": coding })
          response.end(body)
        }

      const codings: ReadonlyArray<readonly [coding: string, encode: (text: string) => Buffer]> = [
        ["gzip", Zlib.gzipSync],
        ["X-GZIP", Zlib.gzipSync],
        ["deflate", Zlib.deflateSync],
        ["deflate", Zlib.deflateRawSync],
        ["br", Zlib.brotliCompressSync],
        ["zstd", Zlib.zstdCompressSync],
        ["gzip, br", (text) => Zlib.brotliCompressSync(Zlib.gzipSync(text))]
      ]

      it.effect("rule C13: a compressed stream and a compressed error are decoded, in every known coding", () =>
        Effect.gen(function* () {
          const plain = yield* answer(pieces([dialect.text.join("")]))
          const error = JSON.stringify({ error: { type: "overloaded_error", message: "Overloaded" } })
          for (const [coding, encode] of codings) {
            const streamed = yield* answer(coded(200, coding, encode(dialect.text.join(""))))
            expect(joined(streamed.events), coding).toEqual(joined(plain.events))
            const refused = yield* answer(coded(429, coding, encode(error)))
            expect(refused.emitted, coding).toMatchObject({ reason: "overloaded", message: "Overloaded", status: 429 })
          }
        })
      )

      itOfUndici("rule C13: an unknown coding is named, and not retried; of an error status too", () =>
        Effect.gen(function* () {
          for (const status of [200, 503]) {
            const { emitted, failure } = yield* answer(coded(status, "gzip, compress", Buffer.from("x")))
            expect(failure ?? emitted).toMatchObject({ reason: "invalid-response", retryable: false })
            expect((failure ?? emitted)?.message).toContain('"gzip, compress"')
          }
        })
      )

      it.effect(
        "rule C6, C13: a compressed stream that breaks off is no success; an error in no such coding keeps its status",
        () =>
          Effect.gen(function* () {
            const whole = Zlib.gzipSync(dialect.text.join(""))
            const half = whole.subarray(0, whole.length / 2)
            const cutOff = yield* answer(coded(200, "gzip", half))
            expect(cutOff.isSuccess).toBe(false)
            expect(cutOff.failure ?? cutOff.emitted).toMatchObject({ retryable: true })
            const { emitted } = yield* answer(coded(401, "gzip", Buffer.from('{"error":{"message":"no"}}')))
            expect(emitted).toMatchObject({ reason: "auth", status: 401 })
          })
      )

      it.effect("rule C11, C13: a small body of a very long error is read up to the limit on errors", () =>
        Effect.gen(function* () {
          const { emitted } = yield* answer(coded(503, "br", Zlib.brotliCompressSync(Buffer.alloc(50_000_000, "a"))))
          expect(emitted).toMatchObject({ reason: "overloaded", status: 503 })
        })
      )

      it.effect("rule C3: an error frame in a 200 stream is emitted, and nothing after it is read", () =>
        Effect.gen(function* () {
          const { emitted, events } = yield* answer(
            pieces([...dialect.preamble, dialect.delta("Hel"), dialect.error + dialect.delta("lo")])
          )
          expect(emitted).toMatchObject({ reason: dialect.errorReason, retryable: true })
          expect(text(events)).toBe("Hel")
          expect(events.at(-1)?.type).toBe("error")
        })
      )

      it.effect("rule C3: an HTML page in place of a stream is an invalid response", () =>
        Effect.gen(function* () {
          const { emitted } = yield* answer((response) => {
            response.writeHead(200, SSE)
            response.end("\n<!DOCTYPE html><html><head><title>Just a moment</title></head></html>")
          })
          expect(emitted).toMatchObject({ reason: "invalid-response", retryable: true })
        })
      )

      it.effect("rule C3: a JSON error in place of a stream is classified by its text", () =>
        Effect.gen(function* () {
          const { emitted } = yield* answer((response) => {
            response.writeHead(200, { "content-type": "application/json" })
            response.end(JSON.stringify({ error: { type: "overloaded_error", message: "Overloaded" } }))
          })
          expect(emitted).toMatchObject({ reason: "overloaded", retryable: true })
        })
      )

      it.effect("a JSON document is accepted in place of a stream: text, reasoning, calls, usage, finish", () =>
        Effect.gen(function* () {
          for (const type of ["application/json", "text/event-stream"]) {
            const { events, server } = yield* answer((response) => {
              response.writeHead(200, { "content-type": type })
              response.end(`\n ${dialect.whole()}`)
            })
            expect(usage(events)).toEqual({ inputTokens: 5, outputTokens: 9 })
            expect(events.filter((event) => event.type !== "usage")).toEqual([
              { type: "reasoning-delta", delta: "Hm" },
              { type: "text-delta", delta: "Hello" },
              { type: "tool-call", toolCallId: "a", toolName: "read", input: { path: "ü" } },
              { type: "tool-call", toolCallId: "b", toolName: "list", input: {} },
              { type: "finish", finishReason: "tool-calls" }
            ])
            expect(server.received.length).toBe(1)
          }
        })
      )

      it.effect("a JSON document in pieces is read to its end; one that breaks off has failed, and emits nothing", () =>
        Effect.gen(function* () {
          const bytes = new TextEncoder().encode(dialect.whole())
          const single = Array.from(bytes, (_, i) => bytes.subarray(i, i + 1))
          expect((yield* answer(pieces(single))).events.at(-1)).toEqual({ type: "finish", finishReason: "tool-calls" })
          const broken = yield* answer(cut([bytes.subarray(0, bytes.length - 1)]))
          expect(broken).toMatchObject({ events: [], failure: { reason: "network", retryable: true } })
          const ended = yield* answer(pieces([bytes.subarray(0, bytes.length - 1)]))
          expect(ended.isSuccess).toBe(false)
          expect(ended.emitted).toMatchObject({ reason: "invalid-response", retryable: true })
        })
      )

      it.effect(
        "rule C7: a JSON document cut at its length limit has no complete call without arguments at its end",
        () =>
          Effect.gen(function* () {
            const { events } = yield* answer(pieces([dialect.whole("length")]))
            expect(calls(events)).toMatchObject([
              { toolCallId: "a", input: { path: "ü" } },
              { toolCallId: "b", malformed: expect.stringContaining("length limit") }
            ])
            expect(events.at(-1)).toEqual({ type: "finish", finishReason: "length" })
          })
      )

      it.effect("rule C3: a JSON document that is neither a response nor an error is an invalid response", () =>
        Effect.gen(function* () {
          for (const body of ['{"models":[]}', '{"choices":[]}', "[]", "{"]) {
            expect((yield* answer(pieces([body]))).emitted).toMatchObject({ reason: "invalid-response" })
          }
        })
      )

      it.effect("rule C8: the text of a JSON document is progress, the blanks before it are not", () =>
        Effect.gen(function* () {
          let write = (_piece: string) => {}
          const { provider } = yield* set((response, request, n) => {
            hang([])(response, request, n)
            write = (piece) => response.write(piece)
            if (n === 2) response.write("{")
          })
          const limited = Limits.withLimits(provider, { firstContentMs: 1000, idleMs: 1000 })
          const endAfter = (piece: string) =>
            Effect.gen(function* () {
              const fiber = yield* Effect.forkChild(run(limited))
              const { passedMs } = yield* Effect.gen(function* () {
                let passedMs = 0
                while (fiber.pollUnsafe() === undefined) {
                  if (passedMs <= 2000) write(piece)
                  for (let turn = 0; turn < 20; turn++) yield* Effect.promise(() => new Promise(setImmediate))
                  yield* TestClock.adjust(500)
                  passedMs += 500
                }
                return { passedMs }
              })
              expect((yield* Fiber.join(fiber)).failure).toMatchObject({ reason: "timeout" })
              return passedMs
            })
          expect(yield* endAfter(" \n")).toBe(1000)
          expect(yield* endAfter('"a')).toBeGreaterThan(2000)
        })
      )

      it.effect("rule C3: a line `error:` of llama.cpp is that error, and nothing after it is read", () =>
        Effect.gen(function* () {
          const shapes: ReadonlyArray<readonly [string, object]> = [
            ['{"code":500,"message":"failed to decode","type":"server_error"}', { reason: "server-error" }],
            [
              '{"error":{"code":503,"message":"Loading model","type":"unavailable_error"}}',
              { message: "Loading model" }
            ],
            ["slot unavailable", { message: "slot unavailable" }]
          ]
          for (const [shape, expected] of shapes) {
            for (const before of [[], [dialect.delta("Hi")]]) {
              const { emitted, events } = yield* answer(
                pieces([...before, `error: ${shape}\n\n${dialect.delta("no")}`])
              )
              expect(emitted, shape).toMatchObject({ retryable: true, ...expected })
              expect(text(events)).toBe(before.length === 0 ? "" : "Hi")
              expect(events.at(-1)?.type).toBe("error")
            }
          }
        })
      )

      it.effect("rule C11: an endless text and an endless tool call fail at the limit, and are not retryable", () =>
        Effect.gen(function* () {
          const [first, next] = dialect.endlessCall("x".repeat(100))
          const flood =
            (begin: string, frame: string): Handler =>
            (response) => {
              response.writeHead(200, SSE)
              response.write(begin)
              const more = () => {
                while (!response.destroyed && response.write(frame));
                if (!response.destroyed) response.once("drain", more)
              }
              more()
            }
          const asked = { ...request, maxResponseCharacters: 10_000 }
          for (const [begin, frame] of [
            ["", dialect.delta("x".repeat(100))],
            [first, next],
            ["", first]
          ] as const) {
            const { provider, server } = yield* set(flood(dialect.preamble.join("") + begin, frame))
            const { emitted, events, isSuccess } = yield* run(provider, undefined, asked)
            expect(emitted).toMatchObject({ reason: "invalid-response", retryable: false })
            expect(emitted?.message).toContain("10000 characters")
            expect(isSuccess).toBe(false)
            expect(text(events).length).toBeLessThanOrEqual(10_000)
            yield* server.closed(1)
          }
        })
      )

      it.effect("rule C11, A10: a call whose arguments are nested too deeply is malformed, and its text is kept", () =>
        Effect.gen(function* () {
          const deep = `${'{"a":'.repeat(5_000)}1${"}".repeat(5_000)}`
          const [first, next] = dialect.endlessCall(deep)
          const { events } = yield* answer(pieces([first, next, ...dialect.malformed.slice(-2)]))
          expect(calls(events)).toMatchObject([{ input: deep, malformed: expect.stringContaining("200 levels") }])
        })
      )

      it.effect("rule C3: an empty body is a failure", () =>
        Effect.gen(function* () {
          const { failure, isSuccess } = yield* answer((response) => {
            response.writeHead(200, SSE)
            response.end()
          })
          expect(failure).toMatchObject({ reason: "network", retryable: true })
          expect(isSuccess).toBe(false)
        })
      )

      it.effect("rule C3: a frame that is not JSON is an error", () =>
        Effect.gen(function* () {
          const { emitted } = yield* answer(pieces([...dialect.preamble, dialect.delta("Hi"), 'data: {"half": \n\n']))
          expect(emitted).toMatchObject({ reason: "invalid-response", retryable: true })
        })
      )

      it.effect("rule C6, C9: a connection that is cut before the headers fails the stream after one request", () =>
        Effect.gen(function* () {
          const { failure, server } = yield* answer((response) => response.socket?.destroy())
          expect(failure).toMatchObject({ reason: "network", retryable: true })
          expect(server.received.length).toBe(1)
        })
      )

      itOfUndici("a refused connection is a network failure with Node's code", () =>
        Effect.gen(function* () {
          const provider = yield* dialect.make("http://127.0.0.1:9")
          expect((yield* run(provider)).failure).toMatchObject({
            reason: "network",
            code: "ECONNREFUSED",
            retryable: true
          })
        })
      )

      it.effect("finish waits no longer than a second for a body that does not end", () =>
        Effect.gen(function* () {
          const { provider } = yield* set(hang(dialect.text))
          const fiber = yield* Effect.forkChild(run(provider))
          const { exit, passedMs } = yield* advanceUntilDone(fiber, 50)
          expect(exit).toMatchObject({ value: { isSuccess: true } })
          expect(usage(exit._tag === "Success" ? exit.value.events : [])?.outputTokens).toBeGreaterThan(0)
          expect(passedMs).toBeGreaterThanOrEqual(250)
        })
      )

      it.effect("a connection whose body has ended is reused", () =>
        Effect.gen(function* () {
          const { provider, server } = yield* set(pieces([dialect.text.join("")]))
          for (let i = 0; i < 3; i++) {
            expect((yield* run(provider)).isSuccess).toBe(true)
            // The client takes its socket back with the next turn of the event loop.
            yield* Effect.promise(() => new Promise(setImmediate))
          }
          expect(server.connections()).toBe(1)
        })
      )

      it.effect("rule C8: a server that sends nothing fails at the limit for first content, not before", () =>
        Effect.gen(function* () {
          const { provider, server } = yield* set(() => {})
          const limited = Limits.withLimits(provider, { firstContentMs: 10_000, idleMs: 60_000 })
          const fiber = yield* Effect.forkChild(run(limited))
          yield* server.arrived(1)
          yield* TestClock.adjust(9999)
          expect(fiber.pollUnsafe()).toBeUndefined()
          yield* TestClock.adjust(1)
          expect((yield* Fiber.join(fiber)).failure).toMatchObject({ reason: "timeout", retryable: true })
          yield* server.closed(1)
        })
      )

      it.effect("rule C8: headers that never end count as no content", () =>
        Effect.gen(function* () {
          const arrived = signal()
          const server = yield* Effect.acquireRelease(
            Effect.promise(async () => {
              const server = Net.createServer((socket) => {
                socket.on("error", () => {})
                socket.once("data", () => {
                  socket.write("HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nx-slow: ")
                  arrived.give()
                })
              })
              await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve))
              return server
            }),
            (server) => Effect.sync(() => server.close())
          )
          const address = server.address()
          const provider = yield* dialect.make(`http://127.0.0.1:${typeof address === "object" ? address?.port : 0}`)
          const fiber = yield* Effect.forkChild(run(Limits.withLimits(provider, { firstContentMs: 5000 })))
          yield* arrived.given
          yield* TestClock.adjust(5000)
          expect((yield* Fiber.join(fiber)).failure).toMatchObject({ reason: "timeout" })
        })
      )

      it.effect("rule C8: pings do not extend the limit between contents, and the connection is closed", () =>
        Effect.gen(function* () {
          const content = signal()
          let ping = () => {}
          const { provider, server } = yield* set((response, request, n) => {
            hang([...dialect.preamble, dialect.delta("Hi")])(response, request, n)
            ping = () => response.write(dialect.ping)
          })
          const limited = Limits.withLimits(provider, { firstContentMs: 60_000, idleMs: 3000 })
          const fiber = yield* Effect.forkChild(run(limited, (event) => event.type === "text-delta" && content.give()))
          yield* content.given
          for (let i = 0; i < 2; i++) {
            ping()
            yield* Effect.promise(() => new Promise(setImmediate))
            yield* TestClock.adjust(1000)
          }
          expect(fiber.pollUnsafe()).toBeUndefined()
          ping()
          yield* TestClock.adjust(1000)
          const ending = yield* Fiber.join(fiber)
          expect(ending.failure).toMatchObject({ reason: "timeout" })
          expect(text(ending.events)).toBe("Hi")
          yield* server.closed(1)
        })
      )

      it.effect("an interruption closes the socket, before the headers and in the stream", () =>
        Effect.gen(function* () {
          const content = signal()
          const { provider, server } = yield* set((response, request, n) => {
            if (n === 2) hang([...dialect.preamble, dialect.delta("Hi")])(response, request, n)
          })
          const first = yield* Effect.forkChild(run(provider))
          yield* server.arrived(1)
          yield* Fiber.interrupt(first)
          yield* server.closed(1)
          const second = yield* Effect.forkChild(run(provider, () => content.give()))
          yield* content.given
          yield* Fiber.interrupt(second)
          yield* server.closed(2)
        })
      )
    })
  })
}
