/** Tests the sources of the configuration in force, and that no secret is in it. */
import { Redacted } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as InForce from "../../../../src/insight/inspection/in-force/InForce.ts"
import * as Secrets from "../../../../src/config/redaction/Secrets.ts"
import * as Configurations from "../../../config/Configurations.ts"
import * as Law from "../../../Law.ts"

const entries = (given: Configurations.ConfigurationInput, lines?: ReadonlyMap<string, number>) =>
  new Map(
    InForce.of({ ...Configurations.config(given), ...(lines === undefined ? {} : { lines }) }).entries.map(
      ({ key, ...entry }) => [key, entry]
    )
  )

/** A configuration with a value of each kind, and with these secrets. */
const everything = (secrets: ReadonlyArray<string>): Configurations.ConfigurationInput => {
  const [token = "", key = "", header = "", password = "", query = ""] = secrets
  const [variable = "", hook = "", signing = "", argument = ""] = secrets.slice(5)
  return {
    file: {
      server: { token },
      database: {
        url: `postgres://me:${encodeURIComponent(password)}@db.example.org/holdfast`,
        deleteConversations: [{ after: "7 days" }]
      },
      cluster: { runner: "10.0.0.5:4748" },
      model: "own/m",
      models: {
        "own/a": { contextWindow: 9, tools: true, files: true },
        "own/b": { tools: false, files: ["image/png", "text/plain"] },
        "own/c": { files: [] },
        "claude/d": { body: { m: 1 } }
      },
      prices: { "own/m": { input: 1, output: 2, cachedInput: 0.5, cacheWrite: 3 }, "own/n": { input: 1, output: 2 } },
      spend: [{ per: "tag", tag: "nightly", tokens: 7, then: "fail" }],
      providers: {
        own: {
          type: "openai-compatible",
          baseUrl: `https://own.example.org/v1?key=${encodeURIComponent(query)}`,
          apiKeyEnv: ["OWN_KEY", "NO_KEY"],
          headers: { "x-tenant": header, authorization: `Bearer ${header}` },
          limits: { calls: 1, requestsPerMinute: 2, tokensPerMinute: 3 },
          body: { user: key, nested: { token } }
        },
        claude: { type: "anthropic", apiKeyEnv: "CLAUDE_KEY", maxTokens: 4, promptCaching: true },
        sdk: { type: "ai-sdk", package: "@ai-sdk/google", options: { accessKeyId: key } }
      },
      tools: {
        files: { command: "files", args: [`--key=${key}`, "-v"], env: { API_KEY: variable } },
        mail: { command: "mail", args: [`--api-token=${argument}`, "--secret", argument, "-H", `X-Own: ${argument}`] },
        web: { url: "https://web.example.org", headers: { "x-web": header }, timeout: "5 seconds" }
      },
      telemetry: {
        retryLog: { path: "/retry.jsonl", maxBytes: 1_000_000, keep: 2 },
        otlp: { endpoint: "https://otel.example.org", headers: { "x-otel": header } },
        notifications: {
          webhook: `https://hooks.example.org/${hook}`,
          command: ["notify", hook],
          report: "07:00",
          quiet: { from: "22:00", to: "06:00" },
          after: "5 minutes"
        }
      },
      webhooks: { secret: signing, turnEnd: `https://hooks.example.org/${hook}` }
    },
    environment: {
      OWN_KEY: key,
      HTTPS_PROXY: `http://me:${encodeURIComponent(password)}@proxy.example.org:3128`,
      NO_PROXY: "localhost"
    }
  }
}

describe("the configuration in force", () => {
  it("has the source of each key: default, profile, file with line, variable, flag", () => {
    const found = entries(
      {
        file: {
          server: { tokenEnv: "MY_TOKEN" },
          database: { deleteConversations: [{ after: "180 days" }, { after: "7 days", tag: "nightly" }] },
          model: "openai/gpt-5",
          retry: { profile: "interactive", maxRetries: 9, routing: { type: "fallback-chain", cooldown: "1 hour" } },
          spend: [{ per: "day", money: 5, then: "ask" }],
          systemPrompts: { night: "Be brief." }
        },
        environment: {
          MY_TOKEN: "planted-planted-planted",
          OPENAI_API_KEY: "planted-planted",
          HOLDFAST_LOG_LEVEL: "warn"
        },
        flags: { port: 1 }
      },
      new Map([
        ["server.tokenEnv", 2],
        ["retry.maxRetries", 4],
        ["retry.routing", 5],
        ["spend.0", 7]
      ])
    )
    const file = { from: "file", name: Configurations.FILE }
    expect(found.get("server.host")?.source).toEqual({ from: "default" })
    expect(found.get("server.port")).toEqual({ value: "1", source: { from: "flag", name: "--port" } })
    expect(found.get("server.token")).toEqual({ value: Secrets.PLACEHOLDER, source: { ...file, line: 2 } })
    expect(found.get("database.deleteConversations")?.value).toBe("all after 180 d, nightly after 7 d")
    expect(found.get("log.level")?.source).toEqual({ from: "environment", name: "HOLDFAST_LOG_LEVEL" })
    expect(found.get("retry.profile")?.source).toEqual(file)
    expect(found.get("retry.maxRetries")).toEqual({ value: "9", source: { ...file, line: 4 } })
    expect(found.get("retry.routing")?.source).toEqual({ ...file, line: 5 })
    expect(found.get("retry.maxDelay")?.source).toEqual({ from: "profile", name: "interactive" })
    expect(found.get("retry.requestTimeout.idle")?.source).toEqual({ from: "profile", name: "interactive" })
    expect(found.get("providers.openai")?.source).toEqual({ from: "environment", name: "OPENAI_API_KEY" })
    expect(found.get("spend[0]")).toEqual({ value: "a day, $5, then ask", source: { ...file, line: 7 } })
    expect(found.get("systemPrompts.night")?.value).toBe("9 characters")
    expect(JSON.stringify(Array.from(found))).not.toContain("planted")
    const unset = entries({ file: { model: "simulated/steady" } })
    expect(["simulated", "anthropic"].map((name) => unset.has(`providers.${name}`))).toEqual([true, false])
  })

  it("has each value in words, and a secret by its presence alone", () => {
    const secrets = Array.from("abcdefghi", (letter) => `planted-planted-${letter}`)
    const { entries } = InForce.of(Configurations.config(everything(secrets)))
    const own = entries.filter(({ source }) => source.from === "file" || source.from === "environment")
    expect(own.map(({ key, value }) => `${key}: ${value}`)).toEqual([
      "server.token: [redacted]",
      "database.url: postgres://db.example.org/holdfast",
      "cluster.runner: 10.0.0.5:4748",
      "database.deleteConversations: all after 7 d",
      "model: own/m",
      "models.own/a: 9 tokens, tools, files",
      "models.own/b: no tools, image/png, text/plain",
      "models.own/c: no files",
      "prices.own/m: $1 of input, $2 of output, $0.5 of cached input, $3 of input written to the cache per million tokens",
      "prices.own/n: $1 of input, $2 of output per million tokens",
      "spend[0]: a tag nightly, 7 tokens, then fail",
      'providers.own: openai-compatible at https://own.example.org/v1?key=[redacted], OWN_KEY=[redacted], NO_KEY not set, x-tenant: [redacted], authorization: [redacted], 1 calls at once, 2 requests a minute, 3 tokens a minute, body {"user":"[redacted]","nested":{"token":"[redacted]"}}',
      'providers.claude: anthropic at https://api.anthropic.com, CLAUDE_KEY not set, 4 tokens an answer, prompt caching, body of d {"m":1}',
      "providers.sdk: ai-sdk @ai-sdk/google, accessKeyId: [redacted]",
      "HTTPS_PROXY: http://[redacted]@proxy.example.org:3128/",
      "NO_PROXY: localhost",
      "tools.files: files --key=[redacted] -v, API_KEY=[redacted], 1m a call",
      "tools.mail: mail --api-token=[redacted] --secret [redacted] -H [redacted], 1m a call",
      "tools.web: https://web.example.org, x-web: [redacted], 5s a call",
      "telemetry.retryLog: /retry.jsonl, up to 1,000,000 bytes, 2 older ones",
      "telemetry.otlp: https://otel.example.org/v1/traces",
      "telemetry.notifications: after 5 m, by a webhook and by notify, report at 07:00, quiet from 22:00 to 06:00",
      "webhooks.secret: [redacted]",
      "webhooks.turnEnd: [redacted]"
    ])
  })

  it("no secret of a generated configuration is in it, in any form that is redacted", () => {
    const secret = fc
      .string({ minLength: 16, maxLength: 40, unit: fc.constantFrom(..."ABCxyz0189-_.~+=") })
      .filter((text) => new Set(text).size > 6)
    Law.holdsWith(
      { numRuns: Number(process.env["HOLDFAST_MODEL_RUNS"] ?? 100) },
      [fc.tuple(secret, secret, secret, secret, secret, secret, secret, secret, secret)],
      (secrets) => {
        const config = Configurations.config(everything(secrets))
        const text = JSON.stringify(InForce.of(config))
        for (const planted of [...secrets, ...Secrets.ofConfig(config).map(Redacted.value)]) {
          if (planted.length < Secrets.SHORTEST_SECRET) continue
          expect(text).not.toContain(planted)
          expect(text).not.toContain(encodeURIComponent(planted))
          expect(text).not.toContain(Buffer.from(planted).toString("base64"))
        }
      }
    )
  })
})
