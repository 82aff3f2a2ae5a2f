/** Tests the sentences of an explanation, for facts that the turns of `Explanation.test.ts` do not have. */
import { assert, describe, it } from "@effect/vitest"
import { defined, type Failure, type TurnExplanation } from "@holdfast/wire"
import * as Words from "../../../src/insight/inspection/Words.ts"

const failure: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true }
const by = { commandId: "k1", origin: "HTTP" }

const retry = (over: Partial<TurnExplanation.ExplainedRetry> = {}, failed = failure): string =>
  Words.decision({ type: "retry", retry: 0, decidedAt: 0, delayMs: 5_000, retryAt: 9, rules: ["D3"], ...over }, failed)

const gaveUp = (over: Partial<TurnExplanation.GaveUp>, failed = failure): string =>
  Words.decision({ type: "gave-up", because: "budget", rules: ["D7"], ...over }, failed)

describe("words for a decision, a failure and a call", () => {
  it.each<[Partial<TurnExplanation.ExplainedRetry>, string]>([
    [{ delayMs: 1, scheduledMs: 0 }, "after 1 ms, the schedule's."],
    [
      { scheduledMs: 5_000, hintMs: 5_000, isEarlier: true },
      "after 5 s, the schedule's, no shorter than the 5 s that its provider had asked for before."
    ],
    [{ delayMs: 6_000, scheduledMs: 5_000, jitterMs: 1_000 }, "after 6 s: the schedule's 5 s and 1 s of jitter."],
    [
      { delayMs: 3_000, scheduledMs: 4_000, hintMs: 5_000, jitterMs: 1_000, clipped: true, isEarlier: true },
      "after 3 s: as its provider had asked before: 5 s and 1 s of jitter, longer than the schedule's 4 s, cut to what was left of the budget."
    ],
    [
      { delayMs: 3_000, scheduledMs: 4_000, clipped: true },
      "after 3 s: the schedule's 4 s, cut to what was left of the budget."
    ],
    [{ credential: "K", role: "default" }, "after 5 s."],
    [{ spending: { measure: "scheduled", spentMs: 1_000 } }, "after 5 s."]
  ])("of a retry: %j", (over, expected) => {
    assert.strictEqual(retry(over), `Retry 1 at 1970-01-01 00:00:00 UTC, ${expected}`)
  })

  it("of a retry elsewhere, which owes no hint anything", () => {
    const hinted: Failure.Failure = { ...failure, hint: { retryAfterMs: 60_000, source: "retry-after" } }
    assert.match(retry({ resumes: true }), /^The gate had made this attempt early; .*: retry 1 at /)
    const elsewhere = retry({ scheduledMs: 5_000, target: "b/m" }, hinted)
    assert.strictEqual(elsewhere, "Retry 1 at 1970-01-01 00:00:00 UTC, after 5 s, the schedule's, on b/m.")
  })

  it.each<[Partial<TurnExplanation.GaveUp>, string]>([
    [
      { refusedMs: 5_000, spending: { measure: "scheduled", spentMs: 1_000 } },
      "the next wait of 5 s does not fit into the budget."
    ],
    [{ because: "max-retries", limit: 1 }, "1 retry had been made, and there may be no more."],
    [{ because: "max-retries" }, "the maximum of retries was reached."],
    [
      { because: "max-retries", limit: 2, byReason: true },
      "2 retries had been made after overloaded, and there may be no more (retry.reasons)."
    ],
    [
      { byReason: true, onReason: { measure: "scheduled", spentMs: 1_000, totalMs: 2_000 } },
      "the next wait of 0 s does not fit into the budget for overloaded (retry.reasons): 1 s of 2 s were spent."
    ],
    [{ because: "max-retries", byReason: true }, "the maximum of retries was reached."],
    [{ because: "max-delay", refusedMs: 6_000 }, "the next wait would be 6 s."]
  ])("for giving up: %j", (over, expected) => {
    assert.strictEqual(gaveUp(over), `Gave up: ${expected}`)
  })

  it("for a failure: its codes, and the rest of the evidence", () => {
    assert.strictEqual(Words.failure({ ...failure, code: "busy" }), 'overloaded, busy: "Overloaded"')
    assert.strictEqual(Words.evidence(failure), "")
    const hint = { retryAfterMs: 5_000, source: "body" } as const
    assert.strictEqual(Words.evidence({ ...failure, hint }), "The provider asked for 5 s (in the error itself).")
    const answered = Words.evidence({ ...failure, evidence: { "request-id": "r1" } })
    assert.strictEqual(answered, "Its answer had request-id: r1.")
    assert.strictEqual(Words.body({}), "")
    assert.strictEqual(Words.body({ body: "a\nb" }), "It answered in full: a b")
    const should = { ...failure, evidence: { "x-should-retry": "true" } }
    assert.match(gaveUp({ because: "not-retryable" }, should), /a failure of this kind/)
  })

  it.each<[Partial<TurnExplanation.ExplainedAttempt>, string]>([
    [{}, "Attempt 1 was answered."],
    [{ outcome: "failed" }, "Attempt 1 failed before any content."],
    [
      { outcome: "failed", failure: { ...failure, shared: true } },
      'Attempt 1 was not made, because another turn\'s call had just failed here: overloaded: "Overloaded".'
    ],
    [{ compaction: "failed" }, "Call 1, for a summary, failed."]
  ])("for an attempt: %j", (over, expected) => {
    const base = { attempt: 0, target: "a/m", outcome: "completed", hasContent: false, rules: [] } as const
    assert.strictEqual(Words.attempt({ ...base, ...over }), expected)
  })

  it("for a tool call that failed", () => {
    const call = { tool: 1, toolCallId: "c", toolName: "look", rules: [] }
    const words = Words.tool({ ...call, outcome: "failed" })
    assert.strictEqual(words, "Tool call 2, look, failed; the model got the error.")
  })
})

describe("words for a wait", () => {
  const ended = (over: Partial<TurnExplanation.WaitEnd>, due = 0, conversationId = "c") =>
    Words.waitEnd({ type: "elapsed", rules: [], ...over }, due, conversationId)

  it("rule X1: report its end, and a delay of a second or more", () => {
    const was = (so: string, ...of: Parameters<typeof ended>) =>
      assert.strictEqual(ended(...of), `The wait was over${so}.`)
    was("", {})
    was("", { at: 999 })
    was(", 1 s late: nothing ran this turn, or the machine slept", { at: 2_999 }, 1_000)
    was(", 1 s late: it waited for its program, or the machine slept", { at: 2_999 }, 1_000, "holdfast-call-1")
    was("", { at: 1_500, heldMs: 999 })
    was(", and the turn was held for 5 s until the gate let it in", { at: 5_999, heldMs: 5_000 })
    assert.isTrue(Words.isOnTime({ type: "elapsed", heldMs: 999, rules: [] }, 0))
    assert.isFalse(Words.isOnTime({ type: "elapsed", heldMs: 1_000, rules: [] }, 0))
    assert.isTrue(Words.isLate({ type: "elapsed", at: 1_000, rules: [] }, 0))
    assert.isFalse(Words.isLate({ type: "elapsed", at: 999, rules: [] }, 0))
    assert.isFalse(Words.isLate({ type: "elapsed", rules: [] }, 0))
    assert.isFalse(Words.isLate({ type: "retry-now", at: 5_000, rules: [] }, 0))
  })

  it("name the sender of the command that ended it", () => {
    const was = (words: string, over: Parameters<typeof ended>[0]) =>
      assert.strictEqual(ended(over), `The wait ${words}.`)
    was("was ended by HTTP, command k1, to retry at once", { type: "retry-now", by, rules: ["X4"] })
    was("was ended early by the gate", { type: "retry-now", rules: ["X5"] })
    was("was ended, to continue on b/m", { type: "switched", target: "b/m", rules: ["X4"] })
    was("itself failed, and there is no retry without it", { type: "broken", rules: ["D14"] })
  })

  it("have the time at which it was due: as it was moved, or when that command was taken", () => {
    const moved = (at?: number) => ({ type: "moved" as const, until: 5, rules: [], words: "", ...defined({ at }) })
    const extended = { type: "extended", byMs: 1, at: 50, rules: [], words: "" } as const
    const changes = [[], [moved(5)], [moved(20), extended], [moved(20), moved()], [moved(20), moved(15)]]
    const dues = changes.map((changes) => Words.dueAt({ changes, retryAt: 10 }))
    assert.deepStrictEqual(dues, [10, 10, 20, 10, 15])
  })

  it("rule X11: mark it as one for an answer, until an answer or another end has come", () => {
    const asks = { because: "turn", tokens: 1, limit: 1, waitedMs: 0, message: "?" } as const
    const asked = { until: 10, asks, rules: [], words: "" }
    const end = { type: "unanswered", rules: [], words: "" } as const
    assert.isTrue(Words.isAsking({ retryAt: 10, changes: [], asked }))
    assert.isFalse(Words.isAsking({ retryAt: 10, changes: [] }))
    assert.isFalse(Words.isAsking({ retryAt: 10, changes: [], asked, end }))
    assert.isFalse(Words.isAsking({ retryAt: 11, changes: [], asked }))
  })
})

describe("words for the end of a turn", () => {
  it("rule D2: have the waiting time, and the scheduled time if that differs", () => {
    const waiting = (sleptMs: number, waitedMs?: number) => Words.waiting(sleptMs, waitedMs)
    assert.strictEqual(waiting(0), "")
    assert.strictEqual(waiting(1), "1 ms of scheduled waiting")
    assert.strictEqual(waiting(0, 999), "")
    assert.strictEqual(waiting(0, 1_000), "1 s of waiting")
    assert.strictEqual(waiting(5_000, 5_999), "5 s of waiting")
    assert.strictEqual(waiting(5_000, 4_001), "5 s of waiting")
    assert.strictEqual(waiting(5_000, 4_000), "4 s of waiting (5 s were scheduled)")
    assert.strictEqual(waiting(5_000, 6_000), "6 s of waiting")
    assert.strictEqual(waiting(5_000, 999), "999 ms of waiting (5 s were scheduled)")
    assert.strictEqual(waiting(5_000, 1_999), "1 s of waiting (5 s were scheduled)")
  })

  it("rule C10, X14: have the interruptions", () => {
    const interrupted = (deaths: number, defects: number) => Words.interruption({ deaths, defects, rules: ["R"] })
    assert.strictEqual(interrupted(2, 0), "The process died 2 times in a row in the middle of this turn.")
    assert.strictEqual(interrupted(1, 2), "Holdfast itself failed 2 times while it ran this turn.")
    const both =
      "The process died 3 times in a row in the middle of this turn. Holdfast itself failed 1 time while it ran this turn."
    assert.strictEqual(interrupted(3, 1), both)
  })
})
