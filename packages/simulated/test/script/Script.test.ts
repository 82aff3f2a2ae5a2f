import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import { Outcome, endOf, next, resume, type Script, Until } from "../../src/script/Script.ts"
import * as Syntax from "../../src/script/Syntax.ts"
import * as Arbitrary from "../ScriptArbitrary.ts"

const script = (name: string): Script => Result.getOrThrow(Syntax.parse(name))

/** A request of which nothing depends on chance or size. */
const any = { chance: 0, bytes: () => 0 }

/** The outcomes of a turn with requests at these times. */
const meets = (script: Script, times: ReadonlyArray<number>, startedAt = 0): ReadonlyArray<string> => {
  let served = 0
  return times.map((now) => {
    const step = next(script, { served, startedAt, now, ...any })
    served = step.served
    return step.outcome._tag === "Status" ? String(step.outcome.status) : step.outcome._tag
  })
}

describe("Script", () => {
  it("phases apply in order, and after the last one every request is answered", () => {
    assert.deepStrictEqual(meets(script("429x2,502"), [0, 0, 0, 0, 0]), ["429", "429", "502", "Answer", "Answer"])
  })

  it("x* applies to all further requests", () => {
    assert.deepStrictEqual(meets(script("429,503x*,ok"), [0, 0, 0, 0]), ["429", "503", "503", "503"])
  })

  it("a timed outage ends to the millisecond, and does not count after that", () => {
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

  it("a timed outage begins with the turn, at any position of the script", () => {
    assert.deepStrictEqual(meets(script("429,down-for-90s"), [0, 5_000, 89_999, 90_000]), [
      "429",
      "Down",
      "Down",
      "Answer"
    ])
    assert.deepStrictEqual(meets(script("429,down-for-90s"), [95_000, 95_001]), ["429", "Answer"])
  })

  it("a phase by the clock applies to all turns, however late they come", () => {
    const flapping = script("529 for 1h,ok for 10m,502 for 50m,429")
    const at = (now: number, startedAt = 0) => {
      const { outcome } = next(flapping, { served: 0, startedAt, openedAt: 0, now, ...any })
      return outcome._tag === "Status" ? outcome.status : outcome._tag
    }
    const HOUR = 3_600_000
    assert.deepStrictEqual([at(0), at(HOUR - 1), at(HOUR - 1, HOUR - 2)], [529, 529, 529])
    assert.deepStrictEqual([at(HOUR), at(HOUR + 600_000), at(2 * HOUR - 1)], ["Answer", 502, 502])
    assert.deepStrictEqual(meets(flapping, [0, HOUR, HOUR, HOUR + 600_000, 2 * HOUR, 2 * HOUR]), [
      "529",
      "Answer",
      "Answer",
      "502",
      "429",
      "Answer"
    ])
    assert.deepStrictEqual(meets(script("down until 07:00Z"), [6 * HOUR, 7 * HOUR - 1, 7 * HOUR]), [
      "Down",
      "Down",
      "Answer"
    ])
  })

  it("a phase for a share or a size leaves the other requests answered while it applies, and then the next one applies", () => {
    const at = (text: string, now: number, chance: number, bytes = 0) => {
      const { outcome } = next(script(text), { served: 0, startedAt: 0, now, chance, bytes: () => bytes })
      return outcome._tag === "Status" ? outcome.status : outcome._tag
    }
    const partial = "529 at 60% for 1h,502"
    assert.deepStrictEqual(
      [at(partial, 0, 0.599), at(partial, 0, 0.6), at(partial, 3_600_000, 0.9)],
      [529, "Answer", 502]
    )
    assert.deepStrictEqual([at("503 over 1kB,502", 0, 0, 1_001), at("503 over 1kB,502", 0, 0, 1_000)], [503, "Answer"])
    assert.deepStrictEqual([at("down at 1%", 1e12, 0), at("down at 1%", 1e12, 0.01)], ["Down", "Answer"])
  })

  it("a time of day is its next occurrence after the turn began", () => {
    const at = (time: string) => Date.parse(`2026-03-01T${time}Z`)
    const seven = Until.TimeOfDay({ minute: 420 })
    assert.strictEqual(endOf(seven, at("06:59:59")), at("07:00:00"))
    assert.strictEqual(endOf(seven, at("07:00:00")), at("07:00:00") + 86_400_000)
    assert.strictEqual(endOf(seven, at("22:00:00")), at("07:00:00") + 86_400_000)
  })

  it("a turn that another process began continues at its position", () => {
    assert.strictEqual(resume(script("429x3,502"), 2), 2)
    assert.strictEqual(resume(script("down-for-90s,502"), 7), 0)
    assert.strictEqual(resume(script("429x2,down,502"), 7), 2)
    assert.strictEqual(resume(script("429x2,529 for 7h,502"), 7), 2)
  })

  it("the count of served requests never shrinks, and every request has an outcome", () => {
    const times = fc.array(fc.integer({ min: 0, max: 10 ** 12 }), { minLength: 1, maxLength: 30, size: "max" })
    fc.assert(
      fc.property(Arbitrary.script, times, (script, times) => {
        let served = 0
        for (const now of times.sort((a, b) => a - b)) {
          const step = next(script, { served, startedAt: 0, now, ...any })
          assert.isTrue(step.served >= served)
          assert.isString(step.outcome._tag)
          served = step.served
        }
      })
    )
  })

  it("a finished script answers", () => {
    fc.assert(
      fc.property(Arbitrary.script, (script) => {
        const isEndless = script.phases.some(
          ({ outcome, span, times }) =>
            span === undefined && (times === Infinity || (outcome._tag === "Down" && outcome.until._tag === "Never"))
        )
        const step = next(script, { served: 1_000_000, startedAt: 0, now: 10 ** 12, ...any })
        assert.isTrue(isEndless || (step.last && step.outcome._tag === Outcome.Answer()._tag))
      })
    )
  })
})
