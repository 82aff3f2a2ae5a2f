/** Example data of health: an endpoint in an outage, another with a used-up quota, and a few keys of the configuration. */
import type { EffectiveConfiguration } from "../EffectiveConfiguration.ts"
import type { Health } from "../Health.ts"

const at = 1_933_380_000_000
const second = 1_000
const minute = 60 * second

/** A report in an outage. */
export const outage: Health = {
  at,
  countedSince: at - 60 * minute,
  endpoints: [
    {
      target: "anthropic/claude-sonnet-4-5",
      credential: "ANTHROPIC_API_KEY",
      address: "https://api.anthropic.com",
      state: "failing",
      gate: {
        phase: "shut",
        waiting: 12,
        held: 3,
        underway: 0,
        room: 1,
        nextTryAt: at + 40 * second,
        words: "12 turns wait. A few are let through, as probes; the others share its failure or go on with its answer."
      },
      pauses: [],
      lastHour: {
        calls: 41,
        failed: 38,
        parts: { calls: [1, 1, 1, 0, 0, 9, 8, 6, 5, 4, 3, 3], failed: [0, 0, 0, 0, 0, 9, 8, 6, 5, 4, 3, 3] }
      },
      lastAnswerAt: at - 46 * minute,
      lastFailure: { at: at - 20 * second, reason: "overloaded", code: "529", message: "Overloaded" }
    },
    {
      target: "openai/gpt-5",
      credential: "OPENAI_API_KEY",
      address: "https://api.openai.com/v1",
      state: "paused",
      gate: { phase: "open", waiting: 0, held: 0, underway: 0, words: "Every turn may call." },
      pauses: [
        {
          of: "credential",
          since: at - 5 * minute,
          until: at + 3 * 60 * minute,
          reason: "quota-exhausted",
          isAsked: true
        }
      ],
      lastHour: {
        calls: 2,
        failed: 1,
        parts: { calls: [0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 0], failed: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 1, 0] }
      },
      lastAnswerAt: at - 12 * minute,
      lastFailure: {
        at: at - 5 * minute,
        reason: "quota-exhausted",
        code: "429",
        message: "You exceeded your current quota."
      }
    }
  ],
  limits: [{ provider: "openai", waiting: 0, requestsPerMinute: { used: 14, limit: 60 } }]
}

/** A configuration with values of each source. */
export const configuration: EffectiveConfiguration = {
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
