/**
 * Runs a turn without a fiber up to the content of a call, or to a command that takes a fiber.
 *
 * ```
 *   next ──▶ Append ── begin ──▶ written ──▶ next
 *     ├────▶ Call ──── begin ──▶ under way ──▶ failed ──┐
 *     ├────▶ Ask ───── begin ──▶ asked ──▶ answered ────┼──▶ as `next`
 *     ├────▶ Wait ──── begin ──▶ asleep ──▶ elapsed ────┘
 *     ├────▶ Sealed ── begin
 *     └ undefined ──▶ Turn.runTurn, with `priorWork`
 * ```
 *
 * For hosts that drive many turns at once. It is synchronous, and the host passes the time in. What it has returned takes effect with
 * `begin`: before, nothing was emitted or reported of it, and `Turn.runTurn` can go on from the same records instead.
 */
import type { TurnEvent } from "@holdfast/wire"
import type * as Effect from "effect/Effect"
import type { Broken } from "../calls/CallFailure.ts"
import * as Engine from "../engine/Engine.ts"
import * as Performer from "../engine/Performer.ts"
import { notify } from "../ports/Observer.ts"
import type { ProviderRequest } from "../ports/Provider.ts"
import type { Router } from "../ports/Router.ts"
import type { TurnStopped } from "../ports/TurnStopped.ts"
import type { PendingRetry } from "../ports/RetryStrategy.ts"
import type { Stored, TurnRecord } from "../records/Records.ts"
import type * as RetryEvent from "./RetryEvent.ts"

/** The ports of the turn. */
export interface Ports {
  /** Emits a transient event. */
  readonly live: (event: TurnEvent.ProviderRetry | TurnEvent.StepStart) => void
  /** Emits events of earlier lives. */
  readonly repeat: (events: ReadonlyArray<TurnEvent.PersistedEvent>) => void
  /** Drawn for a failure, from 0 (included) to 1 (excluded). */
  readonly spread: () => number
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

/** Records and events to write, in one commit. */
export type Append = Engine.Append

/** What is to be done: a write, a call, a question to the router, a wait; or the turn is sealed. */
export type Next =
  | Append
  | { readonly _tag: "Call"; readonly request: ProviderRequest }
  | {
      readonly _tag: "Ask"
      readonly ask: (router: Router["Service"], now: () => number) => Effect.Effect<TurnRecord, TurnStopped>
    }
  | { readonly _tag: "Wait"; readonly retryAt: number; readonly delayMs: number; readonly awaited: PendingRetry }
  | { readonly _tag: "Sealed"; readonly end: TurnEvent.TurnEnd }

/** A turn before its first content. Times are in epoch milliseconds. */
export class BeforeContent {
  private readonly ports: Ports
  private state: Engine.State
  private input: Engine.Input
  private found: ReturnType<typeof Engine.step> | undefined = undefined

  /** `known`: its records of earlier lives; `persisted`: the types of its events on disk, by position. */
  constructor(setup: Engine.Setup, ports: Ports, known: ReadonlyArray<Stored>, persisted: ReadonlyArray<string>) {
    this.ports = ports
    this.state = Engine.make(setup)
    this.input = { _tag: "Begin", known, persisted }
  }

  /** The facts of this life that `Turn.runTurn` needs; `undefined`: nothing has begun. */
  get priorWork(): PriorWork | undefined {
    if (this.input._tag === "Begin") return undefined
    const { announced, call, isTakenUp, wait } = this.state
    return { announced, calledAt: call?.startedAt, isTakenUp, wait }
  }

  /** Records that wait for the answer of the router, to be written with it. */
  get unwritten(): Append["records"] {
    return this.state.records
  }

  /** Returns what is to be done, at the beginning and after each write; `undefined`: `Turn.runTurn` has to do it. */
  next(at: number): Next | undefined {
    return this.look(this.input, at)
  }

  /** Begins what was returned last. It is announced (D5). */
  begin(): void {
    const { found } = this
    if (found === undefined) return
    this.found = undefined
    this.input = { _tag: "Appended" }
    this.commit(...found)
  }

  /** The call has failed before content; `undefined`: `Turn.runTurn` has to make the call and handle its failure. */
  failed(broken: Broken, at: number): Next | undefined {
    const { call, ledger, open } = this.state
    const [command] = open
    if (command?._tag !== "Call" || call === undefined) return undefined
    const { number, step } = command
    const value = Performer.failed(ledger, broken, at, this.ports.spread())
    return this.answered({ kind: "Attempt", step, number, value }, at)
  }

  /** The router has answered. */
  answered(record: TurnRecord, at: number): Next | undefined {
    return this.look({ _tag: "Done", record }, at)
  }

  /** The time of the wait has come. `heldMs`: how long the gate held the turn after it (X5). */
  elapsed(heldMs: number | undefined, at: number): Next | undefined {
    return this.look(heldMs === undefined ? { _tag: "Due" } : { _tag: "Due", heldMs }, at)
  }

  /** Reports that the call was abandoned because its host shuts down. */
  interrupted(at: number): void {
    if (this.state.call !== undefined) this.commit(...Engine.step(this.state, { _tag: "Released" }, at))
  }

  private look(input: Engine.Input, at: number): Next | undefined {
    const found = Engine.step(this.state, input, at)
    const next = nextOf(...found)
    this.found = next && found
    return next
  }

  private commit(state: Engine.State, effects: ReadonlyArray<Engine.Effect>): void {
    this.state = state
    for (const effect of effects) {
      if (effect._tag === "Live") this.ports.live(effect.event)
      if (effect._tag === "Repeat") this.ports.repeat(effect.events)
      if (effect._tag === "Observe") notify(state.setup.observer, effect.kind, effect.observation)
    }
  }
}

// --- internal

const nextOf = ({ open }: Engine.State, effects: ReadonlyArray<Engine.Effect>): Next | undefined => {
  // The engine has nothing to do after these.
  const last = effects.at(-1)
  if (last?._tag === "Append") return last.records.some(({ record }) => record.kind === "Begun") ? undefined : last
  if (last?._tag === "Sealed") return last
  if (last?._tag === "Stop") return undefined
  const [command] = open
  switch (command?._tag) {
    case "Call":
      return { _tag: "Call", request: command.request }
    case "Route":
    case "Decide":
      return { _tag: "Ask", ask: (router, now) => Performer.asked(router, now, command) }
    case "Wait": {
      const { awaited, wait } = command
      return { _tag: "Wait", retryAt: wait.retryAt, delayMs: wait.delayMs, awaited }
    }
    default:
      return undefined
  }
}
