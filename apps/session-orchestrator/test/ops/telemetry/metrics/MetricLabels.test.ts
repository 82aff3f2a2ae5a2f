import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { LabelValues, LONGEST, OTHER } from "../../../../src/ops/telemetry/metrics/MetricLabels.ts"

const asIs = (name: string) => name

describe("labels", () => {
  it("have the configured values, `MOST` others, and one for the rest", () => {
    fc.assert(
      fc.property(fc.array(fc.string()), fc.array(fc.string()), fc.nat({ max: 5 }), (configured, names, most) => {
        const labels = new LabelValues(configured, asIs, most)
        const values = new Set(names.map((name) => labels.of(name)))
        expect(Array.from(values).filter((value) => !configured.includes(value)).length).toBeLessThanOrEqual(most + 1)
      })
    )
  })

  it("of a configured name are the name, however many others came before", () => {
    const labels = new LabelValues(["gpt-5"], asIs, 1)
    expect(["a", "b", "gpt-5", "a", "c"].map((name) => labels.of(name))).toEqual(["a", OTHER, "gpt-5", "a", OTHER])
  })

  it("have a limited length", () => {
    expect(new LabelValues([], asIs).of("x".repeat(LONGEST + 1))).toBe(OTHER)
    expect(new LabelValues([], asIs).of("x".repeat(LONGEST))).toBe("x".repeat(LONGEST))
  })

  it("are no secrets", () => {
    const labels = new LabelValues([], (name) => name.replace("sk-123", "[redacted]"))
    expect(["sk-123", "gpt-5"].map((name) => labels.of(name))).toEqual([OTHER, "gpt-5"])
  })
})
