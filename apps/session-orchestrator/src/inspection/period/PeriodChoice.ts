/** Makes the settings of a report from the configuration in force. Pure. */
import type { Values } from "../../config/Config.ts"
import type { Period } from "./PeriodTally.ts"

/** The length of a period, if none is asked for: a night. */
export const DEFAULT_LENGTH_MS = 12 * 3_600_000

/** The settings that a report takes from the configuration. */
export const of = (
  { prices, providers }: Pick<Values, "prices" | "providers">,
  redact: (text: string) => string
): Pick<Period, "prices" | "keyVariables" | "redact"> => ({
  prices,
  redact,
  keyVariables: (name) => {
    const provider = providers.get(name)
    return provider === undefined || provider.type === "simulated" ? [] : provider.apiKeyEnv
  }
})
