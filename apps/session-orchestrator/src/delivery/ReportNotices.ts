/**
 * Puts the report of a day into the outbox at a time of day (rule X12).
 *
 * A service that was down at the time makes the report at its start, up to `LATE_MS` later. It reports the time since the moment before:
 * a day.
 *
 * ReportNotices.R1. A report's id is its moment, so it is sent once, whichever runner made it and however often the service restarts.
 */
import type { StorageError } from "@holdfast/journal"
import type { PeriodReport } from "@holdfast/wire"
import { Clock, Effect, Schedule } from "effect"
import type { NewMessage } from "../storage/Outbox.ts"
import * as DailyTime from "../text/DailyTime.ts"

/** How late a report is still made. */
export const LATE_MS = 6 * 3_600_000

/** The sources of a report, and where it goes. */
export interface Options {
  readonly time: DailyTime.TimeOfDay
  readonly receivers: ReadonlyArray<string>
  readonly report: (since: number, until: number) => Effect.Effect<PeriodReport.PeriodReport, StorageError>
  readonly add: (messages: ReadonlyArray<NewMessage>) => Effect.Effect<void, StorageError>
  readonly sleepUntil: (at: number) => Effect.Effect<void>
}

/** Makes reports, without end. */
export const run = (options: Options): Effect.Effect<never> =>
  Effect.gen(function* () {
    const now = yield* Clock.currentTimeMillis
    const missed = DailyTime.last(options.time, now)
    if (now - missed <= LATE_MS) yield* make(options, missed)
    return yield* Effect.forever(
      Effect.gen(function* () {
        const at = DailyTime.next(options.time, yield* Clock.currentTimeMillis)
        yield* options.sleepUntil(at)
        yield* make(options, at)
      })
    )
  })

/** The message of a report for one receiver. */
export const messageOf = (receiver: string, at: number, report: PeriodReport.PeriodReport): NewMessage => {
  const id = `report/${new Date(at).toISOString()}`
  return {
    id: `${id}/${receiver}`,
    lane: `report/${receiver}`,
    receiver,
    payload: JSON.stringify({ id, type: "report", text: report.line, report }),
    dueAt: at
  }
}

// --- internal

/** The database may be away for a while: an hour. */
const RETRIES = { schedule: Schedule.spaced("1 minute"), times: 60 } as const

const make = ({ add, receivers, report, time }: Options, at: number): Effect.Effect<void> =>
  Effect.gen(function* () {
    const found = yield* report(DailyTime.last(time, at - 1), at)
    yield* add(receivers.map((receiver) => messageOf(receiver, at, found)))
  }).pipe(
    Effect.retry(RETRIES),
    Effect.catchTag("StorageError", ({ message }) =>
      Effect.logError(`The report of the day could not be made. ${message}`)
    )
  )
