/**
 * Makes a provider from a function that returns events as an async iterable.
 *
 * For embedders: such a function can be a generator around an SDK. Errors that it throws are classified like all others (C5, C10).
 * Events that it yields are passed on unchecked, apart from empty deltas, which are no content (C8); it must fulfil the contract of
 * the `Provider` port. An SDK's own retries must be switched off (C9).
 */
import { Provider } from "@holdfast/kernel"
import { Classification } from "@holdfast/policy"
import { defined, Failure } from "@holdfast/wire"
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
 * `signal` aborts when the attempt is over, however it ended. An interrupted turn does not wait for the iterable to react. `concealed` copies an
 * error without its secrets: a failure has the words of the copy, and is what the error is (rule C13).
 */
export const fromAsyncIterable = (
  call: (request: Provider.ProviderRequest, signal: AbortSignal) => AsyncIterable<Provider.ProviderEvent>,
  concealed?: (error: unknown) => unknown
): Provider.Provider["Service"] => ({
  stream: (request) =>
    Stream.mapError(
      elementsOf((signal) => call(request, signal), Provider.isEmptyDelta),
      ({ at, error }) => {
        const failure = Classification.ofThrown(error, at)
        if (concealed === undefined) return new Failure.ProviderFailure({ failure })
        const { code: _code, evidence: _evidence, ...meaning } = failure
        const { code, evidence, message } = Classification.ofThrown(concealed(error), at)
        return new Failure.ProviderFailure({ failure: { ...meaning, message, ...defined({ code, evidence }) } })
      }
    )
})

/** An error that a call threw, and when: an endpoint's hints count from then. */
export class Thrown {
  readonly error: unknown
  /** Epoch milliseconds. */
  readonly at: number
  constructor(error: unknown, at: number) {
    this.error = error
    this.at = at
  }
}

/** The elements of one attempt, of any type, apart from those to skip; `signal` as above. */
export const elementsOf = <A>(
  call: (signal: AbortSignal) => AsyncIterable<A>,
  isSkipped: (element: A) => boolean = () => false
): Stream.Stream<A, Thrown> =>
  Stream.fromChannel(Channel.fromTransform((_upstream, scope) => attempt(call, isSkipped, scope)))

// --- internal

const attempt = Effect.fnUntraced(function* <A>(
  call: (signal: AbortSignal) => AsyncIterable<A>,
  isSkipped: (element: A) => boolean,
  scope: Scope.Scope
) {
  const clock = yield* Clock.Clock
  const controller = new AbortController()
  let iterator: AsyncIterator<A> | undefined
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
    catch: (error) => new Thrown(error, clock.currentTimeMillisUnsafe())
  })
  type ElementPull = Pull.Pull<Arr.NonEmptyReadonlyArray<A>, Thrown>
  const pull: ElementPull = Effect.flatMap(step, (result): ElementPull => {
    if (result.done === true) return Cause.done()
    return isSkipped(result.value) ? pull : Effect.succeed([result.value])
  })
  return pull
})
