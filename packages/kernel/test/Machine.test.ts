/** Laws of the machine over generated results of its commands, without effects. */
import { assert, describe, it } from "@effect/vitest"
import { PureTurn } from "@holdfast/kernel/testing"
import * as Machine from "../src/turn/Machine.ts"
import * as Records from "../src/records/Records.ts"
import { eventsOf, law, of, steady, turns } from "./PureTurnLaw.ts"

const { frozen } = PureTurn

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
    case "Ask":
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

/** The commands without functions, which are compared by their results. */
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

  law("every record has its own name, and is the same when it is read back", turns, ({ entries }) => {
    const names = entries.map(({ name }) => name)
    assert.strictEqual(new Set(names).size, names.length)
    for (const { name, record } of entries) {
      assert.deepStrictEqual(Records.parse({ name, value: JSON.stringify(record.value) }), record)
    }
  })

  law("several commands are open only if they are the tool calls of one response", turns, ({ entries }) => {
    for (const { commands } of entries) {
      if (commands.length > 1) assert.isTrue(commands.every(({ _tag }) => _tag === "RunTool"))
    }
  })

  law(
    "rule X1: resumed = uninterrupted: from any record on, the turn has the same state and continues alike",
    turns,
    (turn) => {
      const { emissions, end, entries, start } = turn
      let folded = start
      for (const { commands, ledger, offers, record } of entries) {
        assert.deepStrictEqual(drained(folded), ledger)
        const { commands: again, ledger: next } = Machine.next(folded, offers)
        assert.deepStrictEqual(comparable(again), comparable(commands))
        assert.deepStrictEqual(next, ledger)
        folded = frozen(Machine.evolve(folded, record))
      }
      // Its outbox was never emptied on the way, so it holds all events.
      assert.deepStrictEqual(folded, { ...end, outbox: emissions })
    }
  )

  law("events to persist count from 0, without a gap, and the ledger has their number", turns, ({ emissions, end }) => {
    let position = 0
    for (const each of emissions) {
      if (each._tag === "Live") continue
      assert.strictEqual(each.position, position)
      position += each.events.length
    }
    assert.strictEqual(end.position, position)
  })

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

  it("rule P19: after a compaction without success, the decision is about the attempt that was too long", () => {
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
    "accepts the records that can follow, and throws for all others",
    turns,
    (turn) => {
      for (const { ledger } of [...turn.entries, { ledger: turn.end }]) {
        const steps = [ledger.step.number - 1, ledger.step.number, ledger.step.number + 1]
        for (const sample of samples) {
          for (const step of sample.kind === "Seal" ? [0] : steps) {
            for (const number of sample.kind === "Seal" ? [0] : [0, 1, 2, 3]) {
              const record = frozen({ ...sample, step, number } as Records.TurnRecord) // a sample of its kind, at another position
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

/** Whether a record can follow in a state of a turn: the drawing of `Ledger.ts` as a table. */
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
      const { last, number: failed, of } = phase.failedCall
      if (kind === "Compaction") return of === "attempt" && last !== undefined && number === failed + 1
      return kind === "Decision" && number === failed
    }
    case "Compacting":
      return kind === "Compaction" && number === phase.number
    case "Waiting":
      return kind === "Wake" && number === phase.wait.failedCall.number
    case "Tools":
      if (kind === "Wake") return number === phase.round.attempt
      return (
        (kind === "Begun" || kind === "Tool") &&
        number < phase.round.calls.length &&
        phase.round.results[number] === undefined
      )
    default:
      return false
  }
}
