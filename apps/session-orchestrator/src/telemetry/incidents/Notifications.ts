/**
 * Delivers a notice when an incident begins and ends, and when turns fail (X12): one each, however many turns there are.
 *
 * `Incidents` decides what a notice is; this file has the clock, the log, the file and the delivery.
 *
 * N1. A turn hands in what it meets and goes on: files and receivers are the business of fibers of their own.
 * N2. A notice is in the file before it is sent, and leaves it when it was taken or given up. So a service that dies tells what it
 *     had not told, and tells again, under the same id, only what it was about to note as told.
 * N3. Each receiver gets its notices in order, and waits for no other receiver.
 * N4. The begin and the end of an incident are lines of the log, with receivers or without. Turns that fail have theirs by `TurnLog`.
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

export interface Options {
  readonly after: Duration.Duration
  readonly receivers: ReadonlyMap<Receiver, Delivery.Deliver>
  readonly file: IncidentFile
  readonly timer: Timer.Timer["Service"]
  readonly redact: (text: string) => string
}

/** What is written at once when nothing has to be told; the file may be as much behind. */
const SAVE_INTERVAL = "5 seconds"

/** How long the way down waits for the disk. */
const LAST_WORDS = "2 seconds"

/** A receiver that takes nothing for a week of incidents gets the newest of them. */
const MOST_OUTGOING = 100

export const incidents = Metric.gauge("holdfast_incidents_open", {
  description:
    "Endpoints that turns of this process wait for and that have answered nobody for longer than telemetry.notifications.after."
})
export const notices = Metric.counter("holdfast_notifications_total", {
  description: "Notices of incidents and failed turns, by receiver and outcome: taken, refused.",
  incremental: true
})

/** Listens, and tells; what an earlier life has left is gone on with. */
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
  /** When the alarm is set to ring, in epoch milliseconds. */
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
              Effect.logError(`Nobody was told by the ${to} (${nameOf(notice)}): ${redact(message)}`),
              "refused"
            )
        })
        return Effect.gen(function* () {
          yield* save // N2
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
      if (notice.type !== "turns-failed") log(Effect.logInfo(NoticeText.textOf(notice))) // N4
    }
    const added = told.flatMap((notice) => Array.from(receivers.keys(), (to) => ({ to, notice })))
    outgoing = [...outgoing, ...added].slice(-MOST_OUTGOING)
    for (const ring of bells) ring()
  }

  show()
  setAlarm()
  // Whom an earlier life has left waiting waits no more when time has passed (I4).
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
      // A response that would not do is an answer all the same (A9).
      const isAnswer = outcome._tag === "Completed" || (outcome._tag === "Failed" && outcome.whole === true)
      if (isAnswer) hear({ _tag: "Answered", conversationId, target, at: outcome.endedAt })
    },
    decision: ({ at, conversationId, directive, failure, target }) => {
      if (directive._tag !== "Retry") return
      // A turn that goes on elsewhere at once waits for nothing.
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

/** In an outage one message follows another that is the same: it is redacted once. */
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
