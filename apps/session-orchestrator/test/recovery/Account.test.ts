import { GivenRecords as Records } from "@holdfast/journal/testing"
import { describe, expect, it } from "@effect/vitest"
import * as Account from "../../src/recovery/Account.ts"

const { begins, compaction, completed, failed, giveUp, lost, mark, messageId, overloaded, retry, sent, wake } = Records

describe("Account", () => {
  it("a turn without records has not begun", () => {
    expect(Account.of([])).toEqual({
      attempts: [],
      finals: [],
      target: undefined,
      progress: { _tag: "Fresh" },
      spending: { scheduledMs: 0, extendedMs: 0, firstFailureAt: undefined },
      tools: [],
      unread: []
    })
  })

  it("a decision without an end to its wait is a wait", () => {
    const { progress, spending } = Account.of([failed(0, 1_000), retry(0, 5_000, 6_000)])
    expect(progress).toEqual({
      _tag: "Waiting",
      step: 0,
      retry: 0,
      wakeAt: 6_000,
      since: 1_000,
      asks: undefined,
      failure: overloaded,
      target: undefined
    })
    expect(spending).toEqual({
      scheduledMs: 5_000,
      extendedMs: 0,
      firstFailureAt: 1_000,
      onReason: { reason: "overloaded", scheduledMs: 5_000, firstFailureAt: 1_000 }
    })
  })

  it("D2: a failure with which the turn gave up, or whose decision is not recorded, has scheduled no wait", () => {
    const { spending } = Account.of([
      failed(0, 1_000),
      retry(0, 5_000, 6_000),
      wake(0, 0, { type: "elapsed" }),
      failed(1, 7_000),
      giveUp(1)
    ])
    expect(spending).toMatchObject({ scheduledMs: 5_000, onReason: { scheduledMs: 5_000 } })
    expect(Account.of([failed(0, 1_000)]).spending).toMatchObject({ scheduledMs: 0, onReason: { scheduledMs: 0 } })
  })

  it("X5: a failure that was taken over from another turn was no call", () => {
    const shared = failed(1, 2_000, 0, { ...overloaded, shared: true })
    const { attempts } = Account.of([failed(0, 1_000), retry(0, 500, 1_500), wake(0, 0, { type: "elapsed" }), shared])
    expect(attempts).toHaveLength(2)
    expect(Account.endedCalls(attempts)).toBe(1)
  })

  it("D2: waits took their real time; an unfinished wait has lasted until now", () => {
    const records = [
      failed(0, 1_000),
      retry(0, 5_000, 6_000),
      wake(0, 0, { type: "now", at: 2_500 }),
      failed(1, 3_000),
      retry(1, 10_000, 13_000),
      wake(1, 0, { type: "until", until: 90_000, at: 4_000 }),
      wake(1, 1, { type: "elapsed" }),
      failed(2, 90_000),
      retry(2, 30_000, 120_000)
    ]
    expect(Account.waitedMs(Account.of(records).attempts, 91_000)).toBe(1_500 + 87_000 + 1_000)
    const elsewhere = [failed(0, 1_000), sent(0, 0, 1_000, "other"), completed(1, 9_000)]
    expect(Account.waitedMs(Account.of(elsewhere).attempts, 9_000)).toBe(0)
  })

  it("X4: commands move the end of a wait and extend the budget, and the wait continues", () => {
    const records = [
      failed(0, 1_000),
      retry(0, 5_000, 6_000),
      wake(0, 0, { type: "until", until: 90_000 }),
      wake(0, 1, { type: "extended", byMs: 30_000 })
    ]
    const { attempts, progress, spending } = Account.of(records)
    expect(progress).toMatchObject({ _tag: "Waiting", wakeAt: 90_000, since: 1_000 })
    expect(spending.extendedMs).toBe(30_000)
    expect(attempts[0]?.wakes.map(({ type }) => type)).toEqual(["until", "extended"])
  })

  it.each(["elapsed", "now"] as const)("after a wait that ended by %s the next attempt is in progress", (type) => {
    const { progress } = Account.of([failed(0, 1_000), retry(0, 5_000, 6_000), wake(0, 0, { type })])
    expect(progress).toEqual({ _tag: "Working", step: 0, attempt: 1 })
  })

  it("X4: a turn that was sent elsewhere waits there from then on", () => {
    const target = { provider: "other", model: "m" }
    const { progress } = Account.of([
      failed(0, 1_000),
      retry(0, 5_000, 6_000),
      wake(0, 0, { type: "switched", target }),
      failed(1, 7_000),
      retry(1, 10_000, 17_000)
    ])
    expect(progress).toMatchObject({ _tag: "Waiting", retry: 1, target: "other/m" })
  })

  it("P8: an immediate retry on another target is no wait, and the next attempt is there", () => {
    const { progress, target } = Account.of([begins("anthropic"), failed(0, 1_000), sent(0, 0, 1_000, "openai")])
    expect(progress).toEqual({ _tag: "Working", step: 0, attempt: 1 })
    expect(target).toBe("openai/m")
  })

  it("A5: a turn waits for the target that failed, and continues on its new target after the wait", () => {
    const records = [begins("anthropic"), failed(0, 1_000), sent(0, 7_000, 8_000, "openai")]
    expect(Account.of(records).progress).toMatchObject({ _tag: "Waiting", wakeAt: 8_000, target: "anthropic/m" })
    const { attempts } = Account.of([...records, wake(0, 0, { type: "elapsed" }), completed(1, 9_000)])
    expect(attempts.map(({ target }) => target)).toEqual(["anthropic/m", "openai/m"])
  })

  it("P19: a wait for a summary is a wait, and the summary is followed by the next attempt", () => {
    const failing = [
      failed(0, 1_000),
      compaction(1, { _tag: "Failed", failure: overloaded, spread: 0, endedAt: 2_000 })
    ]
    const waiting = Account.of([...failing, retry(1, 5_000, 7_000)])
    expect(waiting.progress).toMatchObject({ _tag: "Waiting", wakeAt: 7_000, failure: overloaded })
    const summary = { _tag: "Compacted" as const, summary: "So far.", upTo: messageId, endedAt: 8_000 }
    const done = Account.of([
      ...failing,
      retry(1, 5_000, 7_000),
      wake(1, 0, { type: "elapsed" }),
      compaction(2, summary)
    ])
    expect(done.progress).toEqual({ _tag: "Working", step: 0, attempt: 3 })
    expect(Account.endedCalls(done.attempts)).toBe(3)
    const nothing = Account.of([failed(0, 1_000), compaction(1, { _tag: "Nothing", endedAt: 2_000 })])
    expect(Account.endedCalls(nothing.attempts)).toBe(1)
  })

  it("P10: spending counts from 0 with every step", () => {
    const { progress, spending } = Account.of([
      failed(0, 1_000),
      retry(0, 5_000, 6_000),
      wake(0, 0, { type: "elapsed" }),
      mark(1),
      completed(1, 7_000),
      failed(0, 8_000, 1),
      retry(0, 5_000, 13_000, 1)
    ])
    expect(progress).toMatchObject({ _tag: "Waiting", step: 1, retry: 0 })
    expect(spending).toEqual({
      scheduledMs: 5_000,
      extendedMs: 0,
      firstFailureAt: 8_000,
      onReason: { reason: "overloaded", scheduledMs: 5_000, firstFailureAt: 8_000 }
    })
  })

  it("X11: spending on a reason is the cost of its own failures", () => {
    const limited = { ...overloaded, reason: "rate-limited" as const }
    const { spending } = Account.of([
      failed(0, 1_000, 0, limited),
      retry(0, 5_000, 6_000),
      wake(0, 0, { type: "elapsed" }),
      failed(1, 7_000),
      retry(1, 10_000, 17_000),
      wake(1, 0, { type: "elapsed" }),
      failed(2, 18_000, 0, limited),
      retry(2, 30_000, 48_000)
    ])
    expect(spending.scheduledMs).toBe(45_000)
    expect(spending.onReason).toEqual({ reason: "rate-limited", scheduledMs: 35_000, firstFailureAt: 1_000 })
  })

  it("X11: a wait that asks waits for an answer until there is one", () => {
    const asks = { because: "turn" as const, tokens: 9, limit: 1, waitedMs: 5_000, message: "May it go on?" }
    const records = [
      failed(0, 1_000),
      retry(0, 5_000, 6_000),
      wake(0, 0, { type: "asked", asks, until: 90_000 }),
      wake(0, 1, { type: "extended", byMs: 30_000 })
    ]
    expect(Account.of(records).progress).toMatchObject({ _tag: "Waiting", asks, wakeAt: 90_000 })
    const answered = Account.of([...records, wake(0, 2, { type: "until", until: 7_000 })]).progress
    expect(answered).toMatchObject({ _tag: "Waiting", asks: undefined, wakeAt: 7_000 })
  })

  it("X2: an attempt that was lost with its content is lost, and the next is in progress", () => {
    const { attempts, progress } = Account.of([mark(0), lost(0, 2_000)])
    expect(attempts[0]).toMatchObject({ hasContent: true, outcome: { _tag: "Lost" } })
    expect(progress).toEqual({ _tag: "Working", step: 0, attempt: 1 })
  })

  it("an attempt with content and without an outcome is in progress", () => {
    expect(Account.of([mark(0)]).progress).toEqual({ _tag: "Working", step: 0, attempt: 0 })
  })

  it("a turn that gave up does not wait", () => {
    expect(Account.of([failed(0, 1_000), giveUp(0)]).progress._tag).toBe("Working")
  })

  it("unreadable records are skipped and counted", () => {
    const strange = [
      { name: "step/0/tool/0", value: "{}" },
      { name: "step/0/decision/7", value: "not JSON" }
    ]
    const { progress, unread } = Account.of([failed(0, 1_000), retry(0, 5_000, 6_000), ...strange.slice(0, 1)])
    expect(unread).toEqual(["step/0/tool/0"])
    expect(progress._tag).toBe("Waiting")
    expect(Account.of(strange).unread).toEqual(["step/0/tool/0", "step/0/decision/7"])
  })
})
