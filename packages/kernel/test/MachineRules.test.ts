/** Rules that the machine keeps, over generated results of its commands. */
import { assert, describe } from "@effect/vitest"
import { RetryStrategy } from "@holdfast/kernel"
import { PureTurn } from "@holdfast/kernel/testing"
import { Ids, Target, type TurnEvent } from "@holdfast/wire"
import * as Records from "../src/records/Records.ts"
import * as Directive from "../src/turn/Directive.ts"
import { eventsOf, law, of, turns } from "./PureTurnLaw.ts"

const { REPORT } = PureTurn

/** A directive that opens a chain. */
const RETRY = {
  conversationId: PureTurn.conversationId,
  turnId: PureTurn.turnId,
  type: "provider-retry",
  message: "",
  reason: "unknown",
  target: ""
} as const

type Entries = PureTurn.PureRun["entries"]

/**
 * What the end of a wait costs the budget (D2): its delay, unless the gate ended it early (X5) and the decision about the next failure came
 * before the end of the wait. `undefined`: not even its retry.
 */
const chargedBy = (entry: Entries[number], entries: Entries): number | undefined => {
  const { command, record } = entry
  if (command?._tag !== "Wait" || record.kind !== "Wake") return undefined
  const { delayMs } = command.wait.retry
  if (!RetryStrategy.isEarly(record.value)) return delayMs
  const later = entries.slice(entries.indexOf(entry) + 1).filter((each) => each.record.step === record.step)
  const decided = later.find((each) => each.record.kind === "Decision")
  const phase = decided?.ledger.phase
  return phase?._tag === "Deciding" && phase.failedCall.endedAt >= command.wait.retryAt ? delayMs : undefined
}

describe("Machine", () => {
  law(
    "rule P11: every chain of retries that opens is closed once, before the seal",
    turns,
    ({ emissions, entries }) => {
      const told: Array<TurnEvent.TurnEvent> = []
      for (const { command, emissions, record } of entries) {
        told.push(...eventsOf(emissions))
        // A question about tool calls is a chain of its own (P11).
        if (command?._tag === "Ask" && record.kind === "Wake" && record.value.type === "asked")
          told.push({ ...RETRY, attempt: 0, delayMs: 0, retryAt: 0 })
        // It is announced when its wait is performed; an abort may come between.
        if (record.kind === "Decision" && record.value._tag === "Retry")
          told.push({ ...RETRY, attempt: record.value.attempt, delayMs: 0, retryAt: 0 })
      }
      // No entry has the events after the last record.
      const last =
        eventsOf(emissions).length - entries.reduce((sum, entry) => sum + eventsOf(entry.emissions).length, 0)
      told.push(...eventsOf(emissions).slice(-last))
      let open: number | undefined
      for (const event of told) {
        if (event.type === "provider-retry") open = event.attempt
        if (event.type === "retry-end") {
          assert.strictEqual(event.attempt, open)
          open = undefined
        }
        if (event.type === "turn-end") assert.isUndefined(open)
      }
    }
  )

  law("a seal counts calls, waits and tokens as its records do", turns, (turn) => {
    const [end] = of(turn, "turn-end")
    const last = turn.entries.at(-1)
    const records = turn.entries.map(({ record }) => record)
    const cut = last?.record.kind === "Seal" ? last.record.value.cut : undefined
    const calls = records.flatMap((record) => (record.kind === "Attempt" ? [record.value] : []))
    const compactions = records.flatMap((record) => (record.kind === "Compaction" ? [record.value] : []))
    const summaries = compactions.filter((made) => made._tag !== "Nothing" || made.failure !== undefined)
    const shared = calls.filter((call) => call._tag === "Failed" && call.failure.shared === true)
    assert.strictEqual(end?.attempts, calls.length + summaries.length - shared.length + (cut?.called === true ? 1 : 0))

    const waits = turn.entries.filter(({ command, record }) => command?._tag === "Wait" && record.kind === "Wake")
    const over = waits.filter(({ command, ledger, record }) => {
      if (command?._tag !== "Wait" || record.kind !== "Wake" || ledger.phase._tag !== "Waiting") return false
      const { type } = record.value
      const { asks } = ledger.phase.wait
      const isUnanswered = type === "elapsed" && asks !== undefined && asks.goesOn !== true
      return (type === "now" || type === "switched" || type === "elapsed") && !isUnanswered
    })
    const sleptMs = over.reduce((sum, entry) => sum + (chargedBy(entry, turn.entries) ?? 0), 0)
    assert.strictEqual(end?.sleptMs, sleptMs)

    const spent = [...calls, ...compactions].reduce(
      (sum, made) => sum + ("usage" in made ? (made.usage?.inputTokens ?? 0) : 0),
      cut?.said?.usage?.inputTokens ?? 0
    )
    assert.strictEqual(end?.usage.inputTokens ?? 0, spent) // X7: void attempts included
  })

  law(
    "rule A16: a seal counts the time of retries from the first failure of each step to its end",
    turns,
    (turn) => {
      let since: number | undefined
      let total = 0
      const over = (at: number) => {
        total += since === undefined ? 0 : Math.max(0, at - since)
        since = undefined
      }
      for (const [i, { ledger, record }] of turn.entries.entries()) {
        const { phase, step } = ledger
        const after = turn.entries[i + 1]?.ledger ?? turn.end
        if (phase._tag === "Deciding" && (record.kind === "Decision" || record.kind === "Seal"))
          since ??= phase.failedCall.endedAt
        if (record.kind === "Attempt" && record.value._tag === "Completed") over(record.value.endedAt)
        if (record.kind === "Seal") over(record.value.at)
        // It gave up, and a step for the report follows (A14).
        const isReportDue = record.kind === "Decision" && after.step.number > step.number
        if (isReportDue && phase._tag === "Deciding") over(phase.failedCall.endedAt)
      }
      assert.strictEqual(turn.end.tally.retryLoopMs, total)
    },
    1_000
  )

  law("rule P8: a fallback that takes over succeeds with its first answer, and once", turns, (turn) => {
    let pending: string | undefined
    const hear = (event: TurnEvent.TurnEvent) => {
      if (event.type === "retry-fallback-applied") pending = event.to
      if (event.type === "model-change" && event.to !== pending) pending = undefined
      if (event.type === "retry-fallback-succeeded") {
        assert.strictEqual(event.model, pending)
        pending = undefined
      }
      if (event.type === "message" && event.message.role === "assistant" && event.message.error === undefined) {
        assert.isUndefined(pending)
      }
    }
    let heard = 0
    for (const { emissions, record } of turn.entries) {
      heard += emissions.length
      eventsOf(emissions).forEach(hear)
      // A person's choice is no fallback (X4).
      if (record.kind === "Wake" && record.value.type === "switched") pending = undefined
    }
    eventsOf(turn.emissions.slice(heard)).forEach(hear)
  })

  law(
    "rule P8: each model-change starts from the target that was used last, and messages name theirs",
    turns,
    (turn, { facts }) => {
      const last = facts.history.findLast(({ role }) => role === "assistant")
      let current = Target.format(last?.role === "assistant" ? last.target : facts.target)
      for (const event of eventsOf(turn.emissions)) {
        if (event.type === "model-change") {
          assert.strictEqual(event.from, current)
          current = event.to
        }
        // A step that an abort cut off before its route has sent no request.
        if (
          event.type === "message" &&
          event.message.role === "assistant" &&
          event.message.error?.reason !== "aborted"
        ) {
          assert.strictEqual(Target.format(event.message.target), current)
        }
      }
    }
  )

  law("rule X1, X4, X11: a wait keeps its beginning, ends at its last end, and asks once", turns, ({ entries }) => {
    for (const [i, { command }] of entries.entries()) {
      if (command?._tag !== "Wait") continue
      const of = entries
        .slice(0, i)
        .filter(({ record: { number, step } }) => step === command.step && number === command.number)
      const wakes = of.flatMap(({ record }) => (record.kind === "Wake" ? [record.value] : []))
      const decided = of.flatMap(({ record }) => (record.kind === "Decision" ? [record.value] : []))[0]
      const retryAt = decided?._tag === "Retry" ? decided.retryAt : 0
      const since = decided?._tag === "Retry" ? RetryStrategy.sinceOf(decided) : 0
      const ends = wakes.flatMap((wake) => (wake.type === "until" || wake.type === "asked" ? [wake] : []))
      const last = ends.at(-1)
      const { awaited, event, outlook, part } = command
      assert.strictEqual(part, wakes.length)
      assert.strictEqual(awaited.since, since)
      assert.strictEqual(awaited.retryAt, last?.until ?? retryAt)
      assert.strictEqual(awaited.isMoved, last !== undefined)
      assert.strictEqual(event.retryAt, awaited.retryAt)
      assert.strictEqual(event.delayMs, Math.max(0, awaited.retryAt - since))
      assert.deepStrictEqual(event.asks, last?.type === "asked" ? last.asks : undefined)
      assert.strictEqual(
        outlook === undefined,
        ends.some(({ type }) => type === "asked")
      )
    }
  })

  law("rule D2: a decision receives the step's spending, as its records have it", turns, ({ entries }) => {
    for (const [i, { command }] of entries.entries()) {
      if (command?._tag !== "Decide") continue
      const before = entries.slice(0, i).filter(({ record }) => record.step === command.step)
      const { situation } = command
      const failures = before.flatMap(({ record }) =>
        (record.kind === "Attempt" || record.kind === "Compaction") && record.value._tag === "Failed"
          ? [record.value]
          : []
      )
      assert.strictEqual(situation.defects, failures.filter(({ failure }) => failure.defect === true).length)
      const slept = before.filter(
        ({ command, record }) =>
          command?._tag === "Wait" &&
          record.kind === "Wake" &&
          ["now", "elapsed", "switched"].includes(record.value.type)
      )
      const sleptMs = slept.reduce((sum, entry) => sum + (chargedBy(entry, entries) ?? 0), 0)
      assert.strictEqual(situation.spent.sleptMs, sleptMs)
      const atOnce = before.filter(
        ({ record }) =>
          record.kind === "Decision" &&
          record.value._tag === "Retry" &&
          record.value.resumes !== true &&
          Directive.isImmediate(record.value)
      )
      const charged = slept.filter((entry) => chargedBy(entry, entries) !== undefined)
      assert.strictEqual(situation.retries, atOnce.length + charged.length)
      const extended = before.filter(({ record }) => record.kind === "Wake" && record.value.type === "extended")
      assert.strictEqual(situation.spent.extendedMs, 700 * extended.length)
    }
  })

  law("messages have ids by their position, and each new one is emitted", turns, (turn) => {
    const said = of(turn, "message").map(({ message }) => message)
    assert.deepStrictEqual(turn.end.added, said)
    assert.deepStrictEqual(
      said.map(({ id }) => id),
      said.map((_, i) => Ids.messageIdOf(PureTurn.turnId, i))
    )
    const results = said.flatMap((message) => (message.role === "tool" ? message.content : []))
    const { conversationId, turnId } = PureTurn
    assert.deepStrictEqual(
      of(turn, "tool-result"),
      results.map((part) => ({ conversationId, turnId, ...part }))
    )
  })

  law("results are persisted in the order of the calls, whatever order they come in", turns, (turn) => {
    const calls = of(turn, "tool-call").map(({ toolCallId }) => toolCallId)
    const results = of(turn, "tool-result").map(({ toolCallId }) => toolCallId)
    assert.deepStrictEqual(results, calls.slice(0, results.length))
    if (of(turn, "turn-end")[0]?.status === "completed") assert.strictEqual(results.length, calls.length)
  })

  law("a step ends when the last of its calls is answered, in any order", turns, (turn) => {
    for (const [i, { ledger, record }] of turn.entries.entries()) {
      const after = turn.entries[i + 1]?.ledger ?? turn.end
      if (record.kind !== "Tool" || after.phase._tag === "Tools") continue
      const results = turn.entries.flatMap(({ record: { kind, step, value } }) =>
        kind === "Tool" && step === record.step && "output" in value ? [value.endedAt] : []
      )
      const endedAt = Math.max(...results)
      assert.strictEqual(after.added[ledger.added.length]?.createdAt, endedAt)
      assert.strictEqual(after.step.startedAt, endedAt)
    }
  })

  law("rule X2: an attempt whose content had left when its process died is voided once", turns, (turn) => {
    const lost = turn.entries.filter(({ record }) => record.kind === "Attempt" && record.value._tag === "Lost")
    const voided = turn.entries.filter(({ record }) => record.kind === "Decision" && Records.isVoiding(record.value))
    const last = turn.entries.at(-1)?.ledger.phase
    const isCutOff = last?._tag === "Calling" && last.isShown
    assert.strictEqual(of(turn, "step-discarded").length, lost.length + voided.length + (isCutOff ? 1 : 0))
  })

  law("rule X7: content is void by its setting alone, and never in the history then", turns, (turn) => {
    for (const [i, { command, offers, record }] of turn.entries.entries()) {
      if (command?._tag !== "Decide" || record.kind !== "Decision") continue
      const { contentSeen, failure, unseen } = command.failedCall
      const setting = contentSeen ? (offers.midStream?.(failure) ?? "fail") : "fail"
      const mayVoid = setting === "discard" || (setting === "unseen" && unseen === true)
      const { value } = record
      assert.strictEqual(Records.isVoiding(value), contentSeen && value._tag === "Retry")
      if (contentSeen && !mayVoid) assert.strictEqual(value._tag, "GiveUp")
      if (!Records.isVoiding(value)) continue
      const after = turn.entries[i + 1]?.ledger ?? turn.end
      const messages = turn.end.added.slice(turn.entries[i]?.ledger.added.length)
      const failed = messages.find((message) => message.role === "assistant" && message.error !== undefined)
      assert.isTrue(after.phase._tag !== "Waiting" || after.phase.wait.failedCall.last?.content.length === 0)
      if (failed?.role === "assistant" && after.phase._tag === "Sealed") assert.deepStrictEqual(failed.content, [])
    }
  })

  law(
    "rule A11: the last step is announced once, before its first attempt, and offers no tool but the report",
    turns,
    (turn, { facts }) => {
      const finals = of(turn, "final-turn")
      assert.isAtMost(finals.length, 1)
      const [final] = finals
      for (const { commands } of turn.entries) {
        for (const command of commands) {
          if (command._tag !== "Call") continue
          const isFinal = final !== undefined && command.step >= final.step
          const names = command.request.tools.map(({ name }) => name)
          const report = facts.report === undefined ? [] : [REPORT]
          assert.deepStrictEqual(names, [...(isFinal ? [] : ["a", "b", "c", "d"]), ...report])
          assert.strictEqual(command.isJudged, isFinal || facts.report !== undefined)
        }
      }
      const { maxTurns } = facts.limits ?? {}
      if (maxTurns !== undefined) {
        const steps = turn.entries.flatMap(({ command }) => (command?._tag === "Call" ? [command.step] : []))
        // A rejected report shortens a turn, and never lengthens it (A12); the last step's own calls are answered.
        assert.isTrue(steps.every((step) => step < maxTurns || final !== undefined))
      }
    }
  )
})
