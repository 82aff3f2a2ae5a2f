/** Tests histories: by given records, and against the ledger of the machine over generated turns. */
import { assert, describe, expect, it } from "@effect/vitest"
import { GivenRecords, type PureTurn } from "@holdfast/kernel/testing"
import { defined } from "@holdfast/wire"
import * as History from "../src/turn/History.ts"
import * as Machine from "../src/turn/Machine.ts"
import type * as Records from "../src/records/Records.ts"
import { eventsOf, law, turns } from "./PureTurnLaw.ts"

const { begins, compaction, completed, failed, giveUp, lost, mark, messageId, overloaded, retry, sent, wake } =
  GivenRecords

/** What the step has spent when its wait is over, and the part for its last failure's reason. */
const spent = (history: History.History) => {
  const { extendedMs, firstFailureAt, reasons, sleptMs: scheduledMs } = History.spendingAfterWait(history)
  const { failure } = history.step
  const own = failure && reasons[failure.reason]
  const onReason = own && { reason: failure.reason, scheduledMs: own.sleptMs, firstFailureAt: own.firstFailureAt }
  return { scheduledMs, extendedMs, firstFailureAt, onReason }
}

describe("History", () => {
  it("a turn without records has not begun", () => {
    const history = History.of([])
    const { attempts, chains, next, unread, wait } = history
    const spending = spent(history)
    assert.deepStrictEqual([attempts, chains, unread, wait], [[], [], [], undefined])
    assert.deepInclude(next, { step: 0, number: 0 })
    assert.isUndefined(spending.firstFailureAt)
  })

  it("a decision without an end to its wait is a wait", () => {
    const history = History.of([failed(0, 1_000), retry(0, 5_000, 6_000)])
    const { wait } = history
    const spending = spent(history)
    expect(wait).toMatchObject({ retry: 0, retryAt: 6_000, since: 1_000, isMoved: false, failure: overloaded })
    expect([wait?.asks, wait?.target]).toEqual([undefined, undefined])
    expect(spending).toEqual({
      scheduledMs: 5_000,
      extendedMs: 0,
      firstFailureAt: 1_000,
      onReason: { reason: "overloaded", scheduledMs: 5_000, firstFailureAt: 1_000 }
    })
  })

  it("rule A16: a clock that was set back makes no time of a turn negative", () => {
    const waiting = [failed(0, 60_000), retry(0, 5_000, 65_000)]
    expect(History.tallyAt(History.of(waiting), 1_000)).toMatchObject({ waitedMs: 0, retryLoopMs: 0 })
    const over = History.of([...waiting, wake(0, 0, { type: "elapsed", at: 1_000 }), completed(1, 2_000)])
    expect(over.tally).toMatchObject({ waitedMs: 0, retryLoopMs: 0, sleptMs: 5_000 })
  })

  it("rule D2: a failure with which the turn gave up, or whose decision is not recorded, has scheduled no wait", () => {
    const history = History.of([
      failed(0, 1_000),
      retry(0, 5_000, 6_000),
      wake(0, 0, { type: "elapsed" }),
      failed(1, 7_000),
      giveUp(1)
    ])
    const spending = spent(history)
    expect(spending).toMatchObject({ scheduledMs: 5_000, onReason: { scheduledMs: 5_000 } })
    expect(spent(History.of([failed(0, 1_000)]))).toMatchObject({ scheduledMs: 0, firstFailureAt: undefined })
  })

  it("rule X5: a failure that was taken over from another turn was no call", () => {
    const shared = failed(1, 2_000, 0, { ...overloaded, shared: true })
    const history = History.of([failed(0, 1_000), retry(0, 500, 1_500), wake(0, 0, { type: "elapsed" }), shared])
    expect(history.attempts).toHaveLength(2)
    expect(History.callsOf(history)).toBe(1)
  })

  it("rule D2: waits took their real time; an unfinished wait has lasted until now", () => {
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
    expect(History.tallyAt(History.of(records), 91_000).waitedMs).toBe(1_500 + 87_000 + 1_000)
    const elsewhere = [failed(0, 1_000), sent(0, 0, 1_000, "other"), completed(1, 9_000)]
    expect(History.tallyAt(History.of(elsewhere), 9_000).waitedMs).toBe(0)
  })

  it("rule X4: commands move the end of a wait and extend the budget, and the wait continues", () => {
    const records = [
      failed(0, 1_000),
      retry(0, 5_000, 6_000),
      wake(0, 0, { type: "until", until: 90_000 }),
      wake(0, 1, { type: "extended", byMs: 30_000 })
    ]
    const history = History.of(records)
    const { attempts, wait } = history
    const spending = spent(history)
    expect(wait).toMatchObject({ retryAt: 90_000, since: 1_000, isMoved: true })
    expect(spending.extendedMs).toBe(30_000)
    expect(attempts[0]?.wakes.map(({ type }) => type)).toEqual(["until", "extended"])
  })

  it.each(["elapsed", "now"] as const)("after a wait that ended by %s the next attempt is in progress", (type) => {
    const { next, wait } = History.of([failed(0, 1_000), retry(0, 5_000, 6_000), wake(0, 0, { type })])
    expect(wait).toBeUndefined()
    expect(next).toMatchObject({ step: 0, number: 1 })
  })

  it("rule X4: a turn that was sent elsewhere waits there from then on", () => {
    const target = { provider: "other", model: "m" }
    const { wait } = History.of([
      failed(0, 1_000),
      retry(0, 5_000, 6_000),
      wake(0, 0, { type: "switched", target }),
      failed(1, 7_000),
      retry(1, 10_000, 17_000)
    ])
    expect(wait).toMatchObject({ retry: 1, target: "other/m" })
  })

  it("rule P8: an immediate retry on another target is no wait, and the next attempt is there", () => {
    const { next, target, wait } = History.of([begins("anthropic"), failed(0, 1_000), sent(0, 0, 1_000, "openai")])
    expect(wait).toBeUndefined()
    expect(next).toMatchObject({ step: 0, number: 1, target: "openai/m" })
    expect(target).toBe("openai/m")
  })

  it("rule A5: a turn waits for the target that failed, and continues on its new target after the wait", () => {
    const records = [begins("anthropic"), failed(0, 1_000), sent(0, 7_000, 8_000, "openai")]
    expect(History.of(records).wait).toMatchObject({ retryAt: 8_000, target: "anthropic/m" })
    const { attempts } = History.of([...records, wake(0, 0, { type: "elapsed" }), completed(1, 9_000)])
    expect(attempts.map(({ target }) => target)).toEqual(["anthropic/m", "openai/m"])
  })

  it("rule P19: a wait for a summary is a wait, and the summary is followed by the next attempt", () => {
    const failing = [
      failed(0, 1_000),
      compaction(1, { _tag: "Failed", failure: overloaded, spread: 0, endedAt: 2_000 })
    ]
    const waiting = History.of([...failing, retry(1, 5_000, 7_000)])
    expect(waiting.wait).toMatchObject({ retryAt: 7_000, failure: overloaded })
    const summary = { _tag: "Compacted" as const, summary: "So far.", upTo: messageId, endedAt: 8_000 }
    const done = History.of([
      ...failing,
      retry(1, 5_000, 7_000),
      wake(1, 0, { type: "elapsed" }),
      compaction(2, summary)
    ])
    expect(done.next).toMatchObject({ step: 0, number: 3 })
    expect(History.callsOf(done)).toBe(3)
    const nothing = History.of([failed(0, 1_000), compaction(1, { _tag: "Nothing", endedAt: 2_000 })])
    expect(History.callsOf(nothing)).toBe(1)
  })

  it("rule P10: spending counts from 0 with every step", () => {
    const history = History.of([
      failed(0, 1_000),
      retry(0, 5_000, 6_000),
      wake(0, 0, { type: "elapsed" }),
      mark(1),
      completed(1, 7_000),
      failed(0, 8_000, 1),
      retry(0, 5_000, 13_000, 1)
    ])
    const { step, wait } = history
    const spending = spent(history)
    expect([step.number, wait?.retry]).toEqual([1, 0])
    expect(spending).toEqual({
      scheduledMs: 5_000,
      extendedMs: 0,
      firstFailureAt: 8_000,
      onReason: { reason: "overloaded", scheduledMs: 5_000, firstFailureAt: 8_000 }
    })
  })

  it("rule X11: spending on a reason is the cost of its own failures", () => {
    const limited = { ...overloaded, reason: "rate-limited" as const }
    const history = History.of([
      failed(0, 1_000, 0, limited),
      retry(0, 5_000, 6_000),
      wake(0, 0, { type: "elapsed" }),
      failed(1, 7_000),
      retry(1, 10_000, 17_000),
      wake(1, 0, { type: "elapsed" }),
      failed(2, 18_000, 0, limited),
      retry(2, 30_000, 48_000)
    ])
    const spending = spent(history)
    expect(spending.scheduledMs).toBe(45_000)
    expect(spending.onReason).toEqual({ reason: "rate-limited", scheduledMs: 35_000, firstFailureAt: 1_000 })
  })

  it("rule X11: a wait that asks waits for an answer until there is one", () => {
    const asks = { because: "turn" as const, tokens: 9, limit: 1, waitedMs: 5_000, message: "May it go on?" }
    const records = [
      failed(0, 1_000),
      retry(0, 5_000, 6_000),
      wake(0, 0, { type: "asked", asks, until: 90_000 }),
      wake(0, 1, { type: "extended", byMs: 30_000 })
    ]
    expect(History.of(records).wait).toMatchObject({ asks, retryAt: 90_000 })
    const answered = History.of([...records, wake(0, 2, { type: "until", until: 7_000 })]).wait
    expect(answered).toMatchObject({ asks: undefined, retryAt: 7_000 })
  })

  it.each([
    ["elapsed", undefined, 0],
    ["elapsed", true, 5_000],
    ["now", undefined, 5_000],
    ["cancelled", true, 0]
  ] as const)(
    "rule D2, X11: a wait that asked and ended by %s (goesOn: %s) has cost %i ms",
    (type, goesOn, sleptMs) => {
      const asks = {
        because: "turn" as const,
        tokens: 9,
        limit: 1,
        waitedMs: 5_000,
        message: "",
        ...defined({ goesOn })
      }
      const asked = wake(0, 0, { type: "asked", asks, until: 90_000, at: 6_000 })
      const history = History.of([failed(0, 1_000), retry(0, 5_000, 6_000), asked, wake(0, 1, { type, at: 90_000 })])
      expect(history.tally.sleptMs).toBe(sleptMs)
    }
  )

  it("a wake or a tool result that belongs to no attempt changes nothing", () => {
    const asks = { because: "tools" as const, tokens: 0, limit: 0, waitedMs: 0, message: "", calls: [] }
    const result = JSON.stringify({ output: "", isError: false, endedAt: 3_000 })
    const strays = [wake(0, 0, { type: "asked", asks, until: 9_000 }), { name: "step/0/tool/0", value: result }]
    for (const before of [[], [failed(0, 1_000)]]) {
      const { chains, step, wait } = History.of(before)
      for (const stray of strays)
        expect(History.of([...before, stray])).toMatchObject({ chains, step, wait, unread: [] })
    }
  })

  it("rule X2: an attempt that was lost with its content is lost, and the next is in progress", () => {
    const { attempts, next } = History.of([mark(0), lost(0, 2_000)])
    expect(attempts[0]).toMatchObject({ hasContent: true, outcome: { _tag: "Lost" } })
    expect(next).toMatchObject({ step: 0, number: 1 })
  })

  it("an attempt with content and without an outcome is in progress", () => {
    const history = History.of([mark(0)])
    expect([history.next, history.wait, History.isCutOff(history)]).toEqual([undefined, undefined, true])
  })

  it("a turn that gave up does not wait", () => {
    const { next, wait } = History.of([failed(0, 1_000), giveUp(0)])
    expect([next, wait]).toEqual([undefined, undefined])
  })

  it("unreadable records are skipped and counted", () => {
    const strange = [
      { name: "step/0/tool/0", value: "{}" },
      { name: "step/0/decision/7", value: "not JSON" }
    ]
    const { unread, wait } = History.of([failed(0, 1_000), retry(0, 5_000, 6_000), ...strange.slice(0, 1)])
    expect(unread).toEqual(["step/0/tool/0"])
    expect(wait).toBeDefined()
    expect(History.of(strange).unread).toEqual(["step/0/tool/0", "step/0/decision/7"])
  })

  it("rule D5: a body that is repeated is that of the attempt before, whatever a summary failed with", () => {
    const refused = (n: number, body: unknown) => ({
      name: `step/0/attempt/${n}`,
      value: JSON.stringify({ ...JSON.parse(failed(n, 1_000).value), body })
    })
    const outcome = { _tag: "Failed" as const, failure: overloaded, body: "<p>", spread: 0, endedAt: 2_000 }
    const { attempts } = History.of([refused(0, "<html>"), compaction(1, outcome), refused(2, true), failed(3, 3_000)])
    expect(attempts.map(({ body }) => body)).toEqual(["<html>", "<p>", "<html>", undefined])
  })

  it("rule D2, X5: an early attempt that fails at the end of its wait has cost that wait", () => {
    const early = (at: number) => [
      failed(0, 1_000),
      retry(0, 5_000, 6_000),
      wake(0, 0, { type: "now", early: true, at: 2_000 }),
      failed(1, at),
      giveUp(1)
    ]
    const sleptMs = (at: number) => History.of(early(at)).tally.sleptMs
    expect([sleptMs(5_999), sleptMs(6_000)]).toEqual([0, 5_000])
  })

  it("a question that is left when its calls have results asks nothing", () => {
    const call = { type: "tool-call", toolCallId: "one", toolName: "send", input: {} }
    const value = { _tag: "Completed", content: [call], endedAt: 1_000, finishReason: "tool-calls" }
    const asks = { because: "tools" as const, tokens: 0, limit: 0, waitedMs: 0, message: "May it?", calls: [] }
    const question = { type: "asked" as const, asks: { ...asks, calls: [{ ...call, quoted: "{}" }] }, until: 9_000 }
    const answer = { name: "step/0/attempt/0", value: JSON.stringify(value) }
    const asked = [answer, wake(0, 0, { ...question, at: 2_000 })]
    const result = JSON.stringify({ output: "No.", isError: true, endedAt: 3_000 })
    expect(History.of(asked).wait).toMatchObject({ retryAt: 9_000, since: 2_000, failure: undefined })
    // As versions without `at` wrote it: all of the time until its end is left.
    expect(History.of([answer, wake(0, 0, question)]).wait).toMatchObject({ retryAt: 9_000, since: 0 })
    const outlined = [{ name: "step/0/attempt/0", value: JSON.stringify({ ...value, content: [] }) }, ...asked.slice(1)]
    expect(History.of(outlined).wait).toMatchObject({ retryAt: 9_000 })
    const left = History.of([...asked, { name: "step/0/tool/0", value: result }])
    expect([left.wait, left.next?.step, left.attempts[0]?.results[0]?.output]).toEqual([undefined, 1, "No."])
  })
})

/** Every state of a turn before its seal, with the history of its records until then. */
const statesOf = ({ entries }: PureTurn.PureRun) => {
  const stored = entries.map(({ name, record }): Records.Stored => ({ name, value: JSON.stringify(record.value) }))
  return entries.map((entry, i) => ({ ...entry, history: History.of(stored.slice(0, i)), i }))
}

/** A step begins without a record after the last attempts were used up (A14): a history learns of it from the next record. */
const isUnknown = ({ history, ledger }: { readonly history: History.History; readonly ledger: Machine.Ledger }) =>
  ledger.phase._tag === "Entering" && history.attempts.at(-1)?.decision?._tag === "GiveUp" && history.next === undefined

law("rule D2, A16: a history counts what the ledger counts", turns, (run) => {
  for (const { history, ledger } of statesOf(run)) {
    if (isUnknown({ history, ledger })) continue
    assert.deepStrictEqual(history.tally, ledger.tally)
    assert.strictEqual(history.step.number, ledger.step.number)
    assert.strictEqual(history.step.failingSince, ledger.step.failingSince)
    if (ledger.phase._tag !== "Ending") assert.deepStrictEqual(history.step.spending, ledger.step.spending)
    assert.strictEqual(History.callsOf(history), ledger.tally.attempts - ledger.tally.shared)
  }
})

law("rule X1, X11: a history has the wait or the question that the ledger has, and no other", turns, (run) => {
  for (const { history, ledger } of statesOf(run)) {
    const { phase } = ledger
    const { wait } = history
    if (phase._tag === "Waiting") {
      const { asks, extendedMs, failedCall, reason, retry, retryAt } = phase.wait
      assert.deepInclude(wait, { decision: retry, retry: retry.attempt, retryAt, asks, extendedMs, reason })
      assert.deepStrictEqual(wait?.failure, failedCall.failure)
    } else if (phase._tag === "Tools" && phase.round.asked !== undefined) {
      const { asks, since, until } = phase.round.asked
      assert.deepInclude(wait, { retry: 0, since, retryAt: until, isMoved: true, asks, failure: undefined })
      assert.deepStrictEqual(History.spendingAfterWait(history), history.step.spending)
    } else assert.isUndefined(wait)
  }
})

law("a history knows the attempt that is due, as the ledger does", turns, (run) => {
  for (const { history, ledger } of statesOf(run)) {
    if (isUnknown({ history, ledger })) continue
    const { phase, step } = ledger
    const isShown = phase._tag === "Calling" && phase.isShown
    if (phase._tag === "Entering") assert.deepInclude(history.next, { step: step.number, number: 0 })
    else if (phase._tag === "Compacting" || (phase._tag === "Calling" && !isShown))
      assert.deepInclude(history.next, { step: step.number, number: phase.number })
    else if (phase._tag !== "Ending") assert.isUndefined(history.next)
    assert.strictEqual(History.isCutOff(history), isShown)
  }
})

law("rule P11, C10: a turn that is sealed by its history ends as the machine would end it", turns, (run) => {
  let closed = 0
  for (const { emissions, history, ledger } of statesOf(run)) {
    closed += eventsOf(emissions).filter(({ type }) => type === "retry-end").length
    if (isUnknown({ history, ledger })) continue
    assert.strictEqual(history.chains[closed], ledger.chain)
    const at = 1_000_000
    const failure = { reason: "unknown", message: "It is sealed.", retryable: false, defect: true } as const
    const cut = {
      failure,
      status: "failed",
      ...(History.isCutOff(history) ? { called: true as const } : undefined)
    } as const
    const { phase, tally } = Machine.evolve(ledger, { kind: "Seal", step: 0, number: 0, value: { at, cut } })
    assert.deepStrictEqual(History.tallyAt(history, at), tally)
    assert.strictEqual(phase._tag === "Sealed" ? phase.end.steps : undefined, history.step.number)
  }
})

law("later records change nothing of an attempt that is over", turns, (run) => {
  const states = statesOf(run)
  const whole = states.at(-1)?.history.attempts ?? []
  for (const { history } of states) {
    const over = history.attempts.slice(0, -1).filter(({ outcome }) => outcome?._tag !== "Failed")
    for (const attempt of over)
      assert.deepStrictEqual(
        attempt,
        whole.find((each) => each.step === attempt.step && each.number === attempt.number)
      )
  }
})
