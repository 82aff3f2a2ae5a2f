/** Reports the endpoints of this service (gates, pauses, limits, calls of the last hour) and its configuration. */
import type { Route } from "@holdfast/kernel"
import { defined } from "@holdfast/wire"
import { Clock, Context, Effect, Layer } from "effect"
import { Config } from "../../../config/Config.ts"
import { HeldCalls } from "../../../engine/conversation/HeldCalls.ts"
import { Gates } from "../../../engine/gate/Gates.ts"
import { RecentCalls } from "../../../engine/gate/RecentCalls.ts"
import { Secrets } from "../../../config/redaction/Secrets.ts"
import { Standings } from "../../../storage/Standings.ts"
import * as InForce from "../in-force/InForce.ts"
import * as EndpointReports from "./EndpointReports.ts"

/** The reports of a service. */
export class HealthReports extends Context.Service<HealthReports, Effect.Success<typeof make>>()(
  "@holdfast/session-orchestrator/inspection/HealthReports"
) {}

const make = Effect.gen(function* () {
  const config = yield* Config
  const gates = yield* Gates
  const counts = yield* RecentCalls
  const held = yield* HeldCalls
  const { redact } = yield* Secrets
  const standings = yield* Standings
  const { cluster, database } = config
  const runner = database.url === undefined ? undefined : `${cluster.runner.host}:${cluster.runner.port}`
  return {
    /** The configuration in force. */
    configuration: InForce.of(config),
    /** Reports what is known now. */
    read: Effect.gen(function* () {
      const now = yield* Clock.currentTimeMillis
      const standing = yield* standings.load(now)
      const calls = counts.read(now)
      const routes = EndpointReports.routesOf(config, { calls, standing }, gates.routes())
      const read = yield* gates.read(routes)
      const known = new Map(routes.map((route, i) => [route, read[i]]))
      const findings = { now, calls, standing, redact, gateOf: (route: Route.Route) => known.get(route) }
      return {
        at: now,
        countedSince: Math.max(counts.since, now - HOUR_MS),
        ...defined({ runner }),
        endpoints: EndpointReports.of(config, findings, routes),
        limits: Array.from(gates.limiters, ([provider, { view }]) => {
          const { waiting, ...limits } = view
          return { provider, waiting, ...defined(limits) }
        }),
        boundCalls: Array.from(held.values()).filter(({ asksAgain }) => !asksAgain).length,
        windows: counts.used.read(now)
      }
    })
  }
})

/** Over the gates, counts and held calls of this process, and the pauses on disk. */
export const layer = Layer.effect(HealthReports, make)

// --- internal

const HOUR_MS = 3_600_000
