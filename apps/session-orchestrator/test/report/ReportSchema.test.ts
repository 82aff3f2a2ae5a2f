import { assert, describe, it } from "@effect/vitest"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as ReportSchema from "../../src/report/ReportSchema.ts"

const schema = { type: "object", properties: { summary: { type: "string" } }, required: ["summary"], "x-unknown": true }

describe("the schema of a final report", () => {
  it("a schema that is none is refused in words", () => {
    assert.isUndefined(ReportSchema.problemOf({}))
    assert.isUndefined(ReportSchema.problemOf({ finalReport: { schema } }))
    assert.include(ReportSchema.problemOf({ finalReport: { schema: { type: "objekt" } } }), "type")
  })

  it("a schema of something else than an object is refused: no provider takes it for a tool's arguments", () => {
    for (const type of ["array", ["object", "null"]]) {
      assert.include(ReportSchema.problemOf({ finalReport: { schema: { type } } }), 'type "object"')
    }
  })

  it("a schema that goes deeper than anybody can follow is refused in words", () => {
    const deep = JSON.parse(`${'{"not":'.repeat(5_000)}{}${"}".repeat(5_000)}`)
    assert.strictEqual(ReportSchema.problemOf({ finalReport: { schema: deep } }), "it is nested too deeply")
  })

  it("a schema that would be checked later is refused: nobody could wait for what it says", () => {
    assert.include(ReportSchema.problemOf({ finalReport: { schema: { ...schema, $async: true } } }), "$async")
  })

  it("schemas that nobody has any more leave nothing behind, sound or not", async () => {
    setFlagsFromString("--expose-gc")
    const collect: () => void = runInNewContext("gc")
    const schemas = Array.from({ length: 300 }, (_, n) => {
      const own = { type: n % 2 === 0 ? "object" : "objekt", title: `Number ${n}` }
      ReportSchema.problemOf({ finalReport: { schema: own } })
      return new WeakRef(own)
    })
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    // Those that are kept for the next turn that needs them, and what was kept with them.
    assert.isAtMost(schemas.filter((schema) => schema.deref() !== undefined).length, 100)
  })
})
