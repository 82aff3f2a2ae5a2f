/** What the engine returns for an input, step by step. */
import { assert, describe, it } from "@effect/vitest"
import { ScriptedProvider, TestStrategy } from "@holdfast/kernel/testing"
import { Ids } from "@holdfast/wire"
import * as Engine from "../src/engine/Engine.ts"
import { TurnStopped } from "../src/ports/TurnStopped.ts"
import type * as RetryStrategy from "../src/ports/RetryStrategy.ts"
import type * as Records from "../src/records/Records.ts"
import * as Turn from "../src/turn/Turn.ts"

const { badGateway, call, overloaded } = ScriptedProvider

const facts = {
  conversationId: Ids.ConversationId.make("c"),
  turnId: Ids.TurnId.make("t"),
  target: { provider: "test", model: "m" },
  history: [],
  prompt: "Hello",
  startedAt: 0
}

/** The types of the events that a host writes together with the turn. */
const ACCEPTED = Turn.firstEvents(facts).map(({ type }) => type)

const BEGIN: Engine.Input = { _tag: "Begin", known: [], persisted: ACCEPTED }

const ABORT: Engine.Input = { _tag: "Cut", status: "aborted", failure: Turn.aborted }

/** A turn under test. */
class Stepped {
  state: Engine.State
  now = 0
  effects: ReadonlyArray<Engine.Effect> = []
  private readonly log: Array<Records.Stored> = []

  constructor(setup: Partial<Engine.Setup> = {}) {
    const strategy = new TestStrategy.TestStrategy({ delays: [5_000, 10_000] }).service
    this.state = Engine.make({
      facts,
      life: "l1",
      toolbox: { definitions: [] },
      strategy,
      hasRouter: false,
      hasCompactor: false,
      ...setup
    })
  }

  /** Takes inputs, and returns the effects of the last of them. */
  take(...inputs: ReadonlyArray<Engine.Input>): ReadonlyArray<string> {
    for (const input of inputs) {
      const [state, effects] = Engine.step(this.state, input, this.now)
      this.state = state
      this.effects = effects
      for (const { record, name } of effects.flatMap((effect) => (effect._tag === "Append" ? effect.records : [])))
        this.log.push({ name, value: JSON.stringify(record.value) })
    }
    return this.effects.map(told)
  }

  /** The call under way fails before content. */
  failed(failure = overloaded): Engine.Input {
    return this.attempt({
      _tag: "Failed",
      content: [],
      endedAt: this.now,
      failure,
      contentSeen: false,
      spread: 0.5
    })
  }

  answered(...calls: ReadonlyArray<ReturnType<typeof call>>): Engine.Input {
    const finishReason = calls.length === 0 ? "stop" : "tool-calls"
    return this.attempt({ _tag: "Completed", content: calls, finishReason, endedAt: this.now })
  }

  attempt(value: Records.AttemptOutcome): Engine.Input {
    const [open] = this.state.open
    if (open === undefined) throw new Error("there is no call")
    return { _tag: "Done", record: { kind: "Attempt", step: open.step, number: open.number, value } }
  }

  tool(number: number): Engine.Input {
    const step = this.state.ledger.step.number
    const value = { output: "done", isError: false, endedAt: this.now }
    return { _tag: "Done", record: { kind: "Tool", step, number, value } }
  }

  get stored(): ReadonlyArray<Records.Stored> {
    return this.log
  }
}

/** An effect in words. */
const told = (effect: Engine.Effect): string => {
  switch (effect._tag) {
    case "Append":
      return `append ${[...effect.records.map(({ name }) => name), ...effect.events.map(({ type }) => type)].join(" ")}`
    case "Live":
      return effect.event.type
    case "Start":
      return `start ${effect.command._tag} ${effect.command.number}`
    case "Sleep":
      return `sleep ${effect.leftMs}`
    case "Observe":
      return `observe ${effect.kind}`
    case "Sealed":
      return `sealed ${effect.end.status}`
    default:
      return effect._tag
  }
}

const APPENDED: Engine.Input = { _tag: "Appended" }

describe("a turn that is stepped", () => {
  it("rule D5: a failure and its decision are one append; the wait is announced when it is on disk", () => {
    const turn = new Stepped()
    assert.deepStrictEqual(turn.take(BEGIN), ["Repeat", "step-start", "start Call 0"])
    assert.deepStrictEqual(turn.take(turn.failed()), ["append step/0/attempt/0 step/0/decision/0"])
    assert.deepStrictEqual(turn.take(APPENDED), ["provider-retry", "sleep 5000"])
    turn.now = 5_000
    assert.deepStrictEqual(turn.take({ _tag: "Due" }), ["append step/0/sleep/0"])
    assert.deepStrictEqual(turn.take(APPENDED), ["start Call 1"])
  })

  it("rule X2: content leaves when its mark is on disk, and an answer is sealed in one append", () => {
    const turn = new Stepped()
    turn.take(BEGIN)
    assert.deepStrictEqual(turn.take({ _tag: "FirstContent" }), ["append step/0/attempt/0/content"])
    assert.deepStrictEqual(turn.take(APPENDED), ["Release"])
    assert.deepStrictEqual(turn.take(turn.answered()), ["append step/0/attempt/0 message turn-end"])
    assert.deepStrictEqual(turn.take(APPENDED), ["sealed completed"])
    assert.deepStrictEqual(turn.take(ABORT), [], "a sealed turn stays as it is")
  })

  it("rule A1: a call is made while its route is not on disk, a router asked while the failure is not, and all are one append", () => {
    const turn = new Stepped({ hasRouter: true })
    assert.deepStrictEqual(turn.take(BEGIN), ["Repeat", "start Route 0"])
    const route = { target: { provider: "other", model: "m" }, role: "r" }
    const begun = { kind: "Route", step: 0, number: 0, value: { route: { target: facts.target } } } as const
    assert.deepStrictEqual(turn.take({ _tag: "Done", record: begun }), ["step-start", "start Call 0"])
    assert.deepStrictEqual(turn.take(turn.failed()), ["start Decide 0"])
    const value = { _tag: "Retry", attempt: 0, delayMs: 0, retryAt: 0, route } as const
    assert.deepStrictEqual(turn.take({ _tag: "Done", record: { kind: "Decision", step: 0, number: 0, value } }), [
      "append step/0/route step/0/attempt/0 step/0/decision/0"
    ])
    assert.deepStrictEqual(turn.take(APPENDED), ["provider-retry", "append retry-fallback-applied model-change"])
    assert.deepStrictEqual(turn.take(APPENDED), ["start Call 1"])
  })

  it("rule X2: content waits for the append of its route and its mark; a failure after it is on disk before a router is asked", () => {
    const { service } = new TestStrategy.TestStrategy({ delays: [5_000], midStream: () => "discard" })
    const turn = new Stepped({ hasRouter: true, strategy: service })
    const value = { route: { target: facts.target } }
    turn.take(BEGIN, { _tag: "Done", record: { kind: "Route", step: 0, number: 0, value } })
    assert.deepStrictEqual(turn.take({ _tag: "FirstContent" }), ["append step/0/route step/0/attempt/0/content"])
    assert.deepStrictEqual(turn.take(APPENDED), ["Release"])
    const content = [{ type: "text", text: "Hel" }] as const
    const shown = { content, failure: overloaded, contentSeen: true, spread: 0.5, endedAt: 0 }
    assert.deepStrictEqual(turn.take(turn.attempt({ _tag: "Failed", ...shown })), ["append step/0/attempt/0"])
    assert.deepStrictEqual(turn.take(APPENDED), ["start Decide 0"])
  })

  it("rule P19: a failed summary is on disk before a router is asked; without a compactor there is none", () => {
    const turn = new Stepped({ hasRouter: true, hasCompactor: true })
    const value = { route: { target: facts.target } }
    turn.take(BEGIN, { _tag: "Done", record: { kind: "Route", step: 0, number: 0, value } })
    turn.take(turn.failed({ ...overloaded, reason: "context-overflow", retryable: false }))
    assert.deepStrictEqual(turn.take(APPENDED), ["start Compact 1"])
    const failed = { _tag: "Failed", failure: overloaded, spread: 0.5, endedAt: 0 } as const
    const summary = { kind: "Compaction", step: 0, number: 1, value: failed } as const
    assert.deepStrictEqual(turn.take({ _tag: "Done", record: summary }), ["append step/0/compaction/1"])
    assert.deepStrictEqual(turn.take(APPENDED), ["start Decide 1"])
    const without = new Stepped()
    without.take(BEGIN)
    assert.deepStrictEqual(without.take(without.failed({ ...overloaded, reason: "context-overflow" })), [
      "append step/0/attempt/0 step/0/decision/0 message error turn-end"
    ])
  })

  it("rule D8: an abort while a router is asked keeps the failure before it", () => {
    const turn = new Stepped({ hasRouter: true })
    turn.take(BEGIN, {
      _tag: "Done",
      record: { kind: "Route", step: 0, number: 0, value: { route: { target: facts.target } } }
    })
    assert.deepStrictEqual(turn.take(turn.failed()), ["start Decide 0"])
    assert.deepStrictEqual(turn.take(ABORT), ["append step/0/route step/0/attempt/0 message turn-end"])
  })

  it("rule X8: tool calls begin together, and run when that is on disk", () => {
    const turn = new Stepped()
    turn.take(BEGIN)
    assert.deepStrictEqual(turn.take(turn.answered(call("a"), call("b"))), [
      "append step/0/attempt/0 step/0/tool/0/begun step/0/tool/1/begun tool-call tool-call message"
    ])
    assert.deepStrictEqual(turn.take(APPENDED), ["start RunTool 0", "start RunTool 1"])
    assert.deepStrictEqual(turn.take(turn.tool(1)), ["append step/0/tool/1"])
    assert.deepStrictEqual(turn.take(turn.tool(0)), [], "one append is open at most")
    assert.deepStrictEqual(turn.take(APPENDED), ["append step/0/tool/0 tool-result tool-result message"])
    assert.deepStrictEqual(turn.take(APPENDED), ["step-start", "start Call 0"])
    // A tool that needs approval now needed none when it began.
    const definitions = [{ name: "a", inputSchema: {}, confirmWithinMs: 5_000 }]
    const life = (life: string) => {
      const other = new Stepped({ life, toolbox: { definitions } })
      other.take({
        _tag: "Begin",
        known: turn.stored.slice(0, 3),
        persisted: [...ACCEPTED, "tool-call", "tool-call", "message"]
      })
      return other.state.open.map((command) => command._tag === "RunTool" && command.begun)
    }
    assert.deepStrictEqual(life("l2"), [{ life: "l1" }, { life: "l1" }])
  })

  it("Engine.E2: a cut takes effect when the open append is on disk, and drops what comes after it", () => {
    const turn = new Stepped()
    turn.take(BEGIN)
    turn.take(turn.failed())
    assert.deepStrictEqual(turn.take(ABORT), [])
    assert.deepStrictEqual(turn.take({ ...ABORT, status: "failed" }), [], "the first cut counts")
    assert.deepStrictEqual(turn.take(APPENDED), ["append retry-end message turn-end"])
    assert.deepStrictEqual(turn.take(APPENDED), ["sealed aborted"])
    const other = new Stepped()
    other.take(BEGIN)
    const late = other.answered()
    const said = { content: [{ type: "text", text: "Hel" }] } as const
    assert.deepStrictEqual(other.take({ ...ABORT, said }), ["append message turn-end"])
    const [append] = other.effects
    const message = append?._tag === "Append" && append.events[0]?.type === "message" && append.events[0].message
    assert.deepStrictEqual(message && message.content, said.content)
    assert.deepStrictEqual(other.take(late), [])
    assert.deepStrictEqual(other.take(APPENDED), ["sealed aborted"])
  })

  it("rule D8: an abort before the first call makes none", () => {
    const turn = new Stepped()
    assert.deepStrictEqual(turn.take(ABORT), ["append turn-start message message turn-end"])
    assert.strictEqual(turn.state.ledger.tally.attempts, 0)
  })

  it("Engine.E3: a defect seals the turn as failed, once what is open is on disk", () => {
    const { service } = new TestStrategy.TestStrategy({ delays: [5_000] })
    const decide = () => {
      throw new Error("a bug")
    }
    const turn = new Stepped({ strategy: { ...service, decide } })
    turn.take(BEGIN)
    assert.deepStrictEqual(turn.take(turn.failed()), ["append step/0/attempt/0 message error turn-end"])
    const end = turn.take(APPENDED)
    assert.deepStrictEqual(end, ["sealed failed"])
    assert.deepInclude(turn.state.ledger.phase._tag === "Sealed" && turn.state.ledger.phase.end.error, {
      defect: true,
      retryable: false,
      message: "Holdfast failed: Error: a bug"
    })
  })

  it("Engine.E3, rule C10: a defect while the turn ends stops it, and writes nothing", () => {
    const { service } = new TestStrategy.TestStrategy({ delays: [5_000] })
    const bug = (): never => {
      throw new Error("a bug")
    }
    const stopped = ({ effects }: Stepped) => {
      const last = effects.at(-1)
      return (
        last?._tag === "Stop" && [effects.some(({ _tag }) => _tag === "Append"), last.error.defect, last.error.message]
      )
    }
    const STOPPED = [false, true, "Holdfast failed: Error: a bug"]
    const cutOff = new Stepped({
      toolbox: {
        get definitions() {
          return bug()
        }
      }
    })
    const { failure, status } = ABORT
    cutOff.take({ ...BEGIN, cut: { status, failure } })
    assert.deepStrictEqual(stopped(cutOff), STOPPED)
    // The defect comes back while its own end is made.
    const again = new Stepped({ strategy: { ...service, decide: bug }, observer: { decision: bug } })
    again.take(BEGIN)
    Object.defineProperty(again.state.setup.observer, "event", { get: bug })
    again.take(again.failed())
    assert.deepStrictEqual(stopped(again), STOPPED)
    // It is sealed on disk, and cannot be cut off.
    const sealed = new Stepped({
      observer: {
        get seal() {
          return bug()
        }
      }
    })
    sealed.take(BEGIN, { _tag: "FirstContent" }, APPENDED)
    sealed.take(sealed.answered())
    sealed.take(APPENDED)
    assert.deepStrictEqual(stopped(sealed), STOPPED)
  })

  it("stops when its log refuses an append, and for good", () => {
    const turn = new Stepped()
    turn.take(BEGIN)
    turn.take(turn.failed())
    const error = new TurnStopped({ message: "the disk is gone" })
    assert.deepStrictEqual(turn.take({ _tag: "Refused", error }), ["Stop"])
    assert.deepStrictEqual(turn.take(ABORT), ["Stop"])
    assert.deepInclude(turn.effects[0], { error })
  })

  it("rule C10: stops with a defect where its records or its events contradict it", () => {
    const stopped = (input: Partial<Extract<Engine.Input, { _tag: "Begin" }>>) => {
      const turn = new Stepped()
      turn.take({ _tag: "Begin", known: [], persisted: ACCEPTED, ...input })
      const last = turn.effects.at(-1)
      return last?._tag === "Stop" ? [last.error.defect, last.error.message] : []
    }
    assert.deepStrictEqual(stopped({}), [])
    assert.deepStrictEqual(stopped({ known: [{ name: "of another engine", value: "1" }] }), [])
    assert.deepStrictEqual(stopped({ known: [{ name: "step/0/attempt/0", value: "{" }] }), [
      true,
      "The journal cannot be followed: the record step/0/attempt/0 cannot be read."
    ])
    assert.isTrue(stopped({ known: [{ name: "step/0/decision/3", value: '{"_tag":"GiveUp","because":"defect"}' }] })[0])
    assert.deepStrictEqual(stopped({ persisted: ["turn-start", "usage"] }), [
      true,
      "Turn t diverged from its journal; what is on disk was left as it is."
    ])
  })

  it("rule X4: a command that does not fit, or comes without a sleep, changes nothing", () => {
    const turn = new Stepped()
    const by = { commandId: "k", origin: "a test" }
    const now: Engine.Input = { _tag: "Steered", wake: { type: "now", by } }
    turn.take(BEGIN)
    const unchanged = (input: Engine.Input) => {
      const { state } = turn
      assert.deepStrictEqual(turn.take(input), [])
      assert.deepStrictEqual(turn.state, state)
    }
    unchanged(now)
    unchanged({ _tag: "Due" })
    turn.take(turn.failed(badGateway))
    unchanged(now)
    turn.take(APPENDED)
    unchanged({ _tag: "Steered", wake: { type: "answered", toolCallId: "c", approved: true, by } })
    assert.deepStrictEqual(turn.take({ _tag: "Steered", wake: { type: "until", until: 7_000, by } }), [
      "append step/0/sleep/0"
    ])
    assert.deepStrictEqual(turn.take(APPENDED), ["provider-retry", "sleep 7000"])
    assert.deepStrictEqual(turn.take(now), ["append step/0/sleep/0/1"])
    assert.deepStrictEqual(turn.take(APPENDED), ["start Call 1"])
  })

  it("rule X4: a wait or a question whose end is moved to before its beginning has no length left", () => {
    const moved: Engine.Input = {
      _tag: "Steered",
      wake: { type: "until", until: -1, by: { commandId: "k", origin: "a test" } }
    }
    const unchanged = { retryAt: -1, delayMs: 0 }
    const waiting = new Stepped()
    waiting.take(BEGIN)
    waiting.take(waiting.failed(), APPENDED)
    assert.deepStrictEqual(waiting.take(moved, APPENDED), ["provider-retry", "sleep 0"])
    const [retry] = waiting.effects
    assert.deepInclude(retry?._tag === "Live" && retry.event, unchanged)
    const asking = new Stepped({
      toolbox: { definitions: [{ name: "send", inputSchema: {}, confirmWithinMs: 5_000 }] }
    })
    asking.take(BEGIN)
    asking.take(asking.answered(call("send")))
    assert.deepStrictEqual(asking.take(APPENDED), ["provider-retry", "sleep 5000"])
    assert.deepStrictEqual(asking.take(moved, APPENDED), ["provider-retry", "sleep 0"])
    const [question] = asking.effects
    assert.deepInclude(question?._tag === "Live" && question.event, unchanged)
  })

  it("rule A16: a clock that was set back makes no time of a turn negative", () => {
    const asked: Array<number> = []
    const ask = ({ waitedMs }: RetryStrategy.Outlook) => void asked.push(waitedMs)
    const strategy = new TestStrategy.TestStrategy({ delays: [5_000], ask }).service
    const turn = new Stepped({ observer: { seal: () => {} }, strategy })
    turn.now = 60_000
    turn.take(BEGIN)
    turn.take(turn.failed(), APPENDED)
    turn.now = 1_000
    turn.take({ _tag: "Due" }, APPENDED)
    turn.take(turn.answered())
    turn.take(APPENDED)
    const [seal] = turn.effects
    const observed = seal?._tag === "Observe" && seal.kind === "seal" ? seal.observation : undefined
    assert.deepInclude(observed, { retryLoopMs: 0 })
    assert.deepStrictEqual(asked, [0])
    assert.deepInclude(observed?.end, { waitedMs: 0, sleptMs: 5_000 })
  })

  it("Engine.E2: an answer of the log without an append, and content without a call, change nothing", () => {
    const turn = new Stepped({ hasCompactor: true })
    turn.take(BEGIN)
    const unchanged = (input: Engine.Input) => {
      const { state } = turn
      assert.deepStrictEqual(turn.take(input), [])
      assert.deepStrictEqual(turn.state, state)
    }
    unchanged(APPENDED)
    turn.take(turn.failed(), APPENDED)
    unchanged(APPENDED)
    unchanged({ _tag: "FirstContent" })
    turn.take({ _tag: "Due" }, APPENDED)
    turn.take(turn.failed({ ...overloaded, reason: "context-overflow" }), APPENDED)
    unchanged({ _tag: "FirstContent" })
  })

  it("rule D5, X1: a wait of an earlier life is announced while it lasts, and its rest is slept", () => {
    const turn = new Stepped()
    turn.take(BEGIN)
    turn.take(turn.failed(), APPENDED)
    const at = (now: number) => {
      const other = new Stepped({ life: "l2" })
      other.now = now
      return other.take({ ...BEGIN, known: turn.stored })
    }
    assert.deepStrictEqual(at(1_000), ["Repeat", "provider-retry", "sleep 4000"])
    assert.deepStrictEqual(at(5_000), ["Repeat", "provider-retry", "sleep 0"])
    assert.deepStrictEqual(at(5_001), ["Repeat", "sleep 0"])
    // The clock was set back.
    assert.deepStrictEqual(at(-60_000), ["Repeat", "provider-retry", "sleep 5000"])
  })

  it("rule A16: the last of the tool calls to end is observed as the last, on disk or not", () => {
    const observer = { tool: () => {} }
    const running = (turn: Stepped, ...inputs: ReadonlyArray<Engine.Input>) =>
      inputs.map((input) => {
        turn.take(input)
        const [effect] = turn.effects
        return effect?._tag === "Observe" && effect.kind === "tool" ? effect.observation.othersRunning : undefined
      })
    const stepped = (setup: Partial<Engine.Setup>) => {
      const turn = new Stepped({ observer, ...setup })
      turn.take(BEGIN)
      if (setup.memo !== undefined) turn.take(APPENDED)
      turn.take(turn.answered(call("a"), call("b"), call("c")), APPENDED)
      return turn
    }
    const logged = stepped({})
    assert.deepStrictEqual(running(logged, logged.tool(1), logged.tool(2), logged.tool(0)), [2, 1, 0])
    const memo = stepped({ memo: {} })
    const commands = memo.state.open
    for (const command of commands) memo.take({ _tag: "Performs", command })
    const performed = (number: number): Engine.Input => {
      const done = memo.tool(number)
      return done._tag === "Done" ? { _tag: "Performed", record: done.record } : done
    }
    assert.deepStrictEqual(running(memo, performed(1), performed(2), memo.tool(2), performed(0)), [2, 1, undefined, 0])
    // The calls of the next step are others.
    memo.take(memo.tool(0), memo.tool(1), APPENDED, APPENDED, APPENDED)
    memo.take(memo.answered(call("a"), call("b")), APPENDED)
    const [first] = memo.state.open
    if (first !== undefined) memo.take({ _tag: "Performs", command: first })
    assert.deepStrictEqual(running(memo, performed(0)), [1])
  })

  it("rule P18: events of earlier lives are observed in their steps, where they are persisted again", () => {
    const earlier = new Stepped()
    earlier.take(BEGIN)
    earlier.take(earlier.answered(call("a"), call("b")), APPENDED)
    for (const number of [0, 1]) earlier.take(earlier.tool(number), APPENDED)
    const turn = new Stepped({ memo: {}, observer: { event: () => {} } })
    turn.take({ _tag: "Begin", known: earlier.stored, persisted: [] })
    const observed: Array<readonly [string, number]> = []
    while (turn.state.pending !== undefined) {
      turn.take(APPENDED)
      for (const effect of turn.effects)
        if (effect._tag === "Observe" && effect.kind === "event")
          observed.push([effect.observation.event.type, effect.observation.step])
    }
    assert.deepStrictEqual(observed.slice(ACCEPTED.length), [
      ["tool-call", 0],
      ["tool-call", 0],
      ["message", 0],
      ["tool-result", 0],
      // That of the last call comes with the end of the step.
      ["tool-result", 1],
      ["message", 1]
    ])
  })

  it("rule A16: a call that its process gives up is observed as interrupted", () => {
    const turn = new Stepped({ observer: { attempt: () => {} } })
    turn.take(BEGIN)
    turn.now = 70
    assert.deepStrictEqual(turn.take({ _tag: "Released" }), ["observe attempt"])
    assert.deepInclude(turn.effects[0]?._tag === "Observe" && turn.effects[0].observation, {
      startedAt: 0,
      outcome: { _tag: "Interrupted", endedAt: 70 }
    })
    assert.deepStrictEqual(turn.take({ _tag: "Released" }), [])
  })
})
