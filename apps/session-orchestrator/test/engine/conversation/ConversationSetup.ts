/** Runs conversations as a whole, on a store in memory and a test clock. */
import { it } from "@effect/vitest"
import { type Journal, type StorageError, Timer } from "@holdfast/journal"
import type { Provider, Toolbox } from "@holdfast/kernel"
import { ScriptedProvider } from "@holdfast/kernel/testing"
import type { Profile, Routes } from "@holdfast/policy"
import type { TurnEvent } from "@holdfast/wire"
import { Duration, Effect, Exit, Layer, Scope, Stream } from "effect"
import * as Condition from "../../../src/base/system/Condition.ts"
import { Conversations, type Frame } from "../../../src/engine/conversation/Conversations.ts"
import { Defaults } from "../../../src/engine/conversation/Defaults.ts"
import * as Gates from "../../../src/engine/gate/Gates.ts"
import * as Quarantine from "../../../src/engine/pacing/Quarantine.ts"
import { HeldTurns } from "../../../src/engine/orchestrator/HeldTurns.ts"
import * as Orchestrator from "../../../src/engine/orchestrator/Orchestrator.ts"
import { Providers } from "../../../src/engine/conversation/Providers.ts"
import * as Tools from "../../../src/engine/conversation/Tools.ts"
import * as TurnLog from "../../../src/storage/TurnLog.ts"
import type * as SqlStore from "../../../src/storage/sql/SqlStore.ts"
import * as MemoryStore from "../../storage/MemoryStore.ts"
import { Standings } from "../../../src/storage/Standings.ts"
import { Store } from "../../../src/storage/Store.ts"
import type * as It from "../../It.ts"

/** Waits of so many seconds, one after the other; beyond 5 s a turn leaves memory. */
export const waits = (...seconds: ReadonlyArray<number>): Profile.RetrySettings => ({
  schedule: { type: "steps", delays: seconds.map(Duration.seconds) },
  maxRetries: seconds.length
})

export interface Options {
  readonly scripts: ReadonlyArray<ScriptedProvider.Script>
  /** Calls this provider in the place of the scripted one. */
  readonly provider?: Provider.Provider["Service"]
  readonly retry?: Profile.RetrySettings
  /** Providers and the names of their credentials; if absent, `test` with none. */
  readonly credentials?: Routes.Known["credentials"]
  /** Wraps the store of the service. */
  readonly store?: (store: Store["Service"]) => Partial<Store["Service"]>
  readonly log?: (log: TurnLog.TurnLog["Service"]) => Partial<TurnLog.TurnLog["Service"]>
  readonly gates?: Gates.Gates["Service"]
  readonly tools?: Tools.Tools["Service"]
  readonly spend?: Defaults["Service"]["spend"]
  readonly models?: Defaults["Service"]["models"]
  readonly systemPrompts?: Readonly<Record<string, string>>
  readonly standings?: (standings: Standings["Service"]) => Partial<Standings["Service"]>
  /** The storage; if absent, in memory. */
  readonly storage?: Layer.Layer<SqlStore.Storage, StorageError>
}

/** What a test has of a service. */
export interface Service {
  readonly conversations: Conversations["Service"]
  readonly store: Store["Service"]
  readonly log: TurnLog.TurnLog["Service"]
  readonly provider: ReturnType<typeof ScriptedProvider.make>
  /** Stops the service. */
  readonly stop: Effect.Effect<void>
  readonly held: HeldTurns["Service"]
  readonly condition: Condition.Condition["Service"]
}

/** Runs a test against a service, which is stopped after it. */
export const withService = <A = void>(
  {
    scripts,
    provider: own,
    retry = waits(1),
    credentials = { test: [] },
    store = () => ({}),
    log = () => ({}),
    standings = () => ({}),
    gates,
    tools,
    spend,
    models = {},
    systemPrompts = {},
    storage = MemoryStore.layer
  }: Options,
  test: It.Body<[Service], Scope.Scope | TurnLog.TurnLog, A>
) =>
  Effect.gen(function* () {
    const provider = ScriptedProvider.make(scripts)
    const condition = Condition.make()
    const real = yield* Store
    const turns = yield* TurnLog.TurnLog
    const known = yield* Standings
    const between = Layer.mergeAll(
      Layer.succeed(Store, { ...real, ...store(real) }),
      Layer.succeed(TurnLog.TurnLog, { ...turns, ...log(turns) }),
      Layer.succeed(Standings, { ...known, ...standings(known) })
    )
    const resources = Layer.mergeAll(
      Layer.succeed(Providers, {
        get: () => own ?? provider,
        names: Object.keys(credentials),
        unusable: () => undefined,
        credentials
      }),
      Layer.succeed(Defaults, { model: { provider: "test", model: "m" }, retry, models, systemPrompts, spend }),
      gates === undefined ? Gates.layerNoop : Layer.succeed(Gates.Gates, gates),
      tools === undefined ? Tools.layerNoop : Layer.succeed(Tools.Tools, tools),
      Timer.layer,
      Quarantine.layer.pipe(Layer.provide(Timer.layer)),
      Layer.succeed(Condition.Condition, condition)
    )
    const scope = yield* Scope.fork(yield* Scope.Scope)
    const context = yield* Layer.buildWithScope(
      Orchestrator.layer.pipe(Layer.provide(resources), Layer.provide(between)),
      scope
    )
    const conversations = yield* Effect.provide(Conversations, context)
    const held = yield* Effect.provide(HeldTurns, context)
    const stop = Scope.close(scope, Exit.void)
    return yield* Effect.fnUntraced(test)({ conversations, store: real, log: turns, provider, stop, held, condition })
  }).pipe(Effect.scoped, Effect.provide(storage))

/** Declares a test against a service. */
export const serving = (title: string, options: Options, test: Parameters<typeof withService>[1]): void =>
  it.effect(title, () => withService(options, test))

/** A log whose appends, each of its own, come after an effect that may refuse them. */
export const appendsAfter =
  (before: (append: TurnLog.Append) => Effect.Effect<unknown, Journal.AppendError>) =>
  (real: TurnLog.TurnLog["Service"]): Partial<TurnLog.TurnLog["Service"]> => ({
    append: (appends) =>
      Effect.forEach(
        appends,
        (append) =>
          Effect.exit(
            Effect.andThen(
              Effect.suspend(() => before(append)),
              TurnLog.one(real, append)
            )
          ),
        { concurrency: "unbounded" }
      )
  })

/** Tools that every conversation has, of servers that are up. */
export const toolsOf = (toolbox: Toolbox.Toolbox["Service"]): Tools.Tools["Service"] => {
  const offered = { toolbox: Effect.succeed(toolbox), missing: () => [], isComplete: Effect.void }
  return { ...offered, names: [], only: () => offered }
}

/** Whether an append has an event of this type. */
export const writes = ({ events }: TurnLog.Append, type: TurnEvent.TurnEvent["type"]): boolean =>
  events.some((event) => event.type === type)

/** Lets all work run that is possible without the clock. */
export const settled = Effect.promise(async () => {
  for (let n = 0; n < 40; n++) await new Promise((resolve) => setImmediate(resolve))
})

/** Makes a call that is not answered at once. */
export const asking = <A, E>(call: Effect.Effect<A, E>) => Effect.forkScoped(call, { startImmediately: true })

/** Subscribes, and collects the frames. */
export const watching = Effect.fnUntraced(function* (frames: Stream.Stream<Frame, unknown>) {
  const seen: Array<Frame> = []
  const fiber = yield* Stream.runForEach(frames, (frame) => Effect.sync(() => seen.push(frame))).pipe(
    Effect.forkScoped({ startImmediately: true })
  )
  const until = (type: TurnEvent.TurnEvent["type"], count = 1) =>
    Effect.repeat(Effect.yieldNow, { until: () => seen.filter(({ event }) => event.type === type).length >= count })
  return { seen, fiber, until, types: () => seen.map(({ event }) => event.type) }
})
