import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { labelValues, OTHER, ofConfig } from "../../../../src/ops/telemetry/metrics/MetricLabels.ts"
import * as Configurations from "../../../config/Configurations.ts"
import * as Law from "../../../Law.ts"

const asIs = (name: string) => name

describe("labels", () => {
  it("have the configured values, `MOST` others, and one for the rest", () =>
    Law.holds([fc.array(fc.string()), fc.array(fc.string()), fc.nat({ max: 5 })], (configured, names, most) => {
      const labels = labelValues(configured, asIs, most)
      const values = new Set(names.map((name) => labels(name)))
      expect(Array.from(values).filter((value) => !configured.includes(value)).length).toBeLessThanOrEqual(most + 1)
    }))

  it("of a configured name are the name, however many others came before", () => {
    const labels = labelValues(["gpt-5"], asIs, 1)
    expect(["a", "b", "gpt-5", "a", "c"].map((name) => labels(name))).toEqual(["a", OTHER, "gpt-5", "a", OTHER])
  })

  it("have a limited length, and there are fifty of them beside the configured ones", () => {
    expect(labelValues([], asIs)("x".repeat(101))).toBe(OTHER)
    expect(labelValues([], asIs)("x".repeat(100))).toBe("x".repeat(100))
    const names = Array.from({ length: 51 }, (_, n) => `${n}`)
    expect(names.map(labelValues([], asIs)).indexOf(OTHER)).toBe(50)
  })

  it("of a configuration are its providers and no other, and its model beside others", () => {
    const providers = { p: { type: "openai-compatible", baseUrl: "https://x.example/v1" } }
    const labels = ofConfig(Configurations.config({ file: { model: "p/m", providers } }), asIs)
    expect(["p", "q"].map((name) => labels.providers(name))).toEqual(["p", OTHER])
    const names = [...Array.from({ length: 51 }, (_, n) => `${n}`), "m"]
    expect(names.map((name) => labels.models(name)).slice(49)).toEqual(["49", OTHER, "m"])
  })

  it("are no secrets", () => {
    const labels = labelValues([], (name) => name.replace("sk-123", "[redacted]"))
    expect(["sk-123", "gpt-5"].map((name) => labels(name))).toEqual([OTHER, "gpt-5"])
  })
})
