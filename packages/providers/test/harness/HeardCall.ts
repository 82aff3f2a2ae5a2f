/** Listens to a call in a fiber, which ends as the call does. */
import type { Provider } from "@holdfast/kernel"
import { ProviderCall } from "@holdfast/kernel/host"
import type { Failure } from "@holdfast/wire"
import { Effect } from "effect"

/** Calls `act` with the events of each read; it may return an effect that has to run before the next one. */
export const forEach = (
  provider: Provider.Provider["Service"],
  request: Provider.ProviderRequest,
  act: (events: ProviderCall.Events) => Effect.Effect<void> | undefined
): Effect.Effect<void, Failure.ProviderFailure> =>
  Effect.scopedWith((scope) =>
    Effect.flatMap(ProviderCall.worldOf(scope), (world) =>
      Effect.callback((resume) => {
        const running: ProviderCall.Running = ProviderCall.of(provider)(request, world, {
          events: (events) => {
            const first = act(events)
            if (first === undefined) return true
            world.run(first, () => running.more())
            return false
          },
          end: resume,
          progress: () => {}
        })
        return Effect.sync(() => running.cancel())
      })
    )
  )
