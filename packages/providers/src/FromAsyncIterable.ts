/**
 * A bridge for embedders: any function that gives provider events as an async iterable, such as a generator around an SDK, is a
 * provider.
 *
 * What it throws is classified like everything else (C5, C10). What it yields is taken at its word, apart from empty deltas, which
 * are no content (C8); the contract that it owes is that of the `Provider` port. An SDK's own retries must be switched off (C9).
 */
import { Provider } from "@holdfast/kernel"
import { Classification } from "@holdfast/policy"
import { Failure } from "@holdfast/wire"
import { type Array as Arr, Cause, Channel, Clock, Effect, type Pull, Scope, Stream } from "effect"

/**
 * Makes a provider.
 *
 * **Details**
 *
 * `signal` aborts when the attempt is over, however it ended; an interrupted turn does not wait for the iterable to notice.
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
      // Not awaited: a generator that waits for its network returns only once that lets go. What it says then is nobody's.
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
