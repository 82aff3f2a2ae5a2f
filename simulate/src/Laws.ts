/**
 * What must hold in every night, checked while it passes and at its end. Each law is named by its rule (tools/src/RuleBook.ts).
 *
 * The laws read what the providers, the people and the disk have seen, and nothing in the memory of the service.
 */
import type { Disk } from "./Disk.ts"
import type { RetryPolicy } from "@holdfast/policy"
import { type Call, callsIn, promptsIn } from "./Network.ts"
import type { Process } from "./World.ts"

/** A law that was broken. */
export interface Broken {
  readonly law: string
  readonly what: string
}

/** A record of a turn, with its value as far as the laws read it. */
interface Stored {
  readonly name: string
  readonly value: string
}

/** The parts of record values that the laws read. */
interface Value {
  readonly _tag?: string
  readonly type?: string
  readonly retryAt?: number
  readonly until?: number
  readonly delayMs?: number
  readonly attempt?: number
  readonly at?: number
  readonly heldMs?: number
  readonly failure?: { readonly shared?: boolean }
  /** What a decision is made of. */
  readonly basis?: { readonly delayMs?: number; readonly scheduledMs?: number; readonly hintMs?: number }
}

/** What a runner has appended to a turn. */
interface Written {
  readonly turnId: string
  readonly seq: number
  readonly records: ReadonlyArray<unknown>
  readonly events: ReadonlyArray<{ readonly type: string }>
}

/** The turn of a call that the gateway holds. */
export interface Held {
  readonly turn: string
  readonly conversation: string
  /** The id of its last event; `null`: it is not sealed. */
  readonly end: number | null
}

/** An event of the log. */
export interface Logged {
  readonly id: number
  readonly turn: string
  readonly json: string
}

/** A limit of spending, as the configuration has it. */
export interface SpendLimit {
  readonly per: "turn" | "conversation"
  readonly tokens: number
  readonly then: "fail"
}

/** The end of a wait, by the records. */
export interface Waited {
  readonly begunAt: number
  /** When its time had come. */
  readonly end: number
  /** How long the gate held the turn then. */
  readonly heldMs: number
  readonly by: string
}

export class Laws {
  broken: Broken | undefined
  /** Checks of each law. */
  readonly checks = new Map<string, number>()
  /** Turns whose clients know that they are on disk. */
  readonly acknowledged = new Set<string>()
  private readonly disk: Disk

  constructor(disk: Disk) {
    this.disk = disk
  }

  check(law: string, holds: boolean, what: () => string): void {
    this.checks.set(law, (this.checks.get(law) ?? 0) + 1)
    if (!holds) this.broken ??= { law, what: what() }
  }

  // --- of the disk

  records(turn: string): ReadonlyArray<Stored> {
    return this.disk.rows<Stored>(
      "SELECT j.name, j.value FROM journal j JOIN turns t ON t.number = j.turn WHERE t.turn_id = ? ORDER BY j.seq",
      turn
    )
  }

  /** Whether a turn is on disk, and whether it is sealed there. */
  stateOf(turn: string): "missing" | "unsealed" | "sealed" {
    const [row] = this.disk.rows<{ readonly end: number | null }>(
      "SELECT end_event_id AS end FROM turns WHERE turn_id = ?",
      turn
    )
    return row === undefined ? "missing" : row.end === null ? "unsealed" : "sealed"
  }

  /** The turn of a prompt, which its client has named or not; `undefined`: none is on disk. */
  turnOf(prompt: string): string | undefined {
    const turns = this.disk.rows<{ readonly turn: string }>(
      "SELECT turn_id AS turn FROM turns WHERE prompt = ?",
      textOf(prompt)
    )
    this.check("X4 a prompt is one turn", turns.length <= 1, () => `${prompt} is ${turns.length} turns`)
    return turns[0]?.turn
  }

  conversationOf(turn: string): string {
    const [row] = this.disk.rows<{ readonly id: string }>(
      "SELECT c.conversation_id AS id FROM turns t JOIN conversations c ON c.number = t.conversation WHERE t.turn_id = ?",
      turn
    )
    return row?.id ?? ""
  }

  /** The turn that a call is of. */
  turnOfCall(call: Pick<Call, "body">): string {
    return this.turnOf(promptsIn(call).at(-1) ?? "") ?? ""
  }

  /**
   * The turns of calls that the gateway holds, the newest last; of one program, if it is named. Behind `LIKE` SQLite prepares a statement
   * anew for each value of a bare parameter.
   */
  heldTurns(caller = "%"): ReadonlyArray<Held> {
    return this.disk.rows<Held>(
      `SELECT t.turn_id AS turn, c.conversation_id AS conversation, t.end_event_id AS end
       FROM turns t JOIN conversations c ON c.number = t.conversation
       WHERE c.conversation_id LIKE 'holdfast-call-%' AND t.prompt LIKE +? ORDER BY t.number`,
      `%-${caller}: %`
    )
  }

  /** Records that carry a command. */
  effectsOf(commandId: string): number {
    const [row] = this.disk.rows<{ readonly n: number }>(
      "SELECT count(*) AS n FROM journal WHERE instr(value, ?)",
      `"commandId":"${commandId}"`
    )
    return row?.n ?? 0
  }

  /** Turns whose records carry a command. */
  turnsOf(commandId: string): ReadonlyArray<string> {
    return this.disk
      .rows<{ readonly turn: string }>(
        "SELECT DISTINCT t.turn_id AS turn FROM journal j JOIN turns t ON t.number = j.turn WHERE instr(j.value, ?)",
        `"commandId":"${commandId}"`
      )
      .map(({ turn }) => turn)
  }

  /** Whether a person's approval of a tool call is on record. */
  isApproved(toolCallId: string): boolean {
    const [row] = this.disk.rows<{ readonly n: number }>(
      "SELECT count(*) AS n FROM journal WHERE instr(value, ?)",
      `"toolCallId":"${toolCallId}","approved":true`
    )
    return (row?.n ?? 0) > 0
  }

  /** Attempts whose outcome is on record: those that made a call, and whose process saw its end. */
  attemptsOf(turn: string): number {
    return this.records(turn).filter(({ name, value }) => {
      if (!ATTEMPT.test(name)) return false
      const { _tag, failure } = valueOf(value)
      return _tag !== "Lost" && failure?.shared !== true
    }).length
  }

  /** How the wait before the next attempt ended; `undefined`: the records have no wait there. */
  waitBefore(turn: string): Waited | undefined {
    let end: number | undefined
    let by: string | undefined
    let held = 0
    let begunAt = 0
    for (const { name, value } of this.records(turn)) {
      const { _tag, at = 0, delayMs = 0, heldMs = 0, retryAt, type, until } = valueOf(value)
      if (name.includes("/decision/")) {
        end = _tag === "Retry" ? retryAt : undefined
        begunAt = (end ?? 0) - delayMs
        by = undefined
      } else if (name.includes("/sleep/")) {
        if (type === "until") end = Math.max(until ?? 0, at)
        else if (type !== "extended") by = type
        held = heldMs
      } else if (ATTEMPT.test(name) || name.includes("/route")) {
        end = undefined
        by = undefined
      }
    }
    return end === undefined || by === undefined ? undefined : { begunAt, end, heldMs: held, by }
  }

  /** Whether the process of an attempt of a step died, or lost the turn: it is recorded so, or its content was to come and no outcome is there. */
  hasLost(turn: string, step: number): boolean {
    const records = this.records(turn).filter(({ name }) => name.startsWith(`step/${step}/attempt/`))
    const isLost = ({ name, value }: (typeof records)[number]) =>
      name.endsWith("/content")
        ? !records.some((other) => `${other.name}/content` === name)
        : valueOf(value)._tag === "Lost"
    return records.some(isLost)
  }

  /** When the wait ends that a turn is in, by its newest record; `undefined`: it is in none. */
  waitOf(turn: string): number | undefined {
    const newest = this.records(turn).at(-1)
    const { _tag, retryAt } = newest?.name.includes("/decision/") === true ? valueOf(newest.value) : {}
    return _tag === "Retry" ? retryAt : undefined
  }

  /**
   * A runner appends records; returns what is called when it has. Two that believe they run a turn may append the same: one of them is refused.
   * Records whose commit was stored and reported as failed are appended again, perhaps after the turn's end elsewhere.
   */
  writes(by: Process, { events, records, seq, turnId }: Written): () => void {
    const isStored = this.records(turnId).length >= seq + records.length
    return () => {
      for (const n of records.keys()) {
        const record = `${turnId}/${seq + n}`
        const other = this.writers.get(record) ?? by
        this.writers.set(record, by)
        this.check(
          "X6 a record is of one runner",
          other === by,
          () => `${record} is of ${other.name} and of ${by.name}`
        )
      }
      this.check(
        "X6 a sealed turn takes no record",
        isStored || events.at(-1)?.type === "turn-end" || this.stateOf(turnId) === "unsealed",
        () => `${by.name} appends to ${turnId}`
      )
    }
  }

  private readonly writers = new Map<string, Process>()

  /** A step begins below the limit of spending of its turn or conversation (X11). */
  spends(turn: string, { per, tokens }: SpendLimit): void {
    const records = this.records(turn)
    const begun = records.findLastIndex(({ name }) => name.endsWith("/route"))
    if (records.slice(begun + 1).some(({ name }) => ATTEMPT.test(name))) return
    const turns =
      per === "turn"
        ? [turn]
        : this.disk
            .rows<{ readonly id: string }>(
              `SELECT o.turn_id AS id FROM turns t JOIN turns o ON o.conversation = t.conversation WHERE t.turn_id = ?`,
              turn
            )
            .map(({ id }) => id)
    const answers = turns
      .flatMap((id) => this.records(id))
      .filter(({ name, value }) => ATTEMPT.test(name) && valueOf(value)._tag === "Completed")
    const spent = answers.length * TOKENS
    this.check(
      "X11 no step begins at a limit of spending",
      spent < tokens,
      () => `${turn} has spent ${spent} of ${tokens}`
    )
  }

  // --- at the end

  /** A step keeps the caps and the budget of its policies (D1, A2, P3). */
  limits(turn: string, policies: ReadonlyArray<RetryPolicy.RetryPolicy>): void {
    const records = this.records(turn).map(({ name, value }) => ({ name, ...valueOf(value) }))
    if (records.some(({ type }) => type === "extended")) return
    const most = Math.max(
      ...policies.map(({ counts, maxRetries = Infinity }) => maxRetries - (counts === "attempts" ? 1 : 0))
    )
    const longest = Math.max(...policies.map(({ maxDelayMs = 0 }) => (maxDelayMs > 0 ? maxDelayMs : Infinity)))
    const budget = Math.max(...policies.map(({ budget: { totalMs = Infinity } }) => totalMs))
    const isClipping = policies.some(({ budget: { clip } }) => clip)
    const steps = Map.groupBy(
      records.filter(({ _tag, name }) => name.includes("/decision/") && _tag === "Retry"),
      ({ name }) => name.split("/")[1]
    )
    for (const [step, decisions] of steps) {
      // After an early attempt by the gate a decision is about the same retry again (X5).
      const retries = Array.from(new Map(decisions.map((decision) => [decision.attempt, decision])).values())
      const slept = retries.reduce((sum, { delayMs = 0 }) => sum + delayMs, 0)
      const at = `step ${step} of ${turn}`
      const wait = retries.reduce((most, { delayMs = 0 }) => Math.max(most, delayMs), 0)
      const cut = retries.find(
        ({ basis: { delayMs = Infinity, hintMs, scheduledMs = 0 } = {} }) =>
          delayMs < (hintMs ?? scheduledMs) && !isClipping
      )
      this.check("D1 a wait that does not fit is refused", cut === undefined, () => `${at}: ${JSON.stringify(cut)}`)
      this.check("P6 no wait is longer than the longest", wait <= longest, () => `${at}: ${wait} ms of ${longest}`)
      this.check(
        "A2 the cap of retries holds",
        retries.length <= Math.max(0, most),
        () => `${at}: ${retries.length} of ${most}`
      )
      this.check("D1 the budget of waits holds", slept <= budget, () => `${at}: ${slept} ms of ${budget}`)
    }
  }

  /** The log of a conversation: turns one after the other, each sealed once. */
  log(conversation: string, events: ReadonlyArray<Logged>, calls: ReadonlyArray<Call>): void {
    const sealed = new Set<string>()
    const begun = new Set<string>()
    let open: string | undefined
    for (const [i, { id, json, turn }] of events.entries()) {
      const event = JSON.parse(json) as Event // written by the service's own encoder
      const at = () => `${conversation}, event ${id} (${event.type} of ${turn})`
      this.check("X3 ids count up", id === i + 1, () => `${at()} has not the number ${i + 1}`)
      this.check("a turn seals once", !sealed.has(turn), () => `${at()} follows the turn's end`)
      if (event.queued === true) {
        this.check("a cancelled turn has no other event", !begun.has(turn), () => `${at()} follows others of it`)
        sealed.add(turn)
        continue
      }
      this.check("C1 one turn at a time", open === undefined || open === turn, () => `${at()} stands inside ${open}`)
      if (event.type === "turn-start") {
        this.check("X3 a turn begins once", !begun.has(turn), () => `${at()} is its second`)
        begun.add(turn)
      }
      this.check("X3 a turn begins once", begun.has(turn), () => `${at()} precedes the turn's start`)
      open = event.type === "turn-end" ? undefined : turn
      if (event.type === "turn-end") sealed.add(turn)
      if (event.type === "message" && event.message?.role === "assistant") this.answer(at(), event, calls)
    }
  }

  /** A message has the words of one call, all of them unless the turn failed. */
  private answer(at: string, { message }: Event, calls: ReadonlyArray<Call>): void {
    const text = (message?.content ?? []).map((part) => part.text ?? "").join("")
    const said = Array.from(callsIn(text))
    this.check("D4 an answer is of one call", said.length <= 1, () => `${at} has words of calls ${said.join(", ")}`)
    const call = calls[said[0] ?? -1]
    if (call === undefined) return
    const whole = call.said.join("")
    const isWhole = message?.error === undefined
    this.check(
      "D4 an answer is of one call",
      isWhole ? text === whole && (call.reply.type === "answer" || call.reply.type === "tool") : whole.startsWith(text),
      () => `${at} has "${text}", and call ${call.number} (${call.reply.type}) said "${whole}"`
    )
  }

  /** No secret is on disk. */
  secrets(keys: ReadonlyArray<string>, texts: ReadonlyArray<string>): void {
    const all = [...this.disk.dump.map(({ row }) => row), ...texts]
    const together = all.join("\n") // a key has no line break
    for (const key of keys)
      this.check(
        "C13 secrets are nowhere",
        !together.includes(key),
        () => `the key ${key} is in: ${all.find((text) => text.includes(key))}`
      )
  }
}

// --- internal

interface Event {
  readonly type: string
  /** It was aborted while it was queued. */
  readonly queued?: boolean
  readonly message?: {
    readonly role: string
    readonly error?: unknown
    readonly content: ReadonlyArray<{ readonly text?: string }>
  }
}

/** What a person writes, by the name of the prompt. */
export const textOf = (prompt: string): string => `turn:${prompt};`

/** Of an answer (`Network`). */
const TOKENS = 15

const ATTEMPT = /\/attempt\/\d+$/

/** A record of an answer is a reference to its event (`RecordTable`). */
const valueOf = (value: string): Value =>
  value.startsWith("=") ? { _tag: "Completed" } : (Object(JSON.parse(value)) as Value)
