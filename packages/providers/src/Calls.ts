/**
 * Streams that are made of their openings (`Opening` of the kernel): one call, with a fiber or without.
 *
 * Calls.C1. The stream makes the same call as the opening, and cancels it when its scope closes before the call was answered.
 */
import { Opening, type Provider } from "@holdfast/kernel"
import { Clock, type Context, Effect, Stream } from "effect"
import { type Failure } from "@holdfast/wire"

/** The stream of an opening. */
export const make = (opening: Opening.Opening): Opening.Events => Opening.attach(opened(opening), () => opening)

/** A refusal, as a stream emits it or fails with it. */
export const emitted = (
  refusal: Opening.Refusal
): Effect.Effect<readonly [Provider.ProviderEvent], Failure.ProviderFailure> =>
  "_tag" in refusal ? Effect.fail(refusal) : Effect.succeed([refusal])

/** What an opening gets of a fiber's context. */
export const worldOf: Effect.Effect<Opening.World> = Effect.contextWith((context: Context.Context<never>) => {
  const fork = Effect.runForkWith(context)
  return Effect.map(Clock.Clock, (clock) => ({
    now: () => clock.currentTimeMillisUnsafe(),
    elapsed: () => Number(clock.monotonicTimeNanosUnsafe()) / 1e6,
    after: (ms, act) => {
      const fiber = fork(Effect.andThen(Effect.sleep(ms), Effect.sync(act)))
      return () => fiber.interruptUnsafe()
    }
  }))
})

// --- internal

const opened = (opening: Opening.Opening): Opening.Events =>
  Stream.unwrap(
    Effect.flatMap(worldOf, (world) =>
      Effect.callback<Opening.Events>((resume) => {
        const cancel = opening(world, {
          refused: (refusal) => resume(Effect.succeed(Stream.fromIterableEffect(emitted(refusal)))),
          answered: ({ rest }) => resume(Effect.succeed(rest))
        })
        return Effect.sync(cancel)
      })
    )
  )
