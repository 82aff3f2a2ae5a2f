/** Tests the account of a day that several runners add to. */
import type { Observer } from "@holdfast/kernel"
import { defined, Ids } from "@holdfast/wire"
import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as LocalTime from "../../../src/base/text/LocalTime.ts"
import { SpendAccount } from "../../../src/engine/spend/SpendAccount.ts"
import { identity } from "../../../src/config/limits/SpendLimits.ts"
import { SpendSum } from "../../../src/config/limits/SpendSums.ts"
import type { TurnRow } from "../../../src/storage/ListPage.ts"
import { ALWAYS } from "../../../src/storage/SpendRaises.ts"
import * as Law from "../../Law.ts"

const TARGET = { provider: "test", model: "m" }

const call = fc.record({ isHere: fc.boolean(), inputTokens: fc.integer({ min: 1, max: 1000 }) })
const turn = fc.record({ calls: fc.array(call, { maxLength: 5 }), endsHere: fc.boolean(), reads: fc.nat(2) })

type Limited = ConstructorParameters<typeof SpendAccount>[0]

const accountOf = (limit: Limited["limits"][number], isShared?: boolean) =>
  new SpendAccount({ limits: [limit], prices: {}, timeZone: "UTC", ...defined({ isShared }) })

/** The use of so many tokens. */
const use = (input: number, at = 0, target = "test/m") => ({
  target,
  tokens: { input, output: 0, cachedInput: 0, cacheWrite: 0 },
  at
})

const [a, b, c] = [Ids.TurnId.make("a"), Ids.TurnId.make("b"), Ids.TurnId.make("c")]
const conversationId = Ids.ConversationId.make("c")

/** The answer about a limit of ten tokens a day, which raises it until midnight. */
const raisedTo = (tokens: number) => ({
  name: { limit: 0 },
  raise: { of: '["day",null,null,10,"ask"]', scope: "", until: LocalTime.nextDaily("00:00", 0), money: null, tokens }
})

describe("the account of a day", () => {
  it("SpendAccount.A1: equals a recount of the turns that have ended, wherever their calls were made and however often they are read", () => {
    Law.holds([fc.array(turn, { maxLength: 8 })], (turns) => {
      const account = accountOf({ per: "day", tokens: 0, then: "fail" })
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
        const row = { model: "test/m", labels: {}, turn: { turnId, end } } as unknown as TurnRow
        const uses = total === 0 ? [] : [use(total, n)]
        for (let read = endsHere ? 0 : -1; read < reads; read++) account.enterEnded(row, uses)
      })
      const sum = turns.flatMap(({ calls }) => calls).reduce((sum, { inputTokens }) => sum + inputTokens, 0)
      expect(account.refusal(Ids.TurnId.make("next"), 0)?.message).toContain(
        `and ${sum.toLocaleString("en-US")} tokens were spent`
      )
    })
  })

  it("SpendAccount.A2: an answer raises a limit once; the others go on below it, and ask again where it is reached again", () => {
    const account = accountOf({ per: "day", tokens: 10, then: "ask" })
    account.add(a, use(10))
    for (const turnId of [a, b, c]) expect(account.refusal(turnId, 0)?.retryable).toBe(true)
    const answer = account.goesOn(a, 0)
    if (typeof answer !== "object") return expect.fail("an answer raises the limit")
    expect(answer).toEqual(raisedTo(20))
    account.enterRaises([answer.raise])
    expect(account.goesOn(b, 0)).toBeUndefined()
    account.add(a, use(10))
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
    const ofTurns = accountOf({ per: "turn", tokens: 10, then: "ask" })
    ofTurns.add(a, use(10))
    expect(ofTurns.refusal(a, 0)?.retryable).toBe(true)
    expect(ofTurns.goesOn(a, 0)).toBeUndefined()
    expect(ofTurns.refusal(a, 0)).toBeUndefined()
    const ofTags = accountOf({ per: "tag", tokens: 10, then: "ask" })
    ofTags.enter(a, ["x", "y"])
    for (const tag of ["x", "y"]) {
      ofTags.enter(b, [tag])
      ofTags.add(b, use(10))
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
    const limits = [
      { per: "conversation", tokens: 20, then: "fail" },
      { per: "day", money: 1, then: "fail" }
    ] as const
    const prices = { "test/m": { input: 0, output: 0 }, "dear/m": { input: 1e6, output: 0 } }
    const account = new SpendAccount({ limits, prices, timeZone: "UTC" })
    account.enterConversation(a, [])
    const end = { status: "completed", endedAt: 0, usage: { inputTokens: 20, outputTokens: 0 } }
    account.listeners.seal?.({ conversationId, turnId: a, target: TARGET, end } as unknown as Observer.Sealed)
    expect(account.knowsConversation(b, conversationId)).toBe(true)
    expect(account.refusal(b, 0)?.message).toContain("20 tokens were spent in this one")
    account.enter(c)
    const row = { model: "test/m", labels: {}, turn: { turnId: c, end } } as unknown as TurnRow
    account.enterEnded(row, [use(10), use(10, 0, "dear/m")])
    expect(account.refusal(Ids.TurnId.make("next"), 0)?.message).toContain("spend[1]")
  })

  it("SpendAccount.A2: a turn that has asked before a restart passes the limits that ask, which its answer raises, and no other", () => {
    const again = "`holdfast raise-limit 0` allows as much again today"
    for (const [then, advice] of [
      ["ask", `An answer, or ${again}.`],
      ["fail", `No call was made. ${again}; or retry the turn on another day.`]
    ] as const) {
      const account = accountOf({ per: "day", tokens: 10, then })
      const turnId = a
      account.addCall(use(10))
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

  it("SpendAccount.A4: a conversation is read once for a turn, and again after each take-up where runners share the database", () => {
    for (const isShared of [undefined, false, true]) {
      const account = accountOf({ per: "conversation", tokens: 12, then: "ask" }, isShared)
      const read = (turnId: Ids.TurnId) => account.knowsConversation(turnId, conversationId)
      const seal = (turnId: Ids.TurnId, inputTokens: number) => {
        const end = { status: "completed", endedAt: 0, usage: { inputTokens, outputTokens: 0 } }
        account.listeners.seal?.({ conversationId, turnId, target: TARGET, end } as unknown as Observer.Sealed)
      }
      account.resume(a)
      const [before] = [read(a), account.enterConversation(a, [use(5)])]
      expect([before, read(a), account.refusal(a, 0)]).toEqual([false, true, undefined])
      account.resume(a)
      const [resumed] = [read(a), account.enterConversation(a, [use(5)])]
      account.add(a, use(3))
      account.enterMoved(a, [])
      expect([resumed, read(a), account.refusal(a, 0)]).toEqual([isShared !== true, true, undefined])
      account.enter(a)
      seal(a, 10)
      // Its calls are in the conversation's sum, which another runner may have added to.
      expect([account.knows(a), read(b)]).toEqual([false, isShared !== true])
      account.enterConversation(b, [use(15)])
      const { asks } = account.question(b, 0) ?? expect.fail("it asks")
      const command = "`holdfast raise-limit 0 --conversation c` allows as much again in this conversation."
      const spent = "it allows 12 tokens a conversation, and 15 tokens were spent in this one"
      expect(asks.message).toContain(`${spent}. An answer, or ${command}`)
      expect([account.isAsking(b), account.isAsking(c), asks.raises]).toEqual([
        true,
        false,
        { limit: 0, conversationId }
      ])
      const raise = { scope: "c", until: ALWAYS, money: null, tokens: 27 }
      expect(account.goesOn(b, 0)).toMatchObject({ name: asks.raises, raise })
      // The sum of a conversation goes with a turn that never read it; the sum of a turn that has called stays.
      account.add(c, use(1))
      expect(read(c)).toBe(false)
      account.left(b)
      seal(c, 1)
      account.left(c)
      expect(read(b)).toBe(isShared !== true)
    }
  })

  it("SpendAccount.A1: counts calls and compactions that report tokens, and turns read again within ten minutes once", () => {
    const account = accountOf({ per: "day", money: 1, then: "ask" })
    const prices = { "test/m": { input: 1e6, output: 1e6 } }
    const dear = new SpendAccount({ limits: [{ per: "day", money: 1, then: "ask" }], prices, timeZone: "UTC" })
    const usage = { inputTokens: 1, outputTokens: 0 }
    for (const kind of ["attempt", "compaction"] as const)
      for (const outcome of [{ _tag: "Lost" }, { _tag: "Completed", usage: undefined }, { _tag: "Completed", usage }])
        for (const each of [account, dear]) each.listeners[kind]?.({ turnId: a, target: TARGET, outcome } as never)
    expect([account.refusal(a, 0), account.question(a, 0)]).toEqual([undefined, undefined])
    dear.enter(a)
    const asked = dear.question(a, 0)?.asks
    expect([asked?.limit, asked?.tokens]).toEqual([0, 2])
    const row = (turnId: Ids.TurnId, endedAt: number) =>
      ({ model: "test/m", labels: {}, turn: { turnId, end: { status: "completed", endedAt, usage } } }) as TurnRow
    const after = [
      [b, 0],
      [c, 600_000 - 1],
      [b, 0],
      [a, 600_000],
      [b, 0]
    ] as const
    const sums = after.map(([turnId, at]) => {
      dear.enterEnded(row(turnId, at), [use(1, at)])
      return [dear.knows(turnId), dear.question(c, 0)?.asks.tokens]
    })
    expect(sums).toEqual([3, 4, 4, 4, 5].map((tokens) => [false, tokens]))
  })

  it("rule X11: a limit that a command raises holds until midnight, and not at midnight", () => {
    const limit = { per: "day", tokens: 10, then: "fail" } as const
    const account = accountOf(limit)
    account.add(a, use(12))
    const [none, raise] = [0, 5].map((tokens) => account.raised(limit, { limit: 0 }, { tokens }, 0, new SpendSum()))
    const until = LocalTime.nextDaily("00:00", 0)
    expect([none, raise]).toEqual([undefined, { of: identity(limit), scope: "", until, money: null, tokens: 17 }])
    if (raise !== undefined) account.enterRaises([raise])
    account.add(a, use(12, until))
    expect([0, until].map((at) => account.refusal(a, at)?.retryable)).toEqual([undefined, false])
  })
})
