/** Tests limits of spending, and the sums that they are checked against. */
import { Prices } from "@holdfast/policy"
import * as fc from "fast-check"
import { Result, Schema } from "effect"
import { describe, expect, it } from "vitest"
import * as SpendLimits from "../../../src/config/limits/SpendLimits.ts"
import * as GivenTurn from "../../GivenTurn.ts"
import * as SpendSums from "../../../src/config/limits/SpendSums.ts"
import * as Law from "../../Law.ts"

const DAY = 86_400_000
const dayOf = (at: number): number => at - (at % DAY)

const TARGETS = ["openai/gpt-5", "anthropic/claude-opus-5", "local/tiny"] as const
const TAGS = ["nightly", "team/ops"] as const

const tokens = fc
  .tuple(fc.nat(100_000), fc.nat(100_000), fc.double({ min: 0, max: 1, noNaN: true }))
  .map(([input, output, share]) => ({ input, output, cachedInput: Math.floor(input * share), cacheWrite: 0 }))

const use = fc.record({
  target: fc.constantFrom(...TARGETS),
  tokens,
  at: fc.nat(3 * DAY),
  tags: fc.subarray([...TAGS]),
  isUnreported: fc.boolean()
})

const reachedIn = (
  limits: ReadonlyArray<SpendLimits.SpendLimit>,
  sums: SpendSums.SpendSums,
  over: Partial<SpendLimits.SpendSituation> = {}
) =>
  SpendLimits.reached(limits, {
    prices: {},
    tags: [],
    timeZone: "UTC",
    day: (tag) => sums.spent(tag, {}, 0),
    conversation: () => summed([]).spent(undefined, {}, 0),
    turn: () => summed([]).spent(undefined, {}, 0),
    ...over
  })

const summed = (uses: ReadonlyArray<SpendSums.TokenUse & { readonly tags: ReadonlyArray<string> }>) => {
  const sums = new SpendSums.SpendSums(dayOf)
  for (const { tags, ...each } of uses) sums.add(each, tags)
  return sums
}

const spent = (target: string, input: number, tags: ReadonlyArray<string> = []) => ({
  target,
  tokens: { ...Prices.NO_TOKENS, input },
  at: 0,
  tags
})

describe("sums of a day", () => {
  it("equal a recount of the latest day, in any order, in total and by tag", () => {
    Law.holds(
      [fc.array(use, { minLength: 1, maxLength: 40, size: "max" }), fc.constantFrom(undefined, ...TAGS)],
      (uses, tag) => {
        const sums = summed(uses)
        const today = Math.max(...uses.map(({ at }) => dayOf(at)))
        const counted = uses.filter(({ at, tags }) => dayOf(at) === today && (tag === undefined || tags.includes(tag)))
        const found = sums.spent(tag, {}, today)
        expect(found.tokens).toBe(counted.reduce((sum, { tokens }) => sum + tokens.input + tokens.output, 0))
        expect(found.unreported).toBe(counted.filter(({ isUnreported }) => isUnreported).length)
        const money = counted.reduce((sum, { target, tokens }) => {
          const price = Prices.find({}, target)
          return price === undefined ? sum : sum + Prices.costOf(price, tokens)
        }, 0)
        expect(found.money).toBeCloseTo(money, 8)
        const isTiny = counted.some(
          ({ target, tokens: { input, output } }) => target === TARGETS[2] && input + output > 0
        )
        expect(found.unpriced).toEqual(isTiny ? [TARGETS[2]] : [])
        expect(sums.spent(tag, {}, today + DAY)).toEqual({ tokens: 0, money: 0, unpriced: [], unreported: 0 })
        expect(summed(uses.toReversed()).spent(tag, {}, today).tokens).toBe(found.tokens)
      }
    )
  })
})

describe("the rest of a turn", () => {
  it("is what no call had counted; an answer whose tokens are not reported counts as one", () => {
    const usage = { inputTokens: 10, outputTokens: 5, cachedInputTokens: 4, cacheWriteTokens: 3 }
    const end = GivenTurn.end("completed", { usage })
    const whole = { input: 10, output: 5, cachedInput: 4, cacheWrite: 3 }
    const rest = (counted: Prices.Tokens, over: object = {}) => SpendSums.restOf({ ...end, ...over }, counted, "a/m")
    const one = { target: "a/m", at: end.endedAt }
    expect([rest(whole), rest(Prices.NO_TOKENS)]).toEqual([[], [{ ...one, tokens: whole }]])
    expect(rest({ ...whole, input: 12, output: 4 })).toEqual([{ ...one, tokens: { ...Prices.NO_TOKENS, output: 1 } }])
    expect(rest(Prices.NO_TOKENS, { usage: {} })).toEqual([{ ...one, tokens: Prices.NO_TOKENS, isUnreported: true }])
    expect(rest(Prices.NO_TOKENS, { usage: {}, status: "failed" })).toEqual([])
    const unpriced = [0, 1].map((n) => summed([spent("local/tiny", n)]).spent(undefined, {}, 0).unpriced)
    expect(unpriced).toEqual([[], ["local/tiny"]])
  })
})

describe("limits of spending", () => {
  it("a model without a price counts as tokens, and the text of a limit of money names it", () => {
    const sums = summed([spent("local/tiny", 900), spent("openai/gpt-5", 2_000_000)])
    const money = [{ per: "day", money: 2, then: "fail" }] as const
    expect(reachedIn(money, sums, { timeZone: "Europe/Berlin" })?.message).toBe(
      "The limit spend[0] of the configuration is reached: it allows $2.00 a day, and 2,000,900 tokens for $2.50 were spent since midnight " +
        "(Europe/Berlin). The money does not cover local/tiny, which has no price."
    )
    expect(reachedIn(money, summed([spent("local/tiny", 1e9)]))).toBeUndefined()
    const ofClients = summed([spent("local~client/tiny", 900), spent("openai~client/gpt-5", 2_000_000)])
    expect(reachedIn(money, ofClients)?.message).toContain("The money does not cover local/tiny, which has no price.")
    expect(SpendLimits.uncheckable(money, {}, "openai/gpt-5")).toBeUndefined()
    expect(SpendLimits.uncheckable([{ per: "day", tokens: 1, then: "fail" }], {}, "local/tiny")).toBeUndefined()
    expect(SpendLimits.uncheckable(money, {}, "local/tiny")).toBe(
      "spend[0].money cannot be checked for local/tiny: its price is not known. Its tokens count as tokens only. " +
        'Set prices."local/tiny", or a limit of tokens.'
    )
  })

  it("add up the turns of one tag, or of each tag by itself", () => {
    const sums = summed([
      spent("local/tiny", 60, ["nightly"]),
      spent("local/tiny", 60, ["team/ops"]),
      spent("local/tiny", 60)
    ])
    const of = (tag: string | undefined, tags: ReadonlyArray<string>, most: number) =>
      reachedIn([{ per: "tag", ...(tag === undefined ? {} : { tag }), tokens: most, then: "fail" }], sums, { tags })
    expect(of("nightly", ["nightly"], 60)?.message).toContain(
      "it allows 60 tokens a day on turns with the tag nightly, and 60 tokens were spent"
    )
    expect(of("nightly", ["nightly"], 61)).toBeUndefined()
    expect(of("nightly", ["team/ops"], 1)).toBeUndefined()
    const names = [of("nightly", ["nightly"], 60)?.name, of(undefined, ["team/ops"], 60)?.name]
    expect(names).toMatchObject([{ limit: 0 }, { limit: 0, tag: "team/ops" }])
    expect(names[0]).not.toHaveProperty("tag")
    expect(reachedIn([{ per: "day", tokens: 1, then: "fail" }], summed([spent("local/tiny", 1)]))?.message).toContain(
      "it allows 1 token a day, and 1 token was spent"
    )
    expect(of(undefined, ["team/ops"], 60)?.message).toContain("on turns with the tag team/ops")
    expect(of(undefined, [], 1)).toBeUndefined()
  })

  it("add up calls of the gateway by program and session, and all of them only where the limit names their tag", () => {
    const tagsOf = (program: string) => ["gateway", program]
    const sums = summed([spent("local/tiny", 60, tagsOf("claude")), spent("local/tiny", 60, tagsOf("codex"))])
    const of = (limit: object, program: string) =>
      reachedIn([{ per: "tag", tokens: 61, then: "fail", ...limit }], sums, { tags: tagsOf(program) })?.message
    expect([of({}, "claude"), of({}, "codex")]).toEqual([undefined, undefined])
    expect(of({ tokens: 60 }, "codex")).toContain("on turns with the tag codex")
    expect(of({ tag: "gateway" }, "codex")).toContain("on turns with the tag gateway, and 120 tokens")
  })

  it.each([
    ["a cent", "turn", { money: 0.01 }, spent("openai/gpt-5", 8_000), "$0.01 a turn", "8,000 tokens for $0.01"],
    [
      "turns of a conversation",
      "conversation",
      { money: 2 },
      spent("openai/gpt-5", 2_000_000),
      "$2.00 a conversation",
      "2,000,000 tokens for $2.50"
    ],
    ["cents", "turn", { money: 0.004 }, spent("openai/gpt-5", 4_000), "$0.004000 a turn", "4,000 tokens for $0.005000"],
    ["calls of the turn", "turn", { tokens: 900 }, spent("local/tiny", 900), "900 tokens a turn", "900 tokens"]
  ] as const)("add up the %s", (_, per, most, use, allowed, said) => {
    const limits = [{ per, ...most, then: "ask" }] as const
    expect(reachedIn(limits, summed([{ ...use, tokens: Prices.add(use.tokens, use.tokens) }]))).toBeUndefined()
    const own = () => summed([use]).spent(undefined, {}, 0)
    expect(reachedIn(limits, summed([]), { [per]: own })?.message).toBe(
      `The limit spend[0] of the configuration is reached: it allows ${allowed}, and ${said} were spent in this one.`
    )
  })

  it("a limit that fails turns comes before one that asks, and no answer passes it", () => {
    const sums = summed([spent("local/tiny", 100)])
    const limits = [
      { per: "day", tokens: 50, then: "ask" },
      { per: "day", tokens: 100, then: "fail" }
    ] as const
    expect([reachedIn(limits, sums)?.index, reachedIn(limits, sums, { allowed: new Set([0]) })?.index]).toEqual([1, 1])
    expect(reachedIn([limits[0]], sums)?.index).toBe(0)
    expect(reachedIn([{ ...limits[0], money: 0 }], sums)?.message).toContain("it allows $0.00 and 50 tokens a day")
    expect(reachedIn([limits[0]], sums, { allowed: new Set([0]) })).toBeUndefined()
  })

  it("a raise allows as much again from what is spent, or from the limit of each turn, and a repeated one no more", () => {
    const limit = { per: "day", money: 0.5, then: "ask" } as const
    const raised = (...[before, more]: [before?: object, more?: object]) =>
      SpendLimits.raise(limit, before, { money: 0.75, tokens: 9 }, more)?.money
    expect([raised(), raised({ money: 2 }), raised({}, { money: 1 })]).toEqual([1.25, 2, 1.75])
    expect(raised({}, { money: 0 })).toBeUndefined()
    const ofTurn = (tokens: number) =>
      SpendLimits.raise({ per: "turn", tokens: 10, then: "ask" }, undefined, { money: 0, tokens })?.tokens
    expect([ofTurn(15), ofTurn(20)]).toEqual([20, undefined])
    const advice = (name: object) => SpendLimits.advice({ limit, name: { limit: 1, ...name } })
    expect([advice({}), advice({ tag: "a" }), advice({ conversationId: "c" })]).toEqual([
      "`holdfast raise-limit 1` allows as much again today",
      "`holdfast raise-limit 1 --tag a` allows as much again today",
      "`holdfast raise-limit 1 --conversation c` allows as much again today"
    ])
  })

  it("say what is wrong with a limit", () => {
    const problemOf = (limit: unknown) =>
      Result.match(Schema.decodeUnknownResult(SpendLimits.SpendLimit)(limit), {
        onFailure: String,
        onSuccess: () => ""
      })
    expect(problemOf({ per: "day", money: 5, then: "fail" })).toBe("")
    expect(problemOf({ per: "day", then: "fail" })).toContain("Expected money or tokens, or both")
    expect(problemOf({ per: "day", tag: "a", tokens: 1, then: "ask" })).toContain('Expected no tag, or "per": "tag"')
    expect(problemOf({ per: "week", tokens: 1, then: "ask" })).toContain(
      'Expected "day", "tag", "conversation" or "turn"'
    )
    expect(problemOf({ per: "day", tokens: 1, then: "stop" })).toContain('Expected "ask" or "fail"')
    expect(problemOf({ per: "day", money: -1, then: "ask" })).toContain("Expected US dollars, 0 or more")
  })
})
