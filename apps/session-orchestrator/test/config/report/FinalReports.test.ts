import { assert, describe, it } from "@effect/vitest"
import { Option, Result } from "effect"
import { setFlagsFromString } from "node:v8"
import { runInNewContext } from "node:vm"
import * as FinalReports from "../../../src/config/report/FinalReports.ts"

const $id = "https://a.example/report"
const schema = {
  $id,
  type: "object",
  properties: { summary: { type: "string", format: "whatever" }, files: { type: "array", items: { type: "string" } } },
  required: ["summary"],
  "x-unknown": true
}

describe("a final report", () => {
  it("rule A9: is required if a schema is configured, and only then", () => {
    assert.isUndefined(FinalReports.make({}))
    const description = "Say what you did."
    const report = FinalReports.make({ finalReport: { schema, description } })
    assert.deepStrictEqual(report?.tool, { name: FinalReports.TOOL_NAME, description, inputSchema: schema })
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
    const schema = { $id, $defs, properties: { summary: { $ref: "#/$defs/59" } } }
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

describe("the schema of a final report", () => {
  const OBJECT = 'expected type "object", as a report is handed in as the arguments of a tool'
  const ENUM = "schema is invalid: data/type must be equal to one of the allowed values"
  const deep = JSON.parse(`${'{"not":'.repeat(5_000)}{}${"}".repeat(5_000)}`)
  it.each<[what: string, schema: object, problem: string | undefined]>([
    ["a good one", schema, undefined],
    ["an invalid one", { type: "objekt" }, `${ENUM}, data/type must be array, data/type must match a schema in anyOf`],
    ["one of another type than object, which no provider accepts for a tool's arguments", { type: "array" }, OBJECT],
    ["one of several types", { type: ["object", "null"] }, OBJECT],
    ["one that is nested too deeply", deep, "it is nested too deeply"],
    [
      "an asynchronous one: a check must return its result at once",
      { ...schema, $async: true },
      'expected a schema without "$async"'
    ]
  ])("is refused in words: %s", (_what, schema, problem) => {
    assert.strictEqual(FinalReports.problemOf({ finalReport: { schema: { ...schema } } }), problem)
    assert.isUndefined(FinalReports.problemOf({}))
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

describe("a function that runs with a time limit", () => {
  it("returns its result, or throws its error, as without a limit", () => {
    const one = FinalReports.withinTime(() => 1, 10_000)
    assert.deepStrictEqual(one, Option.some(1))
    for (const error of [new RangeError("deep"), Object.assign(new Error("gone"), { code: "ENOENT" })]) {
      const fail = (): never => {
        throw error
      }
      const thrown = Result.try(() => FinalReports.withinTime(fail, 10_000))
      assert.deepStrictEqual(thrown, Result.fail(error))
    }
  })

  it("is interrupted, whatever it does, and the next one runs as usual", () => {
    const seen = { turns: 0 }
    const endless = (): never => {
      for (;;) seen.turns++
    }
    // On a busy machine a short limit may pass before the function begins.
    for (let limitMs = 20; seen.turns === 0; limitMs *= 2) {
      assert.isBelow(limitMs, 10_000, "the function has begun")
      assert.deepStrictEqual(FinalReports.withinTime(endless, limitMs), Option.none())
    }
    const next = FinalReports.withinTime(() => "next", 10_000)
    assert.deepStrictEqual(next, Option.some("next"))
  })

  it("is called again where its machine was busy with others while the time passed", () => {
    const slept = new Int32Array(new SharedArrayBuffer(4))
    let calls = 0
    const late = () => {
      if (++calls === 1) Atomics.wait(slept, 0, 0)
      return "checked"
    }
    assert.deepStrictEqual(FinalReports.withinTime(late, 200), Option.some("checked"))
    assert.strictEqual(calls, 2)
  })

  it("may itself run another function with a time limit", () => {
    const inner = () => FinalReports.withinTime(() => 1, 10_000)
    assert.deepStrictEqual(FinalReports.withinTime(inner, 10_000), Option.some(Option.some(1)))
  })
})
