/**
 * A turn in this process: its kernel run over a store or an engine, and the commands on it.
 *
 * Listeners and readers get an event after the store has it, where it is persisted. An engine keeps no events. When the run has ended,
 * nothing of it is left: no timer, no listener on a signal.
 */
import {
  Checkpoint,
  Compactor,
  EventSink,
  Provider,
  RetryStrategy,
  Router,
  Toolbox,
  Turn as Kernel
} from "@holdfast/kernel"
import type { TurnParked, TurnStopped } from "@holdfast/kernel"
import { defined, Ids, type TurnEvent as Wire } from "@holdfast/wire"
import * as Cause from "effect/Cause"
import * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import type { TurnEvent } from "../Events.ts"
import { HoldfastError, invalid, messageOf } from "../HoldfastError.ts"
import type { Result, Turn, Wait } from "../TurnHandle.ts"
import type { KeptBy, KeptTurn } from "./KeptTurn.ts"
import type { ProgramPorts } from "./ProgramPorts.ts"
import { TurnWaits } from "./TurnWaits.ts"

/** What a turn runs on. */
export interface TurnHost {
  readonly ports: ProgramPorts
  /** Gets every event of every turn. */
  readonly publish: (event: TurnEvent) => void
  /** Whether a listener gets the content of every turn. */
  readonly isHeard: () => boolean
  readonly park: ((parked: { readonly id: string; readonly retryAt: Date }) => unknown) | undefined
}

/** The events of one turn, kept for any number of readers until the turn and its readers are gone. */
class EventLog {
  readonly events: Array<TurnEvent> = []
  private isEnded = false
  /** How far the furthest reader has come. */
  private furthest = 0
  private readonly wakes = new Set<() => void>()

  push(event: TurnEvent): void {
    this.events.push(event)
    this.wake()
  }

  /** Takes back the content of the step in progress, unless a reader has received some of it; returns whether none has (rule X7). */
  withdraw(): boolean {
    const first = this.events.findLastIndex(({ type }) => type === "step-start") + 1
    if (this.furthest > first) return false
    this.events.length = first
    return true
  }

  /** No event follows. */
  end(): void {
    this.isEnded = true
    this.wake()
  }

  async *read(): AsyncGenerator<TurnEvent, void, undefined> {
    for (let next = 0; ;) {
      while (next < this.events.length) {
        const event = this.events[next++]
        this.furthest = Math.max(this.furthest, next)
        if (event !== undefined) yield event
      }
      if (this.isEnded) return
      await new Promise<void>((resolve) => void this.wakes.add(resolve))
    }
  }

  private wake(): void {
    for (const wake of this.wakes) wake()
    this.wakes.clear()
  }
}

/** Where a turn runs: in an engine, which alone ends it early, or in this process, where a signal may abort it. */
export interface TurnPlace {
  readonly isInEngine: boolean
  readonly signal: AbortSignal | undefined
}

/** A turn of this process, run by the kernel. */
export class RunningTurn implements Turn {
  readonly id: string
  readonly conversationId: string
  readonly result: Promise<Result>
  private readonly services: TurnHost
  private readonly log = new EventLog()
  private readonly waits: TurnWaits
  private readonly stopped = Promise.withResolvers<never>()
  private readonly aborted = Deferred.makeUnsafe<void>()
  private fiber: Fiber.Fiber<Wire.TurnEnd, TurnParked.TurnParked | TurnStopped.TurnStopped> | undefined = undefined
  private retry: Extract<TurnEvent, { readonly type: "provider-retry" }> | undefined = undefined
  private isClosed = false
  private readonly isInEngine: boolean

  /** `begin` gives the turn as it is kept, when it is this turn's time to run. */
  constructor(
    services: TurnHost,
    id: string,
    conversationId: string,
    begin: (turn: KeptBy) => Promise<KeptTurn>,
    { isInEngine, signal }: TurnPlace
  ) {
    this.services = services
    this.isInEngine = isInEngine
    this.id = id
    this.conversationId = conversationId
    const waits = (this.waits = new TurnWaits(services.park !== undefined))
    this.stopped.promise.catch(() => {})
    const abort = () => void Deferred.doneUnsafe(this.aborted, Effect.void)
    if (signal?.aborted === true) abort()
    signal?.addEventListener("abort", abort, { once: true })
    this.result = (async () => {
      try {
        const kept = await begin({
          emit: (event) => this.emit(event),
          withdraw: () => !services.isHeard() && this.log.withdraw(),
          sleep: waits.sleep,
          abort,
          stopped: this.stopped.promise
        })
        return await this.run(kept)
      } catch (error) {
        throw error instanceof HoldfastError ? error : failed(id, error)
      } finally {
        signal?.removeEventListener("abort", abort)
        this.log.end()
      }
    })()
    // A program that reads events alone must not die of a rejection that it does not look at.
    this.result.catch(() => {})
  }

  [Symbol.asyncIterator](): AsyncIterator<TurnEvent> {
    return this.log.read()
  }

  get waiting(): Wait | undefined {
    const { retry, waits } = this
    if (retry === undefined || !waits.isOpen) return undefined
    const { asks, attempt, message, retryAt } = retry
    return { retryAt: new Date(retryAt), attempt, message, ...defined({ asks }) }
  }

  retryNow(): boolean {
    return this.waits.command({ type: "now" })
  }

  retryAt(date: Date): boolean {
    const until = date.getTime()
    if (!Number.isFinite(until)) throw invalid("retryAt: the date is invalid.")
    return this.waits.command({ type: "until", until })
  }

  switchTo(model: string): boolean {
    return this.waits.command({ type: "switched", target: this.services.ports.targetOf(model, "switchTo") })
  }

  approveTool(toolCallId: string): boolean {
    return this.waits.command({ type: "answered", toolCallId, approved: true })
  }

  refuseTool(toolCallId: string, reason?: string): boolean {
    return this.waits.command({ type: "answered", toolCallId, approved: false, ...defined({ reason }) })
  }

  extend(ms: number): boolean {
    if (!(ms > 0 && Number.isFinite(ms))) throw invalid(`extend: ${ms} is no number of milliseconds above 0.`)
    return this.waits.command({ type: "extended", byMs: ms })
  }

  giveUp(): boolean {
    return this.waits.command({ type: "cancelled" })
  }

  abort(): void {
    if (this.isInEngine) throw invalid(`abort: turn ${this.id} runs in an engine, which cancels it.`)
    Deferred.doneUnsafe(this.aborted, Effect.void)
  }

  /** Stops the run and leaves the turn unsealed, to be resumed from the store. */
  async stop(): Promise<void> {
    this.isClosed = true
    this.stopped.reject(closed(this.id))
    if (this.fiber !== undefined) await Effect.runPromise(Fiber.interrupt(this.fiber))
    await this.result.catch(() => {})
  }

  private async run({ checkpoint, close, events, facts, history, sink, sleep }: KeptTurn): Promise<Result> {
    for (const event of events) this.log.push(event)
    const sealed = events.find((event) => event.type === "turn-end")
    if (sealed !== undefined) return this.ended(sealed)
    if (facts === undefined) throw new HoldfastError("store-failed", `The store has no turn ${this.id}.`)
    if (this.isClosed) throw closed(this.id)
    const { limits, provider, router, strategy, toolbox } = this.services.ports
    const context = Context.make(Provider.Provider, provider).pipe(
      Context.add(EventSink.EventSink, sink),
      Context.add(Checkpoint.Checkpoint, checkpoint),
      Context.add(Toolbox.Toolbox, toolbox),
      Context.add(RetryStrategy.RetryStrategy, strategy(sleep)),
      Context.add(Router.Router, router),
      Context.add(Compactor.Compactor, Compactor.make(provider))
    )
    const input = {
      conversationId: Ids.ConversationId.make(this.conversationId),
      turnId: Ids.TurnId.make(this.id),
      target: this.services.ports.targetOf(facts.model, "model"),
      history,
      prompt: facts.prompt,
      startedAt: facts.startedAt,
      abort: Deferred.await(this.aborted),
      ...defined({ system: facts.system, limits })
    }
    this.fiber = Effect.runFork(Effect.provideContext(Kernel.runTurn(input), context))
    const exit = await Effect.runPromise(Fiber.await(this.fiber))
    this.retry = undefined
    if (Exit.isSuccess(exit)) {
      await close()
      return this.ended(exit.value)
    }
    const failure = exit.cause.reasons.find(Cause.isFailReason)?.error
    if (failure === undefined) throw this.isClosed ? closed(this.id) : Cause.squash(exit.cause)
    if (failure._tag === "TurnStopped") throw failed(this.id, failure)
    const retryAt = new Date(failure.retryAt)
    await this.services.park?.({ id: this.id, retryAt })
    return { status: "parked", retryAt }
  }

  private emit(event: Wire.TurnEvent): void {
    if (event.type === "provider-retry") this.retry = event
    if (event.type === "retry-end" || event.type === "turn-end") {
      this.retry = undefined
      this.waits.end()
    }
    this.log.push(event)
    this.services.publish(event)
  }

  private ended(end: Wire.TurnEnd): Result {
    const messages = this.log.events.flatMap((event) => (event.type === "message" ? [event.message] : []))
    const answer = messages.findLast((message) => message.role === "assistant" && message.error === undefined)
    const { attempts, error, sleptMs, status, steps, usage, waitedMs = sleptMs } = end
    const text = (answer?.content ?? []).flatMap((part) => (part.type === "text" ? [part.text] : [])).join("")
    return { status, text, usage, steps, attempts, waitedMs, messages, ...defined({ error }) }
  }
}

// --- internal

const failed = (id: string, cause: unknown): HoldfastError =>
  new HoldfastError("store-failed", `Turn ${id} could not be recorded: ${messageOf(cause)}`, { cause })

const closed = (id: string): HoldfastError =>
  new HoldfastError("closed", `Turn ${id} was stopped before its end: it continues where it is resumed.`)
