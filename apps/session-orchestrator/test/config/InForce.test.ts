import { describe, expect, it } from "@effect/vitest"
import { Redacted } from "effect"
import * as Configurations from "./Configurations.ts"

const URL = "postgres://user@db.internal/holdfast"

describe("the configuration in force", () => {
  it("the gate is on unless it is switched off", () => {
    expect(Configurations.config({}).gate).toEqual({ enabled: true })
    expect(Configurations.config({ file: { gate: { enabled: false } } }).gate).toEqual({ enabled: false })
    expect(Configurations.config({ file: { gate: {} } }).gate).toEqual({ enabled: true })
  })

  it("ModelChoice.M4: the first of targets in turn is the model, with any keys", () => {
    const environment = { ANTHROPIC_API_KEY: "sk-test-0123456789", GROQ_API_KEY: "sk-test-9876543210" }
    const routing = { type: "round-robin", targets: ["groq/a/b", "anthropic/c"] }
    expect(Configurations.config({ environment, file: { retry: { routing } } }).model).toEqual({
      provider: "groq",
      model: "a/b"
    })
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

  it("a runner's address without a database to share is pointed out, and with one it is not", () => {
    const flags = { runner: "127.0.0.1:5000" }
    expect(Configurations.config({ flags }).notices.filter((notice) => notice.includes("cluster.runner"))).toHaveLength(
      1
    )
    expect(Configurations.config({ flags, file: { database: { url: URL } } }).notices.join()).not.toContain(
      "cluster.runner"
    )
    expect(Configurations.config({}).notices.join()).not.toContain("cluster.runner")
  })

  it("a runner that others reach gets a remark about its network, if there are others", () => {
    const flags = { runner: "10.0.0.5:4748" }
    const told = (given: Configurations.ConfigurationInput) =>
      Configurations.config(given).notices.filter((notice) => notice.startsWith("Runners reach"))
    expect(told({ flags, file: { database: { url: URL } } })).toHaveLength(1)
    expect(told({ flags })).toEqual([])
    expect(told({ file: { database: { url: URL } } })).toEqual([])
  })

  it("paths in the file are relative to the file, and those of the environment to the working directory", () => {
    expect(Configurations.config({ file: { database: { path: "a.db" } } }).database.path).toBe("/etc/a.db")
    expect(Configurations.config({ file: {}, environment: { HOLDFAST_DATABASE_PATH: "a.db" } }).database.path).toBe(
      "/home/a.db"
    )
    expect(Configurations.config({ file: { database: { path: ":memory:" } } }).database.path).toBe(":memory:")
  })

  it("the retry log is beside the database file, and off without one of this process", () => {
    const pathIn = (file: object) => Configurations.config({ file }).telemetry.retryLog?.path
    expect(pathIn({ database: { path: "a.db" } })).toBe("/etc/retries.jsonl")
    expect(pathIn({ database: { path: ":memory:" } })).toBeUndefined()
    expect(pathIn({ database: { url: URL } })).toBeUndefined()
  })
})
