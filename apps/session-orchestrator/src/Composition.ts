/**
 * Composes the service from its layers. No other file combines them.
 *
 * Modules of `@effect/platform-node` are imported by name, here and elsewhere: its index would load unused drivers (Redis), which
 * takes a tenth of a start.
 */
import { Retention, Timer } from "@holdfast/journal"
import { Models } from "@holdfast/policy"
import { Anthropic, Gemini, ModelFiles, OpenAiCompatible, OpenAiResponses } from "@holdfast/providers"
import { Target } from "@holdfast/wire"
import { Simulated } from "@holdfast/simulated"
import { proxiesOf } from "./config/reading/Environment.ts"
import * as RawCall from "@holdfast/providers/raw"
import * as Undici from "@holdfast/providers/undici"
import type { Ids } from "@holdfast/wire"
import { Effect, Layer } from "effect"
import { HttpServer as HttpSocket } from "effect/http"
import * as AiSdkPackage from "./providers/AiSdkPackage.ts"
import { Config, type Credential, type ProviderConfig, type Values } from "./config/Config.ts"
import * as ModelChoice from "./config/ModelChoice.ts"
import * as Secrets from "./redaction/Secrets.ts"
import * as Condition from "./system/Condition.ts"
import { Conversations } from "./conversation/Conversations.ts"
import { Defaults } from "./conversation/Defaults.ts"
import * as Gates from "./gate/Gates.ts"
import * as Gateway from "./gateway/Gateway.ts"
import * as HeldCalls from "./conversation/HeldCalls.ts"
import * as ProviderName from "./text/ProviderName.ts"
import * as Orchestrator from "./orchestrator/Orchestrator.ts"
import { Providers } from "./conversation/Providers.ts"
import * as Quarantine from "./pacing/Quarantine.ts"
import * as Tools from "./conversation/Tools.ts"
import * as DryRuns from "./dry-run/DryRuns.ts"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as ServiceDeliveries from "./delivery/ServiceDeliveries.ts"
import * as TurnWebhooks from "./delivery/TurnWebhooks.ts"
import * as Inspection from "./inspection/Inspection.ts"
import * as HealthReports from "./inspection/endpoints/HealthReports.ts"
import * as BulkCommands from "./http/BulkCommands.ts"
import * as PeriodReports from "./inspection/period/PeriodReports.ts"
import * as Removal from "./orchestrator/Removal.ts"
import * as Submissions from "./orchestrator/Submissions.ts"
import * as TurnLists from "./inspection/TurnLists.ts"
import * as TurnUse from "./inspection/TurnUse.ts"
import * as StoredTurns from "./inspection/StoredTurns.ts"
import { nameOf } from "./storage/sql/DatabaseUrl.ts"
import * as GateTable from "./storage/tables/GateTable.ts"
import { Journal } from "./storage/EventJournal.ts"
import * as ConversationRetention from "./storage/ConversationRetention.ts"
import { Deletions } from "./storage/Deletions.ts"
import { Lists } from "./storage/Lists.ts"
import * as SqlStore from "./storage/sql/SqlStore.ts"
import * as Tenancy from "./storage/sqlite/Tenancy.ts"
import * as CommandMetrics from "./telemetry/metrics/CommandMetrics.ts"
import * as Telemetry from "./telemetry/Telemetry.ts"
import * as Drain from "./system/Drain.ts"
import * as HttpServer from "./http/HttpServer.ts"
import * as Loopback from "./system/Loopback.ts"

const ADAPTERS = {
  "openai-compatible": OpenAiCompatible,
  anthropic: Anthropic,
  "openai-responses": OpenAiResponses,
  gemini: Gemini
}

const makeProvider = (
  config: Exclude<ProviderConfig, { readonly type: "ai-sdk" }>,
  credential: Credential | undefined,
  conceal: Secrets.Secrets["Service"]["redact"]
) => {
  if (config.type === "simulated") return Simulated.make
  const { baseUrl, headers, request } = config
  const options = { baseUrl, headers, apiKey: credential?.value, conceal, ...request }
  return ADAPTERS[config.type].make(options)
}

/** Makes one provider per credential, or a single one if the configuration needs no credential. */
const makeProviders = Effect.fnUntraced(function* (
  config: Parameters<typeof makeProvider>[0],
  conceal: Secrets.Secrets["Service"]["redact"]
) {
  const credentials = credentialsOf(config)
  const first = yield* makeProvider(config, credentials[0], conceal)
  const others = yield* Effect.forEach(credentials.slice(1), (credential) =>
    Effect.map(makeProvider(config, credential, conceal), (provider) => [credential.name, provider] as const)
  )
  return { first, byCredential: new Map(others) }
})

const credentialsOf = (config: ProviderConfig): ReadonlyArray<Credential> =>
  config.type === "simulated" ? [] : config.credentials

/** The HTTP client of the providers. */
const http = Layer.unwrap(Config.useSync((config) => Undici.layerVia(proxiesOf(config))))

/** The packages of "ai-sdk" providers, whose requests go through the proxies too. Nothing is loaded where there are none. */
const aiSdkPackages = Effect.fnUntraced(function* (config: Values, conceal: Secrets.Secrets["Service"]["redact"]) {
  if (!Array.from(config.providers.values()).some(({ type }) => type === "ai-sdk")) return NO_PACKAGES
  return yield* AiSdkPackage.loadAll(config, { conceal, fetch: yield* Undici.fetchVia(proxiesOf(config)) })
})

const NO_PACKAGES: ReadonlyMap<string, AiSdkPackage.AiSdkPackage> = new Map()

/** The providers of the configuration. They share one connection pool. */
const providers = Layer.effect(
  Providers,
  Effect.gen(function* () {
    const config = yield* Config
    const calls = yield* HeldCalls.HeldCalls
    const made = new Map<string, AiSdkPackage.ByCredential>()
    // Each provider redacts the secrets of all providers: one proxy may serve several, and quote another provider's secret.
    const { redact } = Secrets.make(Secrets.ofConfig(config))
    const packages = yield* aiSdkPackages(config, redact)
    const filesOf = (target: Target.Target) => Models.filesOf(config.models[Target.format(target)] ?? {})
    const limited = ({ byCredential, first }: AiSdkPackage.ByCredential): AiSdkPackage.ByCredential => ({
      first: ModelFiles.limited(first, filesOf),
      byCredential: new Map(
        Array.from(byCredential, ([name, provider]) => [name, ModelFiles.limited(provider, filesOf)])
      )
    })
    for (const [name, provider] of config.providers) {
      const loaded = packages.get(name)
      if (provider.type !== "ai-sdk") made.set(name, limited(yield* makeProviders(provider, redact)))
      else if (loaded !== undefined) made.set(name, limited(loaded))
    }
    return {
      get: (name, credential) => made.get(name)?.byCredential.get(credential ?? "") ?? made.get(name)?.first,
      held: (id) => HeldCalls.find(calls, id),
      names: Array.from(made.keys()),
      unusable: (target) =>
        ModelChoice.refusalOf(target, config.providers, Simulated)?.message ??
        packages.get(target.provider)?.unusable(target.model),
      credentials: Object.fromEntries(
        Array.from(config.providers, ([name, provider]) => [name, credentialsOf(provider).map(({ name }) => name)])
      )
    }
  })
).pipe(Layer.provide(http))

/** Gates for providers that are reached over HTTP. A simulated outage belongs to one turn, so a gate would share nothing. */
const gates = Layer.unwrap(
  Effect.gen(function* () {
    const { database, gate, providers } = yield* Config
    const endpointOf: Gates.EndpointOf = (name) => {
      const provider = providers.get(ProviderName.configured(name))
      if (provider === undefined || provider.type === "simulated") return undefined
      const baseUrl = provider.baseUrl ?? `ai-sdk:${provider.name}`
      return { baseUrl, credential: provider.credentials[0]?.name }
    }
    const allowanceOf: Gates.AllowanceOf = (name) => {
      const provider = providers.get(name)
      return provider === undefined || provider.type === "simulated" ? undefined : provider.limits
    }
    if (!gate.enabled) return Gates.layerLimits(allowanceOf)
    if (database.url === undefined) return Gates.layer(endpointOf, allowanceOf)
    const url = database.url
    const { layerClient } = yield* Effect.promise(() => import("./storage/sql/Postgres.ts"))
    return Gates.layerShared(endpointOf, allowanceOf).pipe(
      Layer.provide(GateTable.layer(nameOf(url))),
      // The gate table has its own connection, so that gates and turns do not wait for each other's queries.
      Layer.provide(layerClient({ url, connections: 1 }))
    )
  })
)

const defaults = Layer.effect(
  Defaults,
  Config.useSync(({ database, model, models, prices, retry, spend = [], systemPrompts, webhooks }) => ({
    model,
    models,
    retry,
    systemPrompts,
    spend:
      spend.length === 0
        ? undefined
        : { limits: spend, prices, isShared: database.url !== undefined, reading: TurnUse.reading },
    receivers: webhooks?.turnEnd === undefined ? [] : [ServiceDeliveries.EVERY_TURN]
  }))
)

/** The store of this process alone: the database file, or memory if runners share a PostgreSQL. */
const store = Layer.unwrap(
  Config.useSync(({ database }) => (database.url === undefined ? SqlStore.layer(database) : SqlStore.layerMemory))
)

/** The tool servers. Their modules are loaded only if tools are configured. */
const tools = Layer.unwrap(
  Effect.gen(function* () {
    const { tools } = yield* Config
    if (tools.length === 0) return Tools.layerNoop
    const { ToolServers } = yield* Effect.promise(() => import("@holdfast/mcp"))
    return Layer.effect(Tools.Tools, ToolServers.start(tools, Secrets.conceal))
  })
)

const resources = Layer.mergeAll(providers, gates, tools, defaults, Condition.layer, Quarantine.layer).pipe(
  Layer.provideMerge(Timer.layer),
  Layer.provideMerge(HeldCalls.layer)
)

/** Locks the database file: one process owns it, and its lock names where it listens. */
const owner = Layer.unwrap(
  Effect.gen(function* () {
    const { database, server } = yield* Config
    const { address } = yield* HttpSocket.HttpServer
    const port = "port" in address ? address.port : server.port
    return Tenancy.layerOwner({ path: database.path, url: Loopback.urlOf(server.host, port) })
  })
)

/** Conversations with their storage: a file that this process owns, or the PostgreSQL of `database.url` that runners share. */
export const held = Layer.unwrap(
  Effect.gen(function* () {
    const { cluster, database } = yield* Config
    if (database.url === undefined) return Orchestrator.layer.pipe(Layer.provideMerge(store), Layer.provide(owner))
    const Cluster = yield* Effect.promise(() => import("./cluster/Cluster.ts"))
    const calls = Layer.succeed(HeldCalls.HeldCalls, yield* HeldCalls.HeldCalls)
    return Cluster.layer({ ...cluster, url: database.url }).pipe(Layer.provide(calls))
  })
).pipe(
  (conversations) => Layer.provideMerge(CommandMetrics.layer, conversations),
  Layer.provideMerge(Telemetry.layer),
  Layer.provide(resources)
)

/** Deletes old journals and conversations while the service runs. */
const retention = Layer.effectDiscard(
  Effect.gen(function* () {
    const { database } = yield* Config
    yield* Effect.forkScoped(Retention.run(yield* Journal, database.retention))
    const { endStreams } = yield* Conversations
    const deleted = (id: Ids.ConversationId) => Removal.ended(endStreams(id))
    const ports = { lists: yield* Lists, deletions: yield* Deletions, deleted }
    yield* Effect.forkScoped(ConversationRetention.run(ports, database.deleteConversations))
  })
)

/** The calls that pass through to providers. They have connections of their own. */
const gateway = Layer.unwrap(
  Effect.gen(function* () {
    return Gateway.layer(yield* RawCall.sendVia(proxiesOf(yield* Config)))
  })
).pipe(Layer.provide(resources))

/** Marks the service as started after it has resumed the turns of the last process. Its socket answers before that. */
const started = Layer.effectDiscard(Effect.flatMap(Condition.Condition, (condition) => condition.started))

/** Reads turns from the database, with a service running or without. */
export const inspection = Layer.unwrap(
  Effect.gen(function* () {
    const { database, model, models, retry } = yield* Config
    const options = { defaults: { model, models, retry } }
    if (database.url === undefined) return Inspection.layerSqlite(database.path, options)
    const url = database.url
    const { layerClient } = yield* Effect.promise(() => import("./storage/sql/Postgres.ts"))
    return Inspection.layerShared(nameOf(url), options).pipe(Layer.provide(layerClient({ url })))
  })
)

/** Reports of endpoints; with the gates of the turns. */
const reports = HealthReports.layer.pipe(Layer.provide([Secrets.layer, resources]))

/** States, explanations and lists of turns, and submissions, for any process that runs them. */
const lookups = Layer.mergeAll(
  PeriodReports.layer,
  DryRuns.layer,
  TurnWebhooks.layer,
  Submissions.layer.pipe(Layer.provide(defaults)),
  Removal.layer,
  Layer.provideMerge(BulkCommands.layer, Layer.mergeAll(TurnLists.layer, StoredTurns.layer))
).pipe(Layer.provide(Secrets.layer))

/** Delivers ends of turns and reports while the service runs. */
const deliveries = ServiceDeliveries.layer.pipe(
  Layer.provide([
    Layer.mergeAll(PeriodReports.layer, StoredTurns.layer).pipe(Layer.provideMerge(Secrets.layer)),
    Timer.layer
  ]),
  Layer.provide([Telemetry.http, NodeServices.layer])
)

/** The whole service. It binds the port, then locks the file: a process that cannot have both leaves the data alone. */
export const service = Layer.unwrap(
  Config.useSync(({ server }) =>
    Layer.mergeAll(started, retention, deliveries, Telemetry.incidents).pipe(
      Layer.provideMerge(HttpServer.served(server)),
      Layer.provide([lookups, reports, gateway]),
      Layer.provide(Drain.layer),
      Layer.provideMerge(held),
      Layer.provideMerge(HttpServer.bound(server))
    )
  )
)
