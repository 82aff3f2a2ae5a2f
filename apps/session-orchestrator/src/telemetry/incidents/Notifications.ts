/**
 * Delivers one notice per incident's begin and end, and per cause of failed turns (X12).
 *
 * `Incidents` decides on the notices. This file has the clock, the log, the incident file and the deliveries.
 *
 * Notifications.N1. A turn reports its facts and continues: separate fibers write the file and deliver notices.
 * Notifications.N2. A notice is in the file before it is sent, and is removed after it was delivered or given up. So a service that dies
 *     delivers the remaining notices at its next start. It repeats a notice, under the same id, only if it died between delivery and
 *     removal.
 * Notifications.N3. Each receiver gets its notices in order and does not wait for another receiver.
 * Notifications.N4. The beginning and the end of an incident are logged, with receivers or without. `TurnLog` logs failed turns.
 */
import type { Timer } from "@holdfast/journal"
import type { Observer } from "@holdfast/kernel"
import { Failure, Target } from "@holdfast/wire"
import { Clock, Duration, Effect, Metric, Queue, type Scope, Semaphore } from "effect"
import * as Delivery from "./Delivery.ts"
import { type IncidentFile, type Outgoing, Receiver } from "./IncidentFile.ts"
import * as Incidents from "./Incidents.ts"
import type { Notice, Said } from "./Notice.ts"
import * as NoticeText from "./NoticeText.ts"
import * as Prose from "../../text/Prose.ts"
import * as TurnLog from "../logs/TurnLog.ts"
import * as Series from "../metrics/Series.ts"

/** The receivers and the limits. */
export interface Options {
  readonly after: Duration.Duration
  readonly receivers: ReadonlyMap<Receiver, Delivery.Deliver>
  readonly file: IncidentFile
  readonly timer: Timer.Timer["Service"]
  readonly redact: (text: string) => string
}

/** How long the file may be behind if there is no notice to save. */
const SAVE_INTERVAL = "5 seconds"

/** How long a shutdown waits for the disk. */
const LAST_WORDS = "2 seconds"

/** A receiver that is down for a week of incidents gets the newest of them. */
const MOST_OUTGOING = 100

/** Gauge of open incidents. */
export const incidents = Metric.gauge("holdfast_incidents_open", {
  description:
    "Endpoints that turns of this process wait for and that have answered nobody for longer than telemetry.notifications.after."
})
/** Counter of delivered and refused notices. */
export const notices = Metric.counter("holdfast_notifications_total", {
  description: "Notices of incidents and failed turns, by receiver and outcome: taken, refused.",
  incremental: true
})

/** Starts the deliveries, those of an earlier process first, and returns the listeners of turns. */
export const make = Effect.fnUntraced(function* ({
  after,
  file,
  receivers,
  redact,
  timer
}: Options): Effect.fn.Return<Observer.Listeners, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  Series.create(notices, { receiver: Receiver.literals, outcome: ["taken", "refused"] }, context)
  const afterMs = Duration.toMillis(after)
  const before = yield* file.read
  const writing = Semaphore.makeUnsafe(1)
  const log = Effect.runSyncWith(context)
  let state = Incidents.restore(before)
  let outgoing: ReadonlyArray<Outgoing> = before.outgoing.filter(({ to }) => receivers.has(to))
  let isSaved = true
  let isRefused = false
  let silence = () => {}
  /** When the alarm goes off, in epoch milliseconds. */
  let alarmAt: number | undefined
  const saying = sayingOf(redact)

  const save = Effect.suspend(() => {
    if (isSaved) return Effect.void
    isSaved = true
    return file.write({ version: 1, ...Incidents.save(state), outgoing })
  }).pipe(
    Effect.tap(() => Effect.sync(() => (isRefused = false))),
    Effect.catch(({ message }) => {
      isSaved = false
      if (isRefused) return Effect.void
      isRefused = true
      return Effect.logError(`Incidents are not kept over a restart for now. ${message}`)
    }),
    writing.withPermits(1)
  )

  const post = (to: Receiver, deliver: Delivery.Deliver) =>
    Effect.gen(function* () {
      const bell = yield* Queue.unbounded<void>()
      const tried: Delivery.Deliver = (notice) =>
        Effect.tapError(deliver(notice), ({ message }) =>
          Effect.logWarning(`The ${to} has not taken a notice (${nameOf(notice)}): ${redact(message)}`)
        )
      const patiently = Delivery.patiently(tried, timer.sleep)
      const next = Effect.suspend(() => {
        const found = outgoing.find((one) => one.to === to)
        if (found === undefined) return Effect.asVoid(Queue.take(bell))
        const { notice } = found
        const taken = Effect.matchEffect(patiently(notice), {
          onSuccess: () => Effect.succeed("taken"),
          onFailure: ({ message }) =>
            Effect.as(
              Effect.logError(
                `A notice was given up: the ${to} did not take it (${nameOf(notice)}): ${redact(message)}`
              ),
              "refused"
            )
        })
        return Effect.gen(function* () {
          yield* save // Notifications.N2
          const outcome = yield* taken
          yield* Metric.update(Metric.withAttributes(notices, { receiver: to, outcome }), 1)
          outgoing = outgoing.filter((one) => one !== found)
          isSaved = false
          yield* save
        })
      })
      yield* Effect.forkScoped(Effect.forever(next))
      return () => Queue.offerUnsafe(bell, undefined)
    })
  const bells: Array<() => void> = []
  for (const [to, deliver] of receivers) bells.push(yield* post(to, deliver))

  const show = (): void => {
    const found = Incidents.counts(state, clock.currentTimeMillisUnsafe())
    incidents.updateUnsafe(found.filter(({ isOpen }) => isOpen).length, context)
  }

  const setAlarm = (): void => {
    const due = Incidents.dueAt(state, afterMs)
    if (due === alarmAt) return
    silence()
    alarmAt = due
    if (due === undefined) return
    silence = timer.at(due, () => {
      alarmAt = undefined
      hear({ _tag: "Passed", at: clock.currentTimeMillisUnsafe() })
    })
  }

  const hear = (input: Incidents.Input): void => {
    const [next, told] = Incidents.hear(state, input, afterMs)
    if (next === state) return
    const isChanged = next.troubles !== state.troubles || next.causes !== state.causes
    state = next
    if (!isChanged) return
    isSaved = false
    show()
    setAlarm()
    if (told.length === 0) return
    for (const notice of told) {
      if (notice.type !== "turns-failed") log(Effect.logInfo(NoticeText.textOf(notice))) // Notifications.N4
    }
    const added = told.flatMap((notice) => Array.from(receivers.keys(), (to) => ({ to, notice })))
    outgoing = [...outgoing, ...added].slice(-MOST_OUTGOING)
    for (const ring of bells) ring()
  }

  show()
  setAlarm()
  // The turns that waited in an earlier process stop counting when their waits are due (I4).
  const look = Effect.andThen(Effect.sync(show), save)
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(SAVE_INTERVAL), look)))
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      silence()
      return Effect.timeoutOption(save, LAST_WORDS)
    })
  )

  return {
    attempt: ({ conversationId, outcome, target }) => {
      // An invalid response is an answer of the endpoint all the same (A9).
      const isAnswer = outcome._tag === "Completed" || (outcome._tag === "Failed" && outcome.whole === true)
      if (isAnswer) hear({ _tag: "Answered", conversationId, target, at: outcome.endedAt })
    },
    decision: ({ at, conversationId, directive, failure, target }) => {
      if (directive._tag !== "Retry") return
      // A turn that switches to another endpoint at once does not wait.
      if (directive.delayMs <= 0) return hear({ _tag: "WentOn", conversationId, at })
      hear({
        _tag: "Waits",
        conversationId,
        target: directive.route?.target ?? target,
        said: saying(failure),
        until: directive.retryAt,
        at
      })
    },
    wait: ({ at, conversationId, wake }) => {
      if (wake.type === "switched") hear({ _tag: "WentOn", conversationId, at })
    },
    seal: ({ conversationId, end: { endedAt: at, error, status }, target }) => {
      const said = status === "failed" ? saying(error ?? UNKNOWN) : undefined
      hear({ _tag: "Sealed", conversationId, target, status, at, said })
    },
    moved: ({ at, conversationId }) => hear({ _tag: "Moved", conversationId, at })
  }
})

// --- internal

/** A turn that failed without an error on record. */
const UNKNOWN: Failure.Failure = { reason: "unknown", message: "no error was recorded", retryable: false }

const nameOf = ({ target, type }: Notice): string => `${type}, ${Target.format(target)}`

/** In an outage the same message repeats: it is redacted once. */
const sayingOf = (redact: (text: string) => string): ((failure: Failure.Failure) => Said) => {
  let last: { readonly said: string; readonly message: string } | undefined
  return (failure) => {
    if (last?.said !== failure.message) {
      last = { said: failure.message, message: Prose.clip(redact(failure.message), TurnLog.LONGEST_MESSAGE) }
    }
    const code = Failure.codeOf(failure)
    return { reason: failure.reason, message: last.message, ...(code === undefined ? undefined : { code }) }
  }
}
