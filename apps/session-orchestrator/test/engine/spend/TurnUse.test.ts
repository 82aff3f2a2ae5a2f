/** Tests the tokens of a turn, by its calls. */
import type { History } from "@holdfast/kernel/host"
import { Prices } from "@holdfast/policy"
import type { TurnEvent } from "@holdfast/wire"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as TurnUse from "../../../src/engine/spend/TurnUse.ts"
import type { TurnRow } from "../../../src/storage/ListPage.ts"
import * as SpendSums from "../../../src/config/limits/SpendSums.ts"
import * as Law from "../../Law.ts"

const usage = fc.record({ inputTokens: fc.nat(1000), outputTokens: fc.nat(1000) })

/** The end of a turn that its first call answered, without a wait. */
const ended = (over: object = {}) =>
  ({ status: "completed", endedAt: 9, attempts: 1, sleptMs: 0, usage: {}, ...over }) as unknown as TurnEvent.TurnEnd

/** A history of attempts, each with its outcome. */
const historyOf = (...attempts: ReadonlyArray<object>) =>
  ({ attempts, wait: undefined, target: undefined }) as unknown as History.History

const sumOf = (usages: ReadonlyArray<{ readonly inputTokens: number; readonly outputTokens: number }>) => ({
  inputTokens: usages.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
  outputTokens: usages.reduce((sum, { outputTokens }) => sum + outputTokens, 0)
})

describe("the tokens of a turn's calls", () => {
  it("add up to those of its end, whatever its records lack", () => {
    Law.holds([fc.array(fc.record({ usage, isRecorded: fc.boolean() }), { maxLength: 6 })], (calls) => {
      const attempts = calls.map(({ isRecorded, usage }, n) => ({
        target: `test/${n % 2}`,
        outcome: isRecorded
          ? { _tag: "Completed", usage, endedAt: n }
          : [{ _tag: "Lost", endedAt: n }, undefined][n % 2]
      }))
      const end = ended({ usage: sumOf(calls.map(({ usage }) => usage)) })
      const history = historyOf(...attempts)
      const uses = TurnUse.of("test/0", end, history)
      const total = uses.map(({ tokens }) => tokens).reduce(Prices.add, Prices.NO_TOKENS)
      expect({ inputTokens: total.input, outputTokens: total.output }).toEqual(end.usage)
      const open = TurnUse.of("test/0", undefined, history)
      expect(open.length).toBe(calls.filter(({ isRecorded }) => isRecorded).length)
    })
  })

  it("are unknown where the provider reported none", () => {
    expect(SpendSums.restOf(ended(), Prices.NO_TOKENS, "test/m")).toEqual([
      { target: "test/m", tokens: Prices.NO_TOKENS, at: 9, isUnreported: true }
    ])
  })

  it("are in its records, unless its first call answered it without a wait", () => {
    const needs = (...ends: ReadonlyArray<object | undefined>) =>
      ends.map((end) => TurnUse.needsRecords({ turn: { end: end && ended(end) } } as unknown as TurnRow)).join()
    expect(needs({}, { waitedMs: 0 })).toBe("false,false")
    const more = needs(
      undefined,
      { waitedMs: 1 },
      { sleptMs: 1 },
      { attempts: 0 },
      { attempts: 2 },
      { status: "failed" }
    )
    expect(more).toBe("true,true,true,true,true,true")
  })
})
