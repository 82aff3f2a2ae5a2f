/**
 * Runs a turn without a fiber while its calls fail before content.
 *
 * ```
 *   next ──▶ Call ── begin ──▶ under way ── failed ──▶ records to append ── recorded ──▶ next
 *     │                            │                        │
 *     ├────▶ Ask, Wait             └ answered               └ undefined: not plain
 *     │                                 │                        │
 *     └ undefined: not plain            ▼                        ▼
 *           └────────────────▶ Turn.runTurn, with `priorWork` ◀──┘
 * ```
 *
 * For hosts that drive many turns at once: calls, decisions and waits, one event after the other. It is synchronous, and the host passes
 * the time in. `Turn.runTurn` handles everything else: `next` and `failed` return `undefined` there, have emitted and reported nothing of
 * that event, and `runTurn` continues from the same records. Both step the same engine.
 */
import { defined, type Message, type TurnEvent } from "@holdfast/wire"
import type * as Effect from "effect/Effect"
import type { Broken } from "../calls/CallFailure.ts"
import * as Engine from "../engine/Engine.ts"
import * as Performer from "../engine/Performer.ts"
import type { TurnFacts } from "../internal/machine/Ledger.ts"
import type { Offers } from "../internal/machine/OpenCommands.ts"
import { type Listeners, notify } from "../ports/Observer.ts"
import type { ProviderRequest } from "../ports/Provider.ts"
import type { Router } from "../ports/Router.ts"
import type { TurnStopped } from "../ports/TurnStopped.ts"
import type { Deciding, PendingRetry } from "../ports/RetryStrategy.ts"
import type { RecordOf, Stored, TurnRecord, Wake } from "../records/Records.ts"
import type * as RetryEvent from "./RetryEvent.ts"

/** The input of a turn that owes no report. */
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

/** The work of this life of a turn before `Turn.runTurn` runs it. */
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

/** The open command: a call, a question to the router or a wait. */
export type Next =
  | { readonly _tag: "Call"; readonly request: ProviderRequest }
  | {
      readonly _tag: "Ask"
      readonly ask: (router: Router["Service"], now: () => number) => Effect.Effect<TurnRecord, TurnStopped>
    }
  | { readonly _tag: "Wait"; readonly retryAt: number; readonly delayMs: number; readonly awaited: PendingRetry }

/** The end of part `part` of a wait (`Records`). */
export interface Woken {
  readonly record: RecordOf<"Wake">
  readonly part: number
}

/** A turn before its first content. */
export class BeforeContent {
  private readonly ports: Ports
  private state: Engine.State
  private known: ReadonlyArray<Stored> = []
  private isRestored = false
  /** The turn after what `next` has returned, until that begins. */
  private found: readonly [state: Engine.State, effects: ReadonlyArray<Engine.Effect>] | undefined = undefined

  constructor(facts: Facts, ports: Ports) {
    this.ports = ports
    const { observer, offers, strategy } = ports
    const { hasCompactor, hasRouter, midStream, tools } = offers
    this.state = Engine.make({
      facts: { ...facts, ...defined({ maxRetries: strategy.budget.maxRetries }) },
      life: "",
      strategy: { ...strategy, ...defined({ midStream }) },
      toolbox: { definitions: tools },
      hasCompactor,
      hasRouter,
      observer
    })
  }

  /** The facts of this life that `Turn.runTurn` needs. */
  get priorWork(): PriorWork {
    const { announced, call, isTakenUp, wait } = this.state
    return { announced, calledAt: call?.startedAt, isTakenUp, wait }
  }

  /** Restores the turn from the records of earlier lives; `false`: `Turn.runTurn` has to do it. */
  follow(known: ReadonlyArray<Stored>): boolean {
    this.known = known
    return this.restored()
  }

  /** The conversation before this turn. */
  get history(): ReadonlyArray<Message.Message> {
    return this.state.ledger.history
  }

  /** Returns the open command at a moment in epoch milliseconds; `undefined`: `Turn.runTurn` has to perform it. */
  next(at: number): Next | undefined {
    this.found = undefined
    if (!this.restored() || (this.state.pending?.events.length ?? 0) > 0) return undefined
    const found = Engine.step(this.state, APPENDED, at)
    const [{ open }, effects] = found
    const next = effects.some(({ _tag }) => _tag === "Append") ? undefined : nextOf(open[0])
    if (next !== undefined) this.found = found
    return next
  }

  /** Begins what `next` has returned: the call, the question or the wait. It is announced (D5). */
  begin(): void {
    if (this.found !== undefined) this.commit(...this.found)
    this.found = undefined
  }

  /** Follows the answer of the router, which is to be recorded. `at` is in epoch milliseconds. */
  answered(record: TurnRecord, at: number): void {
    this.commit(...Engine.step(this.state, { _tag: "Done", record }, at))
  }

  /**
   * Handles the failure of the call: returns the outcome, and the decision to retry where no router is asked, which are recorded together;
   * `undefined`: `Turn.runTurn` has to make the call and handle its failure.
   */
  failed(broken: Broken, endedAt: number): ReadonlyArray<RecordOf<"Attempt"> | RecordOf<"Decision">> | undefined {
    const { call, ledger, open } = this.state
    const [command] = open
    if (command?._tag !== "Call" || call === undefined) return undefined
    const { number, step } = command
    const value = Performer.failed(ledger, broken, endedAt, this.ports.spread())
    const attempt = { kind: "Attempt", step, number, value } as const
    const [state, effects] = Engine.step(this.state, { _tag: "Done", record: attempt }, endedAt)
    const decision = recordsOf(effects)[1]
    // A decision to give up and the turn's last events are one write.
    const isAsked = state.open[0]?._tag === "Decide"
    if (!isAsked && (decision?.kind !== "Decision" || decision.value._tag === "GiveUp")) return undefined
    this.commit(state, effects)
    return isAsked ? [attempt] : [attempt, decision as RecordOf<"Decision">]
  }

  /** Reports that the call was abandoned because its host shuts down. */
  interrupted(endedAt: number): void {
    if (this.state.call !== undefined) this.commit(...Engine.step(this.state, { _tag: "Released" }, endedAt))
  }

  /** Ends the wait, and returns the record to write. */
  elapsed({ at, heldMs }: Extract<Wake, { readonly type: "elapsed" }> & { readonly at: number }): Woken | undefined {
    const [command] = this.state.open
    if (command?._tag !== "Wait") return undefined
    const [state, effects] = Engine.step(this.state, { _tag: "Due", ...defined({ heldMs }) }, at)
    const [record] = recordsOf(effects)
    if (record?.kind !== "Wake") return undefined
    this.commit(state, effects)
    return { record, part: command.part }
  }

  /** Follows the records, and emits their events; `false`: there is more to do than that. */
  private restored(): boolean {
    if (this.isRestored) return true
    const { known } = this
    const [state, [append, ...others]] = Engine.step(this.state, { _tag: "Begin", known, persisted: [] }, 0)
    if (append?._tag !== "Append" || append.records.length > 0 || others.length > 0) return false
    if (!this.ports.repeat(append.events, append.position)) return false
    this.isRestored = true
    this.state = { ...state, pending: { ...append, events: [], then: [] } }
    return true
  }

  private commit(state: Engine.State, effects: ReadonlyArray<Engine.Effect>): void {
    this.state = state
    for (const effect of effects) {
      if (effect._tag === "Live") this.ports.live(effect.event)
      if (effect._tag === "Observe") notify(this.ports.observer, effect.kind, effect.observation)
    }
  }
}

// --- internal

const APPENDED = { _tag: "Appended" } as const

const nextOf = (command: Engine.Command | undefined): Next | undefined => {
  switch (command?._tag) {
    case "Call":
      return command.isJudged ? undefined : { _tag: "Call", request: command.request }
    case "Route":
    case "Decide":
      return { _tag: "Ask", ask: (router, now) => Performer.asked(router, now, command) }
    case "Wait": {
      const { awaited, wait } = command
      const { asks, delayMs, retryAt } = wait
      return asks === undefined ? { _tag: "Wait", retryAt, delayMs, awaited } : undefined
    }
    default:
      return undefined
  }
}

const recordsOf = (effects: ReadonlyArray<Engine.Effect>): ReadonlyArray<TurnRecord> =>
  effects.flatMap((effect) => (effect._tag === "Append" ? effect.records.map(({ record }) => record) : []))
