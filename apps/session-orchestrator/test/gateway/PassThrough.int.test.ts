/** Tests calls that pass through the gateway once, over sockets. */
import { assert, describe, expect } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect } from "effect"
import { createHash, randomBytes } from "node:crypto"
import * as Http from "node:http"
import * as Configurations from "../config/Configurations.ts"
import * as Socket from "../http/Socket.ts"
import * as Service from "../service/Service.ts"
import * as GatewayRig from "./GatewayRig.ts"
import * as RawEndpoint from "./RawEndpoint.ts"
import { freePort } from "../FreePort.ts"
import * as It from "../It.ts"

interface Rig {
  readonly answer?: Parameters<typeof RawEndpoint.start>[0]
  readonly server?: object
  readonly gateway?: object
  readonly provider?: object
  /** The default; absent: `own/m`. */
  readonly model?: string | null
}

const start = Effect.fnUntraced(function* ({
  answer = ({ response }) => void response.end("{}"),
  gateway = {},
  model = "own/m",
  provider = {},
  server = {}
}: Rig = {}) {
  const endpoint = yield* RawEndpoint.start(answer)
  const config = Configurations.config({
    file: {
      server: { port: 0, ...server },
      database: { path: ":memory:" },
      gateway,
      providers: {
        own: { type: "openai-compatible", baseUrl: `${endpoint.url}/base/v1`, apiKeyEnv: ["OWN_KEY"], ...provider },
        claude: { type: "anthropic", baseUrl: endpoint.url, apiKeyEnv: ["CLAUDE_KEY"] }
      },
      ...(model === null ? {} : { model })
    },
    environment: { OWN_KEY: "sk-own-0123456789", CLAUDE_KEY: "sk-claude-0123456789" }
  })
  const service = yield* Service.start({ config, provider: yield* ScriptedServer.start() })
  return { endpoint, service }
})

const headerOf = ({ rawHeaders }: Pick<RawEndpoint.Received, "rawHeaders">, name: string) =>
  rawHeaders.filter((_, i) => i % 2 === 1 && rawHeaders[i - 1]?.toLowerCase() === name)

const sha256 = (bytes: Buffer) => createHash("sha256").update(bytes).digest("hex")

describe("a call through the gateway", () => {
  It.effect("goes up and comes down byte for byte, with its own headers", function* () {
    const [up, down] = [randomBytes(1_500_000), randomBytes(2_500_000)]
    const { endpoint, service } = yield* start({
      answer: ({ body, response }) => {
        void body.then(() => {
          response.writeHead(207, { "X-Request-Id": "r1", "X-Twice": ["a=1", "b=2"], "x-holdfast-call": "not ours" })
          response.end(down)
        })
      }
    })
    const answer = yield* GatewayRig.post(service.port, "/to/own/files?purpose=a%2Fb&x=%7e", up, {
      "Content-Type": "application/octet-stream",
      Authorization: "Bearer sk-of-the-client",
      "X-Custom": ["one", "two"],
      "accept-encoding": "gzip",
      "x-holdfast-retry-profile": "interactive",
      connection: "close, x-hop",
      "x-hop": "1"
    })
    const [call] = endpoint.calls
    assert(call !== undefined)
    expect([call.method, call.url]).toEqual(["POST", "/base/v1/files?purpose=a%2Fb&x=%7e"])
    expect(sha256(yield* Effect.promise(() => call.body))).toBe(sha256(up))
    expect(headerOf(call, "authorization")).toEqual(["Bearer sk-of-the-client"])
    expect(headerOf(call, "x-custom")).toEqual(["one", "two"])
    for (const name of ["accept-encoding", "x-holdfast-retry-profile", "x-hop"])
      expect(headerOf(call, name)).toEqual([])
    expect(answer.status).toBe(207)
    expect(sha256(answer.body)).toBe(sha256(down))
    expect(headerOf(answer, "x-twice")).toEqual(["a=1", "b=2"])
    for (const name of ["X-Twice", "X-Request-Id"]) expect(answer.rawHeaders).toContain(name)
    expect(answer.rawHeaders).not.toContain("not ours")
  })

  It.effect("has the provider's key in the place of Holdfast's word, and keeps any other credential", function* () {
    const { endpoint, service } = yield* start({ provider: { headers: { "x-tenant": "t1" } } })
    const get = (path: string, headers: Http.OutgoingHttpHeaders) => service.call({ path, headers })
    yield* get("/to/own/models", { authorization: "Bearer holdfast" })
    yield* get("/to/claude/v1/models", { authorization: "Bearer holdfast" })
    yield* get("/to/claude/v1/models", { "x-api-key": "holdfast" })
    yield* get("/to/claude/v1/models", { authorization: "Bearer sk-ant-oat01", "x-api-key": "other" })
    yield* get("/to/own/models", {})
    const keys = endpoint.calls.map((call) => [
      ...headerOf(call, "authorization"),
      ...headerOf(call, "x-api-key"),
      ...headerOf(call, "x-tenant")
    ])
    expect(keys).toEqual([
      ["Bearer sk-own-0123456789", "t1"],
      ["sk-claude-0123456789"],
      ["sk-claude-0123456789"],
      ["Bearer sk-ant-oat01", "other"],
      []
    ])
  })

  It.effect("frees the endpoint's connection when its client disconnects, before the answer and in it", function* () {
    const { endpoint, service } = yield* start({
      answer: ({ response }, n) => void (n === 2 && response.write("a part"))
    })
    const arrived = Effect.promise(async () => {
      while (endpoint.calls.length < 1) await new Promise(setImmediate)
    })
    const request = Http.request({ port: service.port, host: "127.0.0.1", path: "/to/own/models", agent: false })
    request.on("error", () => {})
    request.end()
    yield* arrived
    request.destroy()
    yield* Effect.promise(() => endpoint.calls[0]?.closed ?? Promise.reject(new Error("no call")))
    const open = yield* Socket.open(service.port, { path: "/to/own/models" })
    yield* open.until("a part")
    yield* open.hangUp
    yield* Effect.promise(() => endpoint.calls[1]?.closed ?? Promise.reject(new Error("no call")))
  })

  It.effect("has its body asked for with `100 Continue` once, and over HTTP/1.0 never", function* () {
    const { service } = yield* start({ answer: ({ response }) => void response.writeHead(400).end("{}") })
    for (const path of ["/to/own/files", "/to/own/chat/completions"])
      for (const [version, first] of [
        ["1.1", "HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 400 "],
        ["1.0", "HTTP/1.1 400 "]
      ]) {
        const head = [`POST ${path} HTTP/${version}`, "host: 127.0.0.1", "expect: 100-continue", "content-length: 2"]
        const answer = yield* Socket.raw(service.port, `${[...head, "connection: close"].join("\r\n")}\r\n\r\n{}`)
        expect(answer.slice(0, first?.length)).toBe(first)
      }
  })

  It.effect("that breaks off at the endpoint breaks off at the client", function* () {
    const { service } = yield* start({
      answer: ({ response }) => {
        response.write("a part", () => void response.destroy())
      }
    })
    const open = yield* Socket.open(service.port, { path: "/to/own/models" })
    expect(yield* Effect.exit(open.rest)).toMatchObject({ _tag: "Failure" })
  })

  It.effect("is held back by a client that does not read", function* () {
    const MANY = 32 * 1024 * 1024
    let flood: ReturnType<typeof RawEndpoint.flood> | undefined
    const { endpoint, service } = yield* start({
      answer: ({ response }) => (flood = RawEndpoint.flood(response, Buffer.alloc(MANY)))
    })
    const open = yield* Socket.open(service.port, { path: "/to/own/models" })
    yield* open.pause
    expect(yield* flood?.held ?? Effect.die("no call")).toBeLessThan(MANY)
    yield* open.resume
    expect((yield* open.rest).length).toBe(MANY)
    expect(endpoint.calls.length).toBe(1)
  })

  It.effect("is all that a service without a model does: its prompts are refused, with what to set", function* () {
    const { endpoint, service } = yield* start({ model: null })
    expect(yield* service.call({ path: "/to/own/models" })).toMatchObject({ status: 200, text: "{}" })
    expect(endpoint.calls.length).toBe(1)
    for (const [path, body] of [
      ["/v1/conversations", {}],
      ["/v1/turns", { prompt: "Hello" }]
    ] as const) {
      const { status, text } = yield* service.call({ path, body })
      expect([path, status, JSON.parse(text).detail]).toEqual([
        path,
        400,
        expect.stringMatching(/^model: missing.*set `model` in the configuration, or HOLDFAST_MODEL\.$/)
      ])
    }
    const named = yield* service.call({ path: "/v1/conversations", body: { model: "own/m" } })
    expect(named.status).toBe(201)
    const { text } = yield* service.call({ path: "/v1/configuration" })
    expect(JSON.parse(text).entries).toContainEqual(expect.objectContaining({ key: "model", value: "none" }))
    expect((yield* service.call({ path: "/v1/health" })).status).toBe(200)
  })
})

describe("an answer from below /to/", () => {
  const HOSTILE = {
    "Content-Type": "text/html",
    "Set-Cookie": ["sid=1; Path=/", "b=2"],
    "Service-Worker-Allowed": "/",
    "Clear-Site-Data": '"*"',
    Refresh: "0; url=/",
    "Access-Control-Allow-Origin": "*",
    "Access-Control-Allow-Credentials": "true",
    "Content-Security-Policy": "script-src *",
    "X-Frame-Options": "ALLOWALL",
    "Strict-Transport-Security": "max-age=1",
    "Alt-Svc": 'h3=":443"',
    "X-Request-Id": "r1"
  }
  const NONE = `set-cookie service-worker-allowed clear-site-data refresh access-control-allow-origin
    access-control-allow-credentials strict-transport-security alt-svc`.split(/\s+/)
  const LOCKED = {
    "content-security-policy": "sandbox; default-src 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "x-frame-options": "DENY"
  }

  It.effect("rule X13: is no page of this origin, without power over it: passed, held, refused, failed", function* () {
    const { endpoint, service } = yield* start({
      answer: ({ method, response }) => {
        response.writeHead(method === "GET" ? 200 : 400, HOSTILE).end("<script>steal()</script>")
      }
    })
    const passed = yield* service.call({ path: "/to/own/models", headers: { "sec-fetch-mode": "cors" } })
    const held = yield* service.call({ path: "/to/own/chat/completions", body: { model: "m", stream: true } })
    for (const answer of [passed, held]) {
      expect([answer.text, answer.headers["x-request-id"]]).toEqual(["<script>steal()</script>", "r1"])
      expect(NONE.filter((name) => answer.headers[name] !== undefined)).toEqual([])
      expect(answer.headers).toMatchObject(LOCKED)
    }
    expect(passed.headers["content-type"]).toBe("text/html")
    const navigation = { "sec-fetch-mode": "navigate", "sec-fetch-dest": "document" }
    const refused = [
      yield* service.call({ path: "/to/own/models", headers: navigation }),
      yield* service.call({ path: "/to/nowhere/models" }),
      yield* service.call({ path: "/to/own/models", headers: { host: "evil.example" } })
    ]
    expect(refused.map(({ status }) => status)).toEqual([403, 404, 403])
    for (const { headers } of refused) expect(headers).toMatchObject(LOCKED)
    expect(endpoint.calls.length).toBe(2)
  })
})

It.effect("rule X13: a browser's cookies, of this machine's pages, go to no provider; an agent's pass", function* () {
  const { endpoint, service } = yield* start({ answer: ({ response }) => void response.writeHead(400).end("{}") })
  const cookie = "sid=of-another-port"
  const page = { cookie, "sec-fetch-site": "same-origin", "sec-fetch-mode": "cors", "sec-fetch-dest": "empty" }
  yield* service.call({ path: "/to/own/models", headers: page })
  yield* service.call({ path: "/to/own/chat/completions", headers: page, body: { model: "m" } })
  yield* service.call({ path: "/to/own/models", headers: { cookie } })
  expect(endpoint.calls.map((call) => headerOf(call, "cookie"))).toEqual([[], [], [cookie]])
})

describe("a call for an answer that cannot be read", () => {
  It.effect("goes up once, as it came, and its failure comes down", function* () {
    const { endpoint, service } = yield* start({
      answer: ({ response }) => void response.writeHead(503, { "x-why": "down" }).end("busy")
    })
    const path = "/to/own/chat/completions"
    const bodies = [Buffer.from('{"model":'), Buffer.from([0x1f, 0x8b, 0x08])]
    const json = { "content-type": "application/json" }
    const broken = yield* GatewayRig.post(service.port, path, Buffer.from('{"model":'), json)
    const headers = { ...json, "content-encoding": "br" }
    const coded = yield* GatewayRig.post(service.port, path, Buffer.from([0x1f, 0x8b, 0x08]), headers)
    for (const { body, status } of [broken, coded]) expect([status, String(body)]).toEqual([503, "busy"])
    const received = yield* Effect.promise(() => Promise.all(endpoint.calls.map(({ body }) => body)))
    expect(received).toEqual(bodies)
    expect(headerOf(endpoint.calls[1] ?? assert.fail(), "content-encoding")).toEqual(["br"])
  })
})

describe("a call that the gateway refuses", () => {
  It.effect("is answered in the wire format of its path", function* () {
    const { endpoint, service } = yield* start({ gateway: { maxBodyBytes: 2048 } })
    const anthropic = yield* service.call({ path: "/to/nowhere/v1/messages", body: {} })
    const error = { type: "error", error: { type: "not_found_error" } }
    expect([anthropic.status, JSON.parse(anthropic.text)]).toMatchObject([404, error])
    expect(anthropic.text).toMatch(/no provider \\"nowhere\\".*There are: .*own.*claude/)
    const profile = yield* service.call({ path: "/to/own@nightly/chat/completions", body: {} })
    const messageOf = ({ status, text }: Socket.Answer) => [status, JSON.parse(text).error.message]
    const profiles = 'There is no retry profile "nightly". There are: overnight, weekly, interactive, cycling.'
    expect(messageOf(profile)).toEqual([404, profiles])
    const headers = { "x-holdfast-retry-profile": "weekly", "x-holdfast-retry-budget": "soon" }
    const budget = yield* service.call({ path: "/to/own/chat/completions", body: {}, headers })
    const soon = 'x-holdfast-retry-budget: found "soon"; expected a duration such as "8 hours".'
    expect(messageOf(budget)).toEqual([400, soon])
    const large = yield* service.call({ path: "/to/own/v1beta/models/g:generateContent", body: "x".repeat(4096) })
    expect([large.status, JSON.parse(large.text).error.code]).toEqual([413, 413])
    const chunks = ["x".repeat(1500), "x".repeat(1500)]
    const chunked = yield* service.call({ method: "POST", path: "/to/own/files", chunks })
    expect(chunked.status).toBe(413)
    const upgrade = { connection: "upgrade", upgrade: "websocket", "sec-websocket-version": "13" }
    const socket = yield* service.call({ path: "/to/own/responses", headers: upgrade })
    const asHttp = "WebSockets do not pass here. Send the same call as an HTTP request."
    expect(messageOf(socket)).toEqual([426, asHttp])
    expect(endpoint.calls.filter(({ url }) => url !== "/base/v1/files")).toEqual([])
  })

  It.effect("has no key, or a provider that is Holdfast itself", function* () {
    const port = yield* freePort
    const call = { path: "/to/own/models", headers: { authorization: "Bearer holdfast" } }
    const keyless = { model: "claude/m", provider: { apiKeyEnv: ["NOT_SET"] } }
    for (const [rig, status, message] of [
      [keyless, 401, "Holdfast has no key of own: none of NOT_SET is set."],
      [{ server: { port }, provider: { baseUrl: `http://127.0.0.1:${port}/to/own` } }, 502, "own is Holdfast itself"]
    ] as const) {
      const answer = yield* (yield* start(rig)).service.call(call)
      expect([answer.status, JSON.parse(answer.text).error.message]).toEqual([status, expect.stringContaining(message)])
    }
  })

  It.effect("has no token, or a wrong one, where the service can be reached by others", function* () {
    const { endpoint, service } = yield* start({ server: { host: "0.0.0.0", token: "token-0123456789" } })
    const path = "/to/claude/v1/messages"
    const post = (headers: Http.OutgoingHttpHeaders) =>
      Effect.map(service.call({ path, body: { model: "m" }, headers }), ({ status, text }) => [
        status,
        JSON.parse(text)
      ])
    const refusal = [401, { type: "error", error: { type: "authentication_error" } }]
    expect(yield* post({})).toMatchObject(refusal)
    expect(yield* post({ "x-api-key": "sk-ant-of-the-client" })).toMatchObject(refusal)
    expect(yield* post({ "x-api-key": "sk-ant-of-the-client", "x-holdfast-token": "wrong" })).toMatchObject(refusal)
    expect(endpoint.calls).toEqual([])
    yield* service.call({ path: "/to/claude/v1/models", headers: { "x-api-key": "token-0123456789" } })
    const both = { "x-api-key": "sk-ant-of-the-client", "x-holdfast-token": "token-0123456789" }
    yield* service.call({ path: "/to/claude/v1/models", headers: both })
    expect(endpoint.calls.map((call) => headerOf(call, "x-api-key"))).toEqual([
      ["sk-claude-0123456789"],
      ["sk-ant-of-the-client"]
    ])
    expect(endpoint.calls.flatMap((call) => headerOf(call, "x-holdfast-token"))).toEqual([])
  })

  It.effect("rule X13: has a dot segment in its path, also an escaped one", function* () {
    const { endpoint, service } = yield* start()
    const refused = String.raw`/to/own/../../admin /to/own/./models /to/../v1/conversations /to/own/.. /to/own/%2e%2E/admin
      /to/own/.%2e/admin /to/own/a%2f..%2fb /to/own/a\..\b /to/own/a%5C..%5cb /to/own/..;x/admin /to/own@overnight/../admin`
    for (const path of refused.split(/\s+/)) {
      const { status, text } = yield* service.call({ path })
      expect([path, status, text]).toEqual([path, 400, expect.stringContaining("segment")])
    }
    expect(endpoint.calls).toEqual([])
    const passed = ["/models/org%2Fmodel", "/models/a..b", "/models/...", "/files?path=a/../b"]
    for (const path of passed) yield* service.call({ path: `/to/own${path}` })
    expect(endpoint.calls.map(({ url }) => url)).toEqual(passed.map((path) => `/base/v1${path}`))
  })

  It.effect("cannot reach its endpoint: 502 with the reason", function* () {
    const { service } = yield* start({ provider: { baseUrl: "http://127.0.0.1:1/v1" } })
    const { status, text } = yield* service.call({ path: "/to/own/models" })
    expect([status, JSON.parse(text).error.message]).toMatchObject([502, /^own could not be reached: .*ECONNREFUSED/u])
  })
})
