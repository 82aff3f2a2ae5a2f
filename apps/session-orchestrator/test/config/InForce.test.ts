import { describe, expect, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as Configurations from "./Configurations.ts"

describe("the configuration in force", () => {
  it("the first of targets in turn is the model, with any keys", () => {
    const environment = { ANTHROPIC_API_KEY: "sk-test-0123456789", GROQ_API_KEY: "sk-test-9876543210" }
    const routing = { type: "round-robin", targets: ["groq/a/b", "anthropic/c"] }
    const found = Configurations.config({ environment, file: { retry: { routing } } })
    expect(found.model).toEqual({ provider: "groq", model: "a/b" })
    const model = "anthropic/d"
    expect(Configurations.config({ environment, file: { model, retry: { routing } } }).model?.model).toBe("d")
    expect(
      Configurations.config({ environment, file: { retry: { routing: { type: "round-robin" } } } }).model?.provider
    ).toBe("anthropic")
  })

  it("a literal webhook overrides one in a variable, which need not be set", () => {
    const notifications = { webhook: "https://hooks.example.org/a", webhookEnv: "NOT_SET" }
    const url = Configurations.config({ file: { telemetry: { notifications } } }).telemetry.notifications?.webhook?.url
    expect(url && Redacted.value(url)).toBe("https://hooks.example.org/a")
  })

  it("a token of a variable is long enough with 16 characters", () => {
    const file = { server: { host: "0.0.0.0", tokenEnv: "BEARER" } }
    const token = Configurations.config({ file, environment: { BEARER: "0123456789abcdef" } }).server.token
    expect(token && Redacted.value(token)).toBe("0123456789abcdef")
    expect(Configurations.problems({ file, environment: { BEARER: "0123456789abcde" } })).toEqual([
      "server.tokenEnv: the token in BEARER has 15 characters; expected at least 16."
    ])
  })
})
