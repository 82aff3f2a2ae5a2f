import { GivenRecords as Records } from "@holdfast/kernel/testing"
import { describe, expect, it } from "@effect/vitest"
import { History } from "@holdfast/kernel/host"
import { type Prices, Profile, type RetryPolicy } from "@holdfast/policy"
import type { TurnEvent } from "@holdfast/wire"
import { Duration } from "effect"
import * as TurnReport from "../../../src/insight/inspection/TurnReport.ts"
import type { Turn } from "../../../src/storage/Stored.ts"
import * as NumberedData from "../../storage/NumberedData.ts"

const conversation = NumberedData.conversation(1)
const turn = { ...NumberedData.turn(1, 1, { acceptedAt: 0 }), end: undefined }
const { conversationId, turnId } = turn
const overnight = Profile.resolve({})

/** The turn in a list. */
const summary = (turn: Turn, history = TurnReport.NO_RECORDS, hasEvents = true, changedFrom?: string) => {
  const position = { at: 0, number: 1 }
  const row = { position, turn, model: conversation.model, changedFrom, hasEvents, labels: {} }
  return TurnReport.ofRow(row, history, (text) => text, { [row.model]: { input: 1e6, output: 1e6 } })
}

/** The report of the turn at the head of its conversation. */
const ofOpen = (
  given: typeof turn,
  history: History.History,
  policy: RetryPolicy.RetryPolicy,
  now: number
): TurnReport.TurnReport =>
  TurnReport.of(summary(given, history), now, { budget: TurnReport.budgetOf(history, policy, now) })

const waits = [Records.failed(0, 1_000), Records.retry(0, 5_000, 6_000)]
const elapsed = Records.wake(0, 0, { type: "elapsed" })
const waiting = History.of([...waits, elapsed, Records.failed(1, 7_000), Records.retry(1, 10_000, 17_000)])
const begun = [Records.begins("first"), Records.failed(0, 1_000)]
const sent = [...begun, Records.sent(0, 5_000, 6_000, "second")]

describe("TurnReport", () => {
  it("a waiting turn has the end of its wait, the cause, and its remaining budget", () => {
    const facts = { conversationId, turnId, model: conversation.model, prompt: "prompt 1" }
    const figures = { state: "waiting", acceptedAt: 0, ageMs: 9_000, attempts: 2 }
    expect(ofOpen(turn, waiting, overnight, 9_000)).toEqual({
      ...facts,
      ...figures,
      wait: { retry: 1, retryAt: 17_000, leftMs: 8_000, since: 7_000 },
      error: { reason: "overloaded", message: "Overloaded", code: "529" },
      budget: { measure: "scheduled", spentMs: 15_000, totalMs: 28_800_000, leftMs: 28_785_000 }
    })
  })

  it("rule P8: a running turn is on the target that it was sent to", () => {
    const { model, state } = ofOpen(turn, History.of([...sent.slice(1), elapsed]), overnight, 9_000)
    expect([state, model]).toEqual(["running", "second/m"])
  })

  it("rule D2: by the wall clock, spending is the time since the first failure", () => {
    const policy = Profile.resolve({ measure: "wall-clock", budget: { total: Duration.minutes(1) } })
    const { budget } = ofOpen(turn, waiting, policy, 21_000)
    expect(budget).toEqual({ measure: "wall-clock", spentMs: 20_000, totalMs: 60_000, leftMs: 40_000 })
  })

  it("rule X4: an extension of a budget is part of it", () => {
    const history = History.of([...waits, Records.wake(0, 0, { type: "extended", byMs: 1_000 })])
    const policy = Profile.resolve({ budget: { total: Duration.seconds(10) } })
    const { budget } = ofOpen(turn, history, policy, 2_000)
    expect(budget).toMatchObject({ totalMs: 11_000, leftMs: 6_000 })
  })

  it("an overdue turn has no wait left, and a turn without a limit no limit", () => {
    const report = ofOpen(turn, waiting, Profile.resolve({ profile: "interactive" }), 99_000)
    expect(report.wait?.leftMs).toBe(0)
    expect(report.budget).toEqual({ measure: "scheduled", spentMs: 15_000 })
  })

  it("a clock that went back makes nothing negative", () => {
    const policy = Profile.resolve({ measure: "wall-clock", budget: { total: Duration.minutes(1) } })
    const report = ofOpen({ ...turn, acceptedAt: 500 }, waiting, policy, 100)
    expect(report.ageMs).toBe(0)
    expect(report.budget).toMatchObject({ spentMs: 0, leftMs: 60_000 })
  })

  it("rule X11: the remaining budget of a reason counts, if that is less", () => {
    const policy = Profile.resolve({ reasons: { overloaded: { budget: Duration.seconds(20) } } })
    const { budget } = ofOpen(turn, waiting, policy, 9_000)
    expect(budget).toEqual({ measure: "scheduled", spentMs: 15_000, totalMs: 28_800_000, leftMs: 5_000 })
    const other = Profile.resolve({ reasons: { network: { budget: Duration.seconds(20) } } })
    expect(ofOpen(turn, waiting, other, 9_000).budget?.leftMs).toBe(28_785_000)
  })

  it("rule X11: a turn that asks has its question, and the time until which it accepts an answer", () => {
    const asks = { because: "turn" as const, tokens: 9, limit: 1, waitedMs: 5_000, message: "May it go on?" }
    const history = History.of([...waits, Records.wake(0, 0, { type: "asked", asks, until: 90_000 })])
    const { state, wait } = ofOpen(turn, history, overnight, 10_000)
    expect([state, wait]).toEqual(["waiting", { retry: 0, retryAt: 90_000, leftMs: 80_000, since: 1_000, asks }])
  })

  it("a running turn has no wait, and a queued one no attempts", () => {
    const { attempts, state, wait } = ofOpen(turn, History.of([Records.mark(0)]), overnight, 5)
    expect([attempts, state, wait]).toEqual([0, "running", undefined])
    expect(TurnReport.of(summary(turn, undefined, false), 5)).toMatchObject({ state: "queued", attempts: 0, ageMs: 5 })
  })

  it("an ended turn has the tokens that its providers reported, and no others", () => {
    const tokens = (usage: object) => {
      const end = { ...NumberedData.end(1, 1), usage }
      return TurnReport.of(summary({ ...turn, end }), 0).tokens
    }
    const given = [{}, { inputTokens: 3 }, { outputTokens: 0 }, { inputTokens: 3, outputTokens: 5 }]
    expect(given.map(tokens)).toStrictEqual([undefined, { input: 3 }, { output: 0 }, { input: 3, output: 5 }])
    const used = { ...turn, end: { ...NumberedData.end(1, 1), usage: { inputTokens: 3, outputTokens: 5 } } }
    expect([undefined, "a/m"].map((from) => summary(used, undefined, true, from).cost)).toEqual([8, "unknown"])
  })

  it("an ended turn has its age at its end, and its failure", () => {
    const end = { ...NumberedData.end(1, 1), status: "failed" as const, endedAt: 7_000, error: Records.overloaded }
    expect(TurnReport.of(summary({ ...turn, end }), 0)).toMatchObject({
      state: "failed",
      attempts: 3,
      ageMs: 7_000,
      error: { reason: "overloaded", code: "529" }
    })
  })
})

const start: TurnEvent.TurnStart = { type: "turn-start", conversationId, turnId, startedAt: 0 }
const ended = (change: Partial<TurnEvent.TurnEnd> = {}) => {
  const end = { ...NumberedData.end(1, 1), ...change }
  return { turn: { ...turn, end }, events: [start, NumberedData.message(1, 1, 0), NumberedData.message(1, 1, 1), end] }
}
const from = conversation.model
const changed: TurnEvent.ModelChange = { type: "model-change", conversationId, turnId, from, to: "other/m" }

const of = (evidence: Partial<TurnReport.StoredTurn>) =>
  TurnReport.ofStored({ turn, conversation, events: [start], records: [], ...evidence }, (text) =>
    text.replaceAll("planted", "[redacted]")
  )

describe("the state of a turn", () => {
  it("rule X15: is queued behind another turn, and running once it has begun", () => {
    const head = { conversationId, turnId, model: from, acceptedAt: 0, attempts: 0 }
    expect(of({ events: [] })).toEqual({ ...head, status: "queued" })
    expect(of({})).toEqual({ ...head, status: "running" })
    expect(of({ records: [...waits, elapsed] })).toEqual({ ...head, status: "running", attempts: 1 })
  })

  it("rule X15: has the cause, end and begin of a wait, as commands have moved it", () => {
    expect(of({ records: waits })).toMatchObject({
      status: "waiting",
      attempts: 1,
      wait: { retry: 0, retryAt: 6_000, since: 1_000 },
      error: { reason: "overloaded", message: "Overloaded", code: "529" }
    })
    const moved = [...waits, Records.wake(0, 0, { type: "until", until: 9_000 })]
    expect(of({ records: moved }).wait).toEqual({ retry: 0, retryAt: 9_000, since: 1_000 })
  })

  it("rule X15: has the answer, the usage and the final report when completed, and no wait", () => {
    const report = { source: "tool-call", success: true, content: { done: true } } as const
    const times = { acceptedAt: 0, endedAt: 1_760_000_001_000 }
    const facts = { conversationId, turnId, status: "completed", model: from, attempts: 3, report }
    const use = { waitedMs: 15_000, usage: { inputTokens: 10 }, cost: "unknown" }
    expect(of({ ...ended({ sleptMs: 40_000, waitedMs: 15_000, report }), records: waits })).toEqual({
      ...facts,
      ...times,
      ...use,
      text: `message 1 of turn 1: "quoted", \u{1f6f6}, line\nbreak`
    })
    // Without its waits it has those that were scheduled.
    expect(of(ended({ sleptMs: 40_000 })).waitedMs).toBe(40_000)
  })

  it("rule X15: has the last error when failed, without secrets, and no answer", () => {
    const error = { reason: "overloaded", message: "planted: no", retryable: true, code: "planted_error" } as const
    const state = of(ended({ status: "failed", error }))
    expect(state.error).toEqual({ reason: "overloaded", message: "[redacted]: no", code: "[redacted]_error" })
    expect(state).not.toHaveProperty("text")
    const waiting = of({ records: [Records.failed(0, 1_000, 0, error), Records.retry(0, 5_000, 6_000)] })
    expect(waiting.error?.message).toBe("[redacted]: no")
  })

  it("has the cost of an ended turn, by the model of each call; unknown if a part of it is not known", () => {
    const usage = { inputTokens: 1_000_000, outputTokens: 100_000 }
    const [one, two] = [{ "first/m": { input: 1, output: 10 } }, { "second/m": { input: 2, output: 20 } }]
    const cost = (prices: Prices.Prices, given: Partial<TurnReport.StoredTurn>) =>
      TurnReport.ofStored({ turn, conversation, events: [start], records: [], ...given }, (text) => text, prices).cost
    const switched = [...sent, elapsed]
    expect(cost(one, { ...ended({ usage }), records: begun })).toBe(2)
    // No call reported tokens, so all of them are those of the last one.
    expect(cost({ ...one, ...two }, { ...ended({ usage }), records: switched })).toBe(4)
    expect(cost({}, { ...ended({ usage }), records: begun })).toBe("unknown")
    expect(cost(one, { ...ended({ usage: { inputTokens: 5 } }), records: begun })).toBe("unknown")
    const last = ended({ usage })
    expect(cost({ [from]: { input: 1, output: 1 } }, last)).toBe(1.1)
    const both = { ...one, "other/m": { input: 1, output: 1 } }
    expect(cost(both, { turn: last.turn, events: [...last.events, changed] })).toBe("unknown")
    // Its first call, of half the tokens, was made before a person changed the model, and names none.
    const half = { inputTokens: 500_000, outputTokens: 50_000 }
    const before = Records.failed(0, 1_000)
    const failed = { ...before, value: JSON.stringify({ ...JSON.parse(before.value), usage: half }) }
    const records = [failed, Records.sent(0, 5_000, 6_000, "other"), elapsed]
    const prices = { [conversation.model]: { input: 100, output: 1 }, "other/m": { input: 1, output: 1 } }
    expect(cost(prices, { turn: last.turn, events: [...last.events, changed], records })).toBe(50.05 + 0.55)
    expect(cost(one, {})).toBeUndefined()
  })

  it("rule X15: has the files of the answer when completed: the size of one with data, the address of another", () => {
    const one = { mediaType: "image/png", name: "a.png" }
    const other = { mediaType: "image/png", url: "https://files.test/b" }
    const content = [
      { type: "file", ...one, data: "iVBORw0KGgo=" },
      { type: "file", ...other }
    ] as const
    const filesOf = (status: TurnEvent.TurnStatus) => {
      const { events, turn } = ended({ status })
      const answered = events.map((event) => {
        const isAnswer = event.type === "message" && event.message.role === "assistant"
        return isAnswer ? { ...event, message: { ...event.message, content } } : event
      })
      return of({ turn, events: answered as typeof events }).files
    }
    expect([filesOf("completed"), filesOf("aborted")]).toEqual([[{ ...one, sizeBytes: 8 }, other], undefined])
    expect(of(ended()).files).toBeUndefined()
  })

  it("rule X15: has neither an answer nor an error when aborted", () => {
    const state = of(ended({ status: "aborted" }))
    expect(state).toMatchObject({ status: "aborted", endedAt: 1_760_000_001_000 })
    expect(state).not.toHaveProperty("text")
    expect(state).not.toHaveProperty("error")
  })

  it("rule P8, X15: names the target that the turn waits for, calls, or ended on, also after its journal is deleted", () => {
    expect(of({ records: sent }).model).toBe("first/m")
    for (const last of [{}, ended()]) expect(of({ ...last, records: [...sent, elapsed] }).model).toBe("second/m")
    const { events, turn } = ended()
    expect(of({ turn, events: [...events, changed] }).model).toBe("other/m")
    expect(of({ turn, events, conversation: { ...conversation, model: "later/m" } }).model).toBe("simulated/steady")
    expect(of({ turn, events: [start] }).model).toBe(conversation.model)
  })
})
