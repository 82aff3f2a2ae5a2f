/**
 * Shows how much of the limits of clients' credentials is used: for health, as a metric, and as a notice at 80 and 95 %.
 *
 * The gateway (`Holding`) calls the listener that `make` returns with the headers of every answer of a provider. `RecentCalls.used` reads the
 * limits out of them, and keeps them for the health report.
 */
import { type Health, defined } from "@holdfast/wire"
import { Clock, Effect, Metric, Option, type Scope } from "effect"
import type { Config } from "../config/Config.ts"
import type { NoticeBody } from "../ops/delivery/NoticeFormat.ts"
import * as NoticeMessages from "../ops/delivery/NoticeMessages.ts"
import { RecentCalls } from "../engine/gate/RecentCalls.ts"
import type { Taken } from "../engine/gate/UsedLimits.ts"
import { Outbox } from "../storage/Outbox.ts"
import * as MetricLabels from "../ops/telemetry/metrics/MetricLabels.ts"
import * as DurationText from "../base/text/DurationText.ts"
import * as ProviderName from "../base/text/ProviderName.ts"
import type { Dependencies } from "./Holding.ts"

const used = Metric.gauge("holdfast_limit_used_ratio", {
  description:
    "Share of a provider's limit that is used, from 0 to 1, by provider, credential (a digest of a client's) and window."
})

/** Until the metric of a limit that has begun anew is 0 again. */
const SWEEP_EVERY = "1 minute"

/**
 * Makes the listener: it takes the provider, a function that names the credential, and the headers of one answer. It sets the metric of each
 * limit in them. A limit with news (`Taken.level`) is logged, and its notice goes into the outbox. Without `RecentCalls` it does nothing.
 */
export const make = Effect.fnUntraced(function* (
  { telemetry: { notifications } }: Pick<Config["Service"], "telemetry">,
  redact: (text: string) => string
): Effect.fn.Return<Dependencies["answered"], never, Scope.Scope> {
  const recent = Option.getOrUndefined(yield* Effect.serviceOption(RecentCalls))
  const outbox = Option.getOrUndefined(yield* Effect.serviceOption(Outbox))
  if (recent === undefined) return () => {}
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  const fork = Effect.runForkWith(context)
  const credentials = MetricLabels.labelValues([], redact)
  const windows = MetricLabels.labelValues([], redact)
  const receivers = NoticeMessages.receiversOf(notifications)
  const notify = (taken: Taken, now: number): Effect.Effect<void> => {
    const written = outbox?.add(NoticeMessages.of(receivers, "notices", bodyOf(taken), now)) ?? Effect.void
    return Effect.andThen(
      Effect.logWarning(textOf(taken.window)),
      Effect.catch(written, ({ message }) => Effect.logError(`A notice is not in the outbox. ${message}`))
    )
  }
  const show = ({ credential, name, provider }: Health.WindowReport, share: number): void => {
    const attributes = { provider, credential: credentials(credential), window: windows(name) }
    Metric.withAttributes(used, attributes).updateUnsafe(share, context)
  }
  const sweep = Effect.sync(() => {
    for (const window of recent.used.ended(clock.currentTimeMillisUnsafe())) show(window, 0)
  })
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(SWEEP_EVERY), sweep)))
  return (provider, nameOf, headers) => {
    const now = clock.currentTimeMillisUnsafe()
    const name = ProviderName.configured(provider)
    for (const taken of recent.used.take(name, nameOf, headers, now)) {
      show(taken.window, taken.window.used)
      if (taken.level !== undefined) fork(notify(taken, now))
    }
  }
})

/** The notice of a limit, once over restarts and runners: its id has the limit, its end and the share. */
export const bodyOf = ({ level, window }: Taken): NoticeBody => {
  const { credential, name, provider, resetAt = 0 } = window
  const id = ["limit", provider, credential, name, Math.round(resetAt / ROUND_MS), level].join("/")
  return {
    id,
    type: "limit-near",
    ...defined(window),
    at: new Date(window.at).toISOString(),
    text: textOf(window)
  }
}

// --- internal

/** A reset that is given as seconds from now differs from answer to answer. */
const ROUND_MS = 600_000

const textOf = ({ at, credential, name, provider, resetAt, used }: Health.WindowReport): string =>
  `${Math.floor(used * 100)} % of the limit ${name} of ${provider} (${credential}) is used` +
  (resetAt === undefined
    ? "."
    : `; it begins anew in ${DurationText.rough(resetAt - at)}, at ${new Date(resetAt).toISOString()}.`)
