/** Tests the sentences of an explanation at the edges of possible facts. */
import { assert, describe, it } from "@effect/vitest"
import { defined, type Failure, type TurnExplanation } from "@holdfast/wire"
import * as Words from "../../../src/insight/inspection/Words.ts"

const failure: Failure.Failure = { reason: "overloaded", message: "Overloaded", retryable: true }
const by = { commandId: "k1", origin: "HTTP" }

const retry = (over: Partial<TurnExplanation.Retry> = {}, failed = failure): string =>
  Words.decision({ type: "retry", retry: 0, decidedAt: 0, delayMs: 5_000, retryAt: 9, rules: ["D3"], ...over }, failed)

const gaveUp = (over: Partial<TurnExplanation.GaveUp>, failed = failure): string =>
  Words.decision({ type: "gave-up", because: "budget", rules: ["D7"], ...over }, failed)

describe("words for a retry", () => {
  it("have the time, and the source of the wait's length", () => {
    assert.strictEqual(retry(), "Retry 1 at 1970-01-01 00:00:00 UTC, after 5 s.")
    assert.strictEqual(retry({ delayMs: 0 }), "Retry 1 at once.")
    assert.strictEqual(retry({ scheduledMs: 5_000 }), "Retry 1 at 1970-01-01 00:00:00 UTC, after 5 s, the schedule's.")
    assert.strictEqual(
      retry({ delayMs: 1, scheduledMs: 0 }),
      "Retry 1 at 1970-01-01 00:00:00 UTC, after 1 ms, the schedule's."
    )
    const shorter = { scheduledMs: 5_000, hintMs: 5_000 }
    assert.strictEqual(
      retry(shorter),
      "Retry 1 at 1970-01-01 00:00:00 UTC, after 5 s, the schedule's, no shorter than the provider's 5 s."
    )
    assert.strictEqual(
      retry({ ...shorter, isEarlier: true }),
      "Retry 1 at 1970-01-01 00:00:00 UTC, after 5 s, the schedule's, no shorter than the 5 s that its provider had asked for before."
    )
    const longer = { scheduledMs: 4_000, hintMs: 5_000 }
    assert.strictEqual(
      retry(longer),
      "Retry 1 at 1970-01-01 00:00:00 UTC, after 5 s, the provider's, longer than the schedule's 4 s."
    )
    assert.strictEqual(
      retry({ ...longer, isEarlier: true }),
      "Retry 1 at 1970-01-01 00:00:00 UTC, after 5 s, as its provider had asked before, longer than the schedule's 4 s."
    )
  })

  it("have the parts of the wait", () => {
    assert.strictEqual(
      retry({ delayMs: 6_000, scheduledMs: 5_000, jitterMs: 1_000 }),
      "Retry 1 at 1970-01-01 00:00:00 UTC, after 6 s: the schedule's 5 s and 1 s of jitter."
    )
    assert.strictEqual(
      retry({ delayMs: 3_000, scheduledMs: 5_000, clipped: true }),
      "Retry 1 at 1970-01-01 00:00:00 UTC, after 3 s: the schedule's 5 s, cut to what was left of the budget."
    )
    assert.strictEqual(
      retry({ delayMs: 3_000, scheduledMs: 4_000, hintMs: 5_000, jitterMs: 1_000, clipped: true, isEarlier: true }),
      "Retry 1 at 1970-01-01 00:00:00 UTC, after 3 s: as its provider had asked before: 5 s and 1 s of jitter, longer than the schedule's 4 s, cut to what was left of the budget."
    )
  })

  it("mention a hint that was not followed, unless the retry goes elsewhere", () => {
    const hinted: Failure.Failure = { ...failure, hint: { retryAfterMs: 60_000, source: "retry-after" } }
    assert.strictEqual(
      retry({ scheduledMs: 5_000 }, hinted),
      "Retry 1 at 1970-01-01 00:00:00 UTC, after 5 s, the schedule's, not the provider's 1 m, which is not followed (retry.hints)."
    )
    assert.strictEqual(
      retry({ scheduledMs: 5_000, target: "b/m" }, hinted),
      "Retry 1 at 1970-01-01 00:00:00 UTC, after 5 s, the schedule's, on b/m."
    )
  })

  it("name the target", () => {
    const goes = (over: Partial<TurnExplanation.Retry>) => retry({ delayMs: 0, ...over })
    assert.strictEqual(goes({ target: "b/m" }), "Retry 1 at once, on b/m.")
    assert.strictEqual(goes({ target: "b/m", credential: "K" }), "Retry 1 at once, on b/m with credential K.")
    assert.strictEqual(goes({ target: "b/m", role: "default" }), "Retry 1 at once, on b/m, of the chain default.")
    assert.strictEqual(goes({ credential: "K", role: "default" }), "Retry 1 at once.")
  })

  it("have the spending, this wait included, if there is a limit", () => {
    const spending = { measure: "scheduled", spentMs: 1_000, totalMs: 60_000 } as const
    assert.match(retry({ spending }), /; 6 s of 1 m spent\.$/)
    assert.match(retry({ spending: { measure: "scheduled", spentMs: 1_000 } }), /after [^;]*\.$/)
    assert.match(retry({ spending: { ...spending, measure: "wall-clock" } }), /; 1 s of 1 m had passed\.$/)
    assert.match(
      retry({ spending, onReason: { ...spending, totalMs: 30_000 } }),
      /; 6 s of 1 m spent; 6 s of 30 s spent on overloaded\.$/
    )
  })
})

describe("words for giving up", () => {
  it("name the limit that refused", () => {
    const spending = { measure: "scheduled", spentMs: 1_000, totalMs: 60_000 } as const
    assert.strictEqual(
      gaveUp({ refusedMs: 5_000, spending }),
      "Gave up: the next wait of 5 s does not fit into the budget: 1 s of 1 m were spent."
    )
    assert.strictEqual(
      gaveUp({ refusedMs: 5_000, spending: { measure: "wall-clock", spentMs: 1_000, totalMs: 60_000 } }),
      "Gave up: the next wait of 5 s does not fit into the budget: 1 s of 1 m had passed."
    )
    assert.strictEqual(
      gaveUp({ refusedMs: 5_000, spending: { measure: "scheduled", spentMs: 1_000 } }),
      "Gave up: the next wait of 5 s does not fit into the budget."
    )
    assert.strictEqual(
      gaveUp({ refusedMs: 5_000, byReason: true, onReason: spending }),
      "Gave up: the next wait of 5 s does not fit into the budget for overloaded (retry.reasons): 1 s of 1 m were spent."
    )
    assert.strictEqual(
      gaveUp({ because: "max-retries", limit: 1 }),
      "Gave up: 1 retry had been made, and there may be no more."
    )
    assert.strictEqual(gaveUp({ because: "max-retries" }), "Gave up: the maximum of retries was reached.")
    assert.strictEqual(
      gaveUp({ because: "max-retries", byReason: true }),
      "Gave up: the maximum of retries was reached."
    )
    assert.strictEqual(
      gaveUp({ because: "max-retries", limit: 2, byReason: true }),
      "Gave up: 2 retries had been made after overloaded, and there may be no more (retry.reasons)."
    )
    assert.strictEqual(
      gaveUp({ because: "max-delay", refusedMs: 6_000, limit: 5_000 }),
      "Gave up: the next wait would be 6 s, and none may be longer than 5 s."
    )
    assert.strictEqual(gaveUp({ because: "max-delay", refusedMs: 6_000 }), "Gave up: the next wait would be 6 s.")
  })

  it("rule C2: have the provider's instruction about retries and its quota", () => {
    const reasonOf = (over: Partial<Failure.Failure>) => gaveUp({ because: "not-retryable" }, { ...failure, ...over })
    assert.strictEqual(reasonOf({}), "Gave up: a failure of this kind (overloaded) is not retried.")
    assert.match(reasonOf({ reason: "quota-exhausted" }), /the quota is used up, and the provider named no time/)
    assert.match(
      reasonOf({ reason: "quota-exhausted", evidence: { "x-should-retry": "false" } }),
      /the provider forbade a retry \(x-should-retry\)/
    )
    assert.match(reasonOf({ evidence: { "x-should-retry": "true" } }), /a failure of this kind/)
  })
})

describe("words for a failure", () => {
  it("quote the message, with its codes", () => {
    assert.strictEqual(Words.failure(failure), 'overloaded: "Overloaded"')
    assert.strictEqual(Words.failure({ ...failure, status: 529 }), 'overloaded, 529: "Overloaded"')
    assert.strictEqual(Words.failure({ ...failure, code: "busy" }), 'overloaded, busy: "Overloaded"')
    assert.strictEqual(Words.failure({ ...failure, status: 529, code: "busy" }), 'overloaded, 529 busy: "Overloaded"')
  })

  it("have the requested delay with its source, and the rest of the evidence", () => {
    const asks = (source: Failure.Hint["source"], evidence?: Record<string, string>) =>
      Words.evidence({ ...failure, hint: { retryAfterMs: 5_000, source }, ...(evidence && { evidence }) })
    assert.strictEqual(Words.evidence(failure), "")
    assert.strictEqual(asks("body"), "The provider asked for 5 s (in the error itself).")
    assert.strictEqual(asks("retry-after"), "The provider asked for 5 s (retry-after).")
    assert.strictEqual(
      asks("retry-after", { "retry-after": "5", "request-id": "r1" }),
      "The provider asked for 5 s (retry-after: 5). Its answer had request-id: r1."
    )
    assert.strictEqual(
      Words.evidence({ ...failure, evidence: { "request-id": "r1" } }),
      "Its answer had request-id: r1."
    )
    assert.strictEqual(Words.body({}), "")
    assert.strictEqual(Words.body({ body: "a\nb" }), "It answered in full: a b")
  })
})

describe("words for an attempt", () => {
  const attempt = (over: Partial<TurnExplanation.Attempt>) =>
    Words.attempt({ attempt: 0, target: "a/m", outcome: "completed", hasContent: false, rules: [], ...over })

  it("have its outcome", () => {
    assert.strictEqual(attempt({}), "Attempt 1 was answered.")
    assert.strictEqual(attempt({ finishReason: "stop" }), "Attempt 1 was answered (stop).")
    assert.strictEqual(attempt({ outcome: "failed" }), "Attempt 1 failed before any content.")
    assert.strictEqual(
      attempt({ outcome: "failed", hasContent: true, failure: { ...failure, message: "No." } }),
      'Attempt 1 failed after content had left: overloaded: "No."'
    )
    assert.strictEqual(
      attempt({ outcome: "failed", failure: { ...failure, shared: true } }),
      'Attempt 1 was not made, because another turn\'s call had just failed here: overloaded: "Overloaded".'
    )
    assert.strictEqual(attempt({ outcome: "cut-short" }), "Attempt 1 was cut short: the turn ended.")
    assert.strictEqual(
      attempt({ outcome: "cut-short", hasContent: true }),
      "Attempt 1 was cut short, after content had left: the turn ended."
    )
    assert.strictEqual(attempt({ outcome: "under-way" }), "Attempt 1 is under way.")
    assert.strictEqual(
      attempt({ outcome: "under-way", hasContent: true }),
      "Attempt 1 is under way, and content has left."
    )
  })

  it("rule P19: mark a call for a summary", () => {
    assert.strictEqual(
      attempt({ compaction: "compacted" }),
      "Call 1, for a summary, was answered: the summary replaces the older messages from here on."
    )
    assert.strictEqual(attempt({ compaction: "nothing" }), "No part of the context could be left out.")
    assert.strictEqual(
      attempt({ compaction: "nothing", failure }),
      'Call 1, for a summary, was too long itself: overloaded: "Overloaded". No part of the context could be left out.'
    )
    assert.strictEqual(attempt({ compaction: "failed" }), "Call 1, for a summary, failed.")
    assert.strictEqual(
      attempt({ compaction: "failed", failure }),
      'Call 1, for a summary, failed: overloaded: "Overloaded".'
    )
  })
})

describe("words for a tool call", () => {
  const tool = (outcome: TurnExplanation.ToolOutcome) =>
    Words.tool({ tool: 1, toolCallId: "c", toolName: "look", outcome, rules: [] })

  it("have its outcome", () => {
    assert.strictEqual(tool("answered"), "Tool call 2, look, was answered.")
    assert.strictEqual(tool("failed"), "Tool call 2, look, failed; the model got the error.")
    assert.strictEqual(tool("cut-short"), "Tool call 2, look, was cut short: the turn ended.")
    assert.strictEqual(tool("under-way"), "Tool call 2, look, is under way.")
    assert.match(tool("unknown"), /^Tool call 2, look, was running when its process died\..*\.$/)
  })
})

describe("words for a wait", () => {
  const ended = (over: Partial<TurnExplanation.WaitEnd>, due = 0) =>
    Words.waitEnd({ type: "elapsed", rules: [], ...over }, due)

  it("rule X1: report its end, and a delay of a second or more", () => {
    assert.strictEqual(ended({}), "The wait was over.")
    assert.strictEqual(ended({ at: 999 }), "The wait was over.")
    assert.strictEqual(
      ended({ at: 2_999 }, 1_000),
      "The wait was over, 1 s late: nothing ran this turn, or the machine slept."
    )
    assert.strictEqual(ended({ at: 1_500, heldMs: 999 }), "The wait was over.")
    assert.isTrue(Words.isOnTime({ type: "elapsed", heldMs: 999, rules: [] }, 0))
    assert.isFalse(Words.isOnTime({ type: "elapsed", heldMs: 1_000, rules: [] }, 0))
    assert.strictEqual(
      ended({ at: 5_999, heldMs: 5_000 }),
      "The wait was over, and the turn was held for 5 s until the gate let it in."
    )
    assert.isTrue(Words.isLate({ type: "elapsed", at: 1_000, rules: [] }, 0))
    assert.isFalse(Words.isLate({ type: "elapsed", at: 999, rules: [] }, 0))
    assert.isFalse(Words.isLate({ type: "elapsed", rules: [] }, 0))
    assert.isFalse(Words.isLate({ type: "retry-now", at: 5_000, rules: [] }, 0))
  })

  it("name the sender of the command that ended it", () => {
    const rules = ["X4"]
    assert.strictEqual(
      ended({ type: "retry-now", by, rules }),
      "The wait was ended by HTTP, command k1, to retry at once."
    )
    assert.strictEqual(ended({ type: "retry-now", rules: ["X5"] }), "The wait was ended early by the gate.")
    assert.strictEqual(ended({ type: "switched", target: "b/m", rules }), "The wait was ended, to continue on b/m.")
    assert.strictEqual(
      ended({ type: "broken", rules: ["D14"] }),
      "The wait itself failed, and there is no retry without it."
    )
  })

  it("have the time at which it was due: as it was moved, or when that command was taken", () => {
    const moved = (at?: number) => ({
      type: "moved" as const,
      until: 5,
      rules: [],
      words: "",
      ...defined({ at })
    })
    const extended = { type: "extended", byMs: 1, at: 50, rules: [], words: "" } as const
    assert.strictEqual(Words.dueAt({ changes: [], retryAt: 10 }), 10)
    assert.strictEqual(Words.dueAt({ changes: [moved(5)], retryAt: 10 }), 10)
    assert.strictEqual(Words.dueAt({ changes: [moved(20), extended], retryAt: 10 }), 20)
    assert.strictEqual(Words.dueAt({ changes: [moved(20), moved()], retryAt: 10 }), 10)
    assert.strictEqual(Words.dueAt({ changes: [moved(20), moved(15)], retryAt: 10 }), 15)
  })

  it("rule X11: mark it as one for an answer, until an answer or another end has come", () => {
    const asked = {
      until: 10,
      asks: { because: "turn", tokens: 1, limit: 1, waitedMs: 0, message: "?" },
      rules: [],
      words: ""
    } as const
    const end = { type: "unanswered", rules: [], words: "" } as const
    assert.isTrue(Words.isAsking({ retryAt: 10, changes: [], asked }))
    assert.isFalse(Words.isAsking({ retryAt: 10, changes: [] }))
    assert.isFalse(Words.isAsking({ retryAt: 10, changes: [], asked, end }))
    assert.isFalse(Words.isAsking({ retryAt: 11, changes: [], asked }))
  })
})

describe("words for the end of a turn", () => {
  it("rule D2: have the waiting time, and the scheduled time if that differs", () => {
    const waiting = (sleptMs: number, waitedMs?: number) => Words.waiting({ sleptMs, waitedMs })
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

  it("have the outcome, its failure and its rule", () => {
    const seal = (over: Partial<TurnExplanation.Seal>) =>
      Words.seal({ status: "completed", endedAt: 0, attempts: 1, sleptMs: 0, rules: [], ...over })
    assert.strictEqual(seal({}), "The turn was answered after 1 call.")
    assert.strictEqual(seal({ status: "aborted", attempts: 2, rules: ["P14"] }), "The turn was aborted after 2 calls.")
    assert.strictEqual(
      seal({ status: "failed", sleptMs: 5_000, waitedMs: 5_000, error: failure }),
      'The turn failed after 1 call and 5 s of waiting: overloaded: "Overloaded".'
    )
  })

  it("rule C10, X14: have the interruptions", () => {
    const interrupted = (deaths: number, defects: number) => Words.interruption({ deaths, defects, rules: ["R"] })
    assert.strictEqual(interrupted(2, 0), "The process died 2 times in a row in the middle of this turn.")
    assert.strictEqual(interrupted(1, 2), "Holdfast itself failed 2 times while it ran this turn.")
    assert.strictEqual(
      interrupted(3, 1),
      "The process died 3 times in a row in the middle of this turn. Holdfast itself failed 1 time while it ran this turn."
    )
  })
})
