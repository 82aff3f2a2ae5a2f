import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Scripts from "../../src/simulated/Scripts.ts"
import * as Syntax from "../../src/simulated/Syntax.ts"

describe("Scripts", () => {
  it("a name is read once, and means what it means to the syntax", () => {
    const scripts = Scripts.make()
    const first = Result.getOrThrow(scripts("429x2,502"))
    assert.deepStrictEqual(first, Result.getOrThrow(Syntax.parse("429x2,502")))
    assert.strictEqual(Result.getOrThrow(scripts("429x2,502")), first)
  })

  it("a name that is not understood is refused every time, in the syntax's words", () => {
    const scripts = Scripts.make()
    for (let n = 0; n < 2; n++) assert.deepStrictEqual(scripts("otage-2"), Syntax.parse("otage-2"))
  })

  it("however many names are asked for, each is read as it is written", () => {
    const scripts = Scripts.make()
    for (let n = 0; n < 500; n++) {
      const { scenes } = Result.getOrThrow(scripts(`429x${(n % 250) + 1}`))
      assert.strictEqual(scenes[0]?.times, (n % 250) + 1)
    }
  })
})
