/** Makes the settings of a report from the configuration in force. Pure. */
import { Duration } from "effect"
import type { Values } from "../../config/Config.ts"
import * as TelemetryChoice from "../../config/TelemetryChoice.ts"
import type { Period } from "./PeriodTally.ts"

/** The length of a period, if none is asked for: a night. */
export const DEFAULT_LENGTH_MS = 12 * 3_600_000

/** The settings that a report takes from the configuration. */
export const of = (
  { prices, providers, telemetry }: Pick<Values, "prices" | "providers" | "telemetry">,
  redact: (text: string) => string
): Pick<Period, "outageAfterMs" | "prices" | "keyVariables" | "redact"> => ({
  outageAfterMs: Duration.toMillis(telemetry.notifications?.after ?? TelemetryChoice.DEFAULTS.notifications.after),
  prices,
  redact,
  keyVariables: (name) => {
    const provider = providers.get(name)
    return provider === undefined || provider.type === "simulated" ? [] : provider.apiKeyEnv
  }
})
