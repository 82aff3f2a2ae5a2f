import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as fc from "fast-check"
import * as Syntax from "../src/script/Syntax.ts"
import * as TurnProgress from "../src/TurnProgress.ts"

const outage = Result.getOrThrow(Syntax.parse("outage-2"))
const begun = { startedAt: 0, attempts: 0 }
const small = () => 0

/** Whether each of these requests of a turn is answered. */
const answers = (
  progress: TurnProgress.TurnProgress,
  turn: string,
  count: number,
  origin: TurnProgress.TurnOrigin = begun
) =>
  Array.from(
    { length: count },
    () => progress.take(turn, "outage-2", outage, origin, 0, small).outcome._tag === "Answer"
  )

describe("TurnProgress", () => {
  it("each turn has its own count", () => {
    const progress = TurnProgress.make()
    assert.deepStrictEqual(answers(progress, "a", 2), [false, false])
    assert.deepStrictEqual(answers(progress, "b", 1), [false])
    assert.deepStrictEqual(answers(progress, "a", 2), [true, true])
  })

  it("two models within a turn have separate counts, and its failures one count", () => {
    const progress = TurnProgress.make()
    progress.take("a", "outage-2", outage, begun, 0, small)
    assert.strictEqual(
      progress.take("a", "steady", Result.getOrThrow(Syntax.parse("steady")), begun, 0, small).failures,
      1
    )
    assert.deepStrictEqual(answers(progress, "a", 2), [false, true])
  })

  it("turns that are identified by their text start again once they were answered", () => {
    const progress = TurnProgress.make({ forgetsAnswered: true })
    assert.deepStrictEqual(answers(progress, "a", 4), [false, false, true, false])
    assert.strictEqual(progress.size(), 1)
  })

  it("the count of a turn that another process began continues from its attempts", () => {
    assert.deepStrictEqual(answers(TurnProgress.make(), "a", 2, { startedAt: 0, attempts: 1 }), [false, true])
  })

  it("an outage by the clock begins with the earliest turn, or at the given time", () => {
    const clocked = Result.getOrThrow(Syntax.parse("529 for 10s"))
    const meets = (progress: TurnProgress.TurnProgress, turn: string, startedAt: number, now: number) =>
      progress.take(turn, "529 for 10s", clocked, { startedAt, attempts: 0 }, now, small).outcome._tag
    const progress = TurnProgress.make()
    assert.deepStrictEqual(
      [meets(progress, "b", 5_000, 11_000), meets(progress, "a", 0, 11_000), meets(progress, "b", 5_000, 11_000)],
      ["Status", "Answer", "Answer"]
    )
    assert.deepStrictEqual(meets(TurnProgress.make({ openedAt: 9_000 }), "a", 0, 18_999), "Status")
    assert.deepStrictEqual(meets(TurnProgress.make({ openedAt: 9_000 }), "a", 0, 19_000), "Answer")
  })

  it("the number of kept turns is bounded, and the least recently used one is forgotten first", () => {
    const progress = TurnProgress.make({ maxTurns: 2 })
    answers(progress, "a", 1)
    answers(progress, "b", 1)
    answers(progress, "a", 1)
    answers(progress, "c", 1)
    assert.strictEqual(progress.size(), 2)
    assert.deepStrictEqual(answers(progress, "a", 1), [true])
    assert.deepStrictEqual(answers(progress, "b", 2), [false, false])
  })

  it("the share of refused requests is as the script has it, and the same script has the same course again", () => {
    const percents = fc.integer({ min: 1, max: 100 })
    fc.assert(
      fc.property(percents, fc.string(), fc.integer({ min: 1, max: 50 }), (percent, name, retries) => {
        const text = `529 at ${percent}% for 1h`
        const script = Result.getOrThrow(Syntax.parse(text))
        const course = () => {
          const progress = TurnProgress.make()
          return Array.from(
            { length: 2_000 },
            (_, n) => progress.take(`${name}-${Math.floor(n / retries)}`, text, script, begun, 0, small).outcome._tag
          )
        }
        const seen = course()
        const refused = seen.filter((tag) => tag === "Status").length / seen.length
        // Five standard deviations: one of a million scripts is further off.
        assert.closeTo(refused, percent / 100, 5 * Math.sqrt(0.25 / seen.length))
        assert.deepStrictEqual(course(), seen)
      })
    )
  })

  it("a request over the size is always refused, and a smaller one is answered", () => {
    const text = "413 over 10kB"
    const script = Result.getOrThrow(Syntax.parse(text))
    const progress = TurnProgress.make()
    const tags = [10_001, 10_000, 10_001, 5].map(
      (bytes) => progress.take("a", text, script, begun, 0, () => bytes).outcome._tag
    )
    assert.deepStrictEqual(tags, ["Status", "Answer", "Status", "Answer"])
  })
})
