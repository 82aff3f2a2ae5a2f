/**
 * Makes streams from openings (the kernel's `Opening`): one call, with or without a fiber.
 *
 * OpeningStream.C1. The stream makes the same call as the opening, and cancels it when its scope closes before the call has a response.
 */
import type { Provider } from "@holdfast/kernel"
import { Monotonic, Opening } from "@holdfast/kernel/host"
import * as Clock from "effect/Clock"
import type * as Context from "effect/Context"
import * as Effect from "effect/Effect"
import * as Stream from "effect/Stream"
import { type Failure } from "@holdfast/wire"

/** The stream of an opening; it keeps the opening attached. */
export const make = (opening: Opening.Opening): Opening.Events => Opening.attach(opened(opening), () => opening)

/** Turns a refusal into a stream: it emits the failure, or fails with it. */
export const emitted = (
  refusal: Opening.Refusal
): Effect.Effect<readonly [Provider.ProviderEvent], Failure.ProviderFailure> =>
  "_tag" in refusal ? Effect.fail(refusal) : Effect.succeed([refusal])

/** The clock and timers of the fiber's context, as an opening takes them. */
export const worldOf: Effect.Effect<Opening.World> = Effect.contextWith((context: Context.Context<never>) => {
  const fork = Effect.runForkWith(context)
  return Effect.map(Clock.Clock, (clock) => ({
    now: () => clock.currentTimeMillisUnsafe(),
    elapsed: () => Monotonic.millis(clock),
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
