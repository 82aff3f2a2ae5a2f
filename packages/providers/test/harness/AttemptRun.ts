/** Runs one attempt to its end, and reports how it ended. */
import type { Provider } from "@holdfast/kernel"
import type { Failure } from "@holdfast/wire"
import { Effect, type Exit, type Fiber, Stream } from "effect"
import { TestClock } from "effect/testing"
import { request } from "./Dialect.ts"

export interface Ending {
  readonly events: ReadonlyArray<Provider.ProviderEvent>
  /** The failure of the stream. */
  readonly failure: Failure.Failure | undefined
  /** Whether there was a `finish`. */
  readonly isSuccess: boolean
  /** The failure that was emitted as an error. */
  readonly emitted: Provider.EmittedFailure | undefined
}

export const run = (
  provider: Provider.Provider["Service"],
  onEvent: (event: Provider.ProviderEvent) => void = () => {},
  asked: Provider.ProviderRequest = request
): Effect.Effect<Ending> =>
  Effect.suspend(() => {
    const events: Array<Provider.ProviderEvent> = []
    return provider.stream(asked).pipe(
      Stream.runForEachArray((array) =>
        Effect.sync(() => {
          for (const event of array) {
            events.push(event)
            onEvent(event)
          }
        })
      ),
      Effect.match({
        onFailure: (error): Failure.Failure | undefined => error.failure,
        onSuccess: () => undefined
      }),
      Effect.map((failure) => ({
        events,
        failure,
        isSuccess: events.at(-1)?.type === "finish",
        emitted: events.flatMap((event) => (event.type === "error" ? [event.failure] : []))[0]
      }))
    )
  })

/** A signal that a callback sends and a test waits for. */
export const signal = () => {
  const { promise, resolve } = Promise.withResolvers<void>()
  return { give: () => resolve(), given: Effect.promise(() => promise) }
}

/** Advances the test clock, and serves the sockets, until a fiber has ended; returns the elapsed time. */
export const advanceUntilDone = <A, E>(fiber: Fiber.Fiber<A, E>, stepMs: number) =>
  Effect.gen(function* () {
    let passedMs = 0
    let exit: Exit.Exit<A, E> | undefined
    while ((exit = fiber.pollUnsafe()) === undefined) {
      yield* TestClock.adjust(stepMs)
      passedMs += stepMs
      yield* Effect.promise(() => new Promise(setImmediate))
    }
    return { exit, passedMs }
  })

export const text = (events: ReadonlyArray<Provider.ProviderEvent>): string =>
  events.reduce((text, event) => (event.type === "text-delta" ? text + event.delta : text), "")

export const reasoning = (events: ReadonlyArray<Provider.ProviderEvent>): string =>
  events.reduce((text, event) => (event.type === "reasoning-delta" ? text + event.delta : text), "")

export const calls = (events: ReadonlyArray<Provider.ProviderEvent>) =>
  events.filter((event) => event.type === "tool-call")

export const usage = (events: ReadonlyArray<Provider.ProviderEvent>) =>
  events.findLast((event) => event.type === "usage")?.usage
