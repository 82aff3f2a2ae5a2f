/**
 * A life of a turn: the ledger that it has come to, the ports that it runs on, and the way from its outbox to the sink.
 *
 * Run.S1. Only the fiber that runs the turn writes here, and its tool calls' fibers, each in one synchronous step. A seal after an abort
 *     is made when those have ended.
 * Run.S2. An event that is on its way to the disk is not interrupted, or the count would no longer be what the sink has. For the same
 *     reason nothing is persisted after an event that could not be.
 */
import type { TurnEvent } from "@holdfast/wire"
import { Effect, Random } from "effect"
import type { Begun } from "../../BeforeContent.ts"
import type { Checkpoint } from "../../Checkpoint.ts"
import type { Compactor } from "../../Compactor.ts"
import type { EventSink } from "../../EventSink.ts"
import type { Listeners } from "../../Observer.ts"
import type { Provider } from "../../Provider.ts"
import type { Seal, TurnRecord } from "../../Records.ts"
import type { RetryStrategy } from "../../RetryStrategy.ts"
import type { Router } from "../../Router.ts"
import type { ToolDefinition, Toolbox } from "../../Toolbox.ts"
import type { TurnStopped } from "../../TurnStopped.ts"
import type { Content } from "../Content.ts"
import { evolve } from "../machine/Evolve.ts"
import type { Emission, Ledger } from "../machine/Ledger.ts"
import type { Offers } from "../machine/Next.ts"
import * as Observing from "./Observing.ts"

/** The ports a turn runs on. */
export interface Ports {
  readonly provider: Provider["Service"]
  readonly toolbox: Toolbox["Service"]
  readonly sink: EventSink["Service"]
  readonly checkpoint: Checkpoint["Service"]
  readonly strategy: RetryStrategy["Service"] | undefined
  readonly router: Router["Service"] | undefined
  readonly compactor: Compactor["Service"] | undefined
  readonly observer: Listeners | undefined
}

/** One life of one turn. */
export class Run {
  readonly ports: Ports
  /** The engine itself: a seal is not held back by the gate of aborts. */
  readonly checkpoint: Checkpoint["Service"]
  /** What this life has done before. */
  readonly begun: Begun | undefined
  ledger: Ledger
  /** The call that is under way, or about to be made; `undefined` between calls. */
  call: { readonly content: Content; isMade: boolean } | undefined = undefined
  /** The step whose beginning was told in this life. */
  announced: number | undefined
  /** When the call began that was under way before this interpreter took the turn over, until it makes another. */
  beganAt: number | undefined
  /** The wait in progress was told in this life, before the interpreter ran it. */
  isWaitTold: boolean
  /** The last record is of an earlier life. */
  isTakenUp = false
  private stopped: TurnStopped | undefined = undefined
  private toolsOf: { readonly step: number; readonly tools: ReadonlyArray<ToolDefinition> } | undefined = undefined
  private name: string | undefined

  constructor(
    ports: Ports,
    checkpoint: Checkpoint["Service"],
    ledger: Ledger,
    life: string | undefined,
    begun: Begun | undefined
  ) {
    this.name = life
    this.ports = ports
    this.checkpoint = checkpoint
    this.ledger = ledger
    this.begun = begun
    this.announced = begun?.announced
    this.beganAt = begun?.calledAt
    this.isWaitTold = begun?.isWaitTold ?? false
  }

  /** The name of this life, which no other life of the turn has. */
  readonly life: Effect.Effect<string> = Effect.suspend(() => {
    const { name } = this
    if (name !== undefined) return Effect.succeed(name)
    return Effect.map(Random.next, (drawn) => (this.name = drawn.toString(36).slice(2)))
  })

  /** What this life has to offer; a list of tools that changed in the middle of a step would be another request. */
  get offers(): Offers {
    const { compactor, router, strategy, toolbox } = this.ports
    const step = this.ledger.step.number
    if (this.toolsOf?.step !== step) this.toolsOf = { step, tools: toolbox.definitions }
    const { tools } = this.toolsOf
    return {
      tools,
      hasRouter: router !== undefined,
      hasStrategy: strategy !== undefined,
      hasCompactor: compactor !== undefined
    }
  }

  /** What a seal that cuts the turn off says of the call that is under way. */
  get underWay(): Pick<NonNullable<Seal["cut"]>, "called" | "said"> {
    const { call } = this
    if (call === undefined) return {}
    const { content, isMade } = call
    const { usage } = content
    const said = { content: content.parts(), ...(usage === undefined ? undefined : { usage }) }
    return isMade ? { said, called: true } : { said }
  }

  /** Takes in a record. */
  take(record: TurnRecord, isTakenUp = false): void {
    this.ledger = evolve(this.ledger, record)
    this.isTakenUp = isTakenUp
    if (record.kind !== "Attempt") return
    this.call = undefined
    this.beganAt = undefined
    if (record.value._tag === "Lost") this.announced = undefined
  }

  /** Hands an event that passes, and is no single token's, to the sink and to observers. */
  live(event: TurnEvent.ProviderRetry | TurnEvent.StepStart): void {
    this.ports.sink.live(event)
    Observing.live(this, event)
  }

  /** Hands over what the ledger owes, in order (S2). */
  readonly flush: Effect.Effect<void, TurnStopped> = Effect.suspend(() => this.handOver()).pipe(
    Effect.tapError((stopped) => Effect.sync(() => void (this.stopped = stopped))),
    Effect.uninterruptible
  )

  /** The same of what an earlier life has handed over: what was live has passed. */
  readonly flushRecorded: Effect.Effect<void, TurnStopped> = Effect.suspend(() => {
    const outbox = this.ledger.outbox.filter(({ _tag }) => _tag === "Persist")
    this.ledger = { ...this.ledger, outbox }
    return this.flush
  })

  private handOver(): Effect.Effect<void, TurnStopped> {
    if (this.stopped !== undefined) return Effect.fail(this.stopped) // S2
    const [due, ...later] = joined(this.ledger.outbox)
    if (due === undefined) return Effect.void
    this.ledger = { ...this.ledger, outbox: later }
    const handed = due._tag === "Persist" ? this.persist(due) : Effect.sync(() => this.live(due.event))
    return later.length === 0 ? handed : Effect.flatMap(handed, () => this.handOver())
  }

  private persist(due: Extract<Emission, { readonly _tag: "Persist" }>): Effect.Effect<void, TurnStopped> {
    const { events, position } = due
    return Observing.events(this, events, position, this.ports.sink.persist(events, position))
  }
}

// --- internal

/** What is owed, with the events that are to be persisted first in one write. */
const joined = (outbox: Ledger["outbox"]): Ledger["outbox"] => {
  const [first, next, ...rest] = outbox
  if (first?._tag !== "Persist" || next?._tag !== "Persist") return outbox
  return joined([{ ...first, events: [...first.events, ...next.events] }, ...rest])
}
