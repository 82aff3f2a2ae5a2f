/** What the service is made of: the one place where its layers meet. */
import { NodeHttpClient } from "@effect/platform-node"
import type { Provider } from "@holdfast/kernel"
import { Anthropic, OpenAiCompatible, Simulated } from "@holdfast/providers"
import { Effect, Layer } from "effect"
import { Config, type ProviderConfig } from "./config/Config.ts"
import { Defaults } from "./conversation/Defaults.ts"
import * as Orchestrator from "./conversation/Orchestrator.ts"
import { Providers } from "./conversation/Providers.ts"
import * as Timer from "./durable/Timer.ts"
import * as SqlStore from "./storage/SqlStore.ts"
import * as Drain from "./transport/http/Drain.ts"
import * as HttpServer from "./transport/http/HttpServer.ts"

const makeProvider = (config: ProviderConfig) => {
  if (config.type === "simulated") return Simulated.make
  const { baseUrl, headers, credentials } = config
  const options = { baseUrl, headers, apiKey: credentials[0]?.value }
  return config.type === "anthropic" ? Anthropic.make(options) : OpenAiCompatible.make(options)
}

/** The providers of the configuration; one connection pool for all of them. */
const providers = Layer.effect(
  Providers,
  Effect.gen(function* () {
    const config = yield* Config
    const made = new Map<string, Provider.Provider["Service"]>()
    for (const [name, provider] of config.providers) made.set(name, yield* makeProvider(provider))
    return { get: (name) => made.get(name), names: Array.from(made.keys()) }
  })
).pipe(Layer.provide(NodeHttpClient.layerUndici))

const defaults = Layer.effect(
  Defaults,
  Config.useSync(({ model, retry }) => ({ model, retry }))
)

const store = Layer.unwrap(Config.useSync(({ database }) => SqlStore.layer(database)))

const resources = Layer.mergeAll(providers, defaults, Timer.layer)

export const conversations = Orchestrator.layerGuest.pipe(Layer.provide(resources), Layer.provide(store))

export const service = Layer.unwrap(Config.useSync(({ server }) => HttpServer.layer(server))).pipe(
  Layer.provide([Orchestrator.layer.pipe(Layer.provide(resources)), Drain.layer]),
  Layer.provide(store)
)
