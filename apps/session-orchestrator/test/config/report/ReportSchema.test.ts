import { assert, describe, it } from "@effect/vitest"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as ReportSchema from "../../../src/config/report/ReportSchema.ts"

const schema = { type: "object", properties: { summary: { type: "string" } }, required: ["summary"], "x-unknown": true }

describe("the schema of a final report", () => {
  it("an invalid schema is refused in words", () => {
    assert.isUndefined(ReportSchema.problemOf({}))
    assert.isUndefined(ReportSchema.problemOf({ finalReport: { schema } }))
    assert.include(ReportSchema.problemOf({ finalReport: { schema: { type: "objekt" } } }), "type")
  })

  it("a schema of another type than object is refused: no provider accepts it for a tool's arguments", () => {
    for (const type of ["array", ["object", "null"]]) {
      assert.include(ReportSchema.problemOf({ finalReport: { schema: { type } } }), 'type "object"')
    }
  })

  it("a schema that is nested too deeply is refused in words", () => {
    const deep = JSON.parse(`${'{"not":'.repeat(5_000)}{}${"}".repeat(5_000)}`)
    assert.strictEqual(ReportSchema.problemOf({ finalReport: { schema: deep } }), "it is nested too deeply")
  })

  it("an asynchronous schema is refused: a check must return its result at once", () => {
    assert.include(ReportSchema.problemOf({ finalReport: { schema: { ...schema, $async: true } } }), "$async")
  })

  it("schemas that are not used any more are collected, valid or not", async () => {
    setFlagsFromString("--expose-gc")
    const collect: () => void = runInNewContext("gc")
    const schemas = Array.from({ length: 300 }, (_, n) => {
      const own = { type: n % 2 === 0 ? "object" : "objekt", title: `Number ${n}` }
      ReportSchema.problemOf({ finalReport: { schema: own } })
      return new WeakRef(own)
    })
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    // The schemas that are kept for the next turn, and the memory that they hold.
    assert.isAtMost(schemas.filter((schema) => schema.deref() !== undefined).length, 100)
  })
})
