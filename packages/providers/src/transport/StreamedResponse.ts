/**
 * Reads a streamed response to its end, one network read at a time.
 *
 * StreamedResponse.S1. The end of the body before the model has stopped is a failure (C6). A connection failure after that is ignored.
 * StreamedResponse.S2. `finish` waits for the end of the body, for a limited time, to receive late usage and to reuse the connection.
 * StreamedResponse.S3. The events of one network read are emitted as one array. While a text is under way they are pushed (`Push`).
 */
import type { Provider } from "@holdfast/kernel"
import { Push } from "@holdfast/kernel/host"
import { Classification } from "@holdfast/policy"
import { Failure } from "@holdfast/wire"
import * as Arr from "effect/Array"
import * as Cause from "effect/Cause"
import * as Effect from "effect/Effect"
import * as Pull from "effect/Pull"
import type * as Decoder from "../decoding/Decoder.ts"
import type { Broken, BytePull } from "../http/Http.ts"
import * as Deadline from "../limits/Deadline.ts"

/** The longest wait for usage after the model has stopped, in milliseconds. Providers send it with the next frame. */
export const AWAIT_USAGE_MS = 1000

/** The longest wait for the body's end after the terminal frame, in milliseconds. Beyond this a new connection is cheaper. */
const AWAIT_END_MS = 250

type Events = Arr.NonEmptyReadonlyArray<Provider.ProviderEvent>

/** The events of an attempt, pull by pull. */
export type EventPull = Pull.Pull<Events, Failure.ProviderFailure>

/** A response whose status is a success. */
export interface Options {
  readonly bytes: BytePull
  /** Whether all bytes have arrived. */
  readonly isWhole: () => boolean
  readonly decoder: Decoder.Decoder
  /** The decoder's events, with errors that have no secrets. */
  readonly take: () => Array<Provider.ProviderEvent>
  readonly failureOf: (broken: Broken) => Failure.ProviderFailure
  /** Reports progress that is no event (C8). */
  readonly progress: () => void
}

/** A response that ended before its model had stopped (StreamedResponse.S1). */
export const incomplete = new Failure.ProviderFailure({ failure: Classification.incomplete() })

/** The pull of a response whose first reads have arrived. */
export const make = (
  { bytes, decoder, failureOf, isWhole, progress, take }: Options,
  first: ReadonlyArray<Uint8Array>
): EventPull => {
  let next: EventPull = beginning(first, (reads) => received(reads))
  let held = 0

  const received = (reads: ReadonlyArray<Uint8Array>): EventPull => {
    decoder.feed(reads)
    return settle(read)
  }

  /** Emits the calls that a failure leaves unfinished before the failure (A12). */
  const broken = (failing: EventPull): EventPull =>
    Effect.suspend(() => {
      const events = decoder.cut()
      next = failing
      return Arr.isReadonlyArrayNonEmpty(events) ? Effect.succeed([...events]) : failing
    })

  const read: EventPull = Pull.matchEffect(bytes, {
    onSuccess: received,
    onFailure: (cause) => broken(Effect.failCause(Cause.map(cause, failureOf))),
    onDone: () => {
      decoder.end()
      return settle(broken(Effect.fail(incomplete)))
    }
  })

  /** Emits the pending events; continues with `open` while the model has not stopped. */
  const settle = (open: EventPull): EventPull => {
    const standing = decoder.standing()
    next = standing === "open" ? open : standing === "failed" ? Cause.done() : drained
    const events = take()
    if (Arr.isArrayNonEmpty(events)) return Effect.succeed(events)
    reportProgress()
    return next
  }

  const reportProgress = (): void => {
    if (decoder.held() <= held) return
    held = decoder.held()
    progress()
  }

  /** Decodes reads as they arrive. The next pull settles the end of the text. */
  const pushed =
    (source: Push.Push<ReadonlyArray<Uint8Array>>): Push.Push<Events> =>
    (take, over) =>
      source((reads) => {
        decoder.feed(reads)
        if (decoder.standing() !== "open") {
          next = Effect.suspend(() => settle(read))
          over()
          return false
        }
        const events = decoder.take()
        if (Arr.isArrayNonEmpty(events)) return take(events)
        reportProgress()
        return true
      }, over)

  /** Reads the rest of the body. Connection failures are ignored now (StreamedResponse.S1). */
  const drain: Effect.Effect<void> = Pull.matchEffect(bytes, {
    onSuccess: (reads) => {
      decoder.feed(reads)
      return decoder.standing() === "failed" ? Effect.void : drain
    },
    onFailure: (cause) => (Cause.hasInterrupts(cause) ? Effect.interrupt : Effect.void),
    onDone: () => Effect.sync(decoder.end)
  })

  const drained: EventPull = Effect.flatMap(
    Effect.suspend(() =>
      isWhole() ? drain : Deadline.within(drain, decoder.standing() === "finished" ? AWAIT_END_MS : AWAIT_USAGE_MS)
    ),
    () => {
      next = Cause.done()
      return lastOf(decoder, take)
    }
  )

  return Push.attach(
    Effect.suspend(() => next),
    () => {
      const source = next === read ? Push.of(bytes) : undefined
      return source && pushed(source)
    }
  )
}

/** Reads that have arrived. In a function of its own: those of `make` last as long as the response, and would keep the reads. */
const beginning = (first: ReadonlyArray<Uint8Array>, received: (reads: ReadonlyArray<Uint8Array>) => EventPull) =>
  Effect.suspend(() => received(first))

/** The last events of a response: those that were held back, and `finish`. */
export const lastOf = (decoder: Decoder.Decoder, take: Options["take"]): EventPull => {
  if (decoder.standing() !== "failed") decoder.finish()
  const events = take()
  return Arr.isArrayNonEmpty(events) ? Effect.succeed(events) : Cause.done()
}
