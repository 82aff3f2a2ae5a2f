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

const FORMER: ReadonlyArray<readonly [name: string, key: string, write: FormerName["write"]]> = [
  ["baseDelayMs", "schedule.base", (ms) => `"schedule": { "type": "exponential", "base": ${durationOf(ms, 2_000)} }`],
  ["maxDelayMs", "maxDelay", (ms) => `"maxDelay": ${durationOf(ms, 300_000)}`],
  ["fallbackChains", "routing.chains", () => '"routing": { "type": "fallback-chain", "chains": ... }'],
  [
    "fallbackRevertPolicy",
    "routing.revert",
    (found) => `"routing": { "type": "fallback-chain", "revert": "${found === "never" ? found : "cooldown-expiry"}" }`
  ],
  ["targets", "routing.targets", () => ROUND_ROBIN],
  ["models", "routing.targets", () => ROUND_ROBIN],
  [
    "llmTimeout",
    "requestTimeout",
    (ms) => `"requestTimeout": { "firstContent": ${durationOf(ms, 600_000)}, "idle": ${durationOf(ms, 600_000)} }`
  ],
  ["maxRetries", "maxRetries", (found) => `"maxRetries": ${numberOf(found, 3)}, "counts": "attempts"`],
  ["maxTurns", "maxTurns", (found) => `"maxTurns": ${numberOf(found, 10)}`],
  ["enabled", "enabled", (found) => `"enabled": ${found !== false}`]
]

/** The replacements, by former name. */
export const formerNames: ReadonlyMap<string, FormerName> = new Map(
  FORMER.map(([name, key, write]) => [name, { key: `retry.${key}`, write }])
)

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
