/**
 * Publishes the process's state: remaining work of its start, and running answers.
 *
 * The service is not ready before its start is done, and does not end in the middle of an answer, or as one begins. The orchestrator writes this
 * state; the transports read it.
 */
import { Context, Effect, Latch, Layer } from "effect"

/** The state of the process that transports report and wait for. */
export class Condition extends Context.Service<Condition, ReturnType<typeof make>>()(
  "@holdfast/session-orchestrator/system/Condition"
) {}

/** A start that is done until `setStarting` is called, and no answers in progress. */
export const make = () => {
  const done = Latch.makeUnsafe(true)
  let starting: string | undefined
  let settle = (): boolean => true
  return {
    /** The work that the start still has to do, as a sentence; `undefined` once it is done. */
    starting: Effect.sync(() => starting),
    /** Whether the start is done. */
    isStarted: () => starting === undefined,
    /** Waits until the start is done. */
    started: done.await,
    /** Sets the work that the start has to do now; `undefined` ends the start. */
    setStarting: (what: string | undefined) =>
      Effect.suspend(() => {
        starting = what
        return what === undefined ? done.open : done.close
      }).pipe(Effect.asVoid),
    /** Lets no answer begin from now on, and returns whether those that have begun are over: a client may be reading them. */
    settle: () => settle(),
    /** Sets the function that does that. */
    setSettling: (given: () => boolean): void => {
      settle = given
    }
  }
}

/** The state of this process. */
export const layer: Layer.Layer<Condition> = Layer.sync(Condition, make)
