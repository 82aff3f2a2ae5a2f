/** Where notices go, and when. Pure. */
import type { Values } from "../../config/Config.ts"
import type { NewMessage } from "../../storage/Outbox.ts"
import type { NoticeBody } from "./NoticeFormat.ts"
import * as QuietHours from "./QuietHours.ts"

/** The receivers of notices, as the outbox names them, and the hours in which they get none. */
export interface Receivers {
  readonly names: ReadonlyArray<string>
  readonly quiet?: QuietHours.QuietHours | undefined
}

/** The configured receivers. */
export const receiversOf = ({
  command,
  quiet,
  webhook
}: Partial<NonNullable<Values["telemetry"]["notifications"]>> = {}): Receivers => ({
  names: [...(webhook === undefined ? [] : ["webhook"]), ...(command === undefined ? [] : ["command"])],
  quiet: quiet && QuietHours.parse(quiet)
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
    dueAt: (quiet && QuietHours.endOf(quiet, at)) ?? at
  }))
