/** Tests the tokens of a turn, by its calls. */
import type { History } from "@holdfast/kernel/host"
import { Prices } from "@holdfast/policy"
import type { TurnEvent } from "@holdfast/wire"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as TurnUse from "../../../src/engine/spend/TurnUse.ts"
import * as SpendSums from "../../../src/config/limits/SpendSums.ts"

const usage = fc.record({ inputTokens: fc.nat(1000), outputTokens: fc.nat(1000) })

const sumOf = (usages: ReadonlyArray<{ readonly inputTokens: number; readonly outputTokens: number }>) => ({
  inputTokens: usages.reduce((sum, { inputTokens }) => sum + inputTokens, 0),
  outputTokens: usages.reduce((sum, { outputTokens }) => sum + outputTokens, 0)
})

describe("the tokens of a turn's calls", () => {
  it("add up to those of its end, whatever its records lack", () => {
    fc.assert(
      fc.property(fc.array(fc.record({ usage, isRecorded: fc.boolean() }), { maxLength: 6 }), (calls) => {
        const attempts = calls.map(({ isRecorded, usage }, n) => ({
          target: `test/${n % 2}`,
          outcome: isRecorded ? { _tag: "Completed", usage, endedAt: n } : { _tag: "Lost", endedAt: n }
        }))
        const end = { status: "completed", endedAt: 9, usage: sumOf(calls.map(({ usage }) => usage)) }
        const seal = end as unknown as TurnEvent.TurnEnd
        const history = { attempts, wait: undefined, target: undefined } as unknown as History.History
        const uses = TurnUse.of("test/0", seal, history)
        const total = uses.map(({ tokens }) => tokens).reduce(Prices.add, Prices.NO_TOKENS)
        expect({ inputTokens: total.input, outputTokens: total.output }).toEqual(end.usage)
        const open = TurnUse.of("test/0", undefined, history)
        expect(open.length).toBe(calls.filter(({ isRecorded }) => isRecorded).length)
      })
    )
  })

  it("are unknown where the provider reported none", () => {
    const end = { status: "completed", endedAt: 9, usage: {} } as TurnEvent.TurnEnd
    expect(SpendSums.restOf(end, Prices.NO_TOKENS, "test/m")).toEqual([
      { target: "test/m", tokens: Prices.NO_TOKENS, at: 9, isUnreported: true }
    ])
  })
})
