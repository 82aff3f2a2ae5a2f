/**
 * Runs a turn by `Machine` alone, over a list of generated choices.
 *
 * PureTurn.W1. The world that performs the commands is pure: the same facts, offers and choices lead to the same records. After the last
 *     choice it takes the shortest way to the seal.
 * PureTurn.W2. All inputs of the machine are frozen, so that a mutation throws.
 */
import { defined, type Failure, Ids, type Message } from "@holdfast/wire"
import * as Directive from "../src/turn/Directive.ts"
import * as Machine from "../src/turn/Machine.ts"
import * as Records from "../src/records/Records.ts"
import type { ToolDefinition } from "../src/ports/Toolbox.ts"

/** One record, and the command that it ends. */
interface Entry {
  /** Before the record, with an empty outbox. */
  readonly ledger: Machine.Ledger
  readonly offers: Machine.Offers
  readonly emissions: ReadonlyArray<Machine.Emission>
  readonly commands: ReadonlyArray<Machine.Command>
  /** The command of the record; absent: an abort. */
  readonly command: Machine.Command | undefined
  readonly record: Records.TurnRecord
  /** The name of the record. */
  readonly name: string
}

/** A turn from its start to its seal. */
export interface PureRun {
  readonly start: Machine.Ledger
  readonly entries: ReadonlyArray<Entry>
  /** The sealed turn, with an empty outbox. */
  readonly end: Machine.Ledger
  /** All emissions, in order. */
  readonly emissions: ReadonlyArray<Machine.Emission>
}

/** The input of a generated turn. */
export interface Options {
  readonly facts: Machine.TurnFacts
  readonly offers: Machine.Offers
  /** Each number decides one event, by its remainder. */
  readonly choices: ReadonlyArray<number>
  /** `false`: its offers may change between lives, and it may be aborted. */
  readonly isSteady: boolean
}

/** Plays a turn to its seal. */
export const play = ({ choices, facts, isSteady, offers: first }: Options): PureRun => {
  const world = new World(choices)
  const start = frozen(Machine.start(frozen(facts)))
  const entries: Array<Entry> = []
  const emissions: Array<Machine.Emission> = []
  let offers = first
  for (let ledger = start; ;) {
    if (!isSteady && world.choose(12) === 11) offers = world.otherThan(offers)
    const next = Machine.next(ledger, frozen(offers))
    emissions.push(...next.emissions)
    const before = frozen(next.ledger)
    if (next.commands.length === 0) return { start, entries, end: before, emissions }
    if (entries.length > MOST_RECORDS) throw new Error("the turn does not come to its seal")
    const command = next.commands[world.choose(next.commands.length)]
    const isAborted = command === undefined || (!isSteady && world.choose(30) === 29)
    const record = frozen(isAborted ? world.abort(before) : world.perform(command, before))
    const part = command !== undefined && "part" in command && record.kind === "Wake" ? command.part : 0
    entries.push({
      ledger: before,
      offers,
      emissions: next.emissions,
      commands: next.commands,
      command: isAborted ? undefined : command,
      record,
      name: Records.nameOf(record.kind, record.step, record.number, part)
    })
    ledger = frozen(Machine.evolve(before, record))
  }
}

/** Freezes a value deeply. */
export const frozen = <A>(value: A): A => {
  if (typeof value !== "object" || value === null || Object.isFrozen(value)) return value
  if (value instanceof Map) {
    for (const method of ["set", "delete", "clear"]) Object.defineProperty(value, method, { value: refuse })
    for (const inner of value.values()) frozen(inner)
  }
  Object.freeze(value)
  for (const inner of Object.values(value)) frozen(inner)
  return value
}

/** The tools that a model calls, besides the report's; `d` needs approval. */
export const TOOLS: ReadonlyArray<ToolDefinition> = [
  ...["a", "b", "c"].map((name) => ({ name, inputSchema: {} })),
  { name: "d", inputSchema: {}, confirmWithinMs: 5_000 }
]

/** The same after a change of the configuration: none needs approval. */
const UNCONFIRMED = TOOLS.map(({ inputSchema, name }) => ({ name, inputSchema }))

/** The report's tool. */
export const REPORT = "report"

// --- internal

const refuse = () => {
  throw new Error("a map was changed that is part of a ledger or of a record")
}

/** Far more than any list of choices produces. */
const MOST_RECORDS = 400

const OTHER = { provider: "other", model: "big" }

const failureOf = (reason: Failure.Reason, more: Partial<Failure.Failure> = {}): Failure.Failure => ({
  reason,
  message: `It was ${reason}.`,
  retryable: true,
  ...more
})

type Record = Records.TurnRecord

class World {
  private now = 0
  private taken = 0
  private readonly choices: ReadonlyArray<number>

  constructor(choices: ReadonlyArray<number>) {
    this.choices = choices
  }

  /** One of the first `of` numbers; 0 once there are no more choices. */
  choose(of: number): number {
    return (this.choices[this.taken++] ?? 0) % of
  }

  otherThan(offers: Machine.Offers): Machine.Offers {
    const keys = ["hasRouter", "hasStrategy", "hasCompactor"] as const
    const key = keys[this.choose(4)]
    if (key === undefined) return { ...offers, tools: offers.tools === TOOLS ? UNCONFIRMED : TOOLS }
    return { ...offers, [key]: !offers[key] }
  }

  /** Time passes; now and then the clock is set back. */
  private get at(): number {
    const passed = this.choose(9)
    this.now = passed === 8 ? Math.max(0, this.now - 3_000) : this.now + (passed % 4) * 500
    return this.now
  }

  abort({ phase }: Machine.Ledger): Record {
    const isCalling = phase._tag === "Calling" || phase._tag === "Entering"
    const said = isCalling && this.choose(2) === 1 ? { said: { content: text("Hel"), usage: USAGE } } : undefined
    const failure = failureOf("aborted", { retryable: false })
    const status = this.choose(2) === 0 ? ("aborted" as const) : ("failed" as const)
    const value = { at: this.at, cut: { failure, status, ...said, ...(said && { called: true as const }) } }
    return { kind: "Seal", step: 0, number: 0, value }
  }

  /** The record that a command ends in, or a mark while it is under way. */
  perform(command: Machine.Command, ledger: Machine.Ledger): Record {
    const { number, step } = command
    switch (command._tag) {
      case "Final":
        return { kind: "Final", step, number, value: { cause: command.cause, at: this.at } }
      case "Route":
        return { kind: "Route", step, number, value: this.beginning(command, ledger) }
      case "Call": {
        // After its mark a call has died with its process, or continues in the same life.
        if (command.isLost && this.choose(2) === 0)
          return { kind: "Attempt", step, number, value: { _tag: "Lost", endedAt: this.at } }
        if (!command.isLost && this.choose(5) === 4) return { kind: "Content", step, number, value: true }
        return { kind: "Attempt", step, number, value: this.outcome(command) }
      }
      case "Decide":
        return { kind: "Decision", step, number, value: this.directive(command) }
      case "Wait":
        return { kind: "Wake", step, number, value: this.wake(command) }
      case "Ask":
        return { kind: "Wake", step, number, value: this.answer(command) }
      case "RunTool":
        if (command.approval?.refusal !== undefined) {
          const value = { output: command.approval.refusal, isError: true, endedAt: this.at }
          return { kind: "Tool", step, number, value }
        }
        if (command.begun === undefined && this.choose(2) === 1)
          return { kind: "Begun", step, number, value: { life: "l1" } }
        return {
          kind: "Tool",
          step,
          number,
          value: {
            output: `of ${command.call.toolCallId}`,
            // A rejected report in the last step is a failed attempt.
            isError: command.isOffered && this.choose(3) === 2,
            endedAt: this.at
          }
        }
      case "Compact":
        return { kind: "Compaction", step, number, value: this.compaction(command) }
      case "Seal": {
        const cut = command.cut && { cut: { failure: command.cut, status: "failed" as const } }
        return { kind: "Seal", step: 0, number, value: { at: this.at, ...cut } }
      }
      default:
        return command satisfies never
    }
  }

  private beginning(
    { from, question }: Extract<Machine.Command, { _tag: "Route" }>,
    { routing }: Machine.Ledger
  ): Records.Beginning {
    const routes = [
      routing.route,
      { target: routing.primary },
      { target: OTHER, role: "r" },
      { target: OTHER, credential: "k" }
    ]
    const route = (question === undefined ? undefined : routes[this.choose(4)]) ?? routing.route
    return {
      route,
      ...defined({ from }),
      ...(this.choose(2) === 1 ? { state: this.choose(9) } : undefined)
    }
  }

  private outcome({ isJudged, request }: Extract<Machine.Command, { _tag: "Call" }>): Records.AttemptOutcome {
    const usage = this.choose(2) === 1 ? { usage: USAGE } : undefined // it is content
    const failed = (failure: Failure.Failure, more: Partial<Failed> = {}): Failed => ({
      _tag: "Failed",
      content: [],
      contentSeen: false,
      failure,
      spread: 0.5,
      endedAt: this.at,
      ...(more.content === undefined ? undefined : usage),
      ...more
    })
    switch (this.choose(14)) {
      case 1:
      case 2:
      case 8:
      case 9: {
        const names = request.tools.map(({ name }) => name)
        if (names.length === 0) break
        const calls = Array.from({ length: 1 + this.choose(3) }, (_, i): Message.ToolCallPart => {
          const toolName = names[this.choose(names.length)] ?? "a"
          const toolCallId = `call-${request.step}-${request.attempt}-${i}`
          return { type: "tool-call", toolCallId, toolName, input: { i } }
        })
        const content = [...text("I look."), ...calls]
        return { _tag: "Completed", content, finishReason: "tool-calls", endedAt: this.at, ...usage }
      }
      case 3:
        return failed(failureOf("overloaded"), this.choose(2) === 1 ? { body: "<html>" } : {})
      case 4:
        return failed(failureOf("network"), {
          content: text("Hel"),
          contentSeen: true,
          ...(this.choose(2) === 1 ? { unseen: true as const } : undefined)
        })
      case 5:
      case 12:
      case 13:
        return failed(failureOf("context-overflow", { retryable: false }))
      case 6:
      case 10:
      case 11:
        return isJudged
          ? failed(failureOf("invalid-response"), {
              content: text("words"),
              whole: true,
              ...(this.choose(2) === 1 ? { report: "invalid" as const } : undefined)
            })
          : failed(failureOf("rate-limited", { shared: true }))
      case 7:
        return failed(failureOf("unknown", { defect: true }), { body: true })
      default:
    }
    return { _tag: "Completed", content: text('{"ok":1}'), finishReason: "stop", endedAt: this.at, ...usage }
  }

  private directive({ question, situation }: Extract<Machine.Command, { _tag: "Decide" }>): Records.Directive {
    return Directive.marked(this.decided(question, situation), situation)
  }

  private decided(question: unknown, situation: Omit<Directive.Situation, "now">): Records.Directive {
    const choice = this.choose(8)
    const { interrupted } = situation
    if (interrupted !== undefined && Directive.isResumed(situation)) {
      const { midStream: _, ...wait } = interrupted
      return { ...wait, since: this.at, resumes: true }
    }
    // A failure that no route can help is never retried.
    if (choice === 0 || !Directive.isRoutable(situation))
      return { _tag: "GiveUp", because: this.choose(4) === 3 ? "not-retryable" : "exhausted" }
    const delayMs = choice === 1 ? 0 : choice * 1_000
    const target = this.choose(2) === 0 ? OTHER : { provider: "test", model: "model" }
    const route = question !== undefined && this.choose(2) === 1 ? { route: { target, role: "r" } } : undefined
    const state = this.choose(2) === 1 ? { state: { n: situation.retries } } : undefined
    return { _tag: "Retry", attempt: situation.retries, delayMs, retryAt: this.at + delayMs, ...route, ...state }
  }

  private wake({ outlook, wait }: Extract<Machine.Command, { _tag: "Wait" }>): Records.Wake {
    const by = { by: { commandId: `k${this.taken}`, origin: "a test" } }
    const at = this.at
    switch (this.choose(9)) {
      case 1:
        return { type: "until", until: at + 1_000 * this.choose(5), at, ...by }
      case 2:
        return { type: "extended", byMs: 700, at, ...by }
      case 3:
        return outlook === undefined
          ? { type: "now", at, ...by }
          : { type: "asked", until: at + 5_000, asks: { ...this.asks, waitedMs: outlook(1).waitedMs }, at }
      case 4:
        return { type: "now", at, early: true }
      case 5:
        return { type: "cancelled", at, ...by }
      case 6:
        return {
          type: "switched",
          target: this.choose(2) === 0 ? OTHER : { provider: "test", model: "small" },
          at,
          ...by
        }
      case 7:
        // As versions without `at` wrote it.
        return { type: "elapsed" }
      default:
        this.now = Math.max(at, wait.retryAt)
        return { type: "elapsed", at: this.now }
    }
  }

  /** A question; the turn goes on without an answer to some. */
  private get asks() {
    return this.taken % 3 === 0 ? { ...ASKS, goesOn: true as const } : ASKS
  }

  private answer({ asks, event, withinMs }: Extract<Machine.Command, { _tag: "Ask" }>): Records.Wake {
    const by = { by: { commandId: `k${this.taken}`, origin: "a test" } }
    const { calls = [] } = asks
    const toolCallId = calls[this.choose(calls.length)]?.toolCallId ?? ""
    const at = this.at
    // Now and then as versions without `at` wrote it.
    if (event === undefined) return { type: "asked", asks, until: at + withinMs, ...(at % 1_000 === 0 ? { at } : {}) }
    switch (this.choose(8)) {
      case 1:
      case 2:
      case 3:
        return { type: "answered", toolCallId, approved: true, at, ...by }
      case 4:
        return { type: "answered", toolCallId, approved: false, reason: "No.", at, ...by }
      case 5:
        return { type: "until", until: at + 1_000 * this.choose(5), at, ...by }
      case 6:
        return { type: "cancelled", at, ...by }
      case 7:
        // As a host that does not know questions might record it.
        return { type: "now", at, ...by }
      default:
        this.now = Math.max(at, event.retryAt)
        return { type: "elapsed", at: this.now }
    }
  }

  private compaction({ request }: Extract<Machine.Command, { _tag: "Compact" }>): Records.CompactionOutcome {
    const last = request.messages.at(-2)
    switch (this.choose(6)) {
      case 1:
        return { _tag: "Nothing", failure: failureOf("context-overflow", { retryable: false }), endedAt: this.at }
      case 2:
      case 3:
        return { _tag: "Failed", failure: failureOf("overloaded"), spread: 0.5, endedAt: this.at }
      case 0:
        break
      default:
        if (last !== undefined) {
          return { _tag: "Compacted", summary: "They talked.", upTo: last.id, usage: USAGE, endedAt: this.at }
        }
    }
    return { _tag: "Nothing", endedAt: this.at }
  }
}

type Failed = Extract<Records.AttemptOutcome, { _tag: "Failed" }>

const USAGE = { inputTokens: 10, outputTokens: 1 }

const ASKS = { because: "request", tokens: 9, limit: 1, message: "May it go on?" } as const

const text = (said: string): ReadonlyArray<Message.TextPart> => [{ type: "text", text: said }]

/** The conversation of every generated turn. */
export const conversationId = Ids.ConversationId.make("c1")
/** The id of every generated turn. */
export const turnId = Ids.TurnId.make("t1")
