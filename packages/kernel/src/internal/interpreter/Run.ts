/**
 * One life of a turn: its ledger, its ports, and the path from outbox to sink.
 *
 * Run.S1. Only the turn's fiber and the fibers of its tool calls write here, each in one synchronous step. A seal after an abort is made
 *     when those fibers have ended.
 * Run.S2. Persisting an event is not interrupted, or the position would no longer match that of the sink. For the same reason nothing is
 *     persisted after an event that could not be persisted.
 */
import { defined, type TurnEvent } from "@holdfast/wire"
import type * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import type * as Random from "effect/Random"
import type { PriorWork } from "../../turn/BeforeContent.ts"
import type { Announced } from "../../turn/RetryEvent.ts"
import type { Checkpoint } from "../../ports/Checkpoint.ts"
import type { Compactor } from "../../ports/Compactor.ts"
import type { EventSink } from "../../ports/EventSink.ts"
import type { Listeners } from "../../ports/Observer.ts"
import type { Provider } from "../../ports/Provider.ts"
import { isVoiding, type Seal, type TurnRecord } from "../../records/Records.ts"
import type { RetryStrategy } from "../../ports/RetryStrategy.ts"
import type { Router } from "../../ports/Router.ts"
import type { Toolbox } from "../../ports/Toolbox.ts"
import type { TurnStopped } from "../../ports/TurnStopped.ts"
import type { Content } from "../calls/Content.ts"
import { evolve } from "../machine/Evolve.ts"
import type { Ledger } from "../machine/Ledger.ts"
import type { Offers } from "../machine/OpenCommands.ts"
import * as Observing from "./Observing.ts"

/** The ports of a turn. */
export interface Ports {
  readonly provider: Provider["Service"]
  readonly toolbox: Toolbox["Service"]
  readonly sink: EventSink["Service"]
  readonly checkpoint: Checkpoint["Service"]
  readonly strategy: RetryStrategy["Service"] | undefined
  readonly router: Router["Service"] | undefined
  readonly compactor: Compactor["Service"] | undefined
  readonly observer: Listeners | undefined
  readonly clock: Clock.Clock
  readonly random: Random.Random
}

/** One life of one turn. */
export class Run {
  readonly ports: Ports
  /** The engine itself: the abort gate does not delay a seal. */
  readonly checkpoint: Checkpoint["Service"]
  /** The work of this life before the interpreter took it over. */
  readonly priorWork: PriorWork | undefined
  ledger: Ledger
  /** The call that is under way or about to be made; `undefined` between calls. */
  call: { readonly content: Content; isMade: boolean } | undefined = undefined
  /** The step whose `step-start` was emitted in this life. */
  announced: number | undefined
  /** The start of a call that was under way before the interpreter took the turn over, in epoch milliseconds, until it makes another call. */
  beganAt: number | undefined
  /** The wait that was announced last in this life. */
  wait: Announced | undefined
  /** The last record was written in an earlier life. */
  isTakenUp = false
  private stopped: TurnStopped | undefined = undefined
  private offered: { readonly step: number; readonly offers: Offers } | undefined = undefined
  private name: string | undefined

  constructor(
    ports: Ports,
    checkpoint: Checkpoint["Service"],
    ledger: Ledger,
    life: string | undefined,
    priorWork: PriorWork | undefined
  ) {
    this.name = life
    this.ports = ports
    this.checkpoint = checkpoint
    this.ledger = ledger
    this.priorWork = priorWork
    this.announced = priorWork?.announced
    this.beganAt = priorWork?.calledAt
    this.wait = priorWork?.wait
  }

  /** The name of this life, unique among the lives of the turn. */
  get life(): string {
    return (this.name ??= this.draw().toString(36).slice(2))
  }

  /** Returns the time, in epoch milliseconds. */
  now(): number {
    return this.ports.clock.currentTimeMillisUnsafe()
  }

  /** Draws a number, from 0 (included) to 1 (excluded). */
  draw(): number {
    return this.ports.random.nextDoubleUnsafe()
  }

  /** The tools and ports of this life. The tools are read once a step: a change during a step would change its request. */
  get offers(): Offers {
    const { compactor, router, strategy, toolbox } = this.ports
    const step = this.ledger.step.number
    if (this.offered?.step !== step) {
      const midStream = strategy?.midStream
      const offers = {
        tools: toolbox.definitions,
        hasRouter: router !== undefined,
        hasStrategy: strategy !== undefined,
        hasCompactor: compactor !== undefined,
        ...defined({ midStream })
      }
      this.offered = { step, offers }
    }
    return this.offered.offers
  }

  /** The part of a seal that records the call under way, if the seal cuts the turn off. */
  get underWay(): Pick<NonNullable<Seal["cut"]>, "called" | "said"> {
    const { call } = this
    if (call === undefined) return {}
    const { content, isMade } = call
    const { usage } = content
    const said = { content: content.parts(), ...defined({ usage }) }
    return isMade ? { said, called: true } : { said }
  }

  /** Folds a record into the ledger. */
  take(record: TurnRecord, isTakenUp = false): void {
    this.ledger = evolve(this.ledger, record)
    this.isTakenUp = isTakenUp
    if (record.kind === "Attempt") this.call = undefined
    if (isTakenUp) return // what this life has announced and begun came after the records of earlier ones
    if (record.kind === "Attempt") this.beganAt = undefined
    if (isVoidOf(record)) this.announced = undefined
  }

  /** Emits a transient event other than a delta to the sink and to observers. */
  live(event: TurnEvent.ProviderRetry | TurnEvent.StepStart): void {
    this.ports.sink.live(event)
    Observing.live(this, event)
  }

  /**
   * Emits the events of the outbox, in order (Run.S2). It does so at once as far as the sink needs no fiber; the effect is the rest, which
   * is not interrupted.
   */
  flush(): Effect.Effect<void, TurnStopped> {
    for (;;) {
      if (this.stopped !== undefined) return Effect.fail(this.stopped) // Run.S2
      const { ledger } = this
      const [due, ...rest] = joined(ledger.outbox)
      if (due === undefined) return Effect.void
      if (due._tag === "Live") {
        this.ledger = { ...ledger, outbox: rest }
        this.live(due.event)
        continue
      }
      const { events, position } = due
      const persisted = Observing.events(this, events, position, this.ports.sink.persist(events, position))
      if (hasSucceeded(persisted)) {
        this.ledger = { ...ledger, outbox: rest }
        continue
      }
      const count = ledger.outbox.length - rest.length
      return Effect.suspend(() => {
        // Another tool of the step may have been recorded since the effect was made (Run.S1).
        this.ledger = { ...this.ledger, outbox: this.ledger.outbox.slice(count) }
        return persisted
      }).pipe(
        Effect.mapError((stopped) => (this.stopped = stopped)),
        Effect.flatMap(() => this.flush()),
        Effect.uninterruptible
      )
    }
  }

  /** Emits the outbox of an earlier life, without its transient events. */
  flushRecorded(): Effect.Effect<void, TurnStopped> {
    const outbox = this.ledger.outbox.filter(({ _tag }) => _tag === "Persist")
    this.ledger = { ...this.ledger, outbox }
    return this.flush()
  }
}

/** Whether an effect has its result already, so that no fiber is needed for it. */
export const hasSucceeded = <A, E>(effect: Effect.Effect<A, E>): effect is Exit.Success<A, E> =>
  Exit.isExit(effect) && Exit.isSuccess(effect)

// --- internal

/** Whether a record makes the text of its step void: the step begins again (X2, X7). */
const isVoidOf = ({ kind, value }: TurnRecord): boolean =>
  (kind === "Attempt" && value._tag === "Lost") || (kind === "Decision" && isVoiding(value))

/** The outbox, with the leading events to persist joined into one write. */
const joined = (outbox: Ledger["outbox"]): Ledger["outbox"] => {
  const [first, next, ...rest] = outbox
  if (first?._tag !== "Persist" || next?._tag !== "Persist") return outbox
  return joined([{ ...first, events: [...first.events, ...next.events] }, ...rest])
}
