import { assert, describe, it } from "@effect/vitest"
import * as FinalReports from "../../../src/config/report/FinalReports.ts"

const schema = {
  type: "object",
  properties: { summary: { type: "string", format: "whatever" }, files: { type: "array", items: { type: "string" } } },
  required: ["summary"],
  "x-unknown": true
}

describe("a final report", () => {
  it("rule A9: is required if a schema is configured, and only then", () => {
    assert.isUndefined(FinalReports.make({}))
    const report = FinalReports.make({ finalReport: { schema, description: "Say what you did." } })
    assert.deepStrictEqual(report?.tool, {
      name: FinalReports.TOOL_NAME,
      description: "Say what you did.",
      inputSchema: schema
    })
  })

  it("rule A12: that is invalid gets the reason and its place", () => {
    const { validate } = FinalReports.make({ finalReport: { schema } }) ?? assert.fail("none")
    assert.isUndefined(validate({ summary: "done", files: ["a"] }))
    assert.include(validate({}), "must have required property 'summary'")
    assert.include(validate({ summary: "done", files: [1] }), "report/files/0 must be string")
    assert.include(validate("done"), "report must be object")
  })

  it("rule A12: whose check would block the process is refused with the reason, and the next one is checked as usual", () => {
    const backtracks = { properties: { summary: { pattern: "^(a+)+$" } } }
    const { validate } = FinalReports.make({ finalReport: { schema: backtracks } }) ?? assert.fail("none")
    assert.include(validate({ summary: `${"a".repeat(28)}!` }), "it could not be checked within 500ms")
    assert.isUndefined(validate({ summary: "a".repeat(28) }))
    assert.include(validate({ summary: "b" }), "report/summary must match pattern")
  })

  it("rule A12: whose check doubles with every reference of its schema is refused with the reason", () => {
    const doubled = (n: number) => ({ allOf: [{ $ref: `#/$defs/${n - 1}` }, { $ref: `#/$defs/${n - 1}` }] })
    const $defs = Object.fromEntries(Array.from({ length: 60 }, (_, n) => [n, n === 0 ? {} : doubled(n)]))
    const schema = { $defs, properties: { summary: { $ref: "#/$defs/59" } } }
    const { validate } = FinalReports.make({ finalReport: { schema } }) ?? assert.fail("none")
    assert.include(validate({ summary: "done" }), "it could not be checked within 500ms")
  })

  it("a schema of draft 7 is read by the rules of draft 7", () => {
    const older = { $schema: "http://json-schema.org/draft-07/schema#", items: [{ type: "string" }], type: "array" }
    const { validate } = FinalReports.make({ finalReport: { schema: older } }) ?? assert.fail("none")
    assert.isUndefined(validate(["a", 1]))
    assert.include(validate([1]), "report/0 must be string")
  })

  it("a schema without a type becomes an object's, because a tool's arguments are an object", () => {
    const { tool } = FinalReports.make({ finalReport: { schema: { properties: {} } } }) ?? assert.fail("none")
    assert.deepStrictEqual(tool.inputSchema, { type: "object", properties: {} })
  })
})
