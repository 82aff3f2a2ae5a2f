import { assert, describe, it } from "@effect/vitest"
import { Result } from "effect"
import * as Syntax from "../../src/simulated/Syntax.ts"
import * as Tally from "../../src/simulated/Tally.ts"

const outage = Result.getOrThrow(Syntax.parse("outage-2"))
const begun = { startedAt: 0, attempts: 0 }

/** Whether each of these requests of a turn is answered. */
const answers = (tally: Tally.Tally, turn: string, count: number, origin: Tally.Origin = begun) =>
  Array.from({ length: count }, () => tally.take(turn, "outage-2", outage, origin, 0).act._tag === "Answer")

describe("Tally", () => {
  it("turns are counted apart", () => {
    const tally = Tally.make()
    assert.deepStrictEqual(answers(tally, "a", 2), [false, false])
    assert.deepStrictEqual(answers(tally, "b", 1), [false])
    assert.deepStrictEqual(answers(tally, "a", 2), [true, true])
  })

  it("two models within a turn are counted apart, its failures together", () => {
    const tally = Tally.make()
    tally.take("a", "outage-2", outage, begun, 0)
    assert.strictEqual(tally.take("a", "steady", Result.getOrThrow(Syntax.parse("steady")), begun, 0).failures, 1)
    assert.deepStrictEqual(answers(tally, "a", 2), [false, true])
  })

  it("turns that are told apart by what they say begin anew once they were answered", () => {
    const tally = Tally.make({ forgetsAnswered: true })
    assert.deepStrictEqual(answers(tally, "a", 4), [false, false, true, false])
    assert.strictEqual(tally.size(), 1)
  })

  it("a turn that another process began counts on from its attempts", () => {
    assert.deepStrictEqual(answers(Tally.make(), "a", 2, { startedAt: 0, attempts: 1 }), [false, true])
  })

  it("no more turns are remembered than there may be, and the one not asked about for longest goes first", () => {
    const tally = Tally.make({ maxTurns: 2 })
    answers(tally, "a", 1)
    answers(tally, "b", 1)
    answers(tally, "a", 1)
    answers(tally, "c", 1)
    assert.strictEqual(tally.size(), 2)
    assert.deepStrictEqual(answers(tally, "a", 1), [true])
    assert.deepStrictEqual(answers(tally, "b", 2), [false, false])
  })
})
