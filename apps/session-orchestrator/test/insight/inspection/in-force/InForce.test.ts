/** Tests the sources of the configuration in force, and that no secret is in it. */
import { Redacted } from "effect"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as InForce from "../../../../src/insight/inspection/in-force/InForce.ts"
import * as Secrets from "../../../../src/config/redaction/Secrets.ts"
import * as Configurations from "../../../config/Configurations.ts"

const entries = (given: Configurations.ConfigurationInput, lines?: ReadonlyMap<string, number>) =>
  new Map(
    InForce.of({ ...Configurations.config(given), ...(lines === undefined ? {} : { lines }) }).entries.map(
      ({ key, ...entry }) => [key, entry]
    )
  )

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
          prices: { "openai/gpt-5": { input: 1, output: 2 } },
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
    expect(found.get("prices.openai/gpt-5")?.value).toBe("$1 of input, $2 of output per million tokens")
    expect(found.get("systemPrompts.night")?.value).toBe("9 characters")
    expect(JSON.stringify(Array.from(found))).not.toContain("planted")
  })

  it("no secret of a generated configuration is in it, in any form that is redacted", () => {
    const secret = fc
      .string({ minLength: 16, maxLength: 40, unit: fc.constantFrom(..."ABCxyz0189-_.~+=") })
      .filter((text) => new Set(text).size > 6)
    fc.assert(
      fc.property(fc.tuple(secret, secret, secret, secret, secret, secret, secret, secret, secret), (secrets) => {
        const [token, key, header, password, query, variable, hook, signing, argument] = secrets
        const config = Configurations.config({
          file: {
            server: { token },
            database: { url: `postgres://me:${encodeURIComponent(password)}@db.example.org/holdfast` },
            model: "own/m",
            providers: {
              own: {
                type: "openai-compatible",
                baseUrl: `https://own.example.org/v1?key=${encodeURIComponent(query)}`,
                apiKeyEnv: "OWN_KEY",
                headers: { "x-tenant": header, authorization: `Bearer ${header}` },
                body: { user: key, nested: { token } }
              },
              sdk: { type: "ai-sdk", package: "@ai-sdk/google", options: { accessKeyId: key } }
            },
            tools: {
              files: { command: "files", args: [`--key=${key}`], env: { API_KEY: variable } },
              mail: {
                command: "mail",
                args: [`--api-token=${argument}`, "--secret", argument, "-H", `X-Own: ${argument}`]
              }
            },
            telemetry: {
              otlp: { endpoint: "https://otel.example.org", headers: { "x-otel": header } },
              notifications: { webhook: `https://hooks.example.org/${hook}`, command: ["notify", hook] }
            },
            webhooks: { secret: signing, turnEnd: `https://hooks.example.org/${hook}` }
          },
          environment: {
            OWN_KEY: key,
            HTTPS_PROXY: `http://me:${encodeURIComponent(password)}@proxy.example.org:3128`
          }
        })
        const text = JSON.stringify(InForce.of(config))
        for (const planted of [...secrets, ...Secrets.ofConfig(config).map(Redacted.value)]) {
          if (planted.length < Secrets.SHORTEST_SECRET) continue
          expect(text).not.toContain(planted)
          expect(text).not.toContain(encodeURIComponent(planted))
          expect(text).not.toContain(Buffer.from(planted).toString("base64"))
        }
      }),
      { numRuns: Number(process.env["HOLDFAST_MODEL_RUNS"] ?? 100) }
    )
  })
})
