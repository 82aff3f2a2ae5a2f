/**
 * Measures the process: processor time, memory, open files, event loop lag, version.
 *
 * `prom-client` measures the process, because alerts and dashboards for Node rely on its names. It has a registry of its own, whose text
 * follows the service's metrics on `/metrics`; no metric of Holdfast is in it.
 *
 * The process is measured once, however many services run in it: the event loop monitor is never taken down.
 */
import manifest from "../../../package.json" with { type: "json" }
import { Effect, Metric } from "effect"

const build = Metric.gauge("holdfast_build_info", {
  description: "1, by the version of Holdfast and of Node."
})

/** Sets the metric of the version in the context's registry. */
export const showBuild: Effect.Effect<void> = Metric.update(
  Metric.withAttributes(build, { version: manifest.version, node: process.versions.node }),
  1
)

/** The current metrics of the process, as Prometheus text. */
export const text: Effect.Effect<string> = Effect.promise(() => registry().then((registry) => registry.metrics()))

// --- internal

const start = async () => {
  const { collectDefaultMetrics, Registry } = (await import("prom-client")).default
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}

let started: ReturnType<typeof start> | undefined

const registry = (): ReturnType<typeof start> => (started ??= start())
