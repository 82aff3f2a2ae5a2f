import { describe, expect, it } from "@effect/vitest"
import * as ConfigCheck from "../../src/cli/ConfigCheck.ts"
import * as Configurations from "../config/Configurations.ts"

/** The value of a key in the report, with its origin. */
const shown = (given: Configurations.ConfigurationInput, key: string): string | undefined =>
  ConfigCheck.report(Configurations.config(given))
    .map((line) => /^ {2}(\S+) {2,}(.*)$/.exec(line))
    .find((found) => found?.[1] === key)?.[2]

describe("config check", () => {
  it("prints the telemetry and its receivers, without a key", () => {
    const telemetry = {
      retryLog: { path: "night.jsonl" },
      otlp: { endpoint: "http://127.0.0.1:4318", headers: { "x-key": "planted-planted" } },
      notifications: {
        after: "10 minutes",
        webhook: "https://hooks.example.org/services/planted-planted",
        command: ["notify", "--token", "planted-planted"]
      }
    }
    const file = { model: "simulated/steady", telemetry }
    expect(shown({ file }, "telemetry.retryLog")).toBe("/etc/night.jsonl, up to 10,000,000 bytes, 5 older ones")
    expect(shown({ file }, "telemetry.otlp")).toBe("http://127.0.0.1:4318/v1/traces")
    expect(shown({ file }, "telemetry.notifications")).toBe("after 10 m, by a webhook and by notify")
    expect(ConfigCheck.report(Configurations.config({ file })).join("\n")).not.toContain("planted")
  })

  it("prints parts that are off", () => {
    const file = { model: "simulated/steady", gate: { enabled: false }, telemetry: { retryLog: false } }
    expect(shown({ file }, "gate.enabled")).toBe("false")
    expect(shown({ file }, "telemetry.retryLog")).toBe("off")
    expect(shown({ file }, "telemetry.otlp")).toBe("off")
    expect(shown({ file }, "telemetry.notifications")).toBe("off")
    expect(shown({}, "gate.enabled")).toBe("true")
    expect(shown({ environment: { HOLDFAST_LOG_LEVEL: "warn" } }, "log.level")).toBe("warn  (HOLDFAST_LOG_LEVEL)")
  })

  it("prints the capabilities of models that the file lists", () => {
    const models = { "groq/llama": { contextWindow: 131_072 }, "openai/tiny": { contextWindow: 8_192, tools: false } }
    const file = { model: "simulated/steady", models }
    expect(shown({ file }, "models.groq/llama")).toBe("131072 tokens")
    expect(shown({ file }, "models.openai/tiny")).toBe("8192 tokens, no tools")
  })
})
