import { readFileSync } from "node:fs"
import { afterAll, assert, describe, it } from "@effect/vitest"
import { HostProcess } from "../src/mutation/HostProcess.ts"
import * as Places from "../src/mutation/Places.ts"

const path = "packages/kernel/src/turn/Directive.ts"
const tests = [{ project: "unit", path: "packages/kernel/test/Directive.test.ts" }]
const text = readFileSync(new URL(`../../${path}`, import.meta.url), "utf8")

const host = new HostProcess()
afterAll(() => host.kill())

/** Only guards against hanging. */
const patient = () => 100_000

describe("the process that runs the tests over changed sources", () => {
  it("passes over a source as it is, fails over a changed one, passes again, and leaves the file alone", async () => {
    const run = (text: string) => host.ask({ type: "run", tests, path, text, isProgram: false }, patient)
    assert.deepStrictEqual(await run(text), { type: "ran", failure: undefined })
    const [place] = Places.of({ path, text }).places
    assert.isDefined(place)
    const answer = await run(Places.mutate(text, place))
    assert(answer.type === "ran")
    assert.strictEqual(answer.failure?.test, tests[0]?.path)
    assert.deepStrictEqual(await run(text), { type: "ran", failure: undefined })
    assert.strictEqual(readFileSync(new URL(`../../${path}`, import.meta.url), "utf8"), text)
  })

  it.each([
    ["while it is loaded", `${text}\nfor (;;) {}`],
    ["in a test", text.replace("=> {\n", "=> {\n  for (;;) {}\n")]
  ])("is ended when a changed source never ends, %s, and another takes its place", async (_, endless) => {
    assert.notStrictEqual(endless, text)
    const late = await host.ask({ type: "run", tests, path, text: endless, isProgram: false }, (test) =>
      test === undefined ? patient() : 500
    )
    assert.deepStrictEqual(late, { type: "late", test: tests[0]?.path })
    assert.deepStrictEqual(await host.ask({ type: "run", tests, path, text, isProgram: false }, patient), {
      type: "ran",
      failure: undefined
    })
  })
})
