import { assert, describe, it } from "@effect/vitest"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as FinalReports from "../../src/conversation/FinalReports.ts"

const schema = {
  type: "object",
  properties: { summary: { type: "string", format: "whatever" }, files: { type: "array", items: { type: "string" } } },
  required: ["summary"],
  "x-unknown": true
}

describe("a final report", () => {
  it("A9: is asked for where a schema is configured, and nowhere else", () => {
    assert.isUndefined(FinalReports.make({}))
    const report = FinalReports.make({ finalReport: { schema, description: "Say what you did." } })
    assert.deepStrictEqual(report?.tool, {
      name: FinalReports.TOOL_NAME,
      description: "Say what you did.",
      inputSchema: schema
    })
  })

  it("A12: that will not do is told what is wrong with it, and where", () => {
    const { validate } = FinalReports.make({ finalReport: { schema } }) ?? assert.fail("none")
    assert.isUndefined(validate({ summary: "done", files: ["a"] }))
    assert.include(validate({}), "must have required property 'summary'")
    assert.include(validate({ summary: "done", files: [1] }), "report/files/0 must be string")
    assert.include(validate("done"), "report must be object")
  })

  it("A12: whose check would hold everybody up is refused in words, and the next one is checked as ever", () => {
    const backtracks = { properties: { summary: { pattern: "^(a+)+$" } } }
    const { validate } = FinalReports.make({ finalReport: { schema: backtracks } }) ?? assert.fail("none")
    assert.include(validate({ summary: `${"a".repeat(28)}!` }), "it could not be checked within 500ms")
    assert.isUndefined(validate({ summary: "a".repeat(28) }))
    assert.include(validate({ summary: "b" }), "report/summary must match pattern")
  })

  it("A12: whose check doubles with every reference of its schema is refused in words", () => {
    const doubled = (n: number) => ({ allOf: [{ $ref: `#/$defs/${n - 1}` }, { $ref: `#/$defs/${n - 1}` }] })
    const $defs = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [n, n === 0 ? {} : doubled(n)]))
    const schema = { $defs, properties: { summary: { $ref: "#/$defs/59" } } }
    const { validate } = FinalReports.make({ finalReport: { schema } }) ?? assert.fail("none")
    assert.include(validate({ summary: "done" }), "it could not be checked within 500ms")
  })

  it("a schema of draft 7 is read as one", () => {
    const older = { $schema: "http://json-schema.org/draft-07/schema#", items: [{ type: "string" }], type: "array" }
    const { validate } = FinalReports.make({ finalReport: { schema: older } }) ?? assert.fail("none")
    assert.isUndefined(validate(["a", 1]))
    assert.include(validate([1]), "report/0 must be string")
  })

  it("a schema that is none is refused in words", () => {
    assert.isUndefined(FinalReports.problemOf({}))
    assert.isUndefined(FinalReports.problemOf({ finalReport: { schema } }))
    assert.include(FinalReports.problemOf({ finalReport: { schema: { type: "objekt" } } }), "type")
  })

  it("a schema of something else than an object is refused: no provider takes it for a tool's arguments", () => {
    for (const type of ["array", ["object", "null"]]) {
      assert.include(FinalReports.problemOf({ finalReport: { schema: { type } } }), 'type "object"')
    }
    const { tool } = FinalReports.make({ finalReport: { schema: { properties: {} } } }) ?? assert.fail("none")
    assert.deepStrictEqual(tool.inputSchema, { type: "object", properties: {} })
  })

  it("a schema that goes deeper than anybody can follow is refused in words", () => {
    const deep = JSON.parse(`${'{"not":'.repeat(5_000)}{}${"}".repeat(5_000)}`)
    assert.strictEqual(FinalReports.problemOf({ finalReport: { schema: deep } }), "it is nested too deeply")
  })

  it("a schema that would be checked later is refused: nobody could wait for what it says", () => {
    assert.include(FinalReports.problemOf({ finalReport: { schema: { ...schema, $async: true } } }), "$async")
  })

  it("schemas that nobody has any more leave nothing behind, sound or not", async () => {
    setFlagsFromString("--expose-gc")
    const collect: () => void = runInNewContext("gc")
    const schemas = Array.from({ length: 300 }, (_, n) => {
      const own = { type: n % 2 === 0 ? "object" : "objekt", title: `Number ${n}` }
      FinalReports.problemOf({ finalReport: { schema: own } })
      return new WeakRef(own)
    })
    await new Promise((resolve) => setImmediate(resolve))
    collect()
    // Those that are kept for the next turn that needs them, and what was kept with them.
    assert.isAtMost(schemas.filter((schema) => schema.deref() !== undefined).length, 100)
  })
})
