/**
 * What the service is made of: the one place where its layers meet.
 *
 * Modules of `@effect/platform-node` are imported by their names, here and elsewhere: its index would load drivers that nobody
 * uses (Redis), which is a tenth of a start.
 */
import { Anthropic, Http, OpenAiCompatible, Simulated } from "@holdfast/providers"
import { proxiesOf } from "./config/ProxyChoice.ts"
import * as Undici from "@holdfast/providers/undici"
import { Effect, Layer } from "effect"
import { Config, type Credential, type ProviderConfig } from "./config/Config.ts"
import * as ModelChoice from "./config/ModelChoice.ts"
import * as Secrets from "./redaction/Secrets.ts"
import * as Condition from "./system/Condition.ts"
import { Defaults } from "./conversation/Defaults.ts"
import * as Gates from "./gate/Gates.ts"
import * as Orchestrator from "./orchestrator/Orchestrator.ts"
import { Providers } from "./conversation/Providers.ts"
import * as Quarantine from "./pacing/Quarantine.ts"
import * as RightOfWay from "./pacing/RightOfWay.ts"
import * as Tools from "./conversation/Tools.ts"
import * as Retention from "./durable/Retention.ts"
import * as Timer from "./durable/Timer.ts"
import * as Explanations from "./inspection/Explanations.ts"
import * as Inspection from "./inspection/Inspection.ts"
import * as Submissions from "./orchestrator/Submissions.ts"
import * as TurnLists from "./inspection/TurnLists.ts"
import * as TurnStates from "./inspection/TurnStates.ts"
import { nameOf } from "./storage/sql/DatabaseUrl.ts"
import * as GateTable from "./storage/tables/GateTable.ts"
import { Journal } from "./durable/Journal.ts"
import * as SqlStore from "./storage/sql/SqlStore.ts"
import * as Tenancy from "./storage/sqlite/Tenancy.ts"
import * as CommandMetrics from "./telemetry/metrics/CommandMetrics.ts"
import * as Telemetry from "./telemetry/Telemetry.ts"
import * as Drain from "./system/Drain.ts"
import * as HttpServer from "./http/HttpServer.ts"
import * as Loopback from "./system/Loopback.ts"

const makeProvider = (
  config: ProviderConfig,
  credential: Credential | undefined,
  conceal: Secrets.Secrets["Service"]["redact"]
) => {
  if (config.type === "simulated") return Simulated.make
  const { baseUrl, headers, request } = config
  const options = { baseUrl, headers, apiKey: credential?.value, conceal, ...request }
  return config.type === "anthropic" ? Anthropic.make(options) : OpenAiCompatible.make(options)
}

/** A provider for each of its credentials; one, where it needs none. */
const makeProviders = Effect.fnUntraced(function* (
  config: ProviderConfig,
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

/** Whose refusals wait until those who are due have asked. */
const http = Layer.effect(
  Http.Http,
  Effect.gen(function* () {
    return RightOfWay.behind(yield* Http.Http, yield* RightOfWay.RightOfWay)
  })
).pipe(Layer.provide(Layer.unwrap(Config.useSync((config) => Undici.layerVia(proxiesOf(config))))))

/** The providers of the configuration; one connection pool for all of them. */
const providers = Layer.effect(
  Providers,
  Effect.gen(function* () {
    const config = yield* Config
    const made = new Map<string, Effect.Success<ReturnType<typeof makeProviders>>>()
    // Every provider's secrets, whoever quotes them: one proxy may stand before several.
    const { redact } = Secrets.make(Secrets.ofConfig(config))
    for (const [name, provider] of config.providers) made.set(name, yield* makeProviders(provider, redact))
    return {
      get: (name, credential) => made.get(name)?.byCredential.get(credential ?? "") ?? made.get(name)?.first,
      names: Array.from(made.keys()),
      unusable: (target) => ModelChoice.unusable(target, config.providers, Simulated),
      credentials: Object.fromEntries(
        Array.from(config.providers, ([name, provider]) => [name, credentialsOf(provider).map(({ name }) => name)])
      )
    }
  })
).pipe(Layer.provide(http))

/** Gates for what is reached over HTTP. A simulated outage is each turn's own: there is nothing to share. */
const gates = Layer.unwrap(
  Effect.gen(function* () {
    const { database, gate, providers } = yield* Config
    const endpointOf: Gates.EndpointOf = (name) => {
      const provider = providers.get(name)
      if (provider === undefined || provider.type === "simulated") return undefined
      return { baseUrl: provider.baseUrl, credential: provider.credentials[0]?.name }
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
      // One of its own, so that a database that is busy with turns does not keep it waiting, nor it them.
      Layer.provide(layerClient({ url, connections: 1 }))
    )
  })
)

const defaults = Layer.effect(
  Defaults,
  Config.useSync(({ model, models, retry }) => ({ model, models, retry }))
)

/** What this process has to itself: the file, or, where the data belongs to runners, memory. */
const store = Layer.unwrap(
  Config.useSync(({ database }) => (database.url === undefined ? SqlStore.layer(database) : SqlStore.layerMemory))
)

/** Nothing of this is loaded where there are no tools. */
const tools = Layer.unwrap(
  Effect.gen(function* () {
    const { tools } = yield* Config
    if (tools.length === 0) return Tools.layerNoop
    const { layer } = yield* Effect.promise(() => import("./tools/ToolServers.ts"))
    return layer(tools)
  })
)

const resources = Layer.mergeAll(providers, gates, tools, defaults, Condition.layer, Quarantine.layer).pipe(
  Layer.provideMerge(Timer.layer),
  Layer.provideMerge(RightOfWay.layer)
)

/** A file has one owner. */
const owner = Layer.unwrap(
  Config.useSync(({ database, server }) =>
    Tenancy.layerOwner({ path: database.path, ...(server.port === 0 ? {} : { url: urlOf(server) }) })
  )
)

/** Conversations, and where they are kept: on a file by this process alone, or by the runners of a `database.url`. */
export const held = Layer.unwrap(
  Effect.gen(function* () {
    const { cluster, database } = yield* Config
    if (database.url === undefined) return Orchestrator.layer.pipe(Layer.provideMerge(store), Layer.provide(owner))
    const Cluster = yield* Effect.promise(() => import("./cluster/Cluster.ts"))
    return Cluster.layer({ ...cluster, url: database.url })
  })
).pipe(
  (conversations) => Layer.provideMerge(CommandMetrics.layer, conversations),
  Layer.provide(Telemetry.layer),
  Layer.provide(resources)
)

const guest = Layer.unwrap(
  Config.useSync(({ database }) => (database.url === undefined ? Tenancy.layerGuest(database) : Layer.empty))
)

const urlOf = ({ host, port }: { readonly host: string; readonly port: number }): string =>
  `http://${Loopback.inUrl(host)}:${port}`

/** Old journals go while the service runs. */
const retention = Layer.effectDiscard(
  Effect.gen(function* () {
    const { database } = yield* Config
    yield* Effect.forkScoped(Retention.run(yield* Journal, database.retention))
  })
)

/** The service counts as started once it has taken up what the last process left; its socket answers before that. */
const started = Layer.effectDiscard(Effect.flatMap(Condition.Condition, (condition) => condition.started))

export const conversations = Orchestrator.layerGuest.pipe(
  Layer.provide(resources),
  Layer.provide(store),
  Layer.provide(guest)
)

/**
 * The same for a turn of a conversation that the file has already. The file is this process's alone meanwhile: a service keeps
 * conversations in memory, and a second process that wrote into one of them would give its events the same numbers.
 */
export const continued = Orchestrator.layerGuest.pipe(
  Layer.provide(resources),
  Layer.provideMerge(store),
  Layer.provideMerge(Layer.unwrap(Config.useSync(({ database }) => Tenancy.layerOwner({ path: database.path }))))
)

/** A look at what is on disk. */
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

/** What clients can read of turns and hand in, whichever process runs them. */
const lookups = Layer.mergeAll(Explanations.layer, TurnStates.layer, TurnLists.layer, Submissions.layer).pipe(
  Layer.provide(Secrets.layer)
)

/** The port comes first, then the file's lock: whoever cannot have both leaves the data alone. */
export const service = Layer.unwrap(
  Config.useSync(({ server }) =>
    Layer.merge(started, retention).pipe(
      Layer.provideMerge(HttpServer.served(server)),
      Layer.provide([lookups, Drain.layer]),
      Layer.provide(held),
      Layer.provideMerge(HttpServer.bound(server))
    )
  )
)
