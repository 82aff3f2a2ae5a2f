/**
 * Publishes the process's state: remaining work of its start, and running answers.
 *
 * The service is not ready before its start is done, and does not end in the middle of an answer, or as one begins. The orchestrator writes this
 * state; the transports read it.
 */
import { Context, Effect, Latch, Layer } from "effect"

/** The state of the process that transports report and wait for. */
export class Condition extends Context.Service<
  Condition,
  {
    /** The work that the start still has to do, as a sentence; `undefined` once it is done. */
    readonly starting: Effect.Effect<string | undefined>
    /** Whether the start is done. */
    readonly isStarted: () => boolean
    /** Waits until the start is done. */
    readonly started: Effect.Effect<void>
    /** Sets the work that the start has to do now; `undefined` ends the start. */
    readonly setStarting: (what: string | undefined) => Effect.Effect<void>

    /** Lets no answer begin from now on, and returns whether those that have begun are over: a client may be reading them. */
    readonly settle: () => boolean
    /** Sets the function that does that. */
    readonly setSettling: (settle: () => boolean) => void
  }
>()("@holdfast/session-orchestrator/system/Condition") {}

/** A start that is done until `setStarting` is called, and no answers in progress. */
export const make = (): Condition["Service"] => {
  const done = Latch.makeUnsafe(true)
  let starting: string | undefined
  let settle = (): boolean => true
  return {
    starting: Effect.sync(() => starting),
    isStarted: () => starting === undefined,
    started: done.await,
    setStarting: (what) =>
      Effect.suspend(() => {
        starting = what
        return what === undefined ? done.open : done.close
      }).pipe(Effect.asVoid),
    settle: () => settle(),
    setSettling: (given) => {
      settle = given
    }
  }
}

/** The state of this process. */
export const layer: Layer.Layer<Condition> = Layer.sync(Condition, make)
