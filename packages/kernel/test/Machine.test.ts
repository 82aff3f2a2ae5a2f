/** Laws of the machine, without an effect: over generated choices of what its commands come to. */
import { assert, describe, it } from "@effect/vitest"
import { PureTurn } from "@holdfast/kernel/testing"
import { Ids, type Message, Target, type TurnEvent } from "@holdfast/wire"
import * as fc from "fast-check"
import * as Machine from "../src/Machine.ts"
import * as Records from "../src/Records.ts"

const { frozen, REPORT } = PureTurn

const earlier = (target: string): ReadonlyArray<Message.Message> => {
  const turnId = Ids.TurnId.make("t0")
  const common = { turnId, createdAt: 0 }
  const content = [{ type: "text" as const, text: "Earlier." }]
  return [
    { role: "user", id: Ids.messageIdOf(turnId, 0), ...common, content },
    { role: "user", id: Ids.messageIdOf(turnId, 1), ...common, content, synthetic: true },
    {
      role: "assistant",
      id: Ids.messageIdOf(turnId, 2),
      ...common,
      content,
      target: { provider: target, model: "big" }
    }
  ]
}

/** How a turn is set up. */
const facts = fc
  .record({
    isRetry: fc.boolean(),
    history: fc.constantFrom([], earlier("test"), earlier("other")),
    hasReport: fc.boolean(),
    maxTurns: fc.option(fc.integer({ min: 1, max: 3 }), { nil: undefined }),
    most: fc.option(fc.integer({ min: 2, max: 9 }), { nil: undefined }),
    maxFailedToolSteps: fc.constantFrom(0, 1, 2)
  })
  .map(({ hasReport, history, isRetry, maxFailedToolSteps, maxTurns, most }): Machine.TurnFacts => ({
    conversationId: PureTurn.conversationId,
    turnId: PureTurn.turnId,
    target: { provider: "test", model: "model" },
    history,
    prompt: isRetry ? undefined : "Hello",
    startedAt: 0,
    maxRetries: 5,
    limits: {
      maxFailedToolSteps,
      ...(maxTurns === undefined ? undefined : { maxTurns }),
      ...(most === undefined ? undefined : { exceedsContext: ({ messages }) => messages.length > most })
    },
    ...(hasReport ? { report: { tool: { name: REPORT, inputSchema: {} }, validate: () => undefined } } : undefined)
  }))

const offers = fc.record({
  tools: fc.constant(PureTurn.TOOLS),
  hasRouter: fc.boolean(),
  hasStrategy: fc.constant(true),
  hasCompactor: fc.boolean()
})

const choices = fc.array(fc.nat(10_000), { maxLength: 120, size: "max" })

const turns = fc.record({ facts, offers, choices, isSteady: fc.boolean() })
const steady = fc.record({ facts, offers, choices, isSteady: fc.constant(true) })

/** A law of every turn that is played to its seal. */
const law = (
  title: string,
  arbitrary: fc.Arbitrary<PureTurn.Options>,
  holds: (turn: PureTurn.Played, options: PureTurn.Options) => void,
  numRuns = 300
): void =>
  it(title, () =>
    fc.assert(
      fc.property(arbitrary, (options) => holds(PureTurn.play(options), options)),
      { numRuns }
    )
  )

const eventsOf = (emissions: ReadonlyArray<Machine.Emission>): ReadonlyArray<TurnEvent.TurnEvent> =>
  emissions.flatMap((each): ReadonlyArray<TurnEvent.TurnEvent> =>
    each._tag === "Persist" ? each.events : [each.event]
  )

const of = <Type extends TurnEvent.TurnEvent["type"]>({ emissions }: PureTurn.Played, type: Type) =>
  eventsOf(emissions).filter((event): event is Extract<TurnEvent.TurnEvent, { type: Type }> => event.type === type)

/** The record that a command ends in. */
const nameOf = (command: Machine.Command): string => {
  const { number, step } = command
  switch (command._tag) {
    case "Final":
    case "Route":
    case "Seal":
      return Records.nameOf(command._tag, step)
    case "Call":
      return Records.nameOf("Attempt", step, number)
    case "Decide":
      return Records.nameOf("Decision", step, number)
    case "Wait":
      return Records.nameOf("Wake", step, number, command.part)
    case "RunTool":
      return Records.nameOf("Tool", step, number)
    case "Compact":
      return Records.nameOf("Compaction", step, number)
    default:
      return command satisfies never
  }
}

/** Without the questions that are functions: those are compared by their answers. */
const comparable = (commands: ReadonlyArray<Machine.Command>) =>
  commands.map((command) => (command._tag === "Wait" ? { ...command, outlook: command.outlook?.(7) } : command))

const drained = (ledger: Machine.Ledger): Machine.Ledger => ({ ...ledger, outbox: [] })

describe("Machine", () => {
  law("every command ends in exactly one record, of its own name", steady, ({ entries }) => {
    const ended = entries
      .filter(({ record }) => record.kind !== "Content" && record.kind !== "Begun")
      .map(({ name }) => name)
    const opened = entries.flatMap(({ commands }) => commands.map(nameOf))
    assert.deepStrictEqual(new Set(ended), new Set(opened))
    assert.strictEqual(new Set(ended).size, ended.length)
  })

  law(
    "every record has a name of its own, and says the same when it is read back (Records.R1)",
    turns,
    ({ entries }) => {
      const names = entries.map(({ name }) => name)
      assert.strictEqual(new Set(names).size, names.length)
      for (const { name, record } of entries) {
        assert.deepStrictEqual(Records.parse({ name, value: JSON.stringify(record.value) }), record)
      }
    }
  )

  law("several commands are open only where they are the tool calls of one response", turns, ({ entries }) => {
    for (const { commands } of entries) {
      if (commands.length > 1) assert.isTrue(commands.every(({ _tag }) => _tag === "RunTool"))
    }
  })

  law("X1: resumed = uninterrupted: from any record on, the turn is what it was, and goes on alike", turns, (turn) => {
    const { emissions, end, entries, start } = turn
    let folded = start
    for (const { commands, ledger, offers, record } of entries) {
      assert.deepStrictEqual(drained(folded), ledger)
      const { commands: again, ledger: next } = Machine.next(folded, offers)
      assert.deepStrictEqual(comparable(again), comparable(commands))
      assert.deepStrictEqual(next, ledger)
      folded = frozen(Machine.evolve(folded, record))
    }
    // Nobody has asked it for anything on the way, and it owes all of it.
    assert.deepStrictEqual(folded, { ...end, outbox: emissions })
  })

  law(
    "events to persist count from 0, without a gap, and the ledger knows how many they are",
    turns,
    ({ emissions, end }) => {
      let position = 0
      for (const each of emissions) {
        if (each._tag === "Live") continue
        assert.strictEqual(each.position, position)
        position += each.events.length
      }
      assert.strictEqual(end.position, position)
    }
  )

  law("a turn seals once, last, and has no command then", turns, (turn, { offers }) => {
    assert.strictEqual(
      eventsOf(turn.emissions).findIndex(({ type }) => type === "turn-end"),
      eventsOf(turn.emissions).length - 1
    )
    const { phase } = turn.end
    assert.isTrue(phase._tag === "Sealed")
    assert.deepStrictEqual(phase._tag === "Sealed" ? [phase.end] : [], of(turn, "turn-end"))
    assert.deepStrictEqual(Machine.next(turn.end, offers), { commands: [], emissions: [], ledger: turn.end })
    const [end] = of(turn, "turn-end")
    assert.deepStrictEqual(
      of(turn, "error").map(({ message }) => message),
      end?.error === undefined ? [] : [end.error.message]
    )
    assert.strictEqual(end?.error !== undefined, end?.status === "failed")
  })

  law("P11: every chain of retries that opens is closed once, before the seal", turns, ({ emissions, entries }) => {
    const told: Array<TurnEvent.TurnEvent> = []
    for (const { emissions, record } of entries) {
      told.push(...eventsOf(emissions))
      // It is told when its wait is performed; an abort may come between.
      if (record.kind === "Decision" && record.value._tag === "Retry")
        told.push({ ...RETRY, attempt: record.value.attempt, delayMs: 0, retryAt: 0 })
    }
    // What the last record has made due is told by no entry.
    const last = eventsOf(emissions).length - entries.reduce((sum, entry) => sum + eventsOf(entry.emissions).length, 0)
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
  })

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
      const isUnanswered = type === "elapsed" && ledger.phase.wait.asks !== undefined
      return (type === "now" || type === "switched" || type === "elapsed") && !isUnanswered
    })
    const sleptMs = over.reduce(
      (sum, { command }) => sum + (command?._tag === "Wait" ? command.wait.retry.delayMs : 0),
      0
    )
    assert.strictEqual(end?.sleptMs, sleptMs)

    const spent = [...calls, ...compactions].reduce(
      (sum, made) => sum + ("usage" in made ? (made.usage?.inputTokens ?? 0) : 0),
      cut?.said?.usage?.inputTokens ?? 0
    )
    assert.strictEqual(end?.usage.inputTokens ?? 0, spent)
  })

  law(
    "A16: a seal counts the time of retries from the first failure of each step to its end",
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
          since ??= phase.setback.endedAt
        if (record.kind === "Attempt" && record.value._tag === "Completed") over(record.value.endedAt)
        if (record.kind === "Seal") over(record.value.at)
        // It gave up, and a step for the report follows (A14).
        const isReportDue = record.kind === "Decision" && after.step.number > step.number
        if (isReportDue && phase._tag === "Deciding") over(phase.setback.endedAt)
      }
      assert.strictEqual(turn.end.tally.retryLoopMs, total)
    },
    1_000
  )

  law("P8: a fallback that takes over succeeds with its first answer, and once", turns, (turn) => {
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
      // A person's choice is no fallback (Routes.G3).
      if (record.kind === "Wake" && record.value.type === "switched") pending = undefined
    }
    eventsOf(turn.emissions.slice(heard)).forEach(hear)
  })

  law(
    "P8: each change of the model is one from the target that was used last, and messages name theirs",
    turns,
    (turn, { facts }) => {
      const last = facts.history.findLast(({ role }) => role === "assistant")
      let current = Target.format(last?.role === "assistant" ? last.target : facts.target)
      for (const event of eventsOf(turn.emissions)) {
        if (event.type === "model-change") {
          assert.strictEqual(event.from, current)
          current = event.to
        }
        // What an abort cut off before its step had a route has not been sent anywhere.
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

  law("X1, X4, X11: a wait keeps its beginning, ends when it was last said to, and asks once", turns, ({ entries }) => {
    for (const [i, { command }] of entries.entries()) {
      if (command?._tag !== "Wait") continue
      const of = entries
        .slice(0, i)
        .filter(({ record: { number, step } }) => step === command.step && number === command.number)
      const wakes = of.flatMap(({ record }) => (record.kind === "Wake" ? [record.value] : []))
      const decided = of.flatMap(({ record }) => (record.kind === "Decision" ? [record.value] : []))[0]
      const retryAt = decided?._tag === "Retry" ? decided.retryAt : 0
      const since = retryAt - (decided?._tag === "Retry" ? decided.delayMs : 0)
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

  law("D2: a decision is told what the step has spent, as its records have it", turns, ({ entries }) => {
    for (const [i, { command }] of entries.entries()) {
      if (command?._tag !== "Decide") continue
      const before = entries.slice(0, i).filter(({ record }) => record.step === command.step)
      const retries = before.filter(({ record }) => record.kind === "Decision" && record.value._tag === "Retry")
      const { situation } = command
      assert.strictEqual(situation.retries, retries.length)
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
      const sleptMs = slept.reduce(
        (sum, { command }) => sum + (command?._tag === "Wait" ? command.wait.retry.delayMs : 0),
        0
      )
      assert.strictEqual(situation.spent.sleptMs, sleptMs)
      const extended = before.filter(({ record }) => record.kind === "Wake" && record.value.type === "extended")
      assert.strictEqual(situation.spent.extendedMs, 700 * extended.length)
    }
  })

  law("messages have the ids of their places, and each that is added is said", turns, (turn) => {
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

  law("Rounds.T1: results are persisted in the order of the calls, whatever order they come in", turns, (turn) => {
    const calls = of(turn, "tool-call").map(({ toolCallId }) => toolCallId)
    const results = of(turn, "tool-result").map(({ toolCallId }) => toolCallId)
    assert.deepStrictEqual(results, calls.slice(0, results.length))
    if (of(turn, "turn-end")[0]?.status === "completed") assert.strictEqual(results.length, calls.length)
  })

  law("a step ends when the last of its calls is answered, whichever that is", turns, (turn) => {
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

  law("X2: an attempt whose content had left when its process died is said to be void, once", turns, (turn) => {
    const lost = turn.entries.filter(({ record }) => record.kind === "Attempt" && record.value._tag === "Lost")
    const last = turn.entries.at(-1)?.ledger.phase
    const isCutOff = last?._tag === "Calling" && last.isShown
    assert.strictEqual(of(turn, "step-discarded").length, lost.length + (isCutOff ? 1 : 0))
  })

  it("P19: what cannot be made smaller after all is decided about as the attempt that it was", () => {
    const overflow = { reason: "context-overflow", message: "too long", retryable: false } as const
    const failed = { _tag: "Failed", content: [], contentSeen: false, spread: 0, endedAt: 0 } as const
    const records: ReadonlyArray<Records.TurnRecord> = [
      { kind: "Attempt", step: 0, number: 0, value: { ...failed, failure: overflow } },
      { kind: "Compaction", step: 0, number: 1, value: { ...failed, failure } },
      { kind: "Decision", step: 0, number: 1, value: { _tag: "Retry", attempt: 0, delayMs: 5, retryAt: 5 } },
      { kind: "Wake", step: 0, number: 1, value: { type: "elapsed", at: 5 } },
      { kind: "Compaction", step: 0, number: 2, value: { _tag: "Nothing", endedAt: 5 } }
    ]
    const { conversationId, turnId } = PureTurn
    const target = { provider: "test", model: "model" }
    const start = Machine.start({ conversationId, turnId, target, history: [], startedAt: 0 })
    const offers = { tools: [], hasRouter: false, hasStrategy: true, hasCompactor: true }
    const { commands } = Machine.next(records.reduce(Machine.evolve, start), offers)
    assert.deepStrictEqual(commands.map(nameOf), ["step/0/decision/0"])
  })

  law(
    "A11: the last step is announced once, before its first attempt, and offers no tool but the report",
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
          assert.deepStrictEqual(names, [...(isFinal ? [] : ["a", "b", "c"]), ...report])
          assert.strictEqual(command.isJudged, isFinal || facts.report !== undefined)
        }
      }
      const { maxTurns } = facts.limits ?? {}
      if (maxTurns !== undefined) {
        const steps = turn.entries.flatMap(({ command }) => (command?._tag === "Call" ? [command.step] : []))
        // A report that was not accepted shortens a turn, and never lengthens it (A12); the last step's own calls are answered.
        assert.isTrue(steps.every((step) => step < maxTurns || final !== undefined))
      }
    }
  )

  law(
    "Evolve.E2: takes the records that can follow, and throws at all others",
    turns,
    (turn) => {
      for (const { ledger } of [...turn.entries, { ledger: turn.end }]) {
        const steps = [ledger.step.number - 1, ledger.step.number, ledger.step.number + 1]
        for (const sample of samples) {
          for (const step of sample.kind === "Seal" ? [0] : steps) {
            for (const number of sample.kind === "Seal" ? [0] : [0, 1, 2, 3]) {
              const record = frozen({ ...sample, step, number } as Records.TurnRecord) // a sample of its kind, in another place
              if (isTaken(ledger, record) !== follows(ledger, record))
                assert.fail(`${ledger.phase._tag}: ${sample.kind}`)
            }
          }
        }
      }
    },
    120
  )
})

// --- internal

const failure = { reason: "overloaded", message: "Overloaded", retryable: true } as const

/** What opens a chain. */
const RETRY = {
  conversationId: PureTurn.conversationId,
  turnId: PureTurn.turnId,
  type: "provider-retry",
  message: "",
  reason: "unknown",
  target: ""
} as const

/** A record of each kind, and a seal that cuts the turn off. */
const samples: ReadonlyArray<Pick<Records.TurnRecord, "kind" | "value">> = [
  { kind: "Final", value: { cause: "context", at: 0 } },
  { kind: "Route", value: { route: { target: { provider: "test", model: "model" } } } },
  { kind: "Content", value: true },
  { kind: "Attempt", value: { _tag: "Failed", content: [], contentSeen: false, failure, spread: 0, endedAt: 0 } },
  { kind: "Decision", value: { _tag: "GiveUp", because: "exhausted" } },
  { kind: "Wake", value: { type: "elapsed", at: 0 } },
  { kind: "Compaction", value: { _tag: "Nothing", endedAt: 0 } },
  { kind: "Begun", value: { life: "l1" } },
  { kind: "Tool", value: { output: "done", isError: false, endedAt: 0 } },
  { kind: "Seal", value: { at: 0 } },
  { kind: "Seal", value: { at: 0, cut: { status: "aborted", failure } } }
]

const isTaken = (ledger: Machine.Ledger, record: Records.TurnRecord): boolean => {
  try {
    Machine.evolve(ledger, record)
    return true
  } catch {
    return false
  }
}

/** Whether a record can follow what a turn has come to: the drawing of `Ledger.ts` as a table. */
const follows = ({ phase, step }: Machine.Ledger, { kind, number, step: of, value }: Records.TurnRecord): boolean => {
  if (kind === "Seal") {
    const isOver = phase._tag === "Ending" || (phase._tag === "Entering" && phase.stuck !== undefined)
    return phase._tag !== "Sealed" && (isOver || (typeof value === "object" && "cut" in value))
  }
  if (of !== step.number) return false
  switch (phase._tag) {
    case "Entering":
      return (
        kind === "Route" ||
        (kind === "Final" && !phase.isAnnounced) ||
        ((kind === "Attempt" || kind === "Content") && number === 0)
      )
    case "Calling":
      return (kind === "Attempt" || kind === "Content") && number === phase.number
    case "Deciding": {
      const { last, number: failed, of } = phase.setback
      if (kind === "Compaction") return of === "attempt" && last !== undefined && number === failed + 1
      return kind === "Decision" && number === failed
    }
    case "Compacting":
      return kind === "Compaction" && number === phase.number
    case "Waiting":
      return kind === "Wake" && number === phase.wait.setback.number
    case "Tools":
      return (
        (kind === "Begun" || kind === "Tool") &&
        number < phase.round.calls.length &&
        phase.round.results[number] === undefined
      )
    default:
      return false
  }
}
