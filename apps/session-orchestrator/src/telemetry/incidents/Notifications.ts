/**
 * Delivers one notice per incident's begin and end, and per cause of failed turns (X12).
 *
 * `Incidents` decides on the notices. This file has the clock and the log; `IncidentInputs` translates observations, `Outbox` delivers.
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
import { Clock, Duration, Effect, Metric, type Scope } from "effect"
import type * as QuietHours from "../../delivery/QuietHours.ts"
import type * as Delivery from "./Delivery.ts"
import * as IncidentFile from "./IncidentFile.ts"
import * as IncidentInputs from "./IncidentInputs.ts"
import * as Incidents from "./Incidents.ts"
import * as NoticeText from "./NoticeText.ts"
import { Outbox } from "./Outbox.ts"

/** The receivers and the limits. */
interface Options {
  readonly after: Duration.Duration
  readonly receivers: ReadonlyMap<IncidentFile.Receiver, Delivery.Deliver>
  readonly file: IncidentFile.IncidentFile
  readonly timer: Timer.Timer["Service"]
  readonly redact: (text: string) => string
  readonly quiet?: QuietHours.QuietHours | undefined
}

/** How long the file may be behind if there is no notice to save. */
const SAVE_INTERVAL = "5 seconds"

/** How long a shutdown waits for the disk. */
const LAST_WORDS = "2 seconds"

/** Gauge of open incidents. */
export const openIncidents = Metric.gauge("holdfast_incidents_open", {
  description:
    "Endpoints that turns of this process wait for and that have answered nobody for longer than telemetry.notifications.after."
})

/** Starts the deliveries, those of an earlier process first, and returns the listeners of turns. */
export const make = Effect.fnUntraced(function* ({
  after,
  file,
  quiet,
  receivers,
  redact,
  timer
}: Options): Effect.fn.Return<Observer.Listeners, never, Scope.Scope> {
  const clock = yield* Clock.Clock
  const context = yield* Effect.context<never>()
  const afterMs = Duration.toMillis(after)
  const before = yield* file.read
  const log = Effect.runSyncWith(context)
  let state = Incidents.restore(before)
  const outbox = new Outbox(before.outgoing.filter(({ to }) => receivers.has(to)))
  const saver = IncidentFile.saver(file, () => ({ ...Incidents.save(state), outgoing: outbox.content }))
  yield* outbox.deliver({ quiet, receivers, redact, saver, timer })

  const countOpen = (): void => {
    const counts = Incidents.counts(state, clock.currentTimeMillisUnsafe())
    openIncidents.updateUnsafe(counts.filter(({ isOpen }) => isOpen).length, context)
  }

  /** When the alarm goes off, in epoch milliseconds. */
  let alarmAt: number | undefined
  let cancelAlarm = () => {}
  const setAlarm = (): void => {
    const due = Incidents.dueAt(state, afterMs)
    if (due === alarmAt) return
    cancelAlarm()
    alarmAt = due
    if (due === undefined) return
    cancelAlarm = timer.at(due, () => {
      alarmAt = undefined
      record({ _tag: "Passed", at: clock.currentTimeMillisUnsafe() })
    })
  }

  const record = (input: Incidents.Input): void => {
    const [next, notices] = Incidents.record(state, input, afterMs)
    if (next === state) return
    const isChanged = next.troubles !== state.troubles || next.causes !== state.causes
    state = next
    if (!isChanged) return
    saver.changed()
    countOpen()
    setAlarm()
    if (notices.length === 0) return
    for (const notice of notices) {
      if (notice.type !== "turns-failed") log(Effect.logInfo(NoticeText.textOf(notice))) // Notifications.N4
    }
    outbox.add(notices.flatMap((notice) => Array.from(receivers.keys(), (to) => ({ to, notice }))))
  }

  countOpen()
  setAlarm()
  // The turns that waited in an earlier process stop counting when their waits are due (Incidents.I4).
  const refresh = Effect.andThen(Effect.sync(countOpen), saver.save)
  yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(SAVE_INTERVAL), refresh)))
  yield* Effect.addFinalizer(() =>
    Effect.suspend(() => {
      cancelAlarm()
      return Effect.timeoutOption(saver.save, LAST_WORDS)
    })
  )
  return IncidentInputs.listeners(record, redact)
})
