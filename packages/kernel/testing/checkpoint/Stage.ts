/**
 * A turn on an engine, life after life, each of which can be made to die at a chosen point.
 *
 * Stage.G1. A life dies by stopping there: from then on nothing that it asks for is done, and the next life has a `Checkpoint` of its own.
 * Stage.G2. What happened is kept over all lives: requests, sleeps, tool calls, events, and the names that were asked for.
 * Stage.G3. Time goes on in sleeps alone, so that every life is at the same moments as one that never died.
 * Stage.G4. A `run` inside a `run`, or beside one that is no tool call of the same response, is a fault, whatever the engine makes of it.
 */
import { Ids, type TurnEvent } from "@holdfast/wire"
import { Cause, Context, Duration, Effect, Exit, Layer, type Schema, Stream } from "effect"
import { TestClock } from "effect/testing"
import { Checkpoint } from "../../src/Checkpoint.ts"
import { EventSink } from "../../src/EventSink.ts"
import { Provider, type ProviderRequest } from "../../src/Provider.ts"
import { RetryStrategy, type Wake } from "../../src/RetryStrategy.ts"
import { Toolbox, type ToolDefinition, type ToolOutcome } from "../../src/Toolbox.ts"
import * as Turn from "../../src/Turn.ts"
import type { TurnLimits } from "../../src/TurnLimits.ts"
import { TurnParked } from "../../src/TurnParked.ts"
import { TurnStopped } from "../../src/TurnStopped.ts"
import { RecordingSink } from "../RecordingSink.ts"
import type { Script } from "../ScriptedProvider.ts"
import { areSiblings, type Engine } from "./Engine.ts"

/** What a turn meets; the same in every life. */
export interface Play {
  /** What the provider does, a call each, in order, or by the request. A call that is made again finds its own script again. */
  readonly scripts: ReadonlyArray<Script> | ((request: ProviderRequest) => Script)
  /** Milliseconds before each retry of a step. */
  readonly delays?: ReadonlyArray<number>
  readonly tools?: ReadonlyArray<ToolDefinition>
  /** What a tool does when it runs; absent: it is done. */
  readonly run?: (toolName: string) => Effect.Effect<ToolOutcome>
  readonly limits?: TurnLimits
  /** What else the turn runs on. */
  readonly services?: Layer.Layer<never, never, Provider>
}

/**
 * A point at which a process can die.
 *
 * - `begun`: an effect without a record is about to be performed.
 * - `done`: it was performed, and its result is not on record.
 * - `recorded`: the result is on record, and nobody has acted on it.
 * - `marked`: a mark is on record.
 * - `asleep`: half of a sleep is over. `name` is its length.
 * - `persisting`, `persisted`: before and after events are written. `name` is the type of the first.
 */
export interface Point {
  readonly at: "begun" | "done" | "recorded" | "marked" | "asleep" | "persisting" | "persisted"
  readonly name: string
}

/** How one life goes. */
export interface Life {
  /** Whether it dies at a point; absent: at none. */
  readonly dies?: (point: Point) => boolean
  /** Milliseconds between the life before and this one. */
  readonly awayMs?: number
  readonly abort?: Effect.Effect<void>
  /** It leaves memory for a wait that is not over. */
  readonly parks?: boolean
}

/** How a life ended. */
export interface Fate {
  readonly exit: Exit.Exit<TurnEvent.TurnEnd, TurnParked | TurnStopped>
  /** It died at a point. */
  readonly isDead: boolean
}

export class Stage {
  /** What is on the disk of events, over all lives. */
  readonly sink = new RecordingSink()
  /** The calls of tools that ran. */
  readonly ran: Array<string> = []
  /** Milliseconds of the sleeps that began. */
  readonly sleeps: Array<number> = []
  readonly requests: Array<ProviderRequest> = []
  /** Names of what was known at the beginning, and then asked of `run`, a life each. */
  readonly names: Array<Array<string>> = []
  /** What was performed, over all lives. */
  readonly performed: Array<string> = []
  /** What no engine and no turn may do (G4). */
  readonly faults: Array<string> = []
  private readonly engine: Engine
  private readonly play: Play
  /** Calls of the provider, in the order in which they were made first. */
  private readonly calls: Array<string> = []

  constructor(engine: Engine, play: Play) {
    this.engine = engine
    this.play = play
  }

  /** Lives one life. */
  life({ abort, awayMs = 0, dies = () => false, parks = false }: Life = {}): Effect.Effect<Fate, unknown> {
    return Effect.gen({ self: this }, function* () {
      if (awayMs > 0) yield* TestClock.adjust(awayMs)
      const checkpoint = yield* this.engine.live
      const process = new Process(dies)
      const services = Layer.mergeAll(
        Layer.succeed(Checkpoint, this.watched(checkpoint, process)),
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
        ...(limits === undefined ? undefined : { limits }),
        ...(abort === undefined ? undefined : { abort })
      })
      const exit = yield* Effect.exit(Effect.provide(turn, services))
      return { exit, isDead: process.isDead }
    }).pipe(Effect.scoped)
  }

  /** Lives lives like these, and then one that does not die, to the seal. */
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

  /** G4, and nothing persisted that contradicts what was. */
  sound<A>(value: A): Effect.Effect<A, Error> {
    const { contradictions } = this.sink
    const faults =
      contradictions.length === 0
        ? this.faults
        : [...this.faults, `events were persisted otherwise at ${contradictions.join(", ")}`]
    return faults.length === 0 ? Effect.succeed(value) : Effect.fail(new Error(faults.join("; ")))
  }

  private readonly provider: Provider["Service"] = {
    stream: (request) => {
      const { calls, requests } = this
      const { scripts } = this.play
      requests.push(request)
      const place = placeOf(request)
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

  private sinkOf(process: Process): EventSink["Service"] {
    const { service } = this.sink
    return {
      live: (event) => void (process.isDead || service.live(event)),
      persist: (events, position) =>
        process
          .pass("persisting", events[0].type)
          .pipe(
            Effect.andThen(service.persist(events, position)),
            Effect.andThen(process.pass("persisted", events[0].type))
          )
    }
  }

  /** G3 */
  private strategyOf(process: Process, parks: boolean): RetryStrategy["Service"] {
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

  /** The engine's checkpoint, with its points (G1) and an eye on what is under way (G4). */
  private watched({ known, mark, run }: Checkpoint["Service"], process: Process): Checkpoint["Service"] {
    const names = known?.map(({ name }) => name) ?? []
    this.names.push(names)
    const underWay = new Set<string>()
    return {
      ...(known === undefined ? undefined : { known }),
      ...(mark === undefined
        ? undefined
        : {
            mark: (name) =>
              Effect.suspend(() => (process.isDead ? DEATH : Effect.andThen(mark(name), process.pass("marked", name))))
          }),
      run: <A, I, E, R>(name: string, schema: Schema.Codec<A, I>, effect: Effect.Effect<A, E, R>) =>
        Effect.gen({ self: this }, function* () {
          if (process.isDead) return yield* DEATH
          names.push(name)
          const outer = yield* Within
          if (outer !== undefined) this.faults.push(`${name} is run inside ${outer}`)
          for (const other of underWay) {
            if (!areSiblings(other, name)) this.faults.push(`${name} is run while ${other} is under way`)
          }
          underWay.add(name)
          let isNew = false
          const performed = Effect.gen({ self: this }, function* () {
            isNew = true
            yield* process.pass("begun", name)
            this.performed.push(name)
            const result = yield* effect
            yield* process.pass("done", name)
            return result
          }).pipe(Effect.provideService(Within, name))
          const result = yield* Effect.ensuring(
            run(name, schema, performed),
            Effect.sync(() => underWay.delete(name))
          )
          if (isNew) yield* process.pass("recorded", name)
          return result
        })
    }
  }
}

/** Where in its turn a call is made. */
export const placeOf = ({ attempt, step }: Pick<ProviderRequest, "attempt" | "step">): string => `${step}/${attempt}`

// --- internal

const DONE: ToolOutcome = { output: "done", isError: false }

const KILLED = new TurnStopped({ message: "the process has died" })

const DEATH: Effect.Effect<never, TurnStopped> = Effect.fail(KILLED)

const stopped = (cause: Cause.Cause<unknown>): Effect.Effect<never, Error> =>
  Effect.fail(new Error(`the turn did not go on to its seal: ${Cause.pretty(cause)}`))

/** The name of the `run` that an effect is part of. */
const Within = Context.Reference<string | undefined>("@holdfast/kernel/testing/Within", {
  defaultValue: () => undefined
})

/** G1 */
class Process {
  isDead = false
  private readonly dies: (point: Point) => boolean

  constructor(dies: (point: Point) => boolean) {
    this.dies = dies
  }

  /** Comes to a point. */
  pass(at: Point["at"], name: string): Effect.Effect<void, TurnStopped> {
    return Effect.suspend(() => {
      this.isDead ||= this.dies({ at, name })
      return this.isDead ? DEATH : Effect.void
    })
  }
}
