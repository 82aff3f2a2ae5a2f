/**
 * Starts a provider call without a fiber, for hosts whose calls often fail.
 *
 * `Provider.stream` stays the port. A stream that can be opened carries its opening (`attach`), and a host reads it from there (`of`). A
 * wrapper of a provider wraps the opening too, or leaves it out: a stream without one runs on a fiber as usual.
 *
 * Opening.O1. One of the listener's functions is called, once; none after `cancel`. It may be called before the opening returns.
 * Opening.O2. A call that ends before content is `refused`. An answered call continues as a stream, which a fiber runs: content comes only
 *     that way.
 * Opening.O3. An answered call belongs to the stream: `cancel` does nothing to it. The stream is run, or `cancel` of `Answered` is called.
 * Opening.O4. An answer keeps nothing of its opening: a stream may be open for an hour. Wrappers therefore make `rest` and `cancel` in a
 *     function that does not have the listener, because closures of one function share what any of them uses.
 */
import { Failure } from "@holdfast/wire"
import type * as Stream from "effect/Stream"
import * as CallFailure from "./CallFailure.ts"
import type { ProviderEvent } from "../ports/Provider.ts"

/** The stream of a call. */
export type Events = Stream.Stream<ProviderEvent, Failure.ProviderFailure>

/** How a call ended before content: the emitted `error` event, or the failure of the stream. */
export type Refusal = Extract<ProviderEvent, { readonly type: "error" }> | Failure.ProviderFailure

/** The rest of an answered call. */
export interface Answered {
  readonly rest: Events
  /** Ends the call if `rest` is not run. */
  readonly cancel: () => void
}

/** The listener of a call that begins (Opening.O1). */
export interface Listener {
  readonly refused: (refusal: Refusal) => void
  readonly answered: (answer: Answered) => void
}

/** The clock and timer that a call needs from its host. */
export interface World {
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Milliseconds since an arbitrary moment, by a clock that is never set. */
  readonly elapsed: () => number
  /** Calls `act` after some milliseconds; returns a function that cancels it. */
  readonly after: (ms: number, act: () => void) => () => void
}

/** Starts the call, and returns a function that cancels it. It does not throw. */
export type Opening = (world: World, listener: Listener) => () => void

/** Adds an opening to a stream, if `find` returns one. Both make the same call; only one of them may be used. */
export const attach = (stream: Events, find: () => Opening | undefined): Events =>
  Object.assign(stream, { [OPENING]: find })

/** Returns the opening of a stream; `undefined`: it has none. */
export const of = (stream: Events): Opening | undefined => (isOpenable(stream) ? stream[OPENING]() : undefined)

/** Wraps a call, both as a stream and as an opening if the call has one. The call is made once, and not before it is needed. */
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

/** The refusal of a call whose provider threw: a bug (C10). */
export const ofDefect = (defect: unknown): Refusal => ({ type: "error", failure: CallFailure.ofDefect(defect) })

/** Returns the failure of a refused call. */
export const failureOf = (refusal: Refusal): CallFailure.Broken =>
  refusal instanceof Failure.ProviderFailure
    ? CallFailure.withBody(refusal.failure, refusal.body)
    : CallFailure.withBody(CallFailure.emitted(refusal.failure), refusal.body)

// --- internal

const OPENING: unique symbol = Symbol("@holdfast/kernel/Opening")

interface Openable {
  readonly [OPENING]: () => Opening | undefined
}

const isOpenable = (stream: Events): stream is Events & Openable => OPENING in stream
