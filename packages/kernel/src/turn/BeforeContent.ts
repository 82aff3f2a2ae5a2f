/**
 * Runs a turn without a fiber while its calls fail before content.
 *
 * ```
 *   next ──▶ Call ── begins ──▶ under way ── failed ──▶ records to append ── recorded ──▶ next
 *     │                            │                        │
 *     ├────▶ Wait                  └ answered               └ undefined: not plain
 *     │                                 │                        │
 *     └ undefined: not plain            ▼                        ▼
 *           └────────────────▶ Turn.runTurn, with `begun` ◀──────┘
 * ```
 *
 * For hosts that drive many turns at once: calls, decisions and waits, one event after the other. It is synchronous, and the host passes
 * the time in. The interpreter handles everything else: `next` and `failed` return `undefined` there, and `Turn.runTurn` continues from the
 * same records.
 *
 * BeforeContent.B1. It emits, records and reports to observers what the interpreter would: both ask the same machine.
 * BeforeContent.B2. Where it returns `undefined` it has emitted and reported nothing of that event.
 */
import { defined, type Message, type TurnEvent } from "@holdfast/wire"
import type { Broken } from "../calls/CallFailure.ts"
import * as Directives from "./Directive.ts"
import * as RetryEvent from "./RetryEvent.ts"
import { once } from "../internal/interpreter/ModelCalls.ts"
import * as Observing from "../internal/interpreter/Observing.ts"
import { evolve, follow, start } from "../internal/machine/Evolve.ts"
import type { Ledger, TurnFacts } from "../internal/machine/Ledger.ts"
import { type Command, commandsOf, type Offers } from "../internal/machine/OpenCommands.ts"
import { type Listeners, notify } from "../ports/Observer.ts"
import type { ProviderRequest } from "../ports/Provider.ts"
import type { RecordOf, Stored, Wake } from "../records/Records.ts"
import type { Deciding, PendingRetry } from "../ports/RetryStrategy.ts"

/** The input of a turn that has no router and owes no report. */
export type Facts = Omit<TurnFacts, "report" | "maxRetries">

/** The ports of the turn. */
export interface Ports {
  readonly strategy: Deciding
  readonly observer: Listeners | undefined
  /** Emits a transient event. */
  readonly live: (event: TurnEvent.ProviderRetry | TurnEvent.StepStart) => void
  /** Emits events that are recorded already; `false`: they are not. */
  readonly repeat: (events: ReadonlyArray<TurnEvent.PersistedEvent>, position: number) => boolean
  /** Drawn for a failure, from 0 (included) to 1 (excluded). */
  readonly spread: () => number
  readonly offers: Offers
}

/** The work of this life of a turn before the interpreter runs it. */
export interface PriorWork {
  /** The step whose `step-start` was emitted. */
  readonly announced: number | undefined
  /** The start of the call under way, in epoch milliseconds; absent: there is none. */
  readonly calledAt: number | undefined
  /** Its last record was written in an earlier life. */
  readonly isTakenUp: boolean
  /** The wait that was announced last. */
  readonly wait: RetryEvent.Announced | undefined
}

/** The open command: a call or a wait. */
export type Next =
  | { readonly _tag: "Call"; readonly request: ProviderRequest }
  | { readonly _tag: "Wait"; readonly retryAt: number; readonly delayMs: number; readonly awaited: PendingRetry }

/** The end of part `part` of a wait (`Records`). */
export interface Woken {
  readonly record: RecordOf<"Wake">
  readonly part: number
}

/** A turn before its first content. */
export class BeforeContent {
  private readonly ports: Ports
  private ledger: Ledger
  private open: Command | undefined = undefined
  private announced: number | undefined = undefined
  private calledAt: number | undefined = undefined
  private isTakenUp = false
  private wait: RetryEvent.Announced | undefined = undefined

  constructor(facts: Facts, ports: Ports) {
    this.ports = ports
    const { maxRetries } = ports.strategy.budget
    this.ledger = start({ ...facts, ...defined({ maxRetries }) })
  }

  /** The facts of this life that `Turn.runTurn` needs. */
  get priorWork(): PriorWork {
    const { announced, calledAt, isTakenUp, wait } = this
    return { announced, calledAt, isTakenUp, wait }
  }

  /** Restores the turn from the records of earlier lives; `false`: the interpreter has to do it. */
  follow(known: ReadonlyArray<Stored>): boolean {
    for (const stored of known) {
      if (!this.handOver()) return false
      const followed = follow(this.ledger, stored)
      if (followed === undefined) return false // the interpreter reports a journal that contradicts itself
      this.isTakenUp ||= followed !== this.ledger
      this.ledger = followed
    }
    return true
  }

  /** The conversation before this turn. */
  get history(): ReadonlyArray<Message.Message> {
    return this.ledger.history
  }

  /** Returns the open command; `undefined`: the interpreter has to perform it. */
  next(): Next | undefined {
    this.open = undefined
    if (!this.handOver()) return undefined
    const [command] = commandsOf(this.ledger, this.ports.offers)
    if (command?._tag === "Call") {
      if (command.isLost || command.isJudged) return undefined
      this.open = command
      return { _tag: "Call", request: command.request }
    }
    if (command?._tag !== "Wait" || command.wait.asks !== undefined) return undefined
    this.open = command
    const { awaited, wait } = command
    return { _tag: "Wait", retryAt: wait.retryAt, delayMs: wait.delayMs, awaited }
  }

  /** Starts the call; `at` is in epoch milliseconds. */
  begins(at: number): void {
    const { open } = this
    if (open?._tag !== "Call") return
    this.calledAt = at
    if (this.announced === open.step) return
    this.announced = open.step
    this.emit(open.begins)
  }

  /**
   * Handles the failure of the call: returns the outcome and the decision to retry, which are recorded together; `undefined`: the
   * interpreter has to make the call and handle its failure.
   */
  failed(broken: Broken, endedAt: number): readonly [RecordOf<"Attempt">, RecordOf<"Decision">] | undefined {
    const { calledAt: startedAt, ledger, open } = this
    const { observer, offers, spread, strategy } = this.ports
    if (open?._tag !== "Call" || startedAt === undefined) return undefined
    const { number, request, step } = open
    const outcome = once(this.ledger, {
      _tag: "Failed" as const,
      content: [],
      endedAt,
      ...broken,
      contentSeen: false,
      spread: spread()
    })
    const attempt: RecordOf<"Attempt"> = { kind: "Attempt", step, number, value: outcome }
    const failing = evolve(ledger, attempt)
    const [command] = commandsOf(failing, offers)
    if (command?._tag !== "Decide" || command.question !== undefined) return undefined
    const value = Directives.decide({ ...command.situation, now: endedAt }, strategy)
    if (value._tag === "GiveUp") return undefined // its record and the turn's last events are one write
    notify(observer, "attempt", {
      ...Observing.attemptOf(ledger, request, startedAt),
      firstContentAt: undefined,
      outcome,
      report: undefined
    })
    notify(observer, "decision", {
      ...Observing.decisionOf(failing, command.failedCall, startedAt),
      directive: value,
      at: endedAt
    })
    const decision: RecordOf<"Decision"> = { kind: "Decision", step, number: command.number, value }
    this.ledger = evolve(failing, decision)
    this.calledAt = undefined
    this.open = undefined
    this.isTakenUp = false
    return [attempt, decision]
  }

  /** Reports that the call was abandoned because its host shuts down. */
  interrupted(endedAt: number): void {
    const { calledAt: startedAt, ledger, open } = this
    if (open?._tag !== "Call" || startedAt === undefined) return
    this.calledAt = undefined
    notify(this.ports.observer, "attempt", {
      ...Observing.attemptOf(ledger, open.request, startedAt),
      firstContentAt: undefined,
      outcome: { _tag: "Interrupted", endedAt },
      report: undefined
    })
  }

  /** Starts the wait, or continues it in this life, and announces it (Retrying.W1). `at` is in epoch milliseconds. */
  waits(at: number): void {
    const { open } = this
    if (open?._tag !== "Wait") return
    if (RetryEvent.isAnnounced(this.wait, open) || (this.isTakenUp && open.wait.retryAt < at)) return
    this.wait = { step: open.step, event: open.event }
    this.emit(open.event)
  }

  /** Ends the wait, and returns the record to write. */
  elapsed(wake: Extract<Wake, { readonly type: "elapsed" }> & { readonly at: number }): Woken | undefined {
    const { ledger, open } = this
    if (open?._tag !== "Wait") return undefined
    const { number, part, step, wait } = open
    Observing.reportWait(this.ports.observer, ledger, wait, wake)
    const record: RecordOf<"Wake"> = { kind: "Wake", step, number, value: wake }
    this.ledger = evolve(ledger, record)
    this.open = undefined
    this.isTakenUp = false
    return { record, part }
  }

  /** Emits recorded events. `false`: there are live events, or events that are not recorded. */
  private handOver(): boolean {
    const { outbox } = this.ledger
    if (outbox.length === 0) return true
    if (outbox.some((due) => due._tag === "Live" || !this.ports.repeat(due.events, due.position))) return false
    this.ledger = { ...this.ledger, outbox: [] }
    return true
  }

  private emit(event: TurnEvent.ProviderRetry | TurnEvent.StepStart): void {
    this.ports.live(event)
    Observing.reportEvent(this.ports.observer, this.ledger, event)
  }
}
