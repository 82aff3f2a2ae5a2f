/**
 * Delivers the messages of the outbox: ends of turns, notices and reports (rules X12, X15).
 *
 * Every runner takes part. A message is claimed before it is sent and settled afterwards, so one whose process dies is sent again under
 * the same id. A message that is given up is logged as an error, without its address. The next one of its lane follows. A storage error
 * is logged once, and the loop goes on. No turn waits for a delivery.
 *
 * Deliveries.D2. A message that has ended makes room for the next one at once. At most `AT_ONCE` are under way, one of each lane. A
 *     receiver with `OF_ONE_RECEIVER` of them gets no more, so a receiver that hangs delays its own messages alone.
 * Deliveries.D5. A service that stops ends its attempts and gives their messages back, so that the next process need not wait until the
 *     claims are over.
 * Deliveries.D6. An attempt that ends with a defect of Holdfast counts as a failed attempt: it is logged, and tried again by the same
 *     schedule.
 */
import type { StorageError } from "@holdfast/journal"
import { TurnStopped } from "@holdfast/kernel"
import type { Failure } from "@holdfast/wire"
import { Clock, Duration, Effect, FiberSet, Metric, Queue } from "effect"
import type { Claimed, Outbox } from "../../storage/Outbox.ts"
import { Backoff } from "@holdfast/policy"

/** Messages under way at once. */
export const AT_ONCE = 32

/** The most messages that one look starts. A receiver with as many under way gets no more until one of them has ended. */
export const OF_ONE_RECEIVER = 4

/** How long a message is claimed: longer than an attempt may take. */
export const CLAIM_MS = 60_000

/** The time between two looks into an outbox without due messages. */
export const INTERVAL = Duration.seconds(1)

/** Turns that ended this long before a look are looked for again: runners' clocks differ, and a seal takes time to be on disk. */
const MARGIN_MS = 60_000

/** The time between two deletions of old messages. */
const FORGET_MS = 3_600_000

/** Sends a message, in one attempt. */
export type SendMessage = (message: Claimed) => Effect.Effect<void, Failure.Failure>

/** A kind of messages. */
export interface MessageKind {
  readonly patience: Patience
  readonly send: SendMessage
}

/** The outbox, and how its messages are sent. */
export interface Options {
  readonly outbox: Outbox["Service"]
  /** The kind of a message; `undefined`: another configuration wrote it, and it is given up. */
  readonly kindOf: (message: Claimed) => MessageKind | undefined
  readonly redact: (text: string) => string
}

/** Counter of delivered and refused notices. */
export const notices = Metric.counter("holdfast_notifications_total", {
  description: "Notices and reports, by receiver and outcome: taken, refused.",
  incremental: true
})

/** Delivers messages, without end. */
export const run = (options: Options): Effect.Effect<never> =>
  Effect.scoped(
    Effect.gen(function* () {
      const { change, look } = yield* make(options)
      return yield* Effect.forever(
        Effect.flatMap(
          look,
          (started) => (started === 0 ? Effect.timeoutOption(change, INTERVAL) : Effect.void) // Deliveries.D2
        )
      )
    })
  )

/** The deliveries of one process, of which none has begun. They end with their scope (Deliveries.D5). */
export const make = Effect.fnUntraced(function* (options: Options) {
  const { outbox } = options
  const fibers = yield* FiberSet.make<void>()
  const changes = yield* Queue.sliding<void>(1)
  const underWay = new Map<string, number>()
  const add = (receiver: string, by: number) => underWay.set(receiver, (underWay.get(receiver) ?? 0) + by)
  let endedSince = 0
  let forgottenAt = 0
  let isTroubled = false
  const troubled = ({ message }: StorageError): Effect.Effect<void> => {
    const log = isTroubled ? Effect.void : Effect.logWarning(`Messages are not delivered for now. ${message}`)
    isTroubled = true
    return log
  }
  const start = (message: Claimed) =>
    Effect.suspend(() => {
      add(message.receiver, 1)
      const ended = Effect.sync(() => {
        add(message.receiver, -1)
        Queue.offerUnsafe(changes, undefined)
      })
      const delivery = deliver(options, message).pipe(Effect.catchTag("StorageError", troubled), Effect.ensuring(ended))
      // At once: a delivery that is interrupted before it begins would not give its message back.
      return FiberSet.run(fibers, delivery, { startImmediately: true })
    })
  const look = Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const counts = [...underWay]
    const room = AT_ONCE - counts.reduce((sum, [, count]) => sum + count, 0)
    yield* outbox.release(endedSince, now)
    endedSince = now - MARGIN_MS
    const busy = counts.flatMap(([receiver, count]) => (count < OF_ONE_RECEIVER ? [] : [receiver]))
    const claimed = room === 0 ? [] : yield* outbox.claim(now, now + CLAIM_MS, Math.min(room, OF_ONE_RECEIVER), busy) // Deliveries.D2
    isTroubled = false
    yield* Effect.forEach(claimed, start, { discard: true })
    if (now - forgottenAt >= FORGET_MS) {
      yield* outbox.forget(now)
      forgottenAt = now
    }
    return claimed.length
  }).pipe(Effect.catchTag("StorageError", (error) => Effect.as(troubled(error), 0)))
  return {
    /** Releases the messages of turns that have ended, and starts what is due and has room. Returns how many messages it started. */
    look,
    /** Waits until a message under way has ended, if none has since the last time. */
    change: Queue.take(changes),
    /** Waits until no message is under way. */
    idle: FiberSet.awaitEmpty(fibers)
  }
})

/** A schedule of deliveries. */
interface Patience {
  readonly waits: Backoff.Schedule
  readonly mostRetries: number
  /** Whether a failure that is permanent for a provider is tried again: an operator may mend the receiver. */
  readonly triesRefusals: boolean
  /** The longest wait that a receiver may ask for. */
  readonly longestHintMs: number
}

const SECOND = 1_000
const MINUTE = 60 * SECOND
const HOUR = 60 * MINUTE

/** A turn's end is worth three days: 12 attempts. */
export const OF_TURN_ENDS: Patience = {
  waits: Backoff.steps([
    5 * SECOND,
    30 * SECOND,
    2 * MINUTE,
    10 * MINUTE,
    30 * MINUTE,
    HOUR,
    3 * HOUR,
    6 * HOUR,
    12 * HOUR,
    24 * HOUR
  ]),
  mostRetries: 11,
  triesRefusals: true,
  longestHintMs: 24 * HOUR
}

/** A notice is of use while it is news, a report in the morning: 9 attempts within two hours. */
export const OF_NOTICES: Patience = {
  waits: Backoff.steps([SECOND, 5 * SECOND, 30 * SECOND, 2 * MINUTE, 10 * MINUTE, 30 * MINUTE]),
  mostRetries: 8,
  triesRefusals: false,
  longestHintMs: HOUR
}

/**
 * Milliseconds before the next attempt: the longer of the schedule's and the receiver's hint; `undefined`: the message is given up. A receiver that
 * is gone (410), and an address that may not be reached, are given up at once.
 */
export const waitAfter = (
  { longestHintMs, mostRetries, triesRefusals, waits }: Patience,
  failedAttempts: number,
  { hint, reason, retryable, status }: Failure.Failure
): number | undefined => {
  const isFinal = status === 410 || (status === undefined && reason === "refused")
  if (isFinal || (!retryable && !triesRefusals) || failedAttempts > mostRetries) return undefined
  return Math.max(Backoff.delayAt(waits, failedAttempts - 1), Math.min(hint?.retryAfterMs ?? 0, longestHintMs))
}

// --- internal

const deliver = (options: Options, message: Claimed): Effect.Effect<void, StorageError> =>
  Effect.uninterruptibleMask((restore) => {
    const kind = options.kindOf(message)
    if (kind === undefined) return settle(options, message, undefined, UNKNOWN_RECEIVER)
    return restore(Effect.suspend(() => kind.send(message))).pipe(
      Effect.catchDefect((defect) => Effect.fail(failedBy(defect))),
      Effect.match({ onSuccess: () => undefined, onFailure: (failure) => failure }),
      Effect.onInterrupt(() => giveBack(options, message)),
      Effect.flatMap((failure) => settle(options, message, kind, failure))
    )
  })

/** Deliveries.D6 */
const failedBy = (defect: unknown): Failure.Failure => ({
  reason: "unknown",
  message: `Holdfast failed: ${TurnStopped.describe(defect)}`,
  retryable: true,
  defect: true
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
  { outbox, redact }: Options,
  message: Claimed,
  kind: MessageKind | undefined,
  failure: Failure.Failure | undefined
): Effect.fn.Return<void, StorageError> {
  const now = yield* Clock.currentTimeMillis
  if (failure === undefined) {
    yield* outbox.settle(message.number, "delivered", now)
    return yield* count(message, "taken")
  }
  const attempts = message.attempts + 1
  const waitMs = kind === undefined ? undefined : waitAfter(kind.patience, attempts, failure)
  const what = message.turnId === undefined ? `Notice ${message.id}` : `The end of turn ${message.turnId}`
  if (waitMs !== undefined) {
    yield* outbox.postpone(message.number, attempts, now + waitMs)
    const next = Duration.format(Duration.millis(waitMs))
    return yield* Effect.logWarning(
      `${what} was not delivered, and is tried again in ${next}: ${redact(failure.message)}`
    )
  }
  yield* outbox.settle(message.number, "refused", now)
  yield* count(message, "refused")
  yield* Effect.logError(`${what} was given up after ${attempts} attempt(s): ${redact(failure.message)}`)
})

/** Counts the end of a notice. */
const count = ({ receiver, turnId }: Claimed, outcome: "taken" | "refused"): Effect.Effect<void> =>
  turnId === undefined ? Metric.update(Metric.withAttributes(notices, { receiver, outcome }), 1) : Effect.void

const UNKNOWN_RECEIVER: Failure.Failure = {
  reason: "refused",
  message: "its receiver is no longer in the configuration (webhooks, telemetry.notifications).",
  retryable: false
}
