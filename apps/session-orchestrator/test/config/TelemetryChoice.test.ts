import { describe, expect, it } from "@effect/vitest"
import { Duration, Redacted } from "effect"
import * as Configurations from "./Configurations.ts"
import * as Secrets from "../../src/config/redaction/Secrets.ts"

const notifying = (notifications: object) => ({ file: { telemetry: { notifications } } })
const telemetryOf = (given: Configurations.ConfigurationInput) => Configurations.config(given).telemetry

describe("telemetry without settings", () => {
  it("rule M4: logs retries beside the database, and sends no notices", () => {
    expect(telemetryOf({})).toEqual({
      retryLog: { path: "/home/.holdfast/retries.jsonl", maxBytes: 10_000_000, keep: 5 },
      otlp: undefined,
      notifications: undefined
    })
  })

  it("rule M4: logs no retries without a database file", () => {
    expect(telemetryOf({ file: { database: { path: ":memory:" } } }).retryLog).toBeUndefined()
    expect(telemetryOf({ file: { database: { url: "postgres://h/db" } } }).retryLog).toBeUndefined()
  })
})

describe("the retry log", () => {
  it("has a configurable path, relative to the file, and can be switched off", () => {
    const file = { database: { url: "postgres://h/db" }, telemetry: { retryLog: { path: "./r.jsonl", keep: 0 } } }
    expect(telemetryOf({ file }).retryLog).toEqual({ path: "/etc/r.jsonl", maxBytes: 10_000_000, keep: 0 })
    expect(telemetryOf({ file: { telemetry: { retryLog: false } } }).retryLog).toBeUndefined()
  })
})

describe("traces", () => {
  it("go to a path below the endpoint of the file, or of OpenTelemetry's variables, the file first", () => {
    const environment = {
      OTEL_EXPORTER_OTLP_ENDPOINT: "http://collector:4318/",
      OTEL_EXPORTER_OTLP_HEADERS: "api-key=a%20b, x-team = night"
    }
    const { otlp } = telemetryOf({ environment })
    expect(otlp?.url).toBe("http://collector:4318/v1/traces")
    expect(Object.entries(otlp?.headers ?? {}).map(([name, value]) => [name, Redacted.value(value)])).toEqual([
      ["api-key", "a b"],
      ["x-team", "night"]
    ])
    const file = { telemetry: { otlp: { endpoint: "https://other.example.org/otlp" } } }
    expect(telemetryOf({ environment, file }).otlp?.url).toBe("https://other.example.org/otlp/v1/traces")
  })

  it("go to the exact address of their own variable, and nowhere if the SDK is disabled", () => {
    const environment = { OTEL_EXPORTER_OTLP_TRACES_ENDPOINT: "http://collector:4318/in" }
    expect(telemetryOf({ environment }).otlp?.url).toBe("http://collector:4318/in")
    expect(telemetryOf({ environment: { ...environment, OTEL_SDK_DISABLED: "true" } }).otlp).toBeUndefined()
  })
})

describe("notifications", () => {
  it("take their address from a variable", () => {
    const ONCALL = "https://hooks.example.org/T0/B0/abcdefgh"
    const { notifications } = telemetryOf({ ...notifying({ webhookEnv: "ONCALL" }), environment: { ONCALL } })
    expect(notifications?.webhook && Redacted.value(notifications.webhook.url)).toBe(ONCALL)
    expect(notifications?.after).toEqual(Duration.minutes(5))
  })

  it("have the format that is asked for, with what it needs", () => {
    const email = { from: "a@b.example", to: "c@d.example" }
    const template = "{{text}}"
    const formatOf = (commandFormat: string) =>
      telemetryOf(notifying({ command: ["notify"], commandFormat, email, template })).notifications?.commandFormat
    expect(["email", "template", "slack"].map(formatOf)).toEqual([{ email }, { template }, "slack"])
  })

  it("have an address that is a secret, as a whole and by its path", () => {
    const config = Configurations.config(notifying({ webhook: "https://hooks.example.org/T0/B0/abcdefgh" }))
    const { redact } = Secrets.make(Secrets.ofConfig(config))
    expect(redact("POST https://hooks.example.org/T0/B0/abcdefgh failed")).not.toContain("abcdefgh")
    expect(redact("POST /T0/B0/abcdefgh failed")).not.toContain("abcdefgh")
  })
})

describe("mistakes are named", () => {
  it.each(
    Object.entries<readonly [Configurations.ConfigurationInput, ...ReadonlyArray<string>]>({
      "notifications to nobody": [
        notifying({}),
        'telemetry.notifications: no receiver is set. Give it a "webhook", a "webhookEnv" or a "command".'
      ],
      "a format without what it needs": [
        notifying({ command: ["notify"], commandFormat: "email" }),
        'telemetry.notifications.email: it is missing, and "commandFormat": "email" needs it.'
      ],
      "a template that is missing": [
        notifying({ command: ["notify"], commandFormat: "template" }),
        'telemetry.notifications.template: it is missing, and "commandFormat": "template" needs it.'
      ],
      "a template with a field that notices lack, once": [
        notifying({ command: ["notify"], commandFormat: "template", template: "{{text}} {{env.KEY}}" }),
        'telemetry.notifications.template: found "{{text}} {{env.KEY}}"; expected a text with {{id}}, {{type}}, {{title}}, {{text}}, {{url}}, {{provider}}, {{model}}, {{since}}, {{at}}, {{nextAt}}, {{waiting}}, {{failed}}, {{reason}}; in a JSON text values are escaped; {{env.KEY}} is none of these fields.'
      ],
      "a variable that is not set": [
        notifying({ webhookEnv: "ONCALL" }),
        "telemetry.notifications.webhookEnv: the environment variable ONCALL is not set."
      ],
      "a variable that has no address, without showing it": [
        { ...notifying({ webhookEnv: "ONCALL" }), environment: { ONCALL: "hooks.example.org/secret" } },
        'telemetry.notifications.webhookEnv: ONCALL is not an http or https address, such as "https://hooks.example.org/services/...".'
      ],
      "a collector that is no address": [
        { environment: { OTEL_EXPORTER_OTLP_ENDPOINT: "collector:4318" } },
        'OTEL_EXPORTER_OTLP_ENDPOINT: expected an http or https address such as "http://127.0.0.1:4318", without a user and without a fragment.'
      ]
    })
  )("%s", (_what, [given, ...expected]) => {
    expect(Configurations.problems(given)).toEqual(expected)
  })
})
