/**
 * A turn in the journal of a durable engine, as the kernel's `Checkpoint`, `EventSink` and `sleep`.
 *
 * The engine gives results on request alone, so `Checkpoint` has no `known` and no `mark` here. A wait is slept by the engine's own
 * timer, outside of `run`, and its end is recorded afterwards.
 *
 * EngineJournal.J3. Tool calls begin in the order of their numbers (E1 of the package's `Engine`): without it, the order of two journals would depend on
 *     which answer of the engine came first.
 * EngineJournal.J4. A cancellation comes by the engine alone, at the same call in every run. The call's effect is started all the
 *     same: the kernel takes an abort only where an effect starts (`Life.L3` of its engine), and seals the turn before the effect does anything.
 */
import { Records, TurnStopped } from "@holdfast/kernel"
import type { Message } from "@holdfast/wire"
import type * as Context from "effect/Context"
import * as Deferred from "effect/Deferred"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Exit from "effect/Exit"
import * as Fiber from "effect/Fiber"
import * as Schema from "effect/Schema"
import type { Engine } from "../Engine.ts"
import type { Json } from "../Events.ts"
import type { Facts, KeptBy, KeptTurn } from "./KeptTurn.ts"

/** A turn in the journal of an engine. Its facts are the first record, so that they are those of its first run. */
export const keep = async (
  engine: Engine,
  facts: Facts,
  history: ReadonlyArray<Message.Message>,
  { abort, emit, stopped }: Pick<KeptBy, "abort" | "emit" | "stopped">
): Promise<KeptTurn> => {
  const recorded = await untilStopped(engine, stopped).run("facts", async () => ({ ...facts }))
  return {
    facts: recorded as unknown as Facts, // what the line above returned in some run
    events: [],
    history,
    ...portsOf(untilStopped(engine, stopped), abort),
    sink: {
      live: emit,
      persist: (events) => Effect.sync(() => events.forEach((event) => emit(event)))
    },
    close: async () => {}
  }
}

/** The same engine, whose calls reject when the turn is stopped: where the engine has ended a run, it settles none of its calls. */
const untilStopped = (engine: Engine, stopped: Promise<never>): Engine => ({
  id: engine.id,
  run: (name, work) => Promise.race([engine.run(name, work), stopped]),
  sleep: (name, ms) => Promise.race([engine.sleep(name, ms), stopped]),
  isCancelled: (error) => engine.isCancelled?.(error) === true
})

/** The kernel's ports over an engine. `abort` is called when the engine cancels the turn. */
export const portsOf = (engine: Engine, abort: () => void): Pick<KeptTurn, "checkpoint" | "sleep"> => {
  const begun = new Map<string, Deferred.Deferred<void>>()
  const hasBegun = (step: number, number: number) => {
    const name = Records.nameOf("Tool", step, number)
    const latch = begun.get(name) ?? Deferred.makeUnsafe<void>()
    begun.set(name, latch)
    return latch
  }
  /** The turn stops unsealed, or seals as aborted. */
  const refused: Refused = (error, effect) => {
    if (engine.isCancelled?.(error) !== true)
      return Effect.fail(new TurnStopped.TurnStopped({ message: TurnStopped.describe(error) }))
    abort()
    return Effect.andThen(effect, Effect.never) // EngineJournal.J4
  }
  let waits = 0

  return {
    checkpoint: {
      run: (name, schema, effect) => {
        const place = Records.positionOf(name)
        if (place?.kind === "Wake")
          return Effect.flatMap(effect, (wake) => recorded(engine, name, schema, Effect.succeed(wake), refused))
        if (place?.kind !== "Begun" && place?.kind !== "Tool") return recorded(engine, name, schema, effect, refused)
        const { kind, number, step } = place
        const before = number === 0 ? Effect.void : Deferred.await(hasBegun(step, number - 1))
        const latch = kind === "Tool" ? hasBegun(step, number) : undefined
        const called = () => void (latch && Deferred.doneUnsafe(latch, Effect.void))
        return Effect.andThen(before, recorded(engine, name, schema, effect, refused, called)) // EngineJournal.J3
      }
    },
    sleep: (delay) =>
      Effect.suspend(() => {
        const slept = engine.sleep(`wait/${waits++}`, Math.max(0, Math.ceil(Duration.toMillis(delay))))
        const ended = Effect.tryPromise({ try: () => slept, catch: (error) => error })
        return Effect.catch(Effect.as(ended, { type: "elapsed" } as const), (error) => refused(error, Effect.void))
      })
  }
}

// --- internal

type Refused = <A, E, R>(
  error: unknown,
  effect: Effect.Effect<A, E, R>
) => Effect.Effect<never, E | TurnStopped.TurnStopped, R>

/** Runs an effect as a piece of work of the engine. The promise of work that fails, or whose turn is over, stays open: the engine records nothing. */
const recorded = <A, I, E, R>(
  engine: Engine,
  name: string,
  schema: Schema.Codec<A, I>,
  effect: Effect.Effect<A, E, R>,
  refused: Refused,
  called: () => void = () => {}
): Effect.Effect<A, E | TurnStopped.TurnStopped, R> =>
  Effect.contextWith((services: Context.Context<R>) =>
    Effect.callback((resume) => {
      // The encoded form of a record is JSON (`Records`).
      const encode = Schema.encodeEffect(schema) as (value: A) => Effect.Effect<Json, Schema.SchemaError>
      const result = Effect.flatMap(effect, (value) => Effect.orDie(encode(value)))
      let fiber: Fiber.Fiber<Json, E> | undefined
      let isOver = false
      const work = () =>
        new Promise<Json>((resolve) => {
          if (isOver) return
          fiber = Effect.runForkWith(services)(result)
          fiber.addObserver((exit) => {
            if (Exit.isSuccess(exit)) resolve(exit.value)
            else if (!isOver) resume(Effect.failCause(exit.cause))
          })
        })
      engine.run(name, work).then(
        (value) => resume(Effect.orDie(Schema.decodeUnknownEffect(schema)(value))),
        (error) => resume(refused(error, effect))
      )
      called()
      return Effect.suspend(() => {
        isOver = true
        return fiber === undefined ? Effect.void : Fiber.interrupt(fiber)
      })
    })
  )
