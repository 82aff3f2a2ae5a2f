/** Tests proxies from the environment: calls of providers, webhooks and traces. */
import { assert, describe, expect } from "@effect/vitest"
import * as ScriptedServer from "@holdfast/simulated/testing"
import type { Profile } from "@holdfast/policy"
import { Effect } from "effect"
import * as fs from "node:fs"
import * as tls from "node:tls"
import * as Configurations from "../config/Configurations.ts"
import * as ProxyServer from "./ProxyServer.ts"
import * as Service from "./Service.ts"
import * as It from "../It.ts"

const { ErrorBody, answerFrames } = ScriptedServer

// As NODE_EXTRA_CA_CERTS does for a process as a whole.
tls.setDefaultCACertificates([
  ...tls.getCACertificates("default"),
  fs.readFileSync(ProxyServer.CERTIFICATE_FILE, "utf8")
])

const PASSWORD = "pass+word/of:the~proxy"
const CREDENTIALS = `night:${PASSWORD}`

/** Chat models of a real package of the AI SDK. */
const MODULE = `${import.meta.dirname}/../providers/ChatModels.mjs`

interface Rig {
  readonly scheme: "http" | "https"
  readonly proxy?: Partial<ProxyServer.Options>
  readonly environment?: (proxy: ProxyServer.ProxyServer) => Readonly<Record<string, string>>
  readonly file?: object
  readonly retry?: Profile.RetrySettings
}

/** A service, a provider that only the proxy can resolve, and the proxy. */
const start = Effect.fnUntraced(function* ({
  environment,
  file = {},
  proxy: options = {},
  retry = { enabled: false },
  scheme
}: Rig) {
  const provider = yield* ScriptedServer.start()
  const hosts = { "provider.test": scheme === "http" ? provider.port : yield* ProxyServer.startTls(provider.port) }
  const proxy = yield* ProxyServer.start({ ...options, hosts: { ...hosts, ...options.hosts } })
  const user = options.credentials === undefined ? "" : `night:${encodeURIComponent(PASSWORD)}@`
  const config = Configurations.config({
    file: {
      server: { port: 0 },
      database: { path: ":memory:" },
      providers: { own: { type: "openai-compatible", baseUrl: `${scheme}://provider.test/v1` } },
      model: "own/m",
      ...file
    },
    environment: environment?.(proxy) ?? { [`${scheme.toUpperCase()}_PROXY`]: `http://${user}127.0.0.1:${proxy.port}` }
  })
  const service = yield* Service.start({ provider, config: { ...config, retry } })
  const id = yield* service.create()
  const ask = Effect.map(
    service.call({ path: `/v1/conversations/${id}/turns`, body: { prompt: "Hello" } }),
    ({ text }): { readonly status: string; readonly error?: { readonly reason: string; readonly message: string } } =>
      JSON.parse(text)
  )
  return { provider, proxy, service, ask, config }
})

describe("calls through a proxy", () => {
  It.live("an https provider is reached through a tunnel, by a name that the proxy resolves", function* () {
    const { ask, provider, proxy } = yield* start({ scheme: "https", proxy: { credentials: CREDENTIALS } })
    provider.respond({ frames: answerFrames("openai", "Yes.") }, { frames: answerFrames("openai", "Yes.") })
    assert.deepStrictEqual([(yield* ask).status, (yield* ask).status], ["completed", "completed"])
    // The connection behind the tunnel is used again.
    assert.deepStrictEqual([proxy.tunnels(), provider.count()], [["provider.test:443"], 2])
    assert.notInclude(JSON.stringify(provider.requests()), "proxy-authorization")
  })

  const trouble: ReadonlyArray<readonly [what: string, response: ScriptedServer.ScriptedResponse]> = [
    ["429 that names its delay", { status: 429, headers: { "retry-after": "0.001" }, body: "{}" }],
    ["503 on a connection that closes", { status: 503, headers: { connection: "close" }, body: "" }],
    ["529", { status: 529, body: ErrorBody.envelope("overloaded", "openai") }],
    ["a redirect that keeps the method", { status: 307, headers: { location: "/v1/elsewhere" }, body: "" }],
    ["a connection that is cut before the headers", "reset"],
    ["a stream that is cut before content", { frames: answerFrames("openai", "No.").slice(0, 1), cutAfter: 1 }],
    ["an empty 200", { status: 200, body: "" }]
  ]

  /** Each provider fails behind its first answer; the requests are counted. */
  const once = Effect.fnUntraced(function* (rig: Rig) {
    const { ask, provider, proxy } = yield* start(rig)
    let asked = 0
    for (const [what, response] of trouble) {
      provider.respond({ frames: answerFrames("openai", "Yes.") }, response)
      assert.strictEqual((yield* ask).status, "completed", what)
      assert.strictEqual((yield* ask).status, "failed", what)
      asked += 2
      assert.strictEqual(provider.count(), asked, what)
    }
    return proxy
  })

  It.live("rule C9: the same holds for a package of the AI SDK, whose requests go through the proxy", function* () {
    const own = { type: "ai-sdk", package: MODULE, baseUrl: "https://provider.test/v1" }
    assert.include((yield* once({ scheme: "https", file: { providers: { own } } })).tunnels(), "provider.test:443")
  })
})

describe("other traffic of the service", () => {
  It.live("webhooks and traces go through the proxy too", function* () {
    const collector = yield* ScriptedServer.start()
    collector.fallback({ status: 200, body: "" })
    const { ask, proxy, provider, service } = yield* start({
      scheme: "http",
      proxy: { hosts: { "collector.test": collector.port, "hooks.test": collector.port } },
      environment: ({ port }) => ({ HTTP_PROXY: `127.0.0.1:${port}`, NO_PROXY: "*.example.org" }),
      retry: Service.LONG,
      file: {
        telemetry: {
          otlp: { endpoint: "http://collector.test" },
          notifications: { after: "0 seconds", webhook: "http://hooks.test/night" }
        }
      }
    })
    provider.fallback({ status: 503, body: "" })
    yield* Effect.forkScoped(ask)
    yield* collector.received(1)
    yield* service.stop
    expect(new Set(proxy.forwarded())).toEqual(
      new Set([
        "http://provider.test/v1/chat/completions",
        "http://collector.test/v1/traces",
        "http://hooks.test/night"
      ])
    )
  })
})
