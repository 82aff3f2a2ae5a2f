/**
 * Runs a turn under test over its ports, and returns its outcome.
 *
 * `bothWays` runs a scenario twice: straight, and with a checkpoint that runs the turn again from its start after every record. Both must
 * have the same end and the same persisted events.
 */
import { it } from "@effect/vitest"
import { defined, Ids, type Message, type Prompt, type Target, type TurnEvent } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Scope from "effect/Scope"
import { TestClock } from "effect/testing"
import * as Checkpoint from "../src/ports/Checkpoint.ts"
import { EventSink } from "../src/ports/EventSink.ts"
import { type Listeners, Observer } from "../src/ports/Observer.ts"
import { Provider } from "../src/ports/Provider.ts"
import { RetryStrategy } from "../src/ports/RetryStrategy.ts"
import { Toolbox, layerNoop } from "../src/ports/Toolbox.ts"
import * as Turn from "../src/turn/Turn.ts"
import type { TurnLimits } from "../src/turn/TurnLimits.ts"
import type { TurnParked } from "../src/ports/TurnParked.ts"
import type { TurnStopped } from "../src/ports/TurnStopped.ts"
import { RecordingSink } from "./RecordingSink.ts"
import { ReplayCheckpoint } from "./ReplayCheckpoint.ts"
import * as ScriptedProvider from "./ScriptedProvider.ts"

/** A scenario: the script of the provider, and the ports. */
export interface Options {
  readonly scripts: ReadonlyArray<ScriptedProvider.Script>
  /** A `TestStrategy`, or any other. */
  readonly strategy?: { readonly service: RetryStrategy["Service"] }
  readonly toolbox?: Toolbox["Service"]
  readonly history?: ReadonlyArray<Message.Message>
  /** Another than `target`. */
  readonly primary?: Target.Target
  /** `null`: a manual retry. */
  readonly prompt?: Prompt.Prompt | null
  readonly system?: string
  readonly abort?: Effect.Effect<void>
  readonly observer?: Listeners
  /** The records of an earlier life of the turn. */
  readonly replay?: ReplayCheckpoint
  readonly sink?: RecordingSink
  readonly limits?: TurnLimits
  /** Further services of the turn: a router, a final report, a compactor. */
  readonly services?: Layer.Layer<never, never, Provider>
}

/** A started scenario: its fiber, and what its ports recorded. */
export interface Run {
  readonly sink: RecordingSink
  readonly provider: ReturnType<typeof ScriptedProvider.make>
  readonly fiber: Fiber.Fiber<TurnEvent.TurnEnd, TurnParked | TurnStopped>
}

/** How a scenario is run. */
export type Start = (options: Options) => Effect.Effect<Run, never, Scope.Scope>

/** The conversation of every scenario. */
export const conversationId = Ids.ConversationId.make("c1")
/** The turn of every scenario. */
export const turnId = Ids.TurnId.make("t1")
/** The default target of a scenario. */
export const target = { provider: "test", model: "model" }

/** Two tests of one scenario. */
export const bothWays = (
  title: string,
  scenario: (start: Start) => Effect.Effect<void, unknown, Scope.Scope>
): void => {
  it.effect(title, () => scenario(straight))
  it.effect(`${title} (run again after every record)`, () => scenario(replayed))
}

/** Runs a turn once. */
export const straight: Start = (options) => start(options, (turn) => turn, Checkpoint.layerMemory)

/** Runs a turn from its start again after every record. */
export const replayed: Start = (options) => dying(() => false)(options)

/** The same, with a process that also dies after the effect of a chosen record, before its result is recorded. */
export const dying =
  (losesResultOf: (name: string) => boolean): Start =>
  (options) =>
    Effect.suspend(() => {
      const replay = options.replay ?? new ReplayCheckpoint(losesResultOf)
      return start(options, (turn) => replay.toSeal(turn), Layer.succeed(Checkpoint.Checkpoint, replay.service))
    })

/** Runs everything that is due within an hour, and returns the end of the turn. */
export const settle = ({ fiber }: Run): Effect.Effect<TurnEvent.TurnEnd, TurnParked | TurnStopped> =>
  Effect.andThen(TestClock.adjust("1 hour"), Fiber.join(fiber))

// --- internal

type Turn = Effect.Effect<TurnEvent.TurnEnd, TurnParked | TurnStopped>

const start = (
  {
    scripts,
    strategy,
    toolbox,
    history = [],
    primary = target,
    prompt = "Hello",
    abort,
    limits,
    observer,
    system,
    sink: given,
    services = Layer.empty
  }: Options,
  mode: (turn: Turn) => Turn,
  checkpoint: Layer.Layer<Checkpoint.Checkpoint>
) =>
  Effect.gen(function* () {
    const sink = given ?? new RecordingSink()
    const provider = ScriptedProvider.make(scripts)
    const layer = Layer.mergeAll(
      Layer.succeed(Provider, provider),
      Layer.succeed(EventSink, sink.service),
      toolbox === undefined ? layerNoop : Layer.succeed(Toolbox, toolbox),
      checkpoint,
      Layer.provide(services, Layer.succeed(Provider, provider)),
      strategy === undefined ? Layer.empty : Layer.succeed(RetryStrategy, strategy.service),
      observer === undefined ? Layer.empty : Layer.succeed(Observer, observer)
    )
    const turn = Turn.runTurn({
      conversationId,
      turnId,
      target: primary,
      history,
      startedAt: 0,
      ...defined({ limits, system }),
      ...(prompt === null ? undefined : { prompt }),
      ...defined({ abort })
    }).pipe(Effect.provide(layer))
    const fiber = yield* Effect.forkScoped(mode(turn), { startImmediately: true })
    yield* Effect.addFinalizer(() =>
      Effect.sync(() => {
        if (sink.contradictions.length > 0)
          throw new Error(`run again, the turn persisted something else at ${sink.contradictions.join(", ")}`)
      })
    )
    return { sink, provider, fiber }
  })
