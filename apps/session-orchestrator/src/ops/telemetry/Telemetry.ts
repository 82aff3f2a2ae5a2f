/**
 * Combines the configured telemetry into one `Observer` of turns.
 *
 * Metrics are always counted; failed turns and incidents are always logged. The retry log, traces and receivers of notices exist only if
 * they are configured, and cost nothing otherwise. Every turn of the process reports to it: the turns' fibers get it from the context of
 * their orchestrator.
 */
import manifest from "../../../package.json" with { type: "json" }
import * as NodeFileSystem from "@effect/platform-node/NodeFileSystem"
import * as NodeHttpClient from "@effect/platform-node/NodeHttpClient"
import * as NodePath from "@effect/platform-node/NodePath"
import { Observer } from "@holdfast/kernel"
import * as Proxy from "@holdfast/providers/proxy"
import { Clock, Context, Effect, Layer } from "effect"
import { HttpServer } from "effect/http"
import { Config, type Values } from "../../config/Config.ts"
import * as ProviderTable from "../../config/ProviderTable.ts"
import { proxiesOf } from "../../config/reading/Environment.ts"
import { DEFAULTS } from "../../config/reading/Settings.ts"
import * as Secrets from "../../config/redaction/Secrets.ts"
import * as Loopback from "../../base/system/Loopback.ts"
import * as NoticeMessages from "../delivery/NoticeMessages.ts"
import { CallCounts, RecentCalls } from "../../engine/gate/RecentCalls.ts"
import { IncidentStates } from "../../storage/IncidentStates.ts"
import { Lists } from "../../storage/Lists.ts"
import { Outbox } from "../../storage/Outbox.ts"
import { TurnLog } from "../../storage/TurnLog.ts"
import * as EndpointLog from "./incidents/EndpointLog.ts"
import * as Notifications from "./incidents/Notifications.ts"
import * as RetryLog from "./logs/RetryLog.ts"
import * as Traces from "./traces/Traces.ts"
import * as FailedTurnLog from "./logs/FailedTurnLog.ts"
import * as MetricLabels from "./metrics/MetricLabels.ts"
import * as ServiceMetrics from "./metrics/ServiceMetrics.ts"
import * as TurnMetrics from "./metrics/TurnMetrics.ts"

/** The observer of all turns of the process, its notifications, and the calls that it has counted. */
export const layer: Layer.Layer<Observer.Observer | Notifications.Notifications | RecentCalls, never, Config> =
  Layer.effectContext(
    Effect.gen(function* () {
      const config = yield* Config
      const { redact } = Secrets.of(config)
      const { notifications, otlp, retryLog } = config.telemetry
      const context = yield* Effect.context<never>()
      yield* ServiceMetrics.showBuild
      const calls = new CallCounts(yield* Clock.currentTimeMillis)
      const listeners = [
        { attempt: counting(calls) },
        TurnMetrics.observer(MetricLabels.ofConfig(config, redact), context),
        FailedTurnLog.observer(redact, context)
      ]
      if (retryLog !== undefined) {
        const surroundings: RetryLog.ServiceFacts = {
          cwd: process.cwd(),
          apiOf: (name) => config.providers.get(name)?.type,
          thinkingOf: ({ model, provider }) => RetryLog.thinkingLevelOf(config.providers.get(provider), model)
        }
        listeners.push(yield* RetryLog.make({ ...retryLog, surroundings, redact }))
      }
      if (otlp !== undefined) {
        listeners.push(yield* Traces.make({ ...otlp, version: manifest.version, addressOf: addressIn(config), redact }))
      }
      const after = notifications?.after ?? DEFAULTS.notifications.after
      const notices = yield* Notifications.make({ after, redact })
      listeners.push(notices.listeners)
      return Context.make(Observer.Observer, Observer.all(listeners)).pipe(
        Context.add(Notifications.Notifications, notices),
        Context.add(RecentCalls, calls)
      )
    })
  ).pipe(Layer.provide([Layer.suspend(() => http), NodeFileSystem.layer, NodePath.layer]))

/** Keeps incidents while the service runs: in the database, if notices have receivers. */
export const incidents = Layer.effectDiscard(
  Effect.gen(function* () {
    const { database, server, telemetry } = yield* Config
    const sources = { lists: yield* Lists, log: yield* TurnLog }
    const { keep } = yield* Notifications.Notifications
    yield* keep({
      storage: yield* IncidentStates,
      add: (yield* Outbox).add,
      origin: originOf(server, yield* HttpServer.HttpServer),
      standingsOf: (questions) => EndpointLog.standingsOf(sources, questions),
      uncounted: (since) => EndpointLog.uncounted(sources.lists, since),
      receivers: NoticeMessages.receiversOf(telemetry.notifications),
      isAlone: database.url === undefined
    })
  })
)

// --- internal

/** The HTTP client for webhooks and traces, through the configured proxies. */
export const http = NodeHttpClient.layerUndiciNoDispatcher.pipe(
  Layer.provide(
    Layer.effect(
      NodeHttpClient.Dispatcher,
      Effect.flatMap(Config, (config) => Proxy.dispatcher(proxiesOf(config)))
    )
  )
)

/** Where a browser reaches the page: under the first further name, which a proxy with TLS has, or where the service listens. */
const originOf = (
  { host, hostnames: [name] }: Values["server"],
  { address }: HttpServer.HttpServer["Service"]
): string | undefined => {
  if (name !== undefined) return `https://${name}`
  return "port" in address ? Loopback.urlOf(host, address.port) : undefined
}

/** Counts calls. An attempt without a call is none, and neither is one whose end is unknown. */
const counting =
  ({ count }: CallCounts) =>
  ({ outcome, request, target }: Observer.AttemptEnded): void => {
    const failure = outcome._tag === "Failed" ? outcome.failure : undefined
    if (outcome._tag === "Lost" || failure?.shared === true) return
    const { endedAt } = outcome
    count({ target, credential: request?.credential, endedAt, failure, isAnswered: outcome._tag === "Completed" })
  }

const addressIn =
  ({ providers }: Values): ((name: string) => URL | undefined) =>
  (name) =>
    URL.parse(ProviderTable.reached(providers, name)?.baseUrl ?? "") ?? undefined
