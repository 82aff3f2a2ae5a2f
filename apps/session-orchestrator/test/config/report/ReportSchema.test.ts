import { assert, describe, it } from "@effect/vitest"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as FinalReports from "../../../src/config/report/FinalReports.ts"

const schema = { type: "object", properties: { summary: { type: "string" } }, required: ["summary"], "x-unknown": true }

describe("the schema of a final report", () => {
  it("an invalid schema is refused in words", () => {
    assert.isUndefined(FinalReports.problemOf({}))
    assert.isUndefined(FinalReports.problemOf({ finalReport: { schema } }))
    assert.include(FinalReports.problemOf({ finalReport: { schema: { type: "objekt" } } }), "type")
  })

  it("a schema of another type than object is refused: no provider accepts it for a tool's arguments", () => {
    for (const type of ["array", ["object", "null"]]) {
      assert.include(FinalReports.problemOf({ finalReport: { schema: { type } } }), 'type "object"')
    }
  })

  it("a schema that is nested too deeply is refused in words", () => {
    const deep = JSON.parse(`${'{"not":'.repeat(5_000)}{}${"}".repeat(5_000)}`)
    assert.strictEqual(FinalReports.problemOf({ finalReport: { schema: deep } }), "it is nested too deeply")
  })

  it("an asynchronous schema is refused: a check must return its result at once", () => {
    assert.include(FinalReports.problemOf({ finalReport: { schema: { ...schema, $async: true } } }), "$async")
  })

  it("schemas that are not used any more are collected, valid or not", async () => {
    setFlagsFromString("--expose-gc")
    const collect: () => void = runInNewContext("gc")
    const schemas = Array.from({ length: 300 }, (_, n) => {
      const own = { type: n % 2 === 0 ? "object" : "objekt", title: `Number ${n}` }
      FinalReports.problemOf({ finalReport: { schema: own } })
      return new WeakRef(own)
    })
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    // The schemas that are kept for the next turn, and the memory that they hold.
    assert.isAtMost(schemas.filter((schema) => schema.deref() !== undefined).length, 100)
  })
})
