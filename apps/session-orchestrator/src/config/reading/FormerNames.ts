/**
 * Maps other agents' names of retry settings to Holdfast's keys.
 *
 * docs/configuration.md has the same table; a test compares them.
 */

/** The replacement of one name. */
interface FormerName {
  /** The key that replaces it. */
  readonly key: string
  /** The text to write, from the value that was found; milliseconds become durations. */
  readonly write: (found: unknown) => string
}

/** The replacements, by former name. */
export const formerNames: ReadonlyMap<string, FormerName> = new Map<string, FormerName>([
  [
    "baseDelayMs",
    {
      key: "retry.schedule.base",
      write: (found) => `"schedule": { "type": "exponential", "base": ${durationOf(found, 2_000)} }`
    }
  ],
  ["maxDelayMs", { key: "retry.maxDelay", write: (found) => `"maxDelay": ${durationOf(found, 300_000)}` }],
  [
    "fallbackChains",
    { key: "retry.routing.chains", write: () => '"routing": { "type": "fallback-chain", "chains": ... }' }
  ],
  [
    "fallbackRevertPolicy",
    {
      key: "retry.routing.revert",
      write: (found) =>
        `"routing": { "type": "fallback-chain", "revert": "${found === "never" ? found : "cooldown-expiry"}" }`
    }
  ],
  ["targets", { key: "retry.routing.targets", write: () => ROUND_ROBIN }],
  ["models", { key: "retry.routing.targets", write: () => ROUND_ROBIN }],
  [
    "llmTimeout",
    {
      key: "retry.requestTimeout",
      write: (found) => {
        const duration = durationOf(found, 600_000)
        return `"requestTimeout": { "firstContent": ${duration}, "idle": ${duration} }`
      }
    }
  ],
  [
    "maxRetries",
    { key: "retry.maxRetries", write: (found) => `"maxRetries": ${numberOf(found, 3)}, "counts": "attempts"` }
  ],
  ["maxTurns", { key: "retry.maxTurns", write: (found) => `"maxTurns": ${numberOf(found, 10)}` }],
  ["enabled", { key: "retry.enabled", write: (found) => `"enabled": ${found !== false}` }]
])

/** The objects that had former names: the root, `retry`, and today's `retry.routing`. */
const PLACES: ReadonlySet<string> = new Set(["", "retry", "routing", "retry.routing"])

/** Advice about an unknown key, or a key with a list as its value; `undefined` if it is no former name. */
export const adviceFor = (path: ReadonlyArray<PropertyKey>, found: unknown): string | undefined => {
  if (path.join(".") === "telemetry.notifications.state") {
    return "Incidents are kept in the database: delete this key, and the file that it names."
  }
  const former = formerNames.get(String(path.at(-1)))
  if (former === undefined || !PLACES.has(path.slice(0, -1).join("."))) return undefined
  return `Here it is ${former.key}: in "retry", write ${former.write(found)}.`
}

// --- internal

const ROUND_ROBIN = '"routing": { "type": "round-robin", "targets": [...] }'

const numberOf = (found: unknown, fallback: number): number => (Number.isInteger(found) ? Number(found) : fallback)

/** A limit of 0 or less meant no limit, which is "0 seconds" here. */
const durationOf = (found: unknown, fallback: number): string => {
  const ms = Math.max(0, typeof found === "number" && Number.isFinite(found) ? found : fallback)
  return ms % 1_000 === 0 ? `"${ms / 1_000} seconds"` : `"${ms} millis"`
}
