import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as ScriptCache from "../../src/script/ScriptCache.ts"
import * as Syntax from "../../src/script/Syntax.ts"

describe("Scripts", () => {
  it("a name is parsed once, with the same result as the syntax", () => {
    const scripts = ScriptCache.make()
    const first = Result.getOrThrow(scripts("429x2,502"))
    assert.deepStrictEqual(first, Result.getOrThrow(Syntax.parse("429x2,502")))
    assert.strictEqual(Result.getOrThrow(scripts("429x2,502")), first)
  })

  it("an invalid name is rejected every time, with the syntax's error", () => {
    const scripts = ScriptCache.make()
    for (let n = 0; n < 2; n++) assert.deepStrictEqual(scripts("otage-2"), Syntax.parse("otage-2"))
  })

  it("any number of names is parsed correctly", () => {
    const scripts = ScriptCache.make()
    for (let n = 0; n < 500; n++) {
      const { phases } = Result.getOrThrow(scripts(`429x${(n % 250) + 1}`))
      assert.strictEqual(phases[0]?.times, (n % 250) + 1)
    }
  })
})
