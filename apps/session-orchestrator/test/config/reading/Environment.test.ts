import { describe, expect, it } from "@effect/vitest"
import * as Environment from "../../../src/config/reading/Environment.ts"
import * as Configurations from "../Configurations.ts"

const toSettings = (environment: Environment.Environment) =>
  Environment.overrides("env", (name) => Environment.get(environment, name))

describe("Environment", () => {
  it("two variables of one section both count, and so does a variable for a whole section", () => {
    const server = { HOLDFAST_HOST: "::1", HOLDFAST_PORT: "80" }
    const settings = { server: { host: "::1", port: 80 }, model: "a/b", retry: { enabled: false } }
    expect(toSettings({ ...server, HOLDFAST_MODEL: "a/b", HOLDFAST_RETRY_ENABLED: "false" })).toEqual(settings)
  })

  it.each([
    ["HOLDFAST_PORT", "0x50", { server: { port: "0x50" } }],
    ["HOLDFAST_PORT", "1234567890", { server: { port: "1234567890" } }],
    ["HOLDFAST_PORT", "123456789", { server: { port: 123_456_789 } }],
    ["HOLDFAST_PORT", "-1", { server: { port: "-1" } }],
    ["HOLDFAST_HOST", "80", { server: { host: "80" } }],
    ["HOLDFAST_RETRY_ENABLED", "true", { retry: { enabled: true } }],
    ["HOLDFAST_RETRY_ENABLED", "yes", { retry: { enabled: "yes" } }],
    ["HOLDFAST_MODEL", "", {}]
  ])("%s=%s is read as far as it can be, for the schema to refuse", (name, value, expected) => {
    expect(toSettings({ [name]: value })).toEqual(expected)
  })

  it("finds the variable and the flag of a setting", () => {
    const settings = ["server.port", "retry.profile", "model", "models", "server.nonsense"]
    const variables = ["HOLDFAST_PORT", "HOLDFAST_RETRY_PROFILE", "HOLDFAST_MODEL", undefined, undefined]
    expect(settings.map((name) => Environment.nameOf("env", name))).toEqual(variables)
    expect(Environment.nameOf("flag", "model")).toBe("--model")
  })

  it("unknown variables with the prefix are pointed out, known ones are not", () => {
    const known = Object.fromEntries(Environment.names.map((name) => [name, "x"]))
    const unknown = { HOLDFAST_MINE: "x", HOLDFAST_XYZZY: "x", HOLDFAST_TOKN: "x", MY_HOLDFAST_MODEL: "x" }
    const environment = { ...known, ...unknown }
    expect(Environment.unknownVariables(environment, new Set(["HOLDFAST_MINE"]))).toEqual([
      "HOLDFAST_XYZZY is set, and Holdfast does not read it.",
      "HOLDFAST_TOKN is set, and Holdfast does not read it. Did you mean HOLDFAST_TOKEN?"
    ])
  })

  it("every variable that a configuration names is known", () => {
    const environment = {
      HOLDFAST_BEARER: "a-token-of-24-characters",
      HOLDFAST_KEY: "sk-test-0123456789",
      HOLDFAST_HOOK: "https://hooks.example.org/x",
      HOLDFAST_IN_TOOL: "t",
      HOLDFAST_IN_HEADER: "h"
    }
    const own = { type: "openai-compatible", baseUrl: "http://localhost/v1", apiKeyEnv: "HOLDFAST_KEY" }
    const file = {
      server: { tokenEnv: "HOLDFAST_BEARER" },
      model: "own/m",
      providers: { own: { ...own, headers: { "X-A": "${HOLDFAST_IN_HEADER}" } } },
      tools: { a: { command: "a", env: { A: "${HOLDFAST_IN_TOOL}" } } },
      telemetry: { notifications: { webhookEnv: "HOLDFAST_HOOK" } }
    }
    expect(Configurations.config({ file, environment }).notices).toEqual([])
  })
})
