/**
 * Delivers the messages of the outbox: ends of turns, notices and reports (rules X12, X15).
 *
 * Deliveries.D1. Every runner takes part. A message is claimed before it is sent and settled afterwards, so one whose process dies is sent
 *     again under the same id.
 * Deliveries.D2. At most `AT_ONCE` messages are under way, one of each lane. A receiver that hangs holds up its own lane alone.
 * Deliveries.D3. A message that is given up is logged as an error, without its address. The next one of its lane follows.
 * Deliveries.D4. A storage error is logged once, and the loop goes on. No turn waits for a delivery.
 * Deliveries.D5. A service that stops ends its attempts and gives their messages back, so that the next process need not wait until the
 *     claims are over.
 */
import type { StorageError } from "@holdfast/journal"
import type { Failure } from "@holdfast/wire"
import { Clock, Duration, Effect } from "effect"
import type { Claimed, Outbox } from "../storage/Outbox.ts"
import * as Patience from "./Patience.ts"

/** Messages under way at once. */
export const AT_ONCE = 8

/** How long a message is claimed: longer than an attempt may take. */
export const CLAIM_MS = 60_000

/** The time between two looks into an outbox without due messages. */
export const INTERVAL = Duration.seconds(1)

/** Turns that ended this long before a look are looked for again: runners' clocks differ, and a seal takes time to be on disk. */
const MARGIN_MS = 60_000

/** The time between two deletions of old messages. */
const FORGET_MS = 3_600_000

/** Sends a message, in one attempt. */
export type Send = (message: Claimed) => Effect.Effect<void, Failure.Failure>

/** A kind of messages. */
export interface Kind {
  readonly patience: Patience.Patience
  readonly send: Send
}

/** The outbox, and how its messages are sent. */
export interface Options {
  readonly outbox: Outbox["Service"]
  /** The kind of a message; `undefined`: another configuration wrote it, and it is given up. */
  readonly kindOf: (message: Claimed) => Kind | undefined
  readonly redact: (text: string) => string
  /** Is called for each message that ended. */
  readonly onEnd?: (message: Claimed, state: "delivered" | "refused") => Effect.Effect<void>
}

/** Delivers messages, without end. */
export const run = (options: Options): Effect.Effect<never> => {
  let endedSince = 0
  let forgottenAt = 0
  let isTroubled = false
  const look = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const count = yield* round(options, endedSince)
    endedSince = now - MARGIN_MS
    isTroubled = false
    if (now - forgottenAt >= FORGET_MS) {
      yield* options.outbox.forget(now)
      forgottenAt = now
    }
    return count
  }).pipe(
    Effect.catchTag("StorageError", ({ message }) =>
      Effect.suspend(() => {
        const log = isTroubled ? Effect.void : Effect.logWarning(`Messages are not delivered for now. ${message}`)
        isTroubled = true
        return Effect.as(log, 0)
      })
    )
  )
  return Effect.forever(Effect.flatMap(look, (count) => (count === 0 ? Effect.sleep(INTERVAL) : Effect.void)))
}

/** Releases the messages of turns that have ended, and delivers what is due, once. Returns how many messages were tried. */
export const round = Effect.fnUntraced(function* (
  options: Options,
  endedSince: number
): Effect.fn.Return<number, StorageError> {
  const { outbox } = options
  const now = yield* Clock.currentTimeMillis
  yield* outbox.release(endedSince, now)
  const claimed = yield* outbox.claim(now, now + CLAIM_MS, AT_ONCE)
  yield* Effect.forEach(claimed, (message) => deliver(options, message), { concurrency: "unbounded", discard: true })
  return claimed.length
})

// --- internal

const deliver = (options: Options, message: Claimed): Effect.Effect<void, StorageError> =>
  Effect.uninterruptibleMask((restore) => {
    const kind = options.kindOf(message)
    if (kind === undefined) return settle(options, message, undefined, UNKNOWN_RECEIVER)
    return restore(kind.send(message)).pipe(
      Effect.match({ onSuccess: () => undefined, onFailure: (failure) => failure }),
      Effect.onInterrupt(() => giveBack(options, message)),
      Effect.flatMap((failure) => settle(options, message, kind, failure))
    )
  })

/** Deliveries.D5 */
const giveBack = ({ outbox }: Options, { attempts, number }: Claimed) =>
  Effect.flatMap(Clock.currentTimeMillis, (now) => outbox.postpone(number, attempts, now)).pipe(
    Effect.catchTag("StorageError", ({ message }) =>
      Effect.logWarning(`A message is delivered a minute late, as its claim could not be given back. ${message}`)
    )
  )

/** Writes what an attempt has come to. */
const settle = Effect.fnUntraced(function* (
  { onEnd = () => Effect.void, outbox, redact }: Options,
  message: Claimed,
  kind: Kind | undefined,
  failure: Failure.Failure | undefined
): Effect.fn.Return<void, StorageError> {
  const now = yield* Clock.currentTimeMillis
  if (failure === undefined) {
    yield* outbox.settle(message.number, "delivered", now)
    return yield* onEnd(message, "delivered")
  }
  const attempts = message.attempts + 1
  const waitMs = kind === undefined ? undefined : Patience.waitAfter(kind.patience, attempts, failure)
  const what = message.turnId === undefined ? `Notice ${message.id}` : `The end of turn ${message.turnId}`
  if (waitMs !== undefined) {
    yield* outbox.postpone(message.number, attempts, now + waitMs)
    const next = Duration.format(Duration.millis(waitMs))
    return yield* Effect.logWarning(
      `${what} was not delivered, and is tried again in ${next}: ${redact(failure.message)}`
    )
  }
  yield* outbox.settle(message.number, "refused", now)
  yield* onEnd(message, "refused")
  yield* Effect.logError(`${what} was given up after ${attempts} attempt(s): ${redact(failure.message)}`)
})

const UNKNOWN_RECEIVER: Failure.Failure = {
  reason: "refused",
  message: "its receiver is no longer in the configuration (webhooks, telemetry.notifications).",
  retryable: false
}
