/**
 * What the process is doing beside answering calls, for those who have to know: it is not ready before its start is done, and
 * it should not go down in the middle of an answer.
 *
 * Whoever runs turns says it here; the transports read it.
 */
import { Context, Effect, Latch, Layer } from "effect"

export class Condition extends Context.Service<
  Condition,
  {
    /** What the start has still to do, as a sentence; `undefined` once it is done. */
    readonly starting: Effect.Effect<string | undefined>
    /** Whether the start is done. */
    readonly isStarted: () => boolean
    /** Waits until the start is done. */
    readonly started: Effect.Effect<void>
    /** Says what the start has to do now; `undefined` says that it is done. */
    readonly setStarting: (what: string | undefined) => Effect.Effect<void>

    /** Whether a turn is in the middle of an answer that somebody may be reading. */
    readonly isAnswering: Effect.Effect<boolean>
    /** Says how to find that out. */
    readonly setAnswering: (isAnswering: () => boolean) => Effect.Effect<void>
  }
>()("@holdfast/session-orchestrator/conversation/Condition") {}

/** A start that is done until somebody says otherwise, and no answers. */
export const layer: Layer.Layer<Condition> = Layer.effect(
  Condition,
  Effect.sync(() => {
    const done = Latch.makeUnsafe(true)
    let starting: string | undefined
    let isAnswering = (): boolean => false
    return {
      starting: Effect.sync(() => starting),
      isStarted: () => starting === undefined,
      started: done.await,
      setStarting: (what) =>
        Effect.suspend(() => {
          starting = what
          return what === undefined ? done.open : done.close
        }).pipe(Effect.asVoid),
      isAnswering: Effect.sync(() => isAnswering()),
      setAnswering: (find) =>
        Effect.sync(() => {
          isAnswering = find
        })
    }
  })
)
