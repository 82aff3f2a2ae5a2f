/** Makes the outbox messages of a notice: one a receiver, due after its quiet hours. Pure. */
import type { Values } from "../../config/Config.ts"
import type { NewMessage } from "../../storage/Outbox.ts"
import type { NoticeBody } from "./NoticeFormat.ts"
import * as LocalTime from "../../base/text/LocalTime.ts"

type Notifications = NonNullable<Values["telemetry"]["notifications"]>

/** The receivers of notices, as the outbox names them, and the hours in which they get none. */
export interface Receivers {
  readonly names: ReadonlyArray<string>
  readonly quiet?: Notifications["quiet"] | undefined
}

/** The configured receivers. */
export const receiversOf = ({ command, quiet, webhook }: Partial<Notifications> = {}): Receivers => ({
  names: [...(webhook === undefined ? [] : ["webhook"]), ...(command === undefined ? [] : ["command"])],
  quiet
})

/** A notice that is due at a moment, in epoch milliseconds: a message for each receiver, which gets those of a lane in order. */
export const of = (
  { names, quiet }: Receivers,
  lane: string,
  body: NoticeBody,
  at: number
): ReadonlyArray<NewMessage> =>
  names.map((receiver) => ({
    id: `${body.id}/${receiver}`,
    lane: `${lane}/${receiver}`,
    receiver,
    payload: JSON.stringify(body),
    dueAt: (quiet && quietUntil(quiet, at)) ?? at
  }))

/**
 * The end of the quiet hours that `now` is in, in epoch milliseconds; `undefined`: it is in none. They are two times of day, in the time zone of
 * this process, and may span midnight. Equal times mean no quiet hours: a whole day of them would never end.
 */
export const quietUntil = ({ from, to }: NonNullable<Notifications["quiet"]>, now: number): number | undefined =>
  // It is quiet if the last begin came after the last end.
  LocalTime.lastDaily(from, now) > LocalTime.lastDaily(to, now) ? LocalTime.nextDaily(to, now) : undefined
