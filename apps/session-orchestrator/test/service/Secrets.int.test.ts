/**
 * Plants keys everywhere, has a provider quote them, and searches all output for them.
 *
 * The output is everything that leaves the process or is written down. The program runs in this process, by its own command line, with its
 * own configuration, logger, transports and disk.
 */
import { NodeServices } from "@effect/platform-node"
import { assert, describe, it } from "@effect/vitest"
import { Simulated } from "@holdfast/simulated"
import * as ScriptedServer from "@holdfast/simulated/testing"
import { Effect, Fiber, Layer, Redacted } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Cli from "../../src/cli/Cli.ts"
import type * as Declaration from "../../src/cli/Declaration.ts"
import * as Terminal from "../../src/cli/terminal/Terminal.ts"
import * as Composition from "../../src/Composition.ts"
import * as Backup from "../../src/storage/sqlite/Backup.ts"
import * as Recorder from "../cli/Recorder.ts"
import * as FakeConversations from "../http/FakeConversations.ts"
import * as Socket from "../http/Socket.ts"
import * as TestServer from "../http/TestServer.ts"
import * as Leaks from "./Leaks.ts"
import * as ProcessSetup from "./ProcessSetup.ts"
import * as Process from "./Process.ts"
import * as It from "../It.ts"

/** Keys without a known shape, so that each is found because it is known; every encoding changes them. */
const KEY = "pkey/4f1a9c+Zq0=7b&2e?dX8m5TgW1"
const TOKEN = "tokn/66f0+21ab=93cd&e8?Yk5RwQ0z"
const QUERY = "qury/5a77+0c1e=d2&48?bbT9x1MnE3"
/** One word, as a provider's `code` may be. It stands in a variable, in a header whose name suggests no secret. */
const HEADER = "gateway:9d3e71c05b-Qw/8842.LkJ6"
/** No header can carry it. */
const BROKEN = "brkn-2b7f91xW\nca33e0-hV4sD8cN2p"

const SECRETS = [KEY, TOKEN, QUERY, HEADER, ...BROKEN.split("\n"), BROKEN]

const environment = { ONE_KEY: KEY, TITLE_KEY: HEADER, BROKEN_KEY: BROKEN, HOLDFAST_TOKEN: TOKEN, NO_COLOR: "1" }

/** Every planted secret that a provider knows, in every form. */
const quoted = [KEY, HEADER, QUERY].flatMap(Leaks.everyForm).join(" | ")

const configOf = (provider: { readonly url: string }) => {
  const baseUrl = `${provider.url}/v1?auth=${encodeURIComponent(QUERY)}`
  const entry = { baseUrl, apiKeyEnv: "ONE_KEY", headers: { "X-Title": "${TITLE_KEY}" } }
  return {
    server: { port: 0 },
    database: { path: "data/holdfast.db" },
    model: "openai-like/m",
    providers: {
      "openai-like": { type: "openai-compatible", ...entry },
      "anthropic-like": { type: "anthropic", ...entry },
      broken: { type: "openai-compatible", baseUrl, apiKeyEnv: "BROKEN_KEY" },
      away: { type: "openai-compatible", ...entry, baseUrl: baseUrl.replace(/:\d+/, ":1") }
    },
    // Every turn must get the provider's own response: failures that come this fast would be shared.
    gate: { enabled: false },
    retry: RETRY
  }
}

const RETRY = { schedule: { type: "steps", delays: ["10 millis"] }, maxRetries: 1 }

/** For the endpoint that never answers alone: on a busy machine any other answer might take as long. */
const IMPATIENT = { ...RETRY, requestTimeout: { firstContent: "150 millis" } }

const parts = {
  version: "0.0.0",
  simulated: Simulated,
  inspection: Composition.inspection,
  backup: Effect.succeed(Backup.make),
  page: Effect.void,
  service: Composition.service
}

/** Runs a command line in this process; returns its output and exit code. */
const run = Effect.fnUntraced(function* (
  args: ReadonlyArray<string>,
  variables: Readonly<Record<string, string>> = environment,
  replaced: Partial<Declaration.CommandParts> = {}
) {
  const recorder = Recorder.make({ stdout: false, stderr: false })
  const program = Cli.make({ ...parts, environment: variables, ...replaced }, ["--log-level", "all", ...args]).pipe(
    Effect.provide([NodeServices.layer, Layer.succeed(Terminal.Terminal, recorder.terminal)])
  )
  const fiber = yield* Effect.forkScoped(program, { startImmediately: true })
  return { recorder, fiber }
})

/** The same, until it listens. */
const serve = Effect.fnUntraced(function* (file: string, replaced: Partial<Declaration.CommandParts> = {}) {
  const { recorder, fiber } = yield* run(["serve", "--config", file, "--port", "0"], environment, replaced)
  const banner = yield* Process.eventually("the banner", Effect.sync(recorder.all), (text) =>
    text.includes("Ctrl-C stops")
  )
  const port = Number(/listens on http:\/\/127\.0\.0\.1:(\d+)/.exec(banner)?.[1])
  const withToken = (request: Socket.Request) => ({
    ...request,
    headers: { authorization: `Bearer ${TOKEN}`, ...request.headers }
  })
  return {
    recorder,
    port,
    call: (request: Socket.Request) => Socket.call(port, withToken(request)),
    open: (request: Socket.Request) => Socket.open(port, withToken(request)),
    stop: Fiber.interrupt(fiber)
  }
})

/** The formats of a turn's response. */
const ACCEPTED = ["application/x-ndjson", "text/event-stream", "application/json"]

/** Collects output, with its place. */
class Evidence {
  private readonly seen: Array<readonly [where: string, text: string]> = []

  add(where: string, text: string): void {
    this.seen.push([where, text])
  }

  /** A response with its head. */
  answer(where: string, { headers, status, text }: Socket.Answer): void {
    this.add(where, `${status}\n${JSON.stringify(headers)}\n${text}`)
  }

  /** Every file below a directory, byte by byte. */
  files(where: string, directory: string): void {
    for (const entry of fs.readdirSync(directory, { withFileTypes: true }))
      this.add(`${where}: ${entry.name}`, fs.readFileSync(path.join(directory, entry.name), "latin1"))
  }

  get all(): string {
    return this.seen.map(([, text]) => text).join("\n")
  }

  /** The places that contain remains of a secret. */
  get leaks(): ReadonlyArray<string> {
    return this.seen.flatMap(([where, text]) =>
      Leaks.find(text, SECRETS).map((secret) => `${secret} in ${where}: ${text.slice(0, 3000)}`)
    )
  }
}

type Dialect = "openai" | "anthropic"

/** Every way in which an endpoint can quote a request. */
const quotes = (
  dialect: Dialect
): ReadonlyArray<readonly [what: string, response: ScriptedServer.ScriptedResponse]> => {
  const error = (name: ScriptedServer.ErrorBody.ErrorName, message = quoted) =>
    ScriptedServer.ErrorBody.envelope(name, dialect, message)
  const inStream = (text: string) => `event: error\ndata: ${text}\n\n`
  const preamble = ScriptedServer.answerFrames(dialect, "x").slice(0, 1)
  const cut = `${"x".repeat(1985)}${KEY}`
  const page = (status: number, title: string, rest = "") => ({
    status,
    headers: { "content-type": "text/html" },
    body: `<html><title>${title}</title>${rest}</html>`
  })
  const stop = { choices: [{ delta: {}, finish_reason: "error", error: { message: quoted } }] }
  return [
    ["a 401", { status: 401, body: error("auth", `Incorrect API key provided: ${quoted}`) }],
    ["a 429", { status: 429, body: error("rate-limit", `Too many requests for ${quoted}`) }],
    ["an error that the limit of a message cuts in the key", { status: 500, body: error("server-error", cut) }],
    ["codes", { status: 400, body: { error: { message: "no", code: HEADER, type: HEADER } } }],
    ["text", { status: 400, body: `No such key: ${quoted}` }],
    ["JSON that broke off", { status: 500, body: `{"error": {"message": "${KEY}` }],
    ["JSON that is no error", { status: 200, body: { echo: quoted } }],
    ["a page", page(502, `${KEY} ${encodeURIComponent(HEADER)}`, quoted)],
    ["a page with status 200", page(200, KEY)],
    ["an error frame", { frames: [...preamble, inStream(JSON.stringify(error("overloaded")))] }],
    ["an error frame of text", { frames: [...preamble, inStream(quoted)] }],
    ["a frame that is no JSON", { frames: [...preamble, `data: {"a": ${quoted}\n\n`] }],
    ["a reason to stop", { frames: [`data: ${JSON.stringify(stop)}\n\n`] }],
    [
      "headers",
      {
        status: 503,
        headers: {
          "retry-after": KEY,
          "x-ratelimit-reset": KEY,
          "x-should-retry": KEY,
          "x-request-id": `${"x".repeat(113)}${KEY}`,
          "request-id": KEY,
          "www-authenticate": `Bearer error="${KEY}"`,
          [HEADER.replaceAll(/[^a-z0-9-]/gi, "-")]: KEY
        },
        body: error("unavailable")
      }
    ],
    ["a redirect", { status: 307, headers: { location: `/elsewhere?auth=${encodeURIComponent(QUERY)}` }, body: "" }],
    ["a connection that is cut", "reset"],
    ["silence", "never"]
  ]
}

describe("Leaks", () => {
  it("finds a secret in every form, at any place and in part", () => {
    for (const secret of SECRETS) {
      for (const form of Leaks.everyForm(secret)) {
        assert.deepStrictEqual(Leaks.find(`{"a":"b ${form}."}`, [secret]), [secret], form)
      }
      assert.deepStrictEqual(Leaks.find(secret.slice(1, 12), [secret]), [secret])
      assert.deepStrictEqual(Leaks.find("nothing of it", [secret]), [])
    }
  })
})

describe("secrets", () => {
  It.live("for any quotation of a provider no key is in an event, a response, the log, a byte on disk", function* () {
    const directory = yield* Process.directory
    const provider = yield* ScriptedServer.start()
    provider.fallback({ frames: [] })
    const service = yield* serve(Process.writeConfig(directory, configOf(provider)))
    const evidence = new Evidence()
    const create = (body: object) =>
      Effect.map(
        service.call({ path: "/v1/conversations", body }),
        ({ text }): string => JSON.parse(text).conversationId
      )
    const post = (id: string, accept: string) =>
      service.call({ path: `/v1/conversations/${id}/turns`, headers: { accept }, body: { prompt: "Hello" } })

    for (const [model, dialect] of [
      ["openai-like/m", "openai"],
      ["anthropic-like/m", "anthropic"]
    ] as const) {
      for (const [what, response] of quotes(dialect)) {
        const where = `${dialect}, ${what}`
        const before = provider.count()
        const id = yield* create({ model, ...(response === "never" ? { retry: IMPATIENT } : {}) })
        for (const accept of ACCEPTED) {
          provider.respond(response)
          evidence.answer(`${where}, as ${accept}`, yield* post(id, accept))
        }
        evidence.answer(`${where}, history`, yield* service.call({ path: `/v1/conversations/${id}/messages` }))
        evidence.answer(`${where}, state`, yield* service.call({ path: `/v1/conversations/${id}` }))
        const events = yield* service.open({ path: `/v1/conversations/${id}/events` })
        evidence.add(`${where}, events`, yield* events.until("turn-end"))
        assert.isAtLeast(provider.count(), before + ACCEPTED.length)
      }
    }
    for (const model of ["broken/m", "away/m"])
      evidence.answer(model, yield* post(yield* create({ model }), "application/x-ndjson"))

    // A wait, as the conversation's state shows it.
    provider.respond({ status: 429, body: { error: { message: quoted } } })
    const waiting = yield* create({ retry: { schedule: { type: "steps", delays: ["1 hour"] } } })
    const live = yield* service.open(ProcessSetup.request(waiting, "waits"))
    evidence.add("a wait", yield* live.until("provider-retry"))
    evidence.answer("the state of a wait", yield* service.call({ path: `/v1/conversations/${waiting}` }))

    for (const page of ["/metrics", "/docs", "/openapi.json", "/healthz", "/readyz"])
      evidence.answer(page, yield* service.call({ path: page }))
    const basic = `Basic ${Buffer.from(`:${TOKEN}`).toString("base64")}`
    const misuses: ReadonlyArray<Socket.Request> = [
      { path: `/nowhere?token=${encodeURIComponent(TOKEN)}` },
      { method: "DELETE", path: "/v1/conversations" },
      { path: "/v1/conversations", body: `{ "model": "${TOKEN}` },
      { path: "/v1/conversations", body: { model: [TOKEN], token: TOKEN } },
      { path: "/v1/conversations", body: "x", headers: { "content-type": "text/plain" } },
      { path: "/v1/conversations/none/turns", body: { prompt: 1, turnId: { TOKEN } } },
      { path: "/v1/conversations/none" },
      { path: "/v1/conversations", body: {}, headers: { authorization: basic } },
      { path: "/v1/conversations", body: {}, headers: { authorization: `Bearer ${TOKEN.slice(0, -1)}` } }
    ]
    for (const misuse of misuses) {
      const answer = yield* service.call(misuse)
      assert.isAtLeast(answer.status, 400)
      evidence.answer(`${misuse.method ?? ""} ${misuse.path.split("?")[0]}: ${answer.status}`, answer)
    }

    evidence.files("on disk while it runs", path.join(directory, "data"))
    yield* service.stop
    evidence.files("on disk afterwards", path.join(directory, "data"))
    evidence.add("the banner and the log", service.recorder.all())

    // The keys were sent, and were quoted: otherwise there was nothing to find.
    const { headers } = provider.requests()[0] ?? assert.fail("no request")
    assert.deepInclude(headers, { authorization: `Bearer ${KEY}`, "x-title": HEADER })
    assert.include(evidence.all, "Incorrect API key provided: [redacted]")
    assert.deepStrictEqual(evidence.leaks, [])
  })

  It.live("a bug that handles a key shows a client nothing, and the log nothing of the key", function* () {
    const directory = yield* Process.directory
    const conversations = FakeConversations.make()
    conversations.broken.defect = new Error(`boom ${quoted}`, {
      cause: { headers: { authorization: `Bearer ${KEY}` } }
    })
    const service = yield* serve(Process.writeConfig(directory, configOf({ url: "http://127.0.0.1:1" })), {
      service: TestServer.layer({ port: 0, token: Redacted.make(TOKEN) }).pipe(Layer.provide(conversations.layer))
    })
    const evidence = new Evidence()
    const answer = yield* service.call({ path: `/v1/conversations/none?token=${TOKEN}` })
    assert.strictEqual(answer.status, 500)
    const { incident } = JSON.parse(answer.text)
    const log = yield* Process.eventually("the log", Effect.sync(service.recorder.stderr), (text) =>
      text.includes(incident)
    )
    assert.include(log, "boom [redacted]")
    evidence.answer("the problem", answer)
    evidence.add("the log", service.recorder.all())
    assert.deepStrictEqual(evidence.leaks, [])
    assert.notInclude(answer.text, "boom")
  })

  It.live("a bug that ends the program shows nothing of a key", function* () {
    const directory = yield* Process.directory
    const file = Process.writeConfig(directory, configOf({ url: "http://127.0.0.1:1" }))
    const { recorder, fiber } = yield* run(["serve", "--config", file], environment, {
      service: Layer.effectContext(Effect.die(new Error(`boom ${quoted}`)))
    })
    assert.strictEqual(yield* Fiber.join(fiber), 1)
    assert.match(
      recorder.stderr(),
      /^holdfast: this is a bug in Holdfast, not in what you did: Error: boom \[redacted\]/
    )
    assert.deepStrictEqual(Leaks.find(recorder.all(), SECRETS), [])
  })

  It.live("`run` and `config check` print none", function* () {
    const directory = yield* Process.directory
    const provider = yield* ScriptedServer.start()
    const file = Process.writeConfig(directory, configOf(provider))
    const evidence = new Evidence()
    const unauthorized = { status: 401, body: { error: { message: `Incorrect API key provided: ${quoted}` } } }
    const limited = { status: 429, body: { error: { message: quoted } } }
    provider.respond(unauthorized, limited, unauthorized)
    for (const args of [
      ["run", "Hello"],
      ["run", "--json", "Hello"],
      ["config", "check"]
    ]) {
      const { recorder, fiber } = yield* run([...args, "--config", file])
      yield* Fiber.join(fiber)
      evidence.add(args.join(" "), recorder.all())
    }
    assert.strictEqual(provider.count(), 3)
    assert.include(evidence.all, "X-Title: [redacted]")
    assert.deepStrictEqual(evidence.leaks, [])
  })

  const like = (entry: object) => ({ providers: { openai: { type: "openai-compatible", ...entry } } })
  const [key, queried] = [encodeURIComponent(KEY), `http://127.0.0.1/v1?auth=${KEY}#there`]
  const withPassword = `http://me:${key}@127.0.0.1/v1`

  const pasted: ReadonlyArray<
    readonly [where: string, config: object | string, variables?: Readonly<Record<string, string>>]
  > = [
    ["a key in place of the name of its variable", like({ apiKeyEnv: KEY })],
    ["a key under a key that there is not", like({ apiKey: KEY })],
    ["a token that is no string", { server: { token: [TOKEN] } }],
    ["a header that is no string", like({ headers: { "X-Gateway": [HEADER] } })],
    ["a header of two lines", like({ headers: { "X-Gateway": BROKEN } })],
    ["a user in an address", like({ baseUrl: `http://${key}@127.0.0.1/v1` })],
    ["a password in an address", like({ baseUrl: withPassword })],
    ["a query in an address that will not do", like({ baseUrl: queried })],
    ["a password in a variable's address", {}, { OPENAI_BASE_URL: withPassword }],
    ["a token in the variable for its variable's name", { server: { tokenEnv: TOKEN } }],
    ["a key as the whole file", JSON.stringify(KEY)],
    ["JSON that breaks off within a key", `{ "server": { "token": "${TOKEN}`],
    ["a key without quotes", `{ "server": { "token": ${TOKEN} } }`]
  ]

  it.live.each(pasted)("pasted into the wrong place they are not shown: %s", ([, config, variables = {}]) =>
    Effect.gen(function* () {
      const directory = yield* Process.directory
      const file = Process.writeConfig(directory, config)
      const { recorder, fiber } = yield* run(["config", "check", "--config", file], variables)
      assert.strictEqual(yield* Fiber.join(fiber), 2)
      assert.deepStrictEqual(Leaks.find(recorder.all(), SECRETS), [], recorder.all())
    })
  )
})
