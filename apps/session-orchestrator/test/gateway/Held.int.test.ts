/** Tests calls that the gateway holds, over sockets and on the service's own clock. */
import { assert, describe, expect } from "@effect/vitest"
import type { Health } from "@holdfast/wire"
import { Duration, Effect, Fiber } from "effect"
import { randomBytes } from "node:crypto"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Zlib from "node:zlib"
import * as Process from "../service/Process.ts"
import * as Service from "../service/Service.ts"
import * as BodyBudget from "../../src/base/system/BodyBudget.ts"
import * as GatewayRig from "./GatewayRig.ts"
import type * as RawEndpoint from "./RawEndpoint.ts"
import * as It from "../It.ts"

const ASK = { model: "m", stream: true, messages: [{ role: "user", content: "the secret prompt" }] }
const CHAT = "/to/own/chat/completions"
const bytes = GatewayRig.chatStream("hello")
const KEY = { authorization: "Bearer sk-of-the-client-0123", "user-agent": "night-agent/1.2" }

const until = (isTrue: () => boolean) =>
  Effect.promise(async () => {
    while (!isTrue()) await new Promise((resolve) => setTimeout(resolve, 2))
  })

const turnsOf = (service: Effect.Success<ReturnType<typeof GatewayRig.start>>["service"]) =>
  Effect.map(
    service.call({ path: "/v1/turns" }),
    ({ text }) => JSON.parse(text).turns as ReadonlyArray<Record<string, unknown>>
  )

describe("a held call", () => {
  It.live("that succeeds at once has its bytes, and leaves nothing on disk", function* () {
    const { endpoint, service } = yield* GatewayRig.start({ answer: (call) => GatewayRig.sendStream(call, bytes) })
    const answer = yield* GatewayRig.post(service.port, CHAT, ASK, KEY)
    expect([answer.status, answer.headers["x-request-id"], answer.isCut]).toEqual([200, "r-1", false])
    expect([answer.body.equals(bytes), endpoint.calls.length, yield* turnsOf(service)]).toEqual([true, 1, []])
    const { text } = yield* service.call({ path: "/metrics" })
    const sample = (name: string, label: string) =>
      new RegExp(`^${name}\\{(?=[^}]*provider="own~client")(?=[^}]*model="m")[^}]*${label}[^}]*\\} (\\d+)$`, "mu").exec(
        text
      )?.[1]
    expect(sample("holdfast_gateway_calls_total", 'status="answered"')).toBe("1")
    expect(sample("holdfast_tokens_total", 'direction="output"')).toBe("5")
  })

  It.live("rule X13: waits through failures of every kind: one answer, and nothing of a failed attempt", function* () {
    const frames = (text: string) => Buffer.from(text)
    const faults: ReadonlyArray<(call: RawEndpoint.Received) => void> = [
      (call) => GatewayRig.sendError(call, 503),
      (call) => GatewayRig.sendError(call, 429, { "retry-after-ms": "5" }),
      (call) =>
        GatewayRig.sendStream(call, frames('data: {"error":{"message":"overloaded","type":"server_error"}}\n\n')),
      (call) => GatewayRig.sendStream(call, frames("<html>Bad gateway</html>")),
      (call) => GatewayRig.sendStream(call, frames("")),
      ({ response }) => void response.socket?.destroy(),
      ({ response }) => {
        response.writeHead(200, { "content-type": "text/event-stream" })
        response.write('data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n', () => response.destroy())
      },
      (call) => GatewayRig.sendStream(call, frames('data: {"choices":[{"delta":{"role":"assistant"}}]}\n\n'))
    ]
    const directory = yield* Process.directory
    const { endpoint, service } = yield* GatewayRig.start({
      database: path.join(directory, "held.db"),
      answer: (call, n) => (faults[n - 1] ?? ((call) => GatewayRig.sendStream(call, bytes)))(call)
    })
    const { body, headers, isCut, status } = yield* GatewayRig.post(service.port, CHAT, ASK, KEY)
    expect([status, isCut, headers["x-holdfast-attempts"]]).toEqual([200, false, String(faults.length + 1)])
    expect(body.equals(bytes)).toBe(true)
    expect(endpoint.calls.length).toBe(faults.length + 1)
    for (const call of endpoint.calls) expect(JSON.parse(String(yield* Effect.promise(() => call.body)))).toEqual(ASK)
    // The client has its last byte before the end is recorded.
    const [turn] = yield* Process.eventually("its end", turnsOf(service), ([turn]) => turn?.["status"] !== "running")
    expect(turn).toMatchObject({ status: "completed", attempts: faults.length + 1 })
    const shown = JSON.stringify(turn)
    expect(shown).toContain("night-agent: POST /chat/completions")
    expect(shown).not.toContain("secret prompt")
    const files = fs.readdirSync(directory).filter((name) => name.startsWith("held.db"))
    expect(files).toContain("held.db")
    for (const name of files)
      expect(fs.readFileSync(path.join(directory, name), "latin1")).not.toContain("secret prompt")
    const conversations = yield* service.call({ path: "/v1/conversations" })
    expect(JSON.parse(conversations.text).conversations).toEqual([])
  })

  for (const [kind, messages] of [
    ["millions of values", `[${"{},".repeat(3_000_000)}{}]`],
    ["5,000 levels", `${"[".repeat(5_000)}${"]".repeat(5_000)}`]
  ] as const) {
    It.live(`of ${kind} is held, with its bytes as they came`, function* () {
      const { endpoint, service } = yield* GatewayRig.start({
        answer: (call, n) => (n === 1 ? GatewayRig.sendError(call, 503) : GatewayRig.sendStream(call, bytes))
      })
      const body = `{"messages":${messages},"model":"m","stream":true}`
      const answer = yield* GatewayRig.post(service.port, CHAT, body, KEY)
      expect([answer.status, answer.headers["x-holdfast-attempts"]]).toEqual([200, "2"])
      expect([answer.body.equals(bytes), endpoint.calls.length]).toEqual([true, 2])
      for (const call of endpoint.calls) expect(String(yield* Effect.promise(() => call.body)) === body).toBe(true)
      expect(yield* turnsOf(service)).toMatchObject([{ status: "completed", model: "own~client/m" }])
    })
  }

  It.live("whose model has no name that people could read goes up as it came, and is kept as unknown", function* () {
    const { endpoint, service } = yield* GatewayRig.start({ answer: (call) => GatewayRig.sendStream(call, bytes) })
    const models = ["m\nOK  all is well", "m".repeat(20_000), "\u202em"]
    for (const model of models) {
      expect((yield* GatewayRig.post(service.port, CHAT, { ...ASK, model }, KEY)).status).toBe(200)
      const body = yield* Effect.promise(() => endpoint.calls.at(-1)?.body ?? Promise.reject(new Error("no call")))
      expect(JSON.parse(String(body)).model).toBe(model)
    }
    const { text } = yield* service.call({ path: "/v1/health" })
    expect(text).toContain('"target":"own/unknown"')
    expect(text.length).toBeLessThan(10_000)
  })

  It.live("has its model in reports, unless clients have made up more names than are kept", function* () {
    const { service } = yield* GatewayRig.start({ answer: (call) => GatewayRig.sendStream(call, bytes) })
    for (let n = 0; n < 205; n++) yield* GatewayRig.post(service.port, CHAT, { ...ASK, model: `made-up-${n}` }, KEY)
    const { text } = yield* service.call({ path: "/v1/health" })
    const counted = (JSON.parse(text) as Health.Health).endpoints.filter(({ lastHour }) => lastHour.calls > 0)
    expect(counted).toHaveLength(201)
    expect(counted.at(-1)).toMatchObject({ target: "own/other", lastHour: { calls: 5 } })
  })

  It.live("of some megabytes is read by a thread, and held like any other", function* () {
    const { endpoint, service } = yield* GatewayRig.start({
      answer: (call, n) =>
        void call.body.then(() => (n % 2 === 1 ? GatewayRig.sendError(call, 503) : GatewayRig.sendStream(call, bytes)))
    })
    const large = { ...ASK, messages: [{ role: "user", content: randomBytes(9 * 512 * 1024).toString("base64") }] }
    const plain = Buffer.from(JSON.stringify(large))
    const bodies = [
      { body: plain, headers: { "content-length": plain.length } },
      { body: Zlib.zstdCompressSync(plain), headers: { "content-encoding": "zstd" } }
    ]
    for (const { body, headers } of bodies) {
      const answer = yield* GatewayRig.post(service.port, CHAT, body, { ...KEY, ...headers })
      expect([answer.status, answer.headers["x-holdfast-attempts"]]).toEqual([200, "2"])
      for (const call of endpoint.calls.splice(0))
        expect((yield* Effect.promise(() => call.body)).equals(body)).toBe(true)
    }
  })

  It.live("is refused with 503 while the bodies of other calls take all the room", function* () {
    const { endpoint, service } = yield* GatewayRig.start({
      answer: (call, n) => n > 1 && GatewayRig.sendStream(call, bytes)
    }).pipe(Effect.provideService(BodyBudget.Bodies, new BodyBudget.BodyBudget(1_000)))
    const first = yield* Effect.forkChild(GatewayRig.post(service.port, CHAT, ASK, KEY))
    yield* until(() => endpoint.calls.length === 1)
    const large = { ...ASK, messages: [{ role: "user", content: "x".repeat(1_000) }] }
    const refused = yield* GatewayRig.post(service.port, CHAT, large, KEY)
    expect([refused.status, refused.headers["retry-after"]]).toEqual([503, "5"])
    expect(JSON.parse(String(refused.body)).error.message).toBe(BodyBudget.NO_ROOM)
    const api = yield* service.call({ path: "/v1/turns", body: { prompt: "x".repeat(1_000) } })
    expect([api.status, JSON.parse(api.text).type]).toEqual([503, "/docs#problem-busy"])
    expect((yield* GatewayRig.post(service.port, CHAT, ASK, KEY)).status).toBe(200)
    yield* Fiber.interrupt(first)
  })

  It.live("goes on with another key of the provider, and with a model of its format, which is named", function* () {
    const { endpoint, service } = yield* GatewayRig.start({
      answer: (call) => {
        void call.body.then((body) => {
          const { model } = JSON.parse(String(body))
          const key = call.rawHeaders[call.rawHeaders.findIndex((name) => name.toLowerCase() === "authorization") + 1]
          if (model === "spare" || (model === "m" && key === "Bearer sk-spare-0123456789"))
            return GatewayRig.sendStream(call, bytes)
          GatewayRig.sendError(call, model === "m" ? 402 : 503)
        })
      },
      // Its request is not in the turn: what is there is not measured, and no tokenizer is loaded for it.
      file: { models: { "own/spare": { contextWindow: 1 } } },
      retry: {
        ...Service.QUICK,
        routing: {
          type: "fallback-chain",
          revert: "cooldown-expiry",
          chains: { "own/big": ["claude/other-format", "own/spare"] }
        }
      }
    })
    const word = { authorization: "Bearer holdfast" }
    const first = yield* GatewayRig.post(service.port, CHAT, ASK, word)
    expect([first.status, first.body.equals(bytes), first.headers["x-holdfast-target"]]).toEqual([200, true, undefined])
    expect(endpoint.calls.length).toBe(2)
    // Only the bytes of the model differ.
    const next = yield* GatewayRig.post(service.port, CHAT, { ...ASK, model: "big" }, word)
    expect([next.status, next.body.equals(bytes), next.headers["x-holdfast-target"]]).toEqual([200, true, "own/spare"])
    const last = yield* Effect.promise(() => endpoint.calls.at(-1)?.body ?? Promise.reject(new Error("no call")))
    expect(String(last)).toBe(JSON.stringify({ ...ASK, model: "spare" }))
    expect(endpoint.calls.map(({ url }) => url)).not.toContain("/v1/messages")
  })

  for (const [status, what] of [
    [429, "goes on elsewhere while its key is limited"],
    [401, "is refused as its key is"]
  ] as const) {
    It.live(`rules X13, C12: with a key of its client ${what}; calls with another are sent with that`, function* () {
      const [own, other] = ["Bearer sk-of-one-client-01", "Bearer sk-of-another-client"]
      const { endpoint, service } = yield* GatewayRig.start({
        answer: (call) =>
          void call.body.then((body) =>
            JSON.parse(String(body)).model === "m" && call.rawHeaders.includes(own)
              ? GatewayRig.sendError(call, status, { "retry-after": "3600" })
              : GatewayRig.sendStream(call, bytes)
          ),
        retry: {
          ...Service.QUICK,
          routing: { type: "fallback-chain", revert: "cooldown-expiry", chains: { default: ["own/spare"] } }
        }
      })
      const answers = []
      for (const [n, authorization] of [own, other, own, other].entries()) {
        const answer = yield* GatewayRig.post(service.port, CHAT, { ...ASK, temperature: n }, { authorization })
        answers.push([answer.status, answer.headers["x-holdfast-target"]])
      }
      const first = status === 429 ? [200, "own/spare"] : [401, undefined]
      expect(answers).toEqual([first, [200, undefined], first, [200, undefined]])
      expect(endpoint.calls.filter(({ rawHeaders }) => rawHeaders.includes(own)).length).toBe(status === 429 ? 1 : 2)
    })
  }

  It.live("that cannot be answered gets the endpoint's own refusal, as it came", function* () {
    const { endpoint, service } = yield* GatewayRig.start({
      answer: (call) => GatewayRig.sendError(call, 400, { "x-why": "model" })
    })
    const { body, headers, status } = yield* GatewayRig.post(service.port, CHAT, ASK, KEY)
    const error = { message: "status 400", type: "x" }
    expect([status, headers["x-why"], JSON.parse(String(body))]).toEqual([400, "model", { error }])
    expect([endpoint.calls.length, yield* turnsOf(service)]).toEqual([1, []])
  })

  It.live(
    "rule X13: whose limit ends after its budget gets the provider's whole refusal, also the next time",
    function* () {
      const error = { type: "rate_limit_error", message: "Usage limit reached" }
      const limit = JSON.stringify({ type: "error", error })
      const { endpoint, service } = yield* GatewayRig.start({
        answer: ({ response }) => {
          response
            .writeHead(429, "Too Many", {
              "content-type": "application/json",
              "anthropic-ratelimit-unified-status": "rejected",
              "retry-after": "360000"
            })
            .end(limit)
        },
        retry: { budget: Duration.hours(8) }
      })
      const ask = { ...ASK, max_tokens: 5 }
      const own = { "x-api-key": "sk-ant-of-the-client", "user-agent": "claude-cli/2.1.330" }
      for (const body of [ask, ask]) {
        const answer = yield* GatewayRig.post(service.port, "/to/claude/v1/messages", body, own)
        expect([answer.status, String(answer.body), answer.isCut]).toEqual([429, limit, false])
        expect(answer.headers).toMatchObject({
          "anthropic-ratelimit-unified-status": "rejected",
          "retry-after": "360000",
          "x-holdfast-gave-up": expect.stringMatching(/^budget 8 h, reset \d{4}-\d\d-\d\dT\d\d:\d\dZ$/u)
        })
        expect(answer.headers["x-should-retry"]).toBe(undefined)
      }
      expect(endpoint.calls.length).toBe(1)
      expect(yield* turnsOf(service)).toMatchObject([{ status: "failed", attempts: 1 }])
    }
  )

  It.live("whose last attempt got no answer gets no refusal of an earlier one", function* () {
    const { service } = yield* GatewayRig.start({
      answer: (call, n) => (n === 1 ? GatewayRig.sendError(call, 503) : void call.response.socket?.destroy()),
      retry: { ...Service.QUICK, maxRetries: 1 }
    })
    const answer = yield* GatewayRig.post(service.port, CHAT, ASK, KEY)
    expect([answer.status, String(answer.body)]).toEqual([502, expect.not.stringContaining("status 503")])
    expect(answer.headers["x-holdfast-gave-up"]).toBe("max-retries 1")
  })

  It.live("rule X13: of a client with another api-key or cookie is its own, whose key is in no record", function* () {
    const { endpoint, service } = yield* GatewayRig.start({
      answer: ({ rawHeaders, response }) => {
        const key = rawHeaders[rawHeaders.findIndex((name) => /^(?:api-key|cookie)$/iu.test(name)) + 1]
        response.writeHead(429, { "content-type": "application/json" })
        response.end(JSON.stringify({ error: { message: `No quota: ${key}`, code: "rate_limit_exceeded" } }))
      },
      file: { gate: { enabled: false } },
      retry: { ...Service.QUICK, maxRetries: 1 }
    })
    for (const headers of [
      { "api-key": "azure-key-of-a-0123" },
      { "api-key": "azure-key-of-b-0123" },
      { cookie: "sid=cookie-of-c-0123" }
    ]) {
      const { body } = yield* GatewayRig.post(service.port, CHAT, ASK, headers)
      expect(String(body)).toContain(Object.values(headers)[0])
    }
    expect(endpoint.calls.length).toBe(6)
    const turns = yield* turnsOf(service)
    expect(turns.length).toBe(3)
    for (const { conversationId, turnId } of turns) {
      const path = `/v1/conversations/${String(conversationId)}/turns/${String(turnId)}/explain`
      const { text } = yield* service.call({ path })
      expect(text).toContain("No quota: [redacted]")
      expect(text).not.toMatch(/of-[abc]-0123/u)
    }
  })

  It.live("gives up with its budget, and stays given up for the same call", function* () {
    const { endpoint, service } = yield* GatewayRig.start({
      answer: (call) => GatewayRig.sendError(call, 503),
      retry: { ...Service.QUICK, maxRetries: 2 }
    })
    const answer = yield* GatewayRig.post(service.port, CHAT, ASK, KEY)
    expect([answer.status, endpoint.calls.length, typeof answer.headers["x-holdfast-call"]]).toEqual([503, 3, "string"])
    const again = yield* GatewayRig.post(service.port, CHAT, { ...ASK, stream: false, max_tokens: 5 }, KEY)
    expect([again.status, endpoint.calls.length]).toEqual([503, 3])
    const other = yield* GatewayRig.post(service.port, CHAT, { ...ASK, temperature: 1 }, KEY)
    expect([other.status, endpoint.calls.length]).toEqual([503, 6])
    const [turn] = yield* turnsOf(service)
    expect((yield* turnsOf(service)).map(({ turnId }) => turnId)).toContain(answer.headers["x-holdfast-call"])
    const path = `/v1/conversations/${String(turn?.["conversationId"])}/retry`
    const retry = yield* service.call({ path, body: {} })
    expect([retry.status, endpoint.calls.length]).toEqual([409, 6])
    expect(retry.text).toContain("Only that program")
  })

  It.live("rule X13: whose body is compressed is held, goes up as it came, is known the next time", function* () {
    const plain = Buffer.from(JSON.stringify(ASK))
    const bodies: ReadonlyArray<readonly [coding: string, body: Buffer]> = [
      ["zstd", Zlib.zstdCompressSync(plain)],
      ["gzip", Zlib.gzipSync(plain)],
      ["br", Zlib.brotliCompressSync(plain)],
      ["identity", plain]
    ]
    const { endpoint, service } = yield* GatewayRig.start({
      answer: (call, n) => (n % 2 === 1 ? GatewayRig.sendError(call, 503) : GatewayRig.sendStream(call, bytes)),
      file: { gateway: { maxBodyBytes: 100_000 } }
    })
    for (const [coding, body] of bodies) {
      const at = endpoint.calls.length
      const headers = { ...KEY, "content-encoding": coding }
      const answer = yield* GatewayRig.post(service.port, CHAT, body, headers)
      expect([coding, answer.status, answer.body.equals(bytes)]).toEqual([coding, 200, true])
      for (const call of endpoint.calls.slice(at)) {
        expect(call.rawHeaders).toContain(coding)
        expect(body.equals(yield* Effect.promise(() => call.body))).toBe(true)
      }
      expect(endpoint.calls.length).toBe(at + 2)
    }
    const bomb = Zlib.zstdCompressSync(Buffer.alloc(1_000_000, " "))
    const refused = yield* GatewayRig.post(service.port, CHAT, bomb, { ...KEY, "content-encoding": "zstd" })
    expect([refused.status, String(refused.body)]).toEqual([413, expect.stringContaining("100000 bytes")])
  })

  It.live("rule X4, X13: is known to commands by its client, its session, its turn and its provider", function* () {
    let isUp = false
    const { service } = yield* GatewayRig.start({
      answer: (call) => (isUp ? GatewayRig.sendStream(call, bytes) : GatewayRig.sendError(call, 503)),
      file: { gate: { enabled: false } },
      retry: Service.LONG
    })
    const callers = [
      ["claude-cli/2.1.330 (external, cli)", "s-1", KEY.authorization],
      ["claude-cli/2.1.330 (external, cli)", "s-2", KEY.authorization],
      ["codex_exec/0.169.0", "s-3", "Bearer holdfast"]
    ] as const
    const posts = yield* Effect.forEach(callers, ([agent, session, authorization]) =>
      Effect.forkChild(
        GatewayRig.post(service.port, CHAT, ASK, { authorization, "user-agent": agent, "session-id": session })
      )
    )
    const order = (filter: object, type = "abort-retry", dryRun = true) =>
      Effect.map(
        service.call({ path: "/v1/turns/commands", body: { command: { type }, filter, dryRun } }),
        ({ text }): ReadonlyArray<string> => JSON.parse(text).turns.map(({ turnId }: { turnId: string }) => turnId)
      )
    yield* Process.eventually("three calls to wait", order({ tag: "gateway" }), ({ length }) => length === 3)
    yield* service.call({ path: "/v1/turns", body: { prompt: "Why?", tags: ["claude"] } })
    yield* Process.eventually("a turn to wait", order({ tag: "claude" }), ({ length }) => length === 3)
    const found = yield* Effect.forEach(
      [
        { tag: "claude-cli" },
        { tag: "claude", gateway: true },
        { tag: "codex" },
        { tag: "s-2" },
        { model: "own", gateway: true },
        { model: "own/m" },
        { model: "own~client" },
        { gateway: true },
        { model: "ow" }
      ],
      (filter) => Effect.map(order(filter), ({ length }) => length)
    )
    expect(found).toEqual([2, 2, 1, 1, 3, 4, 2, 3, 0])
    const [second = ""] = yield* order({ tag: "s-2" })
    yield* order({ turnIds: [second] }, "abort-retry", false)
    const [first, other, third] = posts
    const givenUp = yield* Fiber.join(other ?? assert.fail())
    expect([givenUp.status, givenUp.headers["x-holdfast-gave-up"]]).toEqual([503, "a person"])
    // It has failed, and no command for many turns can ask again for its program.
    const { text } = yield* service.call({ path: "/v1/turns?status=failed" })
    expect(JSON.parse(text).turns).toMatchObject([{ turnId: second }])
    expect(yield* order({ status: "failed" }, "retry")).toEqual([])
    isUp = true
    yield* order({ model: "own" }, "retry-now", false)
    for (const post of [first, third]) expect((yield* Fiber.join(post ?? assert.fail())).status).toBe(200)
  })
})
