/** Tests that docs/simulated.md describes every example with the service's exact words. */
import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import { readFileSync } from "node:fs"
import * as ErrorBody from "../src/ErrorBody.ts"
import * as Simulated from "../src/Simulated.ts"

const page = readFileSync(new URL("../../../docs/simulated.md", import.meta.url), "utf8")
const examples = [...page.matchAll(/^\| `(simulated\/[^`]+)` \| (.+) \|$/gm)].map(
  ([, name = "", words = ""]) => [name, words] as const
)

describe("docs/simulated.md", () => {
  it.each(examples)("%s", (name, words) => {
    // A row without its full stop has what differs.
    const whole = words.endsWith(".") ? words : `Each turn meets ${words}; then it is answered, 30 tokens a second.`
    assert.strictEqual(Result.getOrThrow(Simulated.describe(name)), whole)
  })

  it("has the default model, and every error by its name", () => {
    assert.isAbove(examples.length, 20)
    assert.isTrue(examples.some(([name]) => name === `simulated/${Simulated.DEFAULT_MODEL}`))
    for (const name of ErrorBody.NAMES) assert.include(page, `\`${name}\``)
  })
})
