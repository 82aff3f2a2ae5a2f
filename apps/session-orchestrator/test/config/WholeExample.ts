/**
 * An example configuration with every key, even with keys that exclude each other, because the schema allows both. A setting with a default
 * that is not written here has its default.
 */
import { ROWS } from "../../src/config/reading/Settings.ts"

const written = {
  $schema: "./holdfast.config.schema.json",
  server: {
    host: "0.0.0.0",
    port: 4747,
    hostnames: ["holdfast.example.org"],
    allowedOrigins: ["https://app.example.org", "http://localhost:3000", "tauri://localhost"],
    token: "x".repeat(16),
    tokenEnv: "TOKEN",
    maxFileBytes: 5_242_880,
    maxBodyBytes: 33_554_432
  },
  database: {
    path: "./holdfast.db",
    retention: "90 days",
    deleteConversations: [{ after: "180 days" }, { after: "7 days", tag: "nightly" }],
    url: "postgres://holdfast@db.internal:5432/holdfast"
  },
  cluster: { runner: "10.0.0.5:4748", shards: 300 },
  providers: {
    gateway: {
      type: "anthropic",
      baseUrl: "https://gateway.example.org/v1",
      apiKeyEnv: ["GATEWAY_KEY", "GATEWAY_KEY_2"],
      headers: { "X-Title": "Holdfast" },
      body: { temperature: 0.2 },
      maxTokens: 8_000,
      promptCaching: false,
      limits: { calls: 1, requestsPerMinute: 30, tokensPerMinute: 12_000 },
      package: "@ai-sdk/google",
      factory: "createGoogleGenerativeAI",
      options: { region: "eu-central-1" }
    }
  },
  model: "gateway/big-model",
  models: {
    "gateway/big-model": { contextWindow: 8_192, tools: false, files: ["image/*"], body: { reasoning_effort: "high" } }
  },
  prices: { "gateway/big-model": { input: 1.25, output: 10, cachedInput: 0.125, cacheWrite: 1.5 } },
  spend: [
    { per: "day", money: 20, then: "ask", answerWithin: "12 hours" },
    { per: "tag", tag: "nightly", tokens: 2_000_000, then: "fail" }
  ],
  systemPrompts: { reviewer: "Find mistakes." },
  retry: {
    profile: "overnight",
    enabled: true,
    schedule: { type: "steps", delays: ["5 seconds", "0 seconds"], tail: "15 minutes" },
    reasons: {
      network: {
        schedule: { type: "exponential", base: "1 second", factor: 2 },
        hint: "replace",
        atLeast: "0 seconds",
        atMost: "1 minute",
        maxRetries: 2,
        budget: { total: "2 hours", clip: true },
        midStream: "unseen"
      }
    },
    jitter: { factor: 0.25 },
    maxRetries: 10,
    counts: "attempts",
    budget: { total: "Infinity", clip: true },
    measure: "wall-clock",
    maxDelay: "-1 seconds",
    hints: false,
    midStream: "discard",
    spendGuard: {
      after: "2 hours",
      maxInputTokens: 200_000,
      maxTurnTokens: 1_000_000,
      answerWithin: "12 hours",
      unanswered: "go-on"
    },
    requestTimeout: { firstContent: "2 minutes", idle: "1 minute" },
    maxResponseCharacters: 1_000,
    routing: {
      type: "fallback-chain",
      chains: { default: ["openrouter/openai/gpt-5"] },
      revert: "never",
      cooldown: "10 minutes"
    },
    maxTurns: 20,
    maxFailedToolSteps: 0,
    finalReport: { schema: { type: "object" }, description: "Say what you did.", contextBudget: 100_000 }
  },
  gate: { enabled: false },
  gateway: { maxBodyBytes: 67_108_864 },
  tools: {
    files: {
      command: "npx",
      args: ["-y"],
      env: { LEVEL: "1" },
      cwd: "./srv",
      url: "https://tracker.example.org/mcp",
      headers: { Authorization: "Bearer ${TRACKER_TOKEN}" },
      timeout: "5 minutes",
      startTimeout: "30 seconds",
      required: true,
      maxOutput: 1_024,
      idempotent: ["read_*"],
      confirm: ["write_*"],
      answerWithin: "2 hours",
      allow: ["*"],
      deny: ["move_file"]
    }
  },
  log: { level: "debug" },
  telemetry: {
    retryLog: { path: "./retries.jsonl", maxBytes: 1_000, keep: 0 },
    otlp: { endpoint: "http://127.0.0.1:4318", headers: { "x-team": "night" } },
    notifications: {
      after: "0 seconds",
      webhook: "https://hooks.example.org/services/a",
      webhookEnv: "ONCALL_WEBHOOK",
      headers: { "x-team": "night" },
      command: ["notify", "--stdin"],
      format: "slack",
      commandFormat: "email",
      email: { from: "holdfast@example.org", to: "oncall@example.org" },
      template: "{{title}}: {{text}}",
      report: "07:00",
      quiet: { from: "22:00", to: "07:00" }
    }
  },
  webhooks: { secret: "a-secret-of-webhooks", secretEnv: "WEBHOOK_SECRET", turnEnd: "https://hooks.example.org/ends" }
}

/** The example, with the default of each setting that it does not write. */
export const example: { readonly [section: string]: unknown } = { ...written }

for (const { default: value, key } of ROWS.values()) {
  const [section = "", name, ...deeper] = key.split(".")
  const values = Object(example[section])
  if (value !== undefined && name !== undefined && name !== "*" && deeper.length === 0 && !Object.hasOwn(values, name))
    values[name] = value
}
