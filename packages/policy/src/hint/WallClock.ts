/**
 * Finds times of day with a zone in an error's text: "resets 6:20pm (Europe/Berlin)", "resets Nov 27, 7:05pm (UTC)".
 *
 * Coding agents and their relays write resets like this. A time without a zone is not read: it is in the zone of a machine that is not
 * known. Without a day, the next such time is meant; a time up to `JUST_PASSED_MS` ago is past, and not tomorrow's. Without a year, the
 * occurrence nearest to now is meant.
 */
import { Rfc3339 } from "@holdfast/wire"
import * as Instant from "./Instant.ts"

/** A reset is written with its day if it is more than a day away, and a clock may be some minutes wrong. */
export const JUST_PASSED_MS = 3_600_000

const DAY_MS = 86_400_000

const MONTH = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"

const WRITTEN = new RegExp(
  String.raw`\b(?:resets?|try again|retry|available(?: again)?|access)\s{1,4}(?:(?:at|on|after|until)\s{1,4})?` +
    String.raw`(?:(${MONTH})[a-z]{0,6}\.? (\d{1,2})(?:st|nd|rd|th)?(?:,? (\d{4}))?(?:,| at)? )?` +
    String.raw`(\d{1,2})(?::(\d{2}))? ?([ap]\.?m\.?)?(?: ?\(([A-Za-z][\w+/-]{1,40})\)| (UTC|GMT)\b)`,
  "gi"
)

/** Returns the times in a text as epoch milliseconds; a past one may be among them. */
export const timesIn = (text: string, now: number): ReadonlyArray<number> => {
  const times: Array<number | undefined> = []
  for (const [, month, day, year, hour, minute, half, zone, plain] of text.matchAll(WRITTEN)) {
    // "resets 6 (Anthropic)" is no time.
    if (minute === undefined && half === undefined) continue
    const time = timeOf(Number(hour), Number(minute ?? 0), half?.toLowerCase())
    const offset = offsetIn(zone ?? plain ?? "")
    if (time === undefined || offset === undefined) continue
    times.push(month === undefined ? nextAt(time, offset, now) : dateAt(month, Number(day), year, time, offset, now))
  }
  return times.filter((time) => time !== undefined)
}

// --- internal

/** A time of day in milliseconds, on a clock of 12 or 24 hours. */
const timeOf = (hour: number, minute: number, half: string | undefined): number | undefined => {
  if (minute > 59 || hour > (half === undefined ? 23 : 12) || (half !== undefined && hour === 0)) return undefined
  const hours = half === undefined ? hour : (hour % 12) + (half.startsWith("p") ? 12 : 0)
  return (hours * 60 + minute) * 60_000
}

/** How far a zone is ahead of UTC at an epoch. */
type Offset = (epoch: number) => number

/** `undefined`: there is no such zone. */
const offsetIn = (zone: string): Offset | undefined => {
  try {
    const format = new Intl.DateTimeFormat("en-US", { timeZone: zone, timeZoneName: "longOffset" })
    return (epoch) => {
      const name = format.formatToParts(epoch).find(({ type }) => type === "timeZoneName")?.value ?? ""
      const [, sign, hours = "0", minutes = "0"] = /([+-])(\d{2}):(\d{2})/.exec(name) ?? []
      return (Number(hours) * 60 + Number(minutes)) * (sign === "-" ? -60_000 : 60_000)
    }
  } catch {
    return undefined
  }
}

/** The epoch of a local time, which is given as if it were UTC. The second step corrects a change of the offset in between. */
const epochOf = (local: number, offset: Offset): number => local - offset(local - offset(local))

const nextAt = (time: number, offset: Offset, now: number): number => {
  const today = Math.floor((now + offset(now)) / DAY_MS) * DAY_MS
  const times = [-1, 0, 1, 2].map((days) => epochOf(today + days * DAY_MS + time, offset))
  return times.find((epoch) => epoch > now - JUST_PASSED_MS) ?? now
}

/** `undefined`: there is no such day. */
const dateAt = (
  month: string,
  day: number,
  year: string | undefined,
  time: number,
  offset: Offset,
  now: number
): number | undefined => {
  const thisYear = new Date(now).getUTCFullYear()
  const years = year === undefined ? [thisYear - 1, thisYear, thisYear + 1] : [Number(year)]
  const epochs = years.flatMap((each) => {
    const midnight = Rfc3339.epochOf(each, Instant.monthOf(month), day, 0, 0, 0)
    return midnight === undefined ? [] : [epochOf(midnight + time, offset)]
  })
  return epochs.toSorted((one, other) => Math.abs(one - now) - Math.abs(other - now))[0]
}
