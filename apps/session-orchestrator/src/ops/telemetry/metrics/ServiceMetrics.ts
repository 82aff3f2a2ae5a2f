/**
 * Measures the service besides its turns: the process, the turns that are not sealed, readiness, HTTP requests, and commands.
 *
 * `prom-client` measures processor time, memory, open files and event loop lag, because alerts and dashboards for Node rely on its names. It has a registry of its own, whose text
 * follows the service's metrics on `/metrics`; no metric of Holdfast is in it.
 *
 * The process is measured once, however many services run in it: the event loop monitor is never taken down.
 */
import { Effect, Layer, Metric } from "effect"
import { type Command, Commands } from "@holdfast/wire"
import manifest from "../../../../package.json" with { type: "json" }
import { Conversations } from "../../../engine/conversation/Conversations.ts"
import * as Series from "./Series.ts"

const build = Metric.gauge("holdfast_build_info", {
  description: "1, by the version of Holdfast and of Node."
})

/** Sets the metric of the version in the context's registry. */
export const showBuild: Effect.Effect<void> = Metric.update(
  Metric.withAttributes(build, { version: manifest.version, node: process.versions.node }),
  1
)

/** The current metrics of the process, as Prometheus text. */
export const text: Effect.Effect<string> = Effect.promise(async () => (await (started ??= start())).metrics())

const STATUSES = ["running", "retrying", "queued"] as const

const turns = Metric.gauge("holdfast_turns", {
  description: "Turns that are not sealed, by status: running, retrying (waiting for a provider), queued."
})

/** Whether the service takes turns, as `/readyz` answers. */
const ready = Metric.gauge("holdfast_ready", {
  description: "1 when the service takes turns, 0 when it does not: GET /readyz has the reason."
})

/** Sets the metric of readiness. */
export const showReady = (isReady: boolean): Effect.Effect<void> => Metric.update(ready, isReady ? 1 : 0)

/** Counts the turns that are not sealed, and sets their metric. */
export const countTurns = ({ counts }: Conversations["Service"]): Effect.Effect<void> =>
  Effect.flatMap(counts, (counts) =>
    Effect.forEach(STATUSES, (status) => Metric.update(Metric.withAttributes(turns, { status }), counts[status]), {
      discard: true
    })
  )

const requests = Metric.counter("holdfast_http_requests_total", {
  description: "Requests that were answered, by method and status.",
  incremental: true
})

const open = Metric.gauge("holdfast_http_requests_open", {
  description: "Requests that are being answered now: streams and waits among them."
})

/** Counts a request as in progress until its answer ends, and then by the status of the answer. */
export type CountRequest = <A extends { readonly status: number }, E, R>(
  method: string,
  answer: Effect.Effect<A, E, R>
) => Effect.Effect<A, E, R>

/** Makes the count, with the series of alerts and of ordinary answers. Series of other statuses are created with their first answer. */
export const requestCount: Effect.Effect<CountRequest> = Effect.map(Effect.context<never>(), (context) => {
  Series.create(requests, { method: ["GET", "POST", "PUT"], status: ["200", "500", "503"] }, context)
  Series.create(open, {}, context)
  const count = Series.counting(context)
  return (method, answer) =>
    Effect.acquireUseRelease(
      Metric.modify(open, 1),
      () =>
        Effect.tap(answer, ({ status }) => Effect.sync(() => count(requests, 1, { method, status: String(status) }))),
      () => Metric.modify(open, -1)
    )
})

const commands = Metric.counter("holdfast_commands_total", {
  description: "Commands, by command and outcome: done, idle (there was nothing to do it to), refused.",
  incremental: true
})

/** Wraps the conversations of the runner that receives commands with a count of every command. */
export const layerCommands: Layer.Layer<Conversations, never, Conversations> = Layer.effect(
  Conversations,
  Effect.gen(function* () {
    const conversations = yield* Conversations
    const context = yield* Effect.context<never>()
    Series.create(commands, { command: Commands.names().map(Commands.kebab), outcome: OUTCOMES }, context)
    const add = Series.counting(context)
    const count = (command: Command.Command["type"], outcome: (typeof OUTCOMES)[number]) =>
      Effect.sync(() => add(commands, 1, { command, outcome }))
    const counted = <A, E>(command: Command.Command["type"], effect: Effect.Effect<A, E>): Effect.Effect<A, E> =>
      effect.pipe(
        Effect.tap((result) => count(command, result === false ? "idle" : "done")),
        Effect.tapError(() => count(command, "refused"))
      )
    return Conversations.of({
      ...conversations,
      prompt: (id, options) => counted("prompt", conversations.prompt(id, options)),
      retry: (id, options) => counted("retry", conversations.retry(id, options)),
      abort: (...meant) => counted("abort", conversations.abort(...meant)),
      steer: (steering, ...meant) => counted(steering.type, conversations.steer(steering, ...meant)),
      change: (command, options) => counted(command.type, conversations.change(command, options))
    })
  })
)

// --- internal

const start = async () => {
  const { collectDefaultMetrics, Registry } = (await import("prom-client")).default
  const registry = new Registry()
  collectDefaultMetrics({ register: registry })
  return registry
}

let started: ReturnType<typeof start> | undefined

const OUTCOMES = ["done", "idle", "refused"] as const
