/**
 * Finds the end of quiet hours: notices of incidents and failed turns wait until then. Pure.
 *
 * Quiet hours may span midnight. Equal times mean no quiet hours: a whole day of them would never end.
 */
import * as DailyTime from "../../base/text/DailyTime.ts"

/** Two times of day, in the time zone of this process. */
export interface QuietHours {
  readonly from: DailyTime.TimeOfDay
  readonly to: DailyTime.TimeOfDay
}

/** Reads two times of day; `undefined` if one of them is none. */
export const parse = ({ from, to }: { readonly from: string; readonly to: string }): QuietHours | undefined => {
  const [begin, end] = [DailyTime.parse(from), DailyTime.parse(to)]
  return begin === undefined || end === undefined ? undefined : { from: begin, to: end }
}

/** The end of the quiet hours that `now` is in, in epoch milliseconds; `undefined`: it is in none. */
export const endOf = ({ from, to }: QuietHours, now: number): number | undefined => {
  // It is quiet if the last begin came after the last end.
  return DailyTime.last(from, now) > DailyTime.last(to, now) ? DailyTime.next(to, now) : undefined
}
