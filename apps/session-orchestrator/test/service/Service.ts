/**
 * Runs the whole service in this process: real sockets and a real database file.
 *
 * Delays are shortened by configuration alone. A service counts its metrics in the registry that its test provides, or in one of its own: the one of
 * the process has what other tests counted.
 */
import * as ScriptedServer from "@holdfast/simulated/testing"
import type { Models, Profile } from "@holdfast/policy"
import { TurnEvent } from "@holdfast/wire"
import { Context, Duration, Effect, Exit, Layer, Metric, Redacted, Schema, Scope } from "effect"
import { HttpServer } from "effect/http"
import * as Composition from "../../src/Composition.ts"
import { Config, type Values } from "../../src/config/Config.ts"
import { DEFAULTS, plain } from "../../src/config/reading/Settings.ts"
import * as Socket from "../http/Socket.ts"

export { shown } from "./Shown.ts"

/** Wire formats, as `type` in the configuration. */
export type Format = "openai-compatible" | "anthropic"

export interface Options {
  readonly format?: Format
  readonly retry?: Profile.RetrySettings
  /** A file; if absent, the data is gone with the service. */
  readonly database?: string
  /** A PostgreSQL in its place, and the port at which this runner listens for the others. */
  readonly postgres?: { readonly url: Redacted.Redacted; readonly runnerPort: number }
  readonly apiKey?: string
  readonly telemetry?: Partial<Config["Service"]["telemetry"]>
  /** Names of further credentials of each provider; `keyOf` gives their keys. */
  readonly credentials?: ReadonlyArray<string>
  readonly models?: Models.Models
  /** Webhooks of turns' ends. */
  readonly webhooks?: Values["webhooks"]
  /** Names of providers, all on one server, each under its own path. The first is the default. */
  readonly providers?: ReadonlyArray<string>
  readonly provider?: Effect.Success<ReturnType<typeof ScriptedServer.start>>
  /** A whole configuration, in place of the other options. */
  readonly config?: Values
}

/** Short enough for a test, and each different from the others. */
export const QUICK: Profile.RetrySettings = {
  schedule: {
    type: "steps",
    delays: [Duration.millis(10), Duration.millis(20), Duration.millis(30)],
    tail: Duration.millis(40)
  }
}

/** Long enough for a test to act while it lasts. */
export const LONG: Profile.RetrySettings = {
  schedule: { type: "steps", delays: [Duration.hours(1)], tail: Duration.hours(1) }
}

const KEY = "SCRIPTED_API_KEY"

const OF_PROCESS = Context.get(Context.empty(), Metric.MetricRegistry)

/** The key of a credential, by its name. */
export const keyOf = (credential: string): string => `sk-of-${credential}`

export const start = Effect.fnUntraced(function* ({
  format = "openai-compatible",
  retry = QUICK,
  database = ":memory:",
  postgres,
  apiKey = "sk-test-0123456789",
  credentials = [],
  models = {},
  webhooks,
  providers = ["scripted"],
  provider: given,
  telemetry = {},
  config: whole
}: Options = {}) {
  const provider = given ?? (yield* ScriptedServer.start())
  const config: Values = whole ?? {
    file: undefined,
    server: { ...DEFAULTS.server, port: 0, token: undefined },
    database: { path: database, url: postgres?.url, retention: Duration.infinity, deleteConversations: [] },
    cluster: { runner: { host: "127.0.0.1", port: postgres?.runnerPort ?? 1 }, shards: 1 },
    providers: new Map(
      providers.map((name) => [
        name,
        {
          type: format,
          name,
          baseUrl: `${provider.url}/${name}/v1`,
          apiKeyEnv: [KEY, ...credentials],
          credentials: [
            { name: KEY, value: Redacted.make(apiKey) },
            ...credentials.map((key) => ({ name: key, value: Redacted.make(keyOf(key)) }))
          ],
          headers: {}
        }
      ])
    ),
    ...plain({}),
    tools: [],
    models,
    prices: {},
    systemPrompts: {},
    model: { provider: providers[0] ?? "scripted", model: "m" },
    retry,
    telemetry: { retryLog: undefined, otlp: undefined, notifications: undefined, ...telemetry },
    webhooks,
    origins: new Map(),
    notices: []
  }
  const scope = yield* Scope.fork(yield* Scope.Scope)
  const registry = yield* Metric.MetricRegistry
  const context = yield* Layer.buildWithScope(
    Composition.service.pipe(Layer.provide(Layer.succeed(Config, config))),
    scope
  ).pipe(Effect.provideService(Metric.MetricRegistry, registry === OF_PROCESS ? new Map() : registry))
  const { address } = Context.get(context, HttpServer.HttpServer)
  if (address._tag === "UnixPathAddress") return yield* Effect.die("bound to a path")
  const { port } = address
  const call = (request: Socket.Request) => Socket.call(port, request)

  return {
    port,
    provider,
    call,
    open: (request: Socket.Request) => Socket.open(port, request),
    /** Stops as on SIGTERM. */
    stop: Scope.close(scope, Exit.void),
    create: (body: object = {}) =>
      Effect.map(call({ path: "/v1/conversations", body }), ({ text }): string => JSON.parse(text).conversationId)
  }
})

/** A turn's events over NDJSON, to the end of the stream. */
export const eventsOf = (text: string): ReadonlyArray<TurnEvent.TurnEvent> =>
  text
    .split("\n")
    .filter((line) => line.trim() !== "")
    .map((line) => decode(line))

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(TurnEvent.TurnEvent))
