/**
 * Runs a turn on an engine over several lives, which may die at chosen points.
 *
 * TurnLives.G1. It keeps the requests, sleeps, tool calls, events and names of records of all lives.
 * TurnLives.G2. Time advances only in sleeps, so that every life has the same times as a life without a death.
 */
import { defined, Ids, type TurnEvent } from "@holdfast/wire"
import * as Cause from "effect/Cause"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Layer from "effect/Layer"
import * as Stream from "effect/Stream"
import { TestClock } from "effect/testing"
import { Checkpoint } from "../../src/ports/Checkpoint.ts"
import { EventSink } from "../../src/ports/EventSink.ts"
import { Provider, type ProviderRequest } from "../../src/ports/Provider.ts"
import { RetryStrategy, type Wake } from "../../src/ports/RetryStrategy.ts"
import { Toolbox, type ToolDefinition, type ToolOutcome } from "../../src/ports/Toolbox.ts"
import * as Turn from "../../src/turn/Turn.ts"
import type { TurnLimits } from "../../src/turn/TurnLimits.ts"
import { TurnParked } from "../../src/ports/TurnParked.ts"
import type { TurnStopped } from "../../src/ports/TurnStopped.ts"
import { RecordingSink } from "../RecordingSink.ts"
import type { Script } from "../ScriptedProvider.ts"
import type { Engine } from "./Engine.ts"
import { type Point, SimulatedProcess } from "./SimulatedProcess.ts"

/** The surroundings of a turn; the same in every life. */
export interface TurnSetup {
  /** The provider's behaviour, one script a call in order, or by the request. A call that is made again uses the same script again. */
  readonly scripts: ReadonlyArray<Script> | ((request: ProviderRequest) => Script)
  /** Milliseconds before each retry of a step. */
  readonly delays?: ReadonlyArray<number>
  readonly tools?: ReadonlyArray<ToolDefinition>
  /** The effect of a tool; absent: it succeeds at once. */
  readonly run?: (toolName: string) => Effect.Effect<ToolOutcome>
  readonly limits?: TurnLimits
  /** Further services of the turn. */
  readonly services?: Layer.Layer<never, never, Provider>
}

/** The course of one life. */
export interface Life {
  /** Whether it dies at a point; absent: it does not die. */
  readonly dies?: (point: Point) => boolean
  /** Milliseconds between the life before and this one. */
  readonly awayMs?: number
  readonly abort?: Effect.Effect<void>
  /** It parks for a wait that is not over. */
  readonly parks?: boolean
}

/** How a life ended. */
interface LifeEnd {
  readonly exit: Exit.Exit<TurnEvent.TurnEnd, TurnParked | TurnStopped>
  /** It died at a point. */
  readonly isDead: boolean
}

/** One turn on an engine, over several lives. */
export class TurnLives {
  /** The persisted events of all lives. */
  readonly sink = new RecordingSink()
  /** The tool calls that ran. */
  readonly ran: Array<string> = []
  /** Milliseconds of the sleeps that began. */
  readonly sleeps: Array<number> = []
  readonly requests: Array<ProviderRequest> = []
  private readonly processes: Array<SimulatedProcess> = []
  private readonly engine: Engine
  private readonly play: TurnSetup
  /** Calls of the provider, in the order in which they were made first. */
  private readonly calls: Array<string> = []

  constructor(engine: Engine, play: TurnSetup) {
    this.engine = engine
    this.play = play
  }

  /** Runs one life. */
  life({ abort, awayMs = 0, dies = () => false, parks = false }: Life = {}): Effect.Effect<LifeEnd, unknown> {
    return Effect.gen({ self: this }, function* () {
      if (awayMs > 0) yield* TestClock.adjust(awayMs)
      const checkpoint = yield* this.engine.live
      const process = new SimulatedProcess(dies)
      this.processes.push(process)
      const services = Layer.mergeAll(
        Layer.succeed(Checkpoint, process.watched(checkpoint)),
        Layer.succeed(Provider, this.provider),
        Layer.succeed(EventSink, this.sinkOf(process)),
        Layer.succeed(Toolbox, this.toolbox),
        Layer.succeed(RetryStrategy, this.strategyOf(process, parks)),
        Layer.provide(this.play.services ?? Layer.empty, Layer.succeed(Provider, this.provider))
      )
      const { limits } = this.play
      const turn = Turn.runTurn({
        conversationId: Ids.ConversationId.make("c1"),
        turnId: Ids.TurnId.make("t1"),
        target: { provider: "test", model: "model" },
        history: [],
        prompt: "Hello",
        startedAt: 0,
        ...defined({ limits, abort })
      })
      const exit = yield* Effect.exit(Effect.provide(turn, services))
      return { exit, isDead: process.isDead }
    }).pipe(Effect.scoped)
  }

  /** Runs these lives, and then a life without a death, to the seal. */
  toSeal(...lives: ReadonlyArray<Life>): Effect.Effect<TurnEvent.TurnEnd, unknown> {
    return Effect.gen({ self: this }, function* () {
      for (const life of lives) {
        const { exit, isDead } = yield* this.life(life)
        if (Exit.isSuccess(exit)) return yield* this.sound(exit.value)
        if (!isDead) return yield* stopped(exit.cause)
      }
      const { exit } = yield* this.life()
      return yield* Exit.isSuccess(exit) ? this.sound(exit.value) : stopped(exit.cause)
    })
  }

  /** For each life: the names of the known records at its beginning, then those of all calls of `run`. */
  get names(): ReadonlyArray<ReadonlyArray<string>> {
    return this.processes.map(({ names }) => names)
  }

  /** Fails if a life had a fault, or persisted an event that contradicts an earlier one. */
  sound<A>(value: A): Effect.Effect<A, Error> {
    const faults = [
      ...this.processes.flatMap(({ faults }) => faults),
      ...this.sink.contradictions.map((position) => `another event was persisted at ${position}`)
    ]
    return faults.length === 0 ? Effect.succeed(value) : Effect.fail(new Error(faults.join("; ")))
  }

  private readonly provider: Provider["Service"] = {
    stream: (request) => {
      const { calls, requests } = this
      const { scripts } = this.play
      requests.push(request)
      const place = attemptKeyOf(request)
      if (!calls.includes(place)) calls.push(place)
      const script = typeof scripts === "function" ? scripts(request) : scripts[calls.indexOf(place)]
      if (script === undefined) return Stream.die(new Error(`call ${place} was not scripted`))
      const reads = script.reads.map((events) => Stream.fromIterable(events))
      return Stream.concat(Stream.flatten(Stream.fromIterable(reads)), Stream.drain(Stream.fromEffect(script.end)))
    }
  }

  private get toolbox(): Toolbox["Service"] {
    const { run = () => Effect.succeed(DONE), tools = [] } = this.play
    return {
      definitions: tools,
      run: ({ toolCallId, toolName }) =>
        Effect.suspend(() => {
          this.ran.push(toolCallId)
          return run(toolName)
        })
    }
  }

  private sinkOf(process: SimulatedProcess): EventSink["Service"] {
    const { service } = this.sink
    return {
      live: (event) => void (process.isDead || service.live(event)),
      persist: (events, position) => {
        const { type } = events.at(-1) ?? events[0]
        return process
          .pass("persisting", type)
          .pipe(Effect.andThen(service.persist(events, position)), Effect.andThen(process.pass("persisted", type)))
      }
    }
  }

  /** TurnLives.G2 */
  private strategyOf(process: SimulatedProcess, parks: boolean): RetryStrategy["Service"] {
    const delayOf = (attempt: number) => {
      const delay = this.play.delays?.[attempt]
      return delay === undefined ? undefined : Duration.millis(delay)
    }
    const sleep = (delay: Duration.Duration, retryAt: number): Effect.Effect<Wake, TurnParked | TurnStopped> =>
      Effect.gen({ self: this }, function* () {
        const delayMs = Duration.toMillis(delay)
        this.sleeps.push(delayMs)
        if (parks && delayMs > 0) return yield* Effect.fail(new TurnParked({ retryAt }))
        yield* TestClock.adjust(delayMs / 2)
        yield* process.pass("asleep", `${delayMs}`)
        yield* TestClock.adjust(delayMs / 2)
        return { type: "elapsed" }
      })
    return {
      budget: { measure: "scheduled" },
      delayFor: delayOf,
      decide: (attempt) => {
        const delay = delayOf(attempt)
        return delay && { delay }
      },
      sleep: (delay, awaited) => Effect.suspend(() => sleep(delay, awaited?.retryAt ?? 0))
    }
  }
}

/** The step and attempt of a call, as a key. */
export const attemptKeyOf = ({ attempt, step }: Pick<ProviderRequest, "attempt" | "step">): string =>
  `${step}/${attempt}`

// --- internal

const DONE: ToolOutcome = { output: "done", isError: false }

const stopped = (cause: Cause.Cause<unknown>): Effect.Effect<never, Error> =>
  Effect.fail(new Error(`the turn did not reach its seal: ${Cause.pretty(cause)}`))
