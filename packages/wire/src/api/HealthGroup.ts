/** Defines the calls that report the endpoints and the configuration of a running service. */
import { HttpApiEndpoint, HttpApiGroup } from "effect/http-api"
import { EffectiveConfiguration } from "../EffectiveConfiguration.ts"
import { Health } from "../Health.ts"
import { about, titled } from "./OpenApiDocument.ts"
import * as Problem from "./Problem.ts"

const at = 1_933_380_000_000
const minute = 60_000

/** A report in an outage, behind which the quota of a client is nearly used up. */
const outage: Health = {
  at,
  countedSince: at - 60 * minute,
  endpoints: [
    {
      target: "anthropic/claude-sonnet-4-5",
      credential: "ANTHROPIC_API_KEY",
      address: "https://api.anthropic.com",
      state: "paused",
      gate: {
        phase: "shut",
        waiting: 12,
        held: 3,
        underway: 0,
        room: 1,
        nextTryAt: at + minute,
        words: "12 turns wait."
      },
      pauses: [
        { of: "credential", since: at - 5 * minute, until: at + 180 * minute, reason: "quota-exhausted", isAsked: true }
      ],
      lastHour: {
        calls: 41,
        failed: 38,
        parts: { calls: [1, 1, 1, 0, 0, 9, 8, 6, 5, 4, 3, 3], failed: [0, 0, 0, 0, 0, 9, 8, 6, 5, 4, 3, 3] }
      },
      lastAnswerAt: at - 46 * minute,
      lastFailure: {
        at: at - minute,
        reason: "quota-exhausted",
        code: "429",
        message: "You exceeded your current quota."
      }
    }
  ],
  limits: [{ provider: "openai", waiting: 0, requestsPerMinute: { used: 14, limit: 60 } }],
  boundCalls: 0,
  windows: [
    { provider: "anthropic", credential: "client Zk3x1Q", name: "5h", used: 0.93, resetAt: at + 150 * minute, at }
  ]
}

/** A configuration with values of each source. */
const configuration: EffectiveConfiguration = {
  file: "/etc/holdfast/holdfast.config.json",
  entries: [
    { key: "server.port", value: "4747", source: { from: "default" } },
    { key: "server.token", value: "[redacted]", source: { from: "environment", name: "HOLDFAST_TOKEN" } },
    { key: "model", value: "anthropic/claude-sonnet-4-5", source: { from: "flag", name: "--model" } },
    { key: "retry.profile", value: "overnight", source: { from: "file", name: "holdfast.config.json", line: 9 } },
    { key: "retry.budget", value: "8 h", source: { from: "profile", name: "overnight" } }
  ],
  unused: ["groq", "mistral"],
  notices: []
}

const readHealth = HttpApiEndpoint.get("readHealth", "/v1/health", {
  success: Health.annotate({ identifier: "Health", examples: [outage] }),
  error: [Problem.StorageUnavailable]
}).annotateMerge(
  about(
    "Report the endpoints",
    "Each endpoint and credential with its gate, its cooldown, its quota with the reset, and its calls and failures of the last hour. An endpoint is",
    "listed if the configuration names it, or if it is known since it was called.",
    "",
    "Runners on one database share pauses, limits and the news of an endpoint (`elsewhere`). Gates and counts are those of the runner that answers,",
    "which `runner` names."
  )
)

const readConfiguration = HttpApiEndpoint.get("readConfiguration", "/v1/configuration", {
  success: EffectiveConfiguration.annotate({
    identifier: "EffectiveConfiguration",
    examples: [configuration]
  })
}).annotateMerge(
  about(
    "Report the configuration",
    "Every key in force with its value and its source: a default, the profile, the file with the line, a variable or a flag. Without secrets."
  )
)

/** The calls as a group of the API. */
export const HealthGroup = HttpApiGroup.make("health")
  .add(readHealth, readConfiguration)
  .annotateMerge(titled("Health", "What is known of the endpoints, and the configuration in force."))
