/**
 * Makes a provider from a function that returns events as an async iterable.
 *
 * For embedders: such a function can be a generator around an SDK. Errors that it throws are classified like all others (C5, C10).
 * Events that it yields are passed on unchecked, apart from empty deltas, which are no content (C8); it must fulfil the contract of
 * the `Provider` port. An SDK's own retries must be switched off (C9).
 */
import { Provider } from "@holdfast/kernel"
import { Classification } from "@holdfast/policy"
import { Failure } from "@holdfast/wire"
import type * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Channel from "effect/Channel"
import * as Clock from "effect/Clock"
import * as Effect from "effect/Effect"
import type * as Pull from "effect/Pull"
import * as Scope from "effect/Scope"
import * as Stream from "effect/Stream"

/**
 * Makes a provider.
 *
 * **Details**
 *
 * `signal` aborts when the attempt is over, however it ended. An interrupted turn does not wait for the iterable to react.
 */
export const fromAsyncIterable = (
  call: (request: Provider.ProviderRequest, signal: AbortSignal) => AsyncIterable<Provider.ProviderEvent>
): Provider.Provider["Service"] => ({
  stream: (request) =>
    Stream.fromChannel(Channel.fromTransform((_upstream, scope) => attempt((signal) => call(request, signal), scope)))
})

// --- internal

const attempt = Effect.fnUntraced(function* (
  call: (signal: AbortSignal) => AsyncIterable<Provider.ProviderEvent>,
  scope: Scope.Scope
) {
  const clock = yield* Clock.Clock
  const controller = new AbortController()
  const thrown = (error: unknown) =>
    new Failure.ProviderFailure({ failure: Classification.ofThrown(error, clock.currentTimeMillisUnsafe()) })
  let iterator: AsyncIterator<Provider.ProviderEvent> | undefined
  yield* Scope.addFinalizer(
    scope,
    Effect.sync(() => {
      controller.abort()
      // Not awaited: a generator that waits for its network returns only after that. A late error is ignored.
      void (async () => iterator?.return?.())().catch(() => {})
    })
  )
  const step = Effect.tryPromise({
    try: async () => (iterator ??= call(controller.signal)[Symbol.asyncIterator]()).next(),
    catch: thrown
  })
  const pull: EventPull = Effect.flatMap(step, (result): EventPull => {
    if (result.done === true) return Cause.done()
    return Provider.isEmptyDelta(result.value) ? pull : Effect.succeed([result.value])
  })
  return pull
})

type EventPull = Pull.Pull<Arr.NonEmptyReadonlyArray<Provider.ProviderEvent>, Failure.ProviderFailure>
