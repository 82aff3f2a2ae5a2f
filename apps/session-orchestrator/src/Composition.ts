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
import { Config, type ProviderConfig, type Values } from "./config/Config.ts"
import * as ModelChoice from "./config/ModelChoice.ts"
import * as ProviderTable from "./config/ProviderTable.ts"
import * as Secrets from "./config/redaction/Secrets.ts"
import * as Condition from "./base/system/Condition.ts"
import { Conversations } from "./engine/conversation/Conversations.ts"
import { Defaults } from "./engine/conversation/Defaults.ts"
import * as Gates from "./engine/gate/Gates.ts"
import * as Gateway from "./gateway/Gateway.ts"
import * as HeldCalls from "./engine/conversation/HeldCalls.ts"
import * as Orchestrator from "./engine/orchestrator/Orchestrator.ts"
import { Providers } from "./engine/conversation/Providers.ts"
import * as Quarantine from "./engine/pacing/Quarantine.ts"
import * as Tools from "./engine/conversation/Tools.ts"
import * as DryRuns from "./insight/dry-run/DryRuns.ts"
import * as NodeServices from "@effect/platform-node/NodeServices"
import * as ServiceDeliveries from "./ops/delivery/ServiceDeliveries.ts"
import * as Inspection from "./insight/inspection/Inspection.ts"
import * as HealthReports from "./insight/inspection/endpoints/HealthReports.ts"
import * as BulkRun from "./http/BulkRun.ts"
import * as PeriodReports from "./insight/inspection/period/PeriodReports.ts"
import * as Removal from "./engine/orchestrator/Removal.ts"
import * as Submissions from "./engine/orchestrator/Submissions.ts"
import * as TurnLists from "./insight/inspection/TurnLists.ts"
import * as StoredTurns from "./insight/inspection/StoredTurns.ts"
import { nameOf } from "./storage/sql/DatabaseUrl.ts"
import * as GateTable from "./storage/tables/GateTable.ts"
import * as ConversationRetention from "./storage/ConversationRetention.ts"
import { Deletions } from "./storage/Deletions.ts"
import { Lists } from "./storage/Lists.ts"
import * as SqlStore from "./storage/sql/SqlStore.ts"
import { TurnLog } from "./storage/TurnLog.ts"
import * as Tenancy from "./storage/sqlite/Tenancy.ts"
import * as ServiceMetrics from "./ops/telemetry/metrics/ServiceMetrics.ts"
import * as Telemetry from "./ops/telemetry/Telemetry.ts"
import * as Drain from "./base/system/Drain.ts"
import * as HttpServer from "./http/HttpServer.ts"
import * as Loopback from "./base/system/Loopback.ts"

const ADAPTERS = {
  "openai-compatible": OpenAiCompatible,
  anthropic: Anthropic,
  "openai-responses": OpenAiResponses,
  gemini: Gemini
}

/** The providers of an entry in the formats that Holdfast writes itself: one for each credential. */
const makeProviders = (
  config: Exclude<ProviderConfig, { readonly type: "ai-sdk" }>,
  conceal: Secrets.Secrets["Service"]["redact"]
) => {
  if (config.type === "simulated") return Effect.map(Simulated.make, (provider) => [["", provider] as const])
  const { baseUrl, credentials, headers, request, type } = config
  return Effect.forEach(credentials.length === 0 ? [undefined] : credentials, (credential) =>
    Effect.map(
      ADAPTERS[type].make({ baseUrl, headers, apiKey: credential?.value, conceal, ...request }),
      (provider) => [credential?.name ?? "", provider] as const
    )
  )
}

/** The HTTP client of the providers. */
const http = Layer.unwrap(Config.useSync((config) => Undici.layerVia(proxiesOf(config))))

/** The packages of "ai-sdk" providers, whose requests go through the proxies too. Nothing is loaded where there are none. */
const aiSdkPackages = Effect.fnUntraced(function* (config: Values, conceal: Secrets.Secrets["Service"]["redact"]) {
  if (!Array.from(config.providers.values()).some(({ type }) => type === "ai-sdk"))
    return new Map<string, AiSdkPackage.AiSdkPackage>()
  return yield* AiSdkPackage.loadAll(config, { conceal, fetch: yield* Undici.fetchVia(proxiesOf(config)) })
})

/** The providers of the configuration, over the HTTP client of the context. They share one connection pool. */
const providers = Layer.effect(
  Providers,
  Effect.gen(function* () {
    const config = yield* Config
    const calls = yield* HeldCalls.HeldCalls
    const made = new Map<string, AiSdkPackage.ByCredential>()
    // Each provider redacts the secrets of all providers: one proxy may serve several, and quote another provider's secret.
    const { redact } = Secrets.of(config)
    const packages = yield* aiSdkPackages(config, redact)
    const filesOf = (target: Target.Target) => Models.filesOf(config.models[Target.format(target)] ?? {})
    for (const [name, provider] of config.providers) {
      const own =
        provider.type === "ai-sdk" ? (packages.get(name)?.providers ?? []) : yield* makeProviders(provider, redact)
      made.set(name, new Map(Array.from(own, ([name, provider]) => [name, ModelFiles.limited(provider, filesOf)])))
    }
    return {
      get: (name, credential) => {
        const own = made.get(name)
        return own?.get(credential ?? "") ?? own?.values().next().value
      },
      held: (id) => HeldCalls.find(calls, id),
      names: Array.from(made.keys()),
      unusable: (target) =>
        ModelChoice.refusalOf(target, config.providers, Simulated)?.message ??
        packages.get(target.provider)?.unusable(target.model),
      credentials: Object.fromEntries(
        Array.from(config.providers, ([name, provider]) => [name, ProviderTable.keyNames(provider)])
      )
    }
  })
)

/** Gates for providers that are reached over HTTP. A simulated outage belongs to one turn, so a gate would share nothing. */
const gates = Layer.unwrap(
  Effect.gen(function* () {
    const { database, gate, providers } = yield* Config
    const endpointOf = Gates.endpointsOf(providers)
    const allowanceOf = Gates.allowancesOf(providers)
    // Limits alone: every turn keeps to its schedule, whatever other turns find.
    if (!gate.enabled) return Gates.layer(() => undefined, allowanceOf)
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
    prices,
    spend: spend.length === 0 ? undefined : { limits: spend, prices, isShared: database.url !== undefined },
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

const resources = Layer.mergeAll(providers, gates, defaults, Condition.layer, Quarantine.layer).pipe(
  Layer.provideMerge(Timer.layer),
  Layer.provideMerge(HeldCalls.layer)
)

/** Locks the database file: one process owns it, and its lock names where it listens. */
const owner = Layer.unwrap(
  Effect.gen(function* () {
    const { database, server } = yield* Config
    const { address } = yield* HttpSocket.HttpServer
    const port = "port" in address ? address.port : server.port
    return Tenancy.layerOwner(database.path, Loopback.urlOf(server.host, port))
  })
)

/** Conversations with the metrics and the observers of their turns, over the HTTP client and the tools of the context. */
export const observed = <A, E, R>(conversations: Layer.Layer<A, E, R>) =>
  Layer.provideMerge(ServiceMetrics.layerCommands, conversations).pipe(
    Layer.provideMerge(Telemetry.layer),
    Layer.provide(resources)
  )

/** `held` over the HTTP client and the tools of the context: a simulation has its own. */
export const heldOver = observed(
  Layer.unwrap(
    Effect.gen(function* () {
      const { cluster, database } = yield* Config
      if (database.url === undefined) return Orchestrator.layer.pipe(Layer.provideMerge(store), Layer.provide(owner))
      const Cluster = yield* Effect.promise(() => import("./cluster/Cluster.ts"))
      const calls = Layer.succeed(HeldCalls.HeldCalls, yield* HeldCalls.HeldCalls)
      return Cluster.layer({ ...cluster, url: database.url }).pipe(Layer.provide(calls))
    })
  )
)

/** Conversations with their storage: a file that this process owns, or the PostgreSQL of `database.url` that runners share. */
export const held = heldOver.pipe(Layer.provide([http, tools]))

/** Deletes old journals and conversations while the service runs. */
const retention = Layer.effectDiscard(
  Effect.gen(function* () {
    const { database } = yield* Config
    yield* Effect.forkScoped(Retention.run(yield* TurnLog, database.retention))
    const { endStreams } = yield* Conversations
    const deleted = (id: Ids.ConversationId) => Removal.ended(endStreams(id))
    const ports = { lists: yield* Lists, deletions: yield* Deletions, deleted }
    yield* Effect.forkScoped(ConversationRetention.run(ports, database.deleteConversations))
  })
)

/** The calls that pass through to providers, over a way to send them: a simulation has its own. */
export const gatewayOver = (send: RawCall.Send) => Gateway.layer(send).pipe(Layer.provide(resources))

/** The same over connections of its own. */
const gateway = Layer.unwrap(Config.use((config) => Effect.map(RawCall.sendVia(proxiesOf(config)), gatewayOver))).pipe(
  Layer.provide(http)
)

/** Marks the service as started after it has resumed the turns of the last process. Its socket answers before that. */
const started = Layer.effectDiscard(Effect.flatMap(Condition.Condition, (condition) => condition.started))

/** Reads turns from the database, with a service running or without. */
export const inspection = Layer.mergeAll(PeriodReports.layer, StoredTurns.layer).pipe(
  Layer.provideMerge(
    Layer.unwrap(
      Effect.gen(function* () {
        const config = yield* Config
        const { path, url } = config.database
        if (url === undefined) return Inspection.layerSqlite(path, config)
        const { layerClient } = yield* Effect.promise(() => import("./storage/sql/Postgres.ts"))
        return Inspection.layer(nameOf(url), config).pipe(Layer.provide(layerClient({ url })))
      })
    )
  ),
  Layer.provide(Secrets.layer)
)

/** Reports of endpoints; with the gates of the turns. */
const reports = HealthReports.layer.pipe(Layer.provide([Secrets.layer, Layer.provide(resources, http)]))

/** Lists and states of turns, and commands for many of them. */
export const manyTurns = Layer.provideMerge(
  Layer.provide(BulkRun.layer, defaults),
  Layer.mergeAll(TurnLists.layer, StoredTurns.layer)
)

/** States, explanations and lists of turns, and submissions, for any process that runs them. */
const lookups = Layer.mergeAll(
  PeriodReports.layer,
  DryRuns.layer,
  Submissions.layer.pipe(Layer.provide(defaults)),
  Removal.layer,
  manyTurns
).pipe(Layer.provide(Secrets.layer))

/** Delivers ends of turns and reports while the service runs. */
const deliveries = ServiceDeliveries.layer.pipe(
  Layer.provide(Layer.provideMerge(Layer.mergeAll(PeriodReports.layer, StoredTurns.layer), Secrets.layer)),
  Layer.provide([Telemetry.http, NodeServices.layer])
)

/**
 * The whole service. It binds the port, then locks the file: a process that cannot have both leaves the data alone. Where it cannot have the
 * port, the owner of the file is named first, which may have both.
 */
export const service = Layer.unwrap(
  Config.useSync(({ database, server }) =>
    Layer.mergeAll(started, retention, deliveries, Telemetry.incidents).pipe(
      Layer.provideMerge(HttpServer.served(server)),
      Layer.provide([lookups, reports, gateway]),
      Layer.provide([Drain.layer, Timer.layer]),
      Layer.provideMerge(held),
      Layer.provideMerge(
        Layer.tapError(HttpServer.bound(server), () =>
          database.url === undefined ? Tenancy.refuseOwned(database.path) : Effect.void
        )
      )
    )
  )
)
