import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { Act, endOf, next, resume, type Script, Until } from "../../src/simulated/Script.ts"
import * as Syntax from "../../src/simulated/Syntax.ts"
import * as Arbitrary from "./arbitrary.ts"

const script = (name: string): Script => Result.getOrThrow(Syntax.parse(name))

/** What a turn meets that asks at these times. */
const meets = (script: Script, times: ReadonlyArray<number>, startedAt = 0): ReadonlyArray<string> => {
  let played = 0
  return times.map((now) => {
    const step = next(script, { played, startedAt, now })
    played = step.played
    return step.act._tag === "Status" ? String(step.act.status) : step.act._tag
  })
}

describe("Script", () => {
  it("scenes are played in order, and after the last one every request is answered", () => {
    assert.deepStrictEqual(meets(script("429x2,502"), [0, 0, 0, 0, 0]), ["429", "429", "502", "Answer", "Answer"])
  })

  it("x* is for ever", () => {
    assert.deepStrictEqual(meets(script("429,503x*,ok"), [0, 0, 0, 0]), ["429", "503", "503", "503"])
  })

  it("an outage by the clock is over to the millisecond, and then counts no more", () => {
    const times = [0, 10, 89_999, 90_000, 90_000, 0]
    assert.deepStrictEqual(meets(script("down-for-90s,429"), times), [
      "Down",
      "Down",
      "Down",
      "429",
      "Answer",
      "Answer"
    ])
  })

  it("an outage by the clock begins when the turn does, wherever it stands", () => {
    assert.deepStrictEqual(meets(script("429,down-for-90s"), [0, 5_000, 89_999, 90_000]), [
      "429",
      "Down",
      "Down",
      "Answer"
    ])
    assert.deepStrictEqual(meets(script("429,down-for-90s"), [95_000, 95_001]), ["429", "Answer"])
  })

  it("a time of day is the next one after the turn began", () => {
    const at = (time: string) => Date.parse(`2026-03-01T${time}Z`)
    const seven = Until.TimeOfDay({ minute: 420 })
    assert.strictEqual(endOf(seven, at("06:59:59")), at("07:00:00"))
    assert.strictEqual(endOf(seven, at("07:00:00")), at("07:00:00") + 86_400_000)
    assert.strictEqual(endOf(seven, at("22:00:00")), at("07:00:00") + 86_400_000)
  })

  it("a turn that another process began goes on where it was", () => {
    assert.strictEqual(resume(script("429x3,502"), 2), 2)
    assert.strictEqual(resume(script("down-for-90s,502"), 7), 0)
    assert.strictEqual(resume(script("429x2,down,502"), 7), 2)
  })

  it("what was played never shrinks, and no request is left without an act", () => {
    const times = fc.array(fc.integer({ min: 0, max: 10 ** 12 }), { minLength: 1, maxLength: 30 })
    fc.assert(
      fc.property(Arbitrary.script, times, (script, times) => {
        let played = 0
        for (const now of times.sort((a, b) => a - b)) {
          const step = next(script, { played, startedAt: 0, now })
          assert.isTrue(step.played >= played)
          assert.isString(step.act._tag)
          played = step.played
        }
      })
    )
  })

  it("a script that was played to its end answers", () => {
    fc.assert(
      fc.property(Arbitrary.script, (script) => {
        const isEndless = script.scenes.some(
          ({ act, times }) => times === Infinity || (act._tag === "Down" && act.until._tag === "Never")
        )
        const step = next(script, { played: 1_000_000, startedAt: 0, now: 10 ** 12 })
        assert.isTrue(isEndless || (step.last && step.act._tag === Act.Answer()._tag))
      })
    )
  })
})
