/** Tests reports of a period from turns. */
import { describe, expect, it } from "@effect/vitest"
import { History } from "@holdfast/kernel/host"
import type { Failure } from "@holdfast/wire"
import { Ids, PeriodReport } from "@holdfast/wire"
import { Prices } from "@holdfast/policy"
import * as fc from "fast-check"
import * as Timeline from "../../../../src/insight/inspection/period/Timeline.ts"
import * as PeriodText from "../../../../src/insight/inspection/period/PeriodText.ts"
import { type Period, PeriodTally } from "../../../../src/insight/inspection/period/PeriodTally.ts"
import * as Night from "./Night.ts"
import * as Law from "../../../Law.ts"

const { reportOf } = Night
/** The failure of an endpoint. */
const failedAt = (time: string) => ({ target: Night.CLAUDE, at: Night.at(time), why: Night.OVERLOADED })
/** The report of a night with one turn. */
const ofOne = (given: Partial<Night.Given>) => reportOf([Night.turn("a", given)])

const TARGETS = ["a/one", "a/two", "b/one"] as const

/** Few moments, so that rows of one millisecond are common. */
const moment = fc.integer({ min: 3, max: 9 }).map((minute) => Night.period.since + minute * 60_000 - 300_000)
const why = fc.record({
  reason: fc.constantFrom<Failure.Reason>("overloaded", "network"),
  code: fc.constantFrom("529", undefined)
})
const target = fc.constantFrom(...TARGETS)
const tokens = fc.integer({ min: 0, max: 3 })

const facts: fc.Arbitrary<Partial<Night.Given>> = fc.record({
  conversationId: fc.constantFrom("c1", "c2").map((id) => Ids.ConversationId.make(id)),
  state: fc.constantFrom("completed", "failed", "aborted", "waiting", "running", "queued"),
  acceptedAt: moment,
  endedAt: moment,
  isRetry: fc.boolean(),
  target,
  tags: fc.subarray(["x", "y"]),
  error: fc.record({
    reason: fc.constantFrom("auth" as const, "overloaded" as const),
    message: fc.constantFrom("one", "two")
  }),
  calls: tokens,
  savedCalls: tokens,
  waits: fc.array(
    fc.tuple(moment, moment).map(([a, b]) => ({ from: Math.min(a, b), to: Math.max(a, b) })),
    { maxLength: 3 }
  ),
  endpoints: fc.array(fc.record({ target, at: moment, why: fc.option(why, { nil: undefined }) }), { maxLength: 4 }),
  usage: fc.uniqueArray(
    fc.record({
      target,
      tokens: fc.record({ input: tokens, output: tokens, cachedInput: fc.constant(0), cacheWrite: fc.constant(0) }),
      isUnreported: fc.boolean()
    }),
    { maxLength: 2, selector: ({ target }) => target }
  )
})

const rows = fc.array(facts, { maxLength: 12 }).map((all) =>
  all.map((one, n) =>
    Night.turn(`t${n}`, {
      ...one,
      ...(["waiting", "running", "queued"].includes(one.state ?? "") ? { endedAt: undefined } : {})
    })
  )
)
const priced: Period = { ...Night.period, prices: { "a/one": { input: 0.1, output: 0.7 } } }

describe("PeriodTally", () => {
  it("rule X12: has the same figures and words for any order of rows", () =>
    Law.holdsWith(
      { numRuns: 100 },
      [rows.chain((turns) => fc.tuple(fc.constant(turns), fc.shuffledSubarray(turns, { minLength: turns.length })))],
      ([turns, shuffled]) => void expect(reportOf(shuffled, priced)).toEqual(reportOf(turns, priced))
    ))

  it("rule X12: what a turn met and used before it changed its model is the former model's", () => {
    const moved = (id: string, given: Partial<Night.Given>) =>
      Night.turn(id, { target: Night.GPT, changedFrom: Night.CLAUDE, ...given })
    const { models, outages, switches } = reportOf([
      moved("waited", { endpoints: [failedAt("00:15"), { target: Night.GPT, at: Night.at("00:20") }] }),
      moved("used", { usage: [Night.used(Night.CLAUDE, 10, 1), Night.used(Night.GPT, 5, 1)] })
    ])
    expect(outages.map(({ failures, target }) => [target, failures])).toEqual([[Night.CLAUDE, 1]])
    expect(models.flatMap(({ inputTokens, name }) => [name, inputTokens])).toEqual([Night.CLAUDE, 10, Night.GPT, 5])
    expect(switches).toEqual([{ from: Night.CLAUDE, to: Night.GPT, count: 2 }])
  })

  it("names the conversations of several turns, by what they cost", () => {
    const one = (given: string) => {
      const [id = "", conversation = "", input, output = 0] = given.split(" ")
      const target = conversation === "local" ? "local/tiny" : Night.GPT
      const usage = input === undefined ? [] : [Night.used(target, Number(input), Number(output))]
      return Night.turn(id, { conversationId: Ids.ConversationId.make(conversation), target, usage })
    }
    const dear = ["1 cheap 100", "2 dear 900000", "3 cheap 100", "8 also 100", "9 also 100", "4 dear 100000"]
    const others = ["5 alone 5000000", "6 local 7", "7 local 7", "a none", "b none", "c half 100", "d half"]
    const turns = [...dear, ...others, "e words 0 90000", "f words 0 90000"].map(one)
    const { conversations } = reportOf(turns, Night.period)
    expect(conversations?.map(({ cost, inputTokens, name, turns }) => [name, turns, inputTokens, cost])).toEqual([
      ["words", 2, 0, 1.8],
      ["dear", 2, 1_000_000, 1.25],
      ["also", 2, 200, 0.00025],
      ["cheap", 2, 200, 0.00025],
      ["half", 1, 100, 0.000125],
      ["local", 2, 14, "unknown"]
    ])
  })

  it("rule X12: orders by name what is alike in time or number, whatever the order of rows", () => {
    const down = (target: string, code: string) =>
      ({ target, at: Night.at("01:00"), why: { reason: "overloaded", code } }) as const
    const asks = { because: "turn", tokens: 0, limit: 0, waitedMs: 0, message: "?" } as const
    const question = { asks, since: Night.at("02:00"), until: Night.at("06:00") }
    const asked = { state: "waiting", endedAt: undefined, target: "c/m", question } as const
    const given = { state: "aborted", usage: [Night.used(Night.GPT, 1, 1)] } as const
    const turns = [
      Night.turn("a", { ...given, tags: ["y"], endpoints: [down("b/m", "529"), down("a/m", "503")] }),
      Night.turn("b", { ...given, tags: ["x"], endpoints: [down("a/m", "529"), down("b/m", "503")] }),
      Night.turn("d", asked),
      Night.turn("c", asked)
    ]
    for (const rows of [turns, turns.toReversed()]) {
      const { outages, questions = [], switches, tags } = reportOf(rows)
      expect([
        outages.map(({ code, failures, target }) => `${target} ${code} ${failures}`),
        questions.map(({ turnId }) => turnId),
        switches.map(({ count, from, to }) => `${from} ${to} ${count}`),
        tags.map(({ name }) => name)
      ]).toEqual([
        ["a/m 529 2", "b/m 529 2"],
        ["c", "d"],
        ["a/m b/m 1", "a/m openai/gpt-5 1", "b/m a/m 1", "b/m openai/gpt-5 1"],
        ["x", "y"]
      ])
    }
  })

  it("rule X13: calls of other programs are a cause by themselves, which is not retried", () => {
    const failed = (id: string, conversationId: string) =>
      Night.turn(id, {
        conversationId: Ids.ConversationId.make(conversationId),
        state: "failed",
        error: { reason: "overloaded", message: "Overloaded" }
      })
    const { causes } = Night.reportOf([failed("a", "c-a"), failed("b", "holdfast-call-b"), failed("c", "c-c")])
    expect(causes.map(({ failed, remedy: { command } }) => [failed, command])).toEqual([
      [2, `holdfast retry --since 2031-04-01T20:00:00Z --model ${Night.CLAUDE}`],
      [1, "holdfast explain b"]
    ])
    // A retry behind a newer prompt is refused.
    const newer = (id: string) =>
      Night.turn(`${id}2`, { conversationId: Ids.ConversationId.make(`c-${id}`), acceptedAt: Night.at("23:00") })
    const passed = Night.reportOf([failed("a", "c-a"), newer("a")]).causes
    expect(passed.map(({ remedy }) => remedy)).toEqual([
      {
        advice: "A newer prompt has come since, so a retry is refused: send the prompt again. The turn's account:",
        command: "holdfast explain a"
      }
    ])
    const [one] = Night.reportOf([failed("a", "c-a"), newer("a"), failed("c", "c-c")]).causes
    expect(one?.remedy.command).toMatch(/^holdfast retry /)
  })

  it("adds calls that were answered at once, whatever key they were sent with", () => {
    const tally = new PeriodTally(Night.period)
    Night.add(tally, Night.turn("a", { usage: [Night.used(Night.GPT, 1_000_000, 0)] }))
    const tokens = { input: 2_000_000, output: 0, cachedInput: 0, cacheWrite: 0 }
    tally.addAnswered([{ hour: 0, target: "openai~client/gpt-5", calls: 3, unreported: 1, tokens }])
    const { answeredCalls, calls, models, spend, turns } = tally.report()
    expect([answeredCalls, calls, turns.answered]).toEqual([3, 4, 1])
    expect(spend).toMatchObject({ turns: 4, inputTokens: 3_000_000, unreported: 1, cost: 3.75, isPartial: true })
    expect(models.flatMap(({ cost, name }) => [name, cost])).toEqual(["openai/gpt-5", 1.25, "openai~client/gpt-5", 2.5])
  })

  it("rule X12: never reports an unknown cost as 0", () => {
    const [one, two] = [Night.used("x/unknown", 5, 5), Night.used(Night.GPT, 1_000_000, 0)]
    expect(ofOne({ usage: [one] }).spend).toMatchObject({ cost: "unknown", inputTokens: 5 })
    expect(ofOne({ usage: [one, two] }).spend).toMatchObject({ cost: 1.25, isPartial: true })
    const silent = { ...Night.used(Night.GPT, 0, 0), isUnreported: true }
    const { models, spend } = ofOne({ usage: [silent] })
    expect(spend).toMatchObject({ cost: "unknown", unreported: 1 })
    expect(models).toMatchObject([{ cost: "unknown", unreported: 1 }])
    const part = (input: number, output: number) => {
      const tally = new PeriodTally(Night.period)
      const tokens = { ...Prices.NO_TOKENS, input, output }
      tally.addAnswered([{ hour: 0, target: Night.GPT, calls: 2, unreported: 1, tokens }])
      return tally.report().spend
    }
    expect([part(1, 0), part(0, 1)]).toMatchObject([
      { cost: 1.25e-6, isPartial: true },
      { cost: 10e-6, isPartial: true }
    ])
    expect(reportOf([]).spend).toMatchObject({ cost: 0, turns: 0 })
  })

  it("counts a failed turn as retried if its conversation was run again after it", () => {
    const conversationId = Ids.ConversationId.make("c")
    const error = { reason: "overloaded", message: "Overloaded" } as const
    const failed = Night.turn("a", { conversationId, state: "failed", endedAt: Night.at("01:00"), error })
    const again = Night.turn("b", { conversationId, isRetry: true, acceptedAt: Night.at("06:00") })
    const twin = Night.turn("b", { ...failed, turnId: Ids.TurnId.make("b") })
    const other = Night.turn("c", { ...failed, turnId: Ids.TurnId.make("c"), target: "a/m" })
    const all = [failed, twin, other]
    for (const turns of [all, all.toReversed()])
      expect(reportOf(turns).causes.map(({ turnId }) => turnId)).toEqual(["b", "c"])
    expect(reportOf([failed, other]).causes.map(({ turnId }) => turnId)).toEqual(["c", "a"])
    const command = `holdfast retry --since 2031-04-01T20:00:00Z --model ${Night.CLAUDE}`
    const newer = { ...again, isRetry: false }
    const moments = ["06:00", "01:00", "00:30"].map((time) => ({ ...again, acceptedAt: Night.at(time) }))
    const [first, atOnce, before, asked] = [...moments, newer].map((turn) => reportOf([failed, turn]))
    expect([first, atOnce, before, asked].map((report) => report?.turns.retried)).toEqual([1, 1, 0, 0])
    expect(first?.causes[0]?.remedy).toEqual({ command })
  })

  it("counts the turns whose records were deleted, of those that must have had some", () => {
    const forgotten = (more: object) => {
      const { turn, ...row } = Night.rowOf(Night.turn("a", {}))
      const tally = new PeriodTally(Night.period)
      tally.add({ ...row, turn: { ...turn, end: turn.end && { ...turn.end, ...more } } }, History.of([]))
      return tally.report().forgotten
    }
    const [failed, aborted] = [{ status: "failed" }, { status: "aborted", attempts: 0 }]
    const ends = [{}, aborted, { sleptMs: 1 }, { waitedMs: 1 }, { attempts: 2 }, failed]
    expect(ends.map(forgotten)).toEqual([0, 0, 1, 1, 1, 1])
  })

  it("leaves out what ended before the period, and the part of a wait that was before it", () => {
    expect(ofOne({ endedAt: Night.period.since - 1 }).turns.answered).toBe(0)
    const waited = (to: number) => {
      const waits = [{ from: Night.period.since - 60_000, to: Night.period.since + to }]
      const { turnWaitedMs, waited, waitedMs } = ofOne({ waits })
      return [waited, waitedMs, turnWaitedMs]
    }
    expect([...waited(60_000), ...waited(0)]).toEqual([1, 60_000, 60_000, 0, 0, 0])
  })

  it("rule X12: does not know the end of an outage of an endpoint that no turn waits for", () => {
    const why = { reason: "network", code: undefined } as const
    const endpoints = ["01:00", "01:40"].map((at) => ({ target: "a/b", at: Night.at(at), why }))
    const failed = Night.turn("a", { target: "a/b", state: "failed", endedAt: Night.at("01:40"), endpoints })
    const waiting = Night.turn("b", { target: "a/b", state: "waiting" })
    const unknown = reportOf([failed])
    expect(unknown.outages).toMatchObject([{ hasUnknownEnd: true, lastFailureAt: Night.at("01:40") }])
    expect(unknown.line).toContain("; a/b down 01:00, not called after 01:40")
    expect(PeriodText.lines(unknown).join("\n")).toMatch(/a\/b +01:00 +unknown +40 m /)
    const open = reportOf([failed, waiting])
    expect(open.outages[0]).not.toHaveProperty("hasUnknownEnd")
    expect(open.line).toContain("; a/b down since 01:00")
  })

  it("rule X12: ends an outage with an hour in which calls were answered at once and none failed", () => {
    const tally = new PeriodTally(Night.period)
    const endpoints = ["22:10", "23:10", "06:10"].map(failedAt)
    Night.add(tally, Night.turn("a", { state: "aborted", endpoints }))
    const counted = { target: Night.CLAUDE, calls: 1, unreported: 1, tokens: Prices.NO_TOKENS }
    tally.addAnswered(["22:00", "23:00", "01:00"].map((time) => ({ ...counted, hour: Night.at(time) })))
    expect(tally.report().outages).toMatchObject([
      { beganAt: Night.at("22:10"), endedAt: Night.at("01:00"), failures: 2 },
      { beganAt: Night.at("06:10"), hasUnknownEnd: true }
    ])
  })

  it("rule X12: ends an outage with an answer that was cut short by its client", () => {
    const endpoints = [failedAt("22:10")]
    const given = { state: "aborted", endpoints, endedAt: Night.at("22:20") } as const
    const [cut] = ofOne({ ...given, answer: "cut-short" }).outages
    expect(cut).toMatchObject({ endedAt: Night.at("22:20") })
    // A provider that breaks its answer off is neither up nor down.
    for (const more of [{}, { answer: "broken-off" as const }])
      expect(ofOne({ ...given, ...more }).outages).toMatchObject([{ hasUnknownEnd: true, failures: 1 }])
    // A turn that was answered at once has no records.
    const ends = (["completed", "failed", "aborted"] as const).map((state) => {
      const tally = new PeriodTally(Night.period)
      Night.add(tally, Night.turn("a", { ...given, state: "completed" }))
      tally.add(Night.rowOf(Night.turn("b", { state, endedAt: Night.at("22:30") })), History.of([]))
      return tally.report().outages.map(({ endedAt }) => endedAt)
    })
    expect(ends).toEqual([[Night.at("22:30")], [undefined], [undefined]])
    const both = ofOne({ endpoints: [...endpoints, { target: Night.CLAUDE, at: Night.at("22:10") }] })
    expect(both.outages).toMatchObject([{ endedAt: Night.at("22:10") }])
  })

  it("rule X12: reports an outage of seconds, and names the longest ones where there are many", () => {
    const why = { reason: "network", code: undefined } as const
    const down = (from: string, to: string) => [
      { target: "a/b", at: Night.at(from), why },
      { target: "a/b", at: Night.at(to) }
    ]
    const short = ofOne({ endpoints: down("01:00:00", "01:00:12") })
    expect(short.outages).toMatchObject([{ beganAt: Night.at("01:00:00"), endedAt: Night.at("01:00:12"), failures: 1 }])
    expect(short.line).toContain("a/b down 12 s at 01:00")
    const lineOf = (to: string) => ofOne({ endpoints: down("01:00:00", to) }).line
    expect(lineOf("01:00:00.016")).toContain("a/b down under 1 s at 01:00")
    expect(lineOf("01:00:01")).toContain("a/b down 1 s at 01:00")
    const minutes = Array.from({ length: 40 }, (_, n) => String(n + 10))
    const often = ["02", "03", "04"].map((hour) =>
      Night.turn(hour, { endpoints: minutes.flatMap((at) => down(`${hour}:${at}:00`, `${hour}:${at}:05`)) })
    )
    const many = reportOf([...often, Night.turn("e", { endpoints: down("05:00", "06:30") })])
    expect(many.outages).toHaveLength(PeriodReport.MOST_OUTAGES)
    expect(many.outages.at(-1)).toMatchObject({ beganAt: Night.at("05:00") })
    expect(many.line).toMatch(/; a\/b down 05:00-06:30; 97 shorter outages$/)
    const rows = PeriodText.lines(many).filter((line) => /^ {2}a\/b .* network/.test(line))
    expect(rows).toHaveLength(20)
    expect(rows.at(-1)).toMatch(/05:00 +06:30 +1 h 30 m/)
    expect(PeriodText.lines(many)).toContain("  80 more are in the JSON (--json).")
  })
})

describe("spans of time", () => {
  it("joins spans to those that cover the same moments", () => {
    const spans = fc.array(
      fc
        .tuple(fc.integer({ min: 0, max: 40 }), fc.integer({ min: 0, max: 10 }))
        .map(([from, n]) => ({ from, to: from + n })),
      { maxLength: 10 }
    )
    const covers = (all: ReadonlyArray<Timeline.TimeSpan>, at: number) =>
      all.some(({ from, to }) => from <= at && at < to)
    Law.holds([spans], (all) => {
      const joined = Timeline.union(all)
      for (let at = 0; at < 55; at++) expect(covers(joined, at)).toBe(covers(all, at))
      for (const [i, { from, to }] of joined.entries())
        expect([from > (joined[i - 1]?.to ?? -1), to > from]).toEqual([true, true])
    })
  })

  it("counts a turn once in each part of the period in which it waits", () => {
    const timeline = new Timeline.Timeline(0, 96_000)
    const spans = (all: string) => all.split(" ").map((span) => span.split("-").map(Number))
    const waited = (all: string) =>
      timeline.waited(spans(all).map(([from = 0, to = 0]) => ({ from: from * 1_000, to: to * 1_000 })))
    waited("1.3-1.9 0.5-0.7 0.8-1.2 3-3.1")
    waited("1-2.5 1.1-1.2")
    timeline.answered(500)
    timeline.failed(96_000)
    const parts = (...first: ReadonlyArray<number>) => Array.from({ length: 96 }, (_, n) => first[n] ?? 0)
    const counts = { waiting: parts(1, 2, 1, 1), answered: parts(1), failed: parts(1).toReversed() }
    expect(timeline.parts()).toEqual({ partMs: 1_000, ...counts })
    expect(new Timeline.Timeline(5, 5).parts().partMs).toBe(1)
  })
})
