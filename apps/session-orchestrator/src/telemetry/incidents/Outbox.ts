/**
 * Delivers notices to receivers, in order and each in its own fiber.
 *
 * Outbox.O1. A notice is saved before it is sent, and removed after it was delivered or given up.
 * Outbox.O2. Each receiver gets its notices in order and does not wait for another receiver.
 * Outbox.O3. In quiet hours nothing is sent. What has come meanwhile is sent after them, in order.
 */
import type { Timer } from "@holdfast/journal"
import { Target } from "@holdfast/wire"
import { Clock, Effect, Metric, Queue, type Scope } from "effect"
import * as QuietHours from "../../delivery/QuietHours.ts"
import * as Series from "../metrics/Series.ts"
import * as Delivery from "./Delivery.ts"
import { type Outgoing, Receiver, type Saver } from "./IncidentFile.ts"
import type { Notice } from "./Notice.ts"

/** The receivers, and where undelivered notices are kept. */
export interface Options {
  readonly receivers: ReadonlyMap<Receiver, Delivery.Deliver>
  readonly saver: Saver
  readonly timer: Timer.Timer["Service"]
  readonly quiet?: QuietHours.QuietHours | undefined
  readonly redact: (text: string) => string
}

/** Counter of delivered and refused notices. */
export const deliveries = Metric.counter("holdfast_notifications_total", {
  description: "Notices of incidents and failed turns, by receiver and outcome: taken, refused.",
  incremental: true
})

/** Notices that are not delivered yet. */
export class Outbox {
  private notices: ReadonlyArray<Outgoing>
  private readonly wakeUps: Array<() => void> = []

  constructor(notices: ReadonlyArray<Outgoing>) {
    this.notices = notices
  }

  /** The undelivered notices, oldest first. */
  get content(): ReadonlyArray<Outgoing> {
    return this.notices
  }

  /** Adds notices and wakes the deliveries. The oldest are dropped beyond `MOST_NOTICES`. */
  add(notices: ReadonlyArray<Outgoing>): void {
    this.notices = [...this.notices, ...notices].slice(-MOST_NOTICES)
    for (const wakeUp of this.wakeUps) wakeUp()
  }

  /** Starts a fiber per receiver, which ends with the scope. */
  readonly deliver = Effect.fnUntraced(function* (
    this: Outbox,
    { quiet, receivers, redact, saver, timer }: Options
  ): Effect.fn.Return<void, never, Scope.Scope> {
    Series.create(
      deliveries,
      { receiver: Receiver.literals, outcome: ["taken", "refused"] },
      yield* Effect.context<never>()
    )
    for (const [to, attempt] of receivers) {
      const bell = yield* Queue.unbounded<void>()
      this.wakeUps.push(() => void Queue.offerUnsafe(bell, undefined))
      const deliver = Delivery.patiently(logged(to, attempt, redact), timer.sleep)
      const next = Effect.suspend(() => {
        const first = this.notices.find((one) => one.to === to)
        if (first === undefined) return Effect.asVoid(Queue.take(bell))
        return Effect.gen({ self: this }, function* () {
          yield* saver.save // Outbox.O1
          const quietUntil = quiet && QuietHours.endOf(quiet, yield* Clock.currentTimeMillis)
          if (quietUntil !== undefined) yield* timer.sleepUntil(quietUntil) // Outbox.O3
          const outcome = yield* outcomeOf(to, deliver, first.notice, redact)
          yield* Metric.update(Metric.withAttributes(deliveries, { receiver: to, outcome }), 1)
          this.notices = this.notices.filter((one) => one !== first)
          saver.changed()
          yield* saver.save
        })
      })
      yield* Effect.forkScoped(Effect.forever(next))
    }
  })
}

// --- internal

/** A receiver that is down for a week of incidents gets the newest of them. */
const MOST_NOTICES = 100

const logged =
  (to: Receiver, deliver: Delivery.Deliver, redact: (text: string) => string): Delivery.Deliver =>
  (notice) =>
    Effect.tapError(deliver(notice), ({ message }) =>
      Effect.logWarning(`The ${to} has not taken a notice (${nameOf(notice)}): ${redact(message)}`)
    )

const outcomeOf = (to: Receiver, deliver: Delivery.Deliver, notice: Notice, redact: (text: string) => string) =>
  Effect.matchEffect(deliver(notice), {
    onSuccess: () => Effect.succeed("taken"),
    onFailure: ({ message }) =>
      Effect.as(
        Effect.logError(`A notice was given up: the ${to} did not take it (${nameOf(notice)}): ${redact(message)}`),
        "refused"
      )
  })

const nameOf = ({ target, type }: Notice): string => `${type}, ${Target.format(target)}`
