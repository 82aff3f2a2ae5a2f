/**
 * A call of a provider that begins without a fiber: for hosts that make many calls which are likely to fail.
 *
 * `Provider.stream` stays the port. A stream that can be opened carries its opening (`attach`), and a host finds it there (`of`). A wrapper
 * of a provider wraps the opening too, or leaves it out: a stream without one is run as ever.
 *
 * Opening.O1. One of the listener's functions is called, once; none after `cancel`. It may be called before the opening returns.
 * Opening.O2. What ends before content is `refused`. What is answered goes on as a stream, which a fiber runs: content comes that way alone.
 * Opening.O3. An answered call belongs to the stream: `cancel` does nothing to it. The stream is run, or `cancel` of `Answered` is called.
 */
import { Failure } from "@holdfast/wire"
import type { Stream } from "effect"
import * as CallFailure from "./CallFailure.ts"
import type { ProviderEvent } from "./Provider.ts"

/** What the stream of a call is. */
export type Events = Stream.Stream<ProviderEvent, Failure.ProviderFailure>

/** How a call ended before content: an `error` event that was emitted, or what the stream failed with. */
export type Refusal = Extract<ProviderEvent, { readonly type: "error" }> | Failure.ProviderFailure

/** The rest of a call that was answered. */
export interface Answered {
  readonly rest: Events
  /** Ends the call, where the rest is not run. */
  readonly cancel: () => void
}

/** The listener of a call that begins (O1). */
export interface Listener {
  readonly refused: (refusal: Refusal) => void
  readonly answered: (answer: Answered) => void
}

/** What a call needs of its host. */
export interface World {
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Milliseconds from an unknown moment on, which no one sets. */
  readonly elapsed: () => number
  /** Calls back after some milliseconds; returns what takes that back. */
  readonly after: (ms: number, act: () => void) => () => void
}

/** Makes the call, and returns what cancels it. It does not throw. */
export type Opening = (world: World, listener: Listener) => () => void

/** A stream that carries its opening, where `find` has one. Both make the same call; one of them is used. */
export const attach = (stream: Events, find: () => Opening | undefined): Events =>
  Object.assign(stream, { [OPENING]: find })

/** The opening of a stream, where it has one. */
export const of = (stream: Events): Opening | undefined => (isOpenable(stream) ? stream[OPENING]() : undefined)

/** The same call behind a wrapper: as a stream, or as an opening where the call has one. The call is made once, and not before it is needed. */
export const through = (
  call: () => Events,
  stream: (inner: () => Events) => Events,
  opening: (inner: Opening) => Opening | undefined
): Events => {
  let made: Events | undefined
  const inner = () => (made ??= call())
  return attach(stream(inner), () => {
    const found = of(inner())
    return found && opening(found)
  })
}

/** How a call ended whose provider has thrown: a bug (C10). */
export const ofDefect = (defect: unknown): Refusal => ({ type: "error", failure: CallFailure.ofDefect(defect) })

/** What a call has failed with that was refused. */
export const failureOf = (refusal: Refusal): CallFailure.Broken =>
  refusal instanceof Failure.ProviderFailure
    ? CallFailure.withBody(refusal.failure, refusal.body)
    : CallFailure.withBody({ ...refusal.failure, retryable: refusal.failure.retryable ?? false }, refusal.body)

// --- internal

const OPENING: unique symbol = Symbol("@holdfast/kernel/Opening")

interface Openable {
  readonly [OPENING]: () => Opening | undefined
}

const isOpenable = (stream: Events): stream is Events & Openable => OPENING in stream
