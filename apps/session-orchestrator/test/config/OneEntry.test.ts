/** Adds a plain setting by its declaration alone, and finds it wherever settings are shown, read or checked. */
import { Durations, Setting } from "@holdfast/policy"
import { Duration, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as Environment from "../../src/config/reading/Environment.ts"
import { PARSE_OPTIONS, plain, plainNames, ROWS, Settings } from "../../src/config/reading/Settings.ts"
import * as InForce from "../../src/insight/inspection/in-force/InForce.ts"
import { PLACEHOLDER } from "../../src/config/redaction/Secrets.ts"
import * as EditorSchema from "../../tools/EditorSchema.ts"
import * as SettingsPage from "../../tools/SettingsPage.ts"

const gate = Schema.Struct({
  ...Settings.fields.gate.schema.fields,
  pause: Setting.setting(Durations.Positive, {
    doc: "how long a closed gate waits",
    default: "2 minutes",
    env: "HOLDFAST_GATE_PAUSE",
    flag: "--gate-pause"
  }),
  password: Setting.setting(Schema.String, { doc: "what opens it", isSecret: true })
})
const settings = Schema.Struct({ ...Settings.fields, gate: Schema.optionalKey(gate) })
const rows = Setting.rows(settings)

describe("a plain setting that is added is one entry and its use", () => {
  it("it has its default, decoded", () => {
    expect(Setting.defaults(gate)).toEqual({ enabled: true, pause: Duration.minutes(2) })
  })

  it("the file may have it, and a wrong value is refused", () => {
    const decode = Schema.decodeUnknownSync(settings, PARSE_OPTIONS)
    expect(decode({ gate: { pause: "5 minutes" } }).gate?.pause).toEqual(Duration.minutes(5))
    expect(() => decode({ gate: { pause: "5m" } })).toThrow("gate")
  })

  it("its variable and its flag override the file", () => {
    const valueOf = (name: string) => `${name} is set`
    expect(Environment.overrides("env", valueOf, rows)).toMatchObject({ gate: { pause: "HOLDFAST_GATE_PAUSE is set" } })
    expect(Environment.overrides("flag", valueOf, rows)).toMatchObject({ gate: { pause: "--gate-pause is set" } })
  })

  it("it is in the configuration in force, a secret by its presence", () => {
    const values = { ...Setting.defaults(gate), password: "planted" }
    expect(InForce.section("gate", values, rows)).toEqual([
      ["gate.enabled", "true"],
      ["gate.pause", "2 m"],
      ["gate.password", PLACEHOLDER]
    ])
  })

  it("editors explain it, and the page of settings has a row for it", () => {
    expect(EditorSchema.make(settings)).toMatchObject({
      properties: {
        gate: { properties: { pause: { description: "How long a closed gate waits.", default: "2 minutes" } } }
      }
    })
    expect(SettingsPage.make(settings)).toContain(
      '| `gate.pause` | how long a closed gate waits | `"2 minutes"` | `HOLDFAST_GATE_PAUSE` | `--gate-pause` |'
    )
  })
})

describe("a plain section that is added is one entry and its use", () => {
  it("it is in force with its defaults, under what the file has", () => {
    const { gate, gateway, log } = plain({ log: { level: "warn" } })
    expect([gate.enabled, gateway.maxBodyBytes, log.level]).toEqual([true, 67_108_864, "warn"])
    expect(plainNames.every((name) => InForce.section(name, plain({})[name]).length > 0)).toBe(true)
  })
})

describe("the declarations", () => {
  it("no two settings have the same variable or flag", () => {
    const names = Array.from(ROWS.values()).flatMap(({ env, flag }) => [env, flag].filter((name) => name !== undefined))
    expect(new Set(names).size).toBe(names.length)
  })
})
