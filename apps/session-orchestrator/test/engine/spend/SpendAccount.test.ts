/** Tests the account of a day that several runners add to. */
import type { Observer } from "@holdfast/kernel"
import { Ids } from "@holdfast/wire"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as LocalTime from "../../../src/base/text/LocalTime.ts"
import { SpendAccount } from "../../../src/engine/spend/SpendAccount.ts"
import type { TurnRow } from "../../../src/storage/ListPage.ts"

const TARGET = { provider: "test", model: "m" }

const call = fc.record({ isHere: fc.boolean(), inputTokens: fc.integer({ min: 1, max: 1000 }) })
const turn = fc.record({ calls: fc.array(call, { maxLength: 5 }), endsHere: fc.boolean(), reads: fc.nat(2) })

const accountOf = (tokens: number) =>
  new SpendAccount({ limits: [{ per: "day", tokens, then: "fail" }], prices: {}, timeZone: "UTC" })

/** The answer about a limit of ten tokens a day, which raises it until midnight. */
const raisedTo = (tokens: number) => ({
  name: { limit: 0 },
  raise: { of: '["day",null,null,10,"ask"]', scope: "", until: LocalTime.nextDaily("00:00", 0), money: null, tokens }
})

describe("the account of a day", () => {
  it("SpendAccount.A1: equals a recount of the turns that have ended, wherever their calls were made and however often they are read", () => {
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

  it("rule X11: a turn that left without an end is forgotten, and what it used stays in the day", () => {
    const account = accountOf(0)
    const draft = Ids.TurnId.make("draft")
    account.enter(draft, ["night"])
    account.add(draft, { target: "test/m", tokens: { input: 7, output: 0, cachedInput: 0, cacheWrite: 0 }, at: 0 })
    account.left(draft)
    expect(account.knows(draft)).toBe(false)
    expect(account.refusal(Ids.TurnId.make("next"), 0)?.message).toContain("and 7 tokens were spent")
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

  it("SpendAccount.A2: an answer raises a limit once; the others go on below it, and ask again where it is reached again", () => {
    const account = new SpendAccount({ limits: [{ per: "day", tokens: 10, then: "ask" }], prices: {}, timeZone: "UTC" })
    const [a, b, c] = [Ids.TurnId.make("a"), Ids.TurnId.make("b"), Ids.TurnId.make("c")]
    const use = { target: "test/m", tokens: { input: 10, output: 0, cachedInput: 0, cacheWrite: 0 }, at: 0 }
    account.add(a, use)
    for (const turnId of [a, b, c]) expect(account.refusal(turnId, 0)?.retryable).toBe(true)
    const answer = account.goesOn(a, 0)
    if (typeof answer !== "object") return expect.fail("an answer raises the limit")
    expect(answer).toEqual(raisedTo(20))
    account.enterRaises([answer.raise])
    expect(account.goesOn(b, 0)).toBeUndefined()
    account.add(a, use)
    // Its question has its answer: another retry of it is none.
    expect(account.goesOn(a, 0)).toBeUndefined()
    expect(account.refusal(a, 0)).toBeUndefined()
    expect(account.refusal(b, 0)?.message).toContain("raised to 20 tokens")
    // It goes on too late, and no person has answered it.
    expect(account.goesOn(c, 0)).toBe("again")
    expect(account.refusal(c, 0)?.message).toContain("raised to 20 tokens")
    expect(account.goesOn(c, 0)).toEqual(raisedTo(30))
  })

  it("SpendAccount.A2: an answer raises no limit of turns, and is none about another sum", () => {
    const use = { target: "test/m", tokens: { input: 10, output: 0, cachedInput: 0, cacheWrite: 0 }, at: 0 }
    const [a, b] = [Ids.TurnId.make("a"), Ids.TurnId.make("b")]
    const asking = (per: "turn" | "tag") =>
      new SpendAccount({ limits: [{ per, tokens: 10, then: "ask" }], prices: {}, timeZone: "UTC" })
    const ofTurns = asking("turn")
    ofTurns.add(a, use)
    expect(ofTurns.refusal(a, 0)?.retryable).toBe(true)
    expect(ofTurns.goesOn(a, 0)).toBeUndefined()
    expect(ofTurns.refusal(a, 0)).toBeUndefined()
    const ofTags = asking("tag")
    ofTags.enter(a, ["x", "y"])
    for (const tag of ["x", "y"]) {
      ofTags.enter(b, [tag])
      ofTags.add(b, use)
      expect(ofTags.refusal(b, 0)?.message).toContain(`the tag ${tag}`)
      if (tag === "x") expect(ofTags.refusal(a, 0)?.message).toContain("the tag x")
    }
    ofTags.enter(b, ["x"])
    expect(ofTags.refusal(b, 0)).toBeDefined()
    const answer = ofTags.goesOn(b, 0)
    if (typeof answer !== "object") return expect.fail("an answer raises the limit")
    ofTags.enterRaises([answer.raise])
    expect(ofTags.goesOn(a, 0)).toBe("again")
  })

  it("SpendAccount.A1, SpendAccount.A4: what is missing at the end counts for the conversation, at the last target's price", () => {
    const conversationId = Ids.ConversationId.make("c")
    const limits = [
      { per: "conversation", tokens: 20, then: "fail" },
      { per: "day", money: 1, then: "fail" }
    ] as const
    const prices = { "test/m": { input: 0, output: 0 }, "dear/m": { input: 1e6, output: 0 } }
    const account = new SpendAccount({ limits, prices, timeZone: "UTC" })
    const [first, second, open] = [Ids.TurnId.make("first"), Ids.TurnId.make("second"), Ids.TurnId.make("open")]
    account.enterConversation(first, [])
    const end = { status: "completed", endedAt: 0, usage: { inputTokens: 20, outputTokens: 0 } }
    account.listeners.seal?.({ conversationId, turnId: first, target: TARGET, end } as unknown as Observer.Sealed)
    expect(account.knowsConversation(second, conversationId)).toBe(true)
    expect(account.refusal(second, 0)?.message).toContain("20 tokens were spent in this one")
    account.enter(open)
    const use = { target: "test/m", tokens: { input: 10, output: 0, cachedInput: 0, cacheWrite: 0 }, at: 0 }
    const row = { model: "test/m", labels: {}, turn: { turnId: open, end } } as unknown as TurnRow
    account.enterEnded(row, [use, { ...use, target: "dear/m" }])
    expect(account.refusal(Ids.TurnId.make("next"), 0)?.message).toContain("spend[1]")
  })

  it("SpendAccount.A2: a turn that has asked before a restart passes the limits that ask, which its answer raises, and no other", () => {
    const again = "`holdfast raise-limit 0` allows as much again today"
    for (const [then, advice] of [
      ["ask", `An answer, or ${again}.`],
      ["fail", `No call was made. ${again}; or retry the turn on another day.`]
    ] as const) {
      const account = new SpendAccount({ limits: [{ per: "day", tokens: 10, then }], prices: {}, timeZone: "UTC" })
      const turnId = Ids.TurnId.make("a")
      account.addCall({ target: "test/m", tokens: { input: 10, output: 0, cachedInput: 0, cacheWrite: 0 }, at: 0 })
      const reached =
        "The limit spend[0] of the configuration is reached: it allows 10 tokens a day, and 10 tokens were spent"
      const message = `${reached} since midnight (UTC). ${advice}`
      const failure = { reason: "quota-exhausted", code: "spend-limit", shared: true, message }
      expect(account.refusal(turnId, 0)).toEqual({ ...failure, retryable: then === "ask" })
      const asks = { because: "spend", limit: 10, tokens: 10, waitedMs: 0, raises: { limit: 0 }, message }
      if (then === "ask") expect(account.question(turnId, 0)).toEqual({ asks, answerWithinMs: 28_800_000 })
      account.letPass(turnId)
      expect(account.refusal(turnId, 0) === undefined).toBe(then === "ask")
      if (then === "ask") expect(account.goesOn(turnId, 0)).toEqual(raisedTo(20))
      expect(account.refusal(turnId, 0) === undefined).toBe(then === "ask")
    }
  })
})
