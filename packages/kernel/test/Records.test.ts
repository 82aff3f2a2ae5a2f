/** The on-disk format of a turn: old names and values stay readable. */
import { assert, describe, it } from "@effect/vitest"
import * as fc from "fast-check"
import * as Records from "../src/records/Records.ts"

const record = (name: string, value: unknown = true) => ({ name, value: JSON.stringify(value) })

const retry = { _tag: "Retry", attempt: 0, delayMs: 5_000, retryAt: 6_000 } as const

const kind = fc.constantFrom<Records.Kind>(
  "Final",
  "Route",
  "Content",
  "Attempt",
  "Decision",
  "Wake",
  "Compaction",
  "Begun",
  "Tool",
  "Seal"
)

describe("Records", () => {
  it("rule X1: every name is as it was in the first version", () => {
    const names = [
      ["step/0/attempt/2", "Attempt", 0, 2],
      ["step/0/attempt/2/content", "Content", 0, 2],
      ["step/1/decision/12", "Decision", 1, 12],
      ["step/1/sleep/12", "Wake", 1, 12],
      ["step/10/tool/0", "Tool", 10, 0],
      ["step/10/tool/0/begun", "Begun", 10, 0],
      ["step/3/compaction/2", "Compaction", 3, 2],
      ["step/3/route", "Route", 3, 0],
      ["step/3/final", "Final", 3, 0],
      ["seal", "Seal", 0, 0]
    ] as const
    for (const [name, kind, step, number] of names) {
      assert.strictEqual(Records.nameOf(kind, step, number), name)
      assert.deepStrictEqual(Records.positionOf(name), { kind, step, number })
    }
    assert.strictEqual(Records.nameOf("Wake", 1, 12, 3), "step/1/sleep/12/3")
    assert.deepStrictEqual(Records.positionOf("step/1/sleep/12/3"), { kind: "Wake", step: 1, number: 12 })
  })

  it("rule X1: a name parses back to its position, and no two positions share a name", () => {
    const places = fc.tuple(kind, fc.nat(20), fc.nat(20))
    fc.assert(
      fc.property(places, ([kind, step, number]) => {
        const hasNumber = kind !== "Final" && kind !== "Route" && kind !== "Seal"
        const place = { kind, step: kind === "Seal" ? 0 : step, number: hasNumber ? number : 0 }
        assert.deepStrictEqual(Records.positionOf(Records.nameOf(kind, step, number)), place)
      })
    )
  })

  it("returns `undefined` for other names, and for values that cannot be read", () => {
    for (const name of [
      "",
      "seals",
      "step/0/verdict/0",
      "step/0/attempt/1/2",
      "step/0/decision/0/content",
      "step/x/tool/0",
      "step/0/route/1",
      "step/0/attempt",
      "step/0/compaction/1/2"
    ]) {
      assert.isUndefined(Records.positionOf(name), name)
      assert.isUndefined(Records.parse(record(name)), name)
    }
    assert.isUndefined(Records.parse(record("step/0/sleep/0", { type: "dreamt" })))
    assert.isUndefined(Records.parse(record("step/0/final", { cause: "whim", at: 1 })))
    assert.isUndefined(Records.parse({ name: "step/0/decision/0", value: "{" }))
  })

  it("reads the value of a record", () => {
    const read = (name: string, value: unknown) => Records.parse(record(name, value))
    const place = { step: 0, number: 0 }
    assert.deepStrictEqual(read("step/0/decision/0", retry), { kind: "Decision", ...place, value: retry })
    assert.deepStrictEqual(read("step/0/sleep/0", { type: "now" }), { kind: "Wake", ...place, value: { type: "now" } })
    const beginning = { route: { target: { provider: "openai", model: "gpt-5" } }, state: 1 }
    assert.deepStrictEqual(read("step/0/route", beginning), { kind: "Route", ...place, value: beginning })
    const nothing = { _tag: "Nothing", endedAt: 1 } as const
    assert.deepStrictEqual(read("step/0/compaction/1", nothing), {
      kind: "Compaction",
      step: 0,
      number: 1,
      value: nothing
    })
    const final = { cause: "context", at: 1 } as const
    assert.deepStrictEqual(read("step/0/final", final), { kind: "Final", ...place, value: final })
  })

  it("decodes only the values of the requested kind", () => {
    assert.deepStrictEqual(Records.valueOf("Wake", record("step/0/sleep/0", { type: "now" })), { type: "now" })
    assert.isUndefined(Records.valueOf("Wake", record("step/0/decision/0", retry)))
    assert.isUndefined(Records.valueOf("Wake", { name: "step/0/sleep/0", value: "{" }))
  })
})
