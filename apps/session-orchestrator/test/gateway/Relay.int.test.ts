/** Tests compressed answers of endpoints, over sockets. */
import { describe, expect } from "@effect/vitest"
import * as RawCall from "@holdfast/providers/raw"
import { Effect, Stream } from "effect"
import { randomBytes } from "node:crypto"
import * as Http from "node:http"
import * as Zlib from "node:zlib"
import * as ClientAnswer from "../../src/gateway/ClientAnswer.ts"
import * as Service from "../service/Service.ts"
import * as GatewayRig from "./GatewayRig.ts"
import * as RawEndpoint from "./RawEndpoint.ts"
import * as Relayed from "./Relayed.ts"
import * as It from "../It.ts"

const ASK = { model: "m", stream: true, messages: [{ role: "user", content: "hello" }] }
const CHAT = "/to/own/chat/completions"
const KEY = { authorization: "Bearer sk-of-the-client-0123" }

const CODINGS = {
  zstd: Zlib.zstdCompressSync,
  "gzip, br": (bytes: Buffer) => Zlib.brotliCompressSync(Zlib.gzipSync(bytes))
} satisfies Record<string, (bytes: Buffer) => Buffer>

const send = ({ response }: RawEndpoint.Received, coding: string, body: Buffer, status = 200): void => {
  const type = status === 200 ? "text/event-stream" : "application/json"
  response.writeHead(status, { "content-type": type, "content-encoding": coding, "content-length": body.length })
  response.end(body)
}

const OVERLOADED = Buffer.from(
  'data: {"choices":[{"delta":{"role":"assistant"}}]}\n\ndata: {"error":{"message":"overloaded","type":"server_error"}}\n\n'
)

describe("a compressed answer", () => {
  It.live("rule C13, X13: with an error before content is waited for; the next has its head and bytes", function* () {
    const bytes = GatewayRig.chatStream("hello")
    for (const [coding, encode] of Object.entries(CODINGS)) {
      const { endpoint, service } = yield* GatewayRig.start({
        answer: (call, n) => send(call, coding, encode(n === 1 ? OVERLOADED : bytes))
      })
      const { body, headers, status } = yield* GatewayRig.post(service.port, CHAT, ASK, KEY)
      expect([status, headers["content-encoding"], headers["x-holdfast-attempts"]]).toEqual([200, coding, "2"])
      expect([coding, body.equals(encode(bytes)), endpoint.calls.length]).toEqual([coding, true, 2])
      // A client that knew the length would leave before the answer is decoded.
      expect(headers["content-length"]).toBe(undefined)
      // The client has its last byte before the attempt is recorded and counted.
      const isCounted = ({ text }: { readonly text: string }) =>
        /^holdfast_tokens_total\{[^}]*direction="output"[^}]*\} 5$/mu.test(text)
      yield* Effect.repeat(service.call({ path: "/metrics" }), { until: isCounted })
    }
  })

  It.live("rule C13: that refuses is classified as it is uncompressed, and comes down as it came", function* () {
    const body = Buffer.from('{"error":{"message":"You exceeded your current quota","code":"insufficient_quota"}}')
    const { endpoint, service } = yield* GatewayRig.start({
      answer: (call) => send(call, "gzip", Zlib.gzipSync(body), 429)
    })
    const answer = yield* GatewayRig.post(service.port, CHAT, ASK, KEY)
    expect([answer.status, answer.headers["content-encoding"]]).toEqual([429, "gzip"])
    expect(String(Zlib.gunzipSync(answer.body))).toBe(String(body))
    // Its status alone would be retried.
    expect(endpoint.calls.length).toBe(1)
  })

  It.live("rule C13: that broke off or failed after its head comes down decoded where the call gives up", function* () {
    const half = Zlib.gzipSync(OVERLOADED, { finishFlush: Zlib.constants.Z_SYNC_FLUSH })
    const { service } = yield* GatewayRig.start({
      answer: ({ response }) => {
        response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" })
        response.write(half)
      },
      retry: { ...Service.QUICK, maxRetries: 1 }
    })
    const { body, headers, status } = yield* GatewayRig.post(service.port, CHAT, ASK, KEY)
    expect([status, headers["content-encoding"], String(body)]).toEqual([200, undefined, String(OVERLOADED)])
  })

  It.live("rule C13: with an unknown coding has failed in words, and is not retried", function* () {
    for (const status of [200, 503]) {
      const { endpoint, service } = yield* GatewayRig.start({
        answer: (call) => send(call, "compress", Buffer.from("?"), status)
      })
      const answer = yield* GatewayRig.post(service.port, CHAT, ASK, KEY)
      expect([answer.status, answer.headers["content-encoding"]]).toEqual([502, undefined])
      expect(JSON.parse(String(answer.body)).error.message).toContain('the content coding "compress"')
      expect(endpoint.calls.length).toBe(1)
    }
  })

  It.live("rule C11, C13: that decodes to more than is held has failed", function* () {
    const bomb = Zlib.gzipSync(Buffer.alloc(65 * 1024 * 1024, "{"))
    const { endpoint, service } = yield* GatewayRig.start({ answer: (call) => send(call, "gzip", bomb) })
    const { body, status } = yield* GatewayRig.post(service.port, CHAT, { ...ASK, stream: false }, KEY)
    const most = "A compressed answer may have 67108864 bytes at most, decoded or before its content."
    expect([status, JSON.parse(String(body)).error.message]).toEqual([502, most])
    expect(endpoint.calls.length).toBe(1)
  })

  It.live("rule C13: is held back by a client that does not read", function* () {
    const MANY = 32 * 1024 * 1024
    const text = `data: {"choices":[{"delta":{"content":"a"}}]}\n\n: ${randomBytes(MANY / 2).toString("hex")}\n\ndata: [DONE]\n\n`
    const bytes = Zlib.gzipSync(text, { level: 1 })
    let flood: ReturnType<typeof RawEndpoint.flood> | undefined
    const { service } = yield* GatewayRig.start({
      answer: ({ response }) => {
        response.writeHead(200, { "content-type": "text/event-stream", "content-encoding": "gzip" })
        flood = RawEndpoint.flood(response, bytes)
      }
    })
    const response = yield* Effect.promise(
      () =>
        new Promise<Http.IncomingMessage>((resolve) => {
          const request = { port: service.port, host: "127.0.0.1", path: CHAT, method: "POST", headers: KEY }
          Http.request(request, resolve).end(JSON.stringify(ASK))
        })
    )
    expect(yield* flood?.held ?? Effect.die("no call")).toBeLessThan(bytes.length)
    expect(Buffer.concat(yield* Effect.promise(() => response.toArray())).equals(bytes)).toBe(true)
  })

  It.live("rule C13, X13: passes decoded behind a head of ours, at the pace of its client", function* () {
    const text = `data: {"choices":[{"delta":{"content":"a"}}]}\n\n: ${"b".repeat(4 * 1024 * 1024)}\n\ndata: [DONE]\n\n`
    const endpoint = yield* RawEndpoint.start((call) => send(call, "br", Zlib.brotliCompressSync(text)))
    const sent = yield* RawCall.sendVia(undefined)
    const gateway = yield* RawEndpoint.start(({ response }) => {
      const client = new ClientAnswer.ClientAnswer(response, Relayed.CALL, undefined)
      let beat = (): void => {}
      let now = 0
      client.hold({ now: () => now, at: (_at, ring) => ((beat = ring), () => {}) })
      now = ClientAnswer.HEAD_MS
      beat()
      Effect.runFork(Stream.runDrain(Relayed.stream(Relayed.optionsOf(sent, { client }, endpoint.url))))
    })
    const { body, headers } = yield* GatewayRig.post(gateway.port, "/", ASK)
    expect(headers["content-encoding"]).toBe(undefined)
    expect(String(GatewayRig.withoutBeats("chat", body)) === text).toBe(true)
  })
})

It.live("Http: a request that cannot be sent, such as one whose key has a line end, fails", function* () {
  const options = Relayed.optionsOf(yield* RawCall.sendVia(undefined), {})
  const request = { ...options.request, headers: ["authorization", "Bearer a\nb"] }
  expect(yield* Stream.runCollect(Relayed.stream({ ...options, request }))).toMatchObject([{ type: "error" }])
})
