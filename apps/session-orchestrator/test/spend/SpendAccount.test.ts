/** Tests the account of a day that several runners add to. */
import type { Observer } from "@holdfast/kernel"
import { Ids } from "@holdfast/wire"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import { SpendAccount } from "../../src/spend/SpendAccount.ts"
import type { TurnRow } from "../../src/storage/Lists.ts"

const TARGET = { provider: "test", model: "m" }

const call = fc.record({ isHere: fc.boolean(), inputTokens: fc.integer({ min: 1, max: 1000 }) })
const turn = fc.record({ calls: fc.array(call, { maxLength: 5 }), endsHere: fc.boolean(), reads: fc.nat(2) })

const accountOf = (tokens: number) =>
  new SpendAccount({ limits: [{ per: "day", tokens, then: "fail" }], prices: {}, timeZone: "UTC" })

describe("the account of a day", () => {
  it("SpendAccount.A1, A3: equals a recount of the turns that have ended, wherever their calls were made and however often they are read", () => {
    fc.assert(
      fc.property(fc.array(turn, { maxLength: 8 }), (turns) => {
        const account = accountOf(0)
        turns.forEach(({ calls, endsHere, reads }, n) => {
          const turnId = Ids.TurnId.make(`turn-${n}`)
          for (const { inputTokens, isHere } of calls) {
            const outcome = { _tag: "Completed", usage: { inputTokens, outputTokens: 0 }, endedAt: n }
            if (isHere)
              account.listeners.attempt?.({ turnId, target: TARGET, outcome } as unknown as Observer.AttemptEnded)
          }
          const total = calls.reduce((sum, { inputTokens }) => sum + inputTokens, 0)
          const end = { status: "completed", endedAt: n, usage: { inputTokens: total, outputTokens: 0 } }
          if (endsHere) account.listeners.seal?.({ turnId, target: TARGET, end } as unknown as Observer.Sealed)
          const tokens = { input: total, output: 0, cachedInput: 0, cacheWrite: 0 }
          const row = { model: "test/m", labels: {}, turn: { turnId, end } } as unknown as TurnRow
          const uses = total === 0 ? [] : [{ target: "test/m", tokens, at: n }]
          for (let read = endsHere ? 0 : -1; read < reads; read++) account.enterEnded(row, uses)
        })
        const sum = turns.flatMap(({ calls }) => calls).reduce((sum, { inputTokens }) => sum + inputTokens, 0)
        expect(account.refusal(Ids.TurnId.make("next"), 0)?.message).toContain(
          `and ${sum.toLocaleString("en-US")} tokens were spent`
        )
      })
    )
  })

  it("rule X11: a turn that has moved from another runner has what it used there, once", () => {
    const call = (turnId: Ids.TurnId) => {
      const outcome = { _tag: "Completed", usage: { inputTokens: 10, outputTokens: 5 }, endedAt: 0 }
      return { turnId, target: TARGET, outcome } as unknown as Observer.AttemptEnded
    }
    const use = { target: "test/m", tokens: { input: 10, output: 5, cachedInput: 0, cacheWrite: 0 }, at: 0 }
    const spent = (account: SpendAccount, turnId: Ids.TurnId) =>
      /and (\d+) tokens were spent/.exec(account.refusal(turnId, 0)?.message ?? "")?.[1]
    for (const per of ["turn", "conversation", "day"] as const) {
      const account = new SpendAccount({ limits: [{ per, tokens: 1, then: "fail" }], prices: {}, timeZone: "UTC" })
      const [moved, known] = [Ids.TurnId.make("moved"), Ids.TurnId.make("known")]
      account.enterMoved(moved, [use, use])
      expect(spent(account, moved)).toBe("30")
      account.listeners.attempt?.(call(known))
      account.enterMoved(known, [use, use])
      expect(spent(account, known)).toBe(per === "day" ? "60" : "30")
      expect(account.refusal(Ids.TurnId.make("other"), 0) === undefined).toBe(per !== "day")
    }
  })

  it("SpendAccount.A2: a turn that has asked before a restart passes the limits that ask, and no other", () => {
    const limits = [{ per: "day", tokens: 0, then: "ask" }] as const
    const asking = new SpendAccount({ limits, prices: {}, timeZone: "UTC" })
    const turnId = Ids.TurnId.make("a")
    expect(asking.refusal(turnId, 0)?.retryable).toBe(true)
    asking.letPass(turnId)
    expect(asking.refusal(turnId, 0)).toBeUndefined()
    const failing = accountOf(0)
    failing.letPass(turnId)
    expect(failing.refusal(turnId, 0)?.retryable).toBe(false)
  })
})
