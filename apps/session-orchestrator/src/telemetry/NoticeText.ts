/** A notice as those who are told read it: the JSON that is posted, and the sentence in it, without control characters. Pure. */
import { Target } from "@holdfast/wire"
import { Duration } from "effect"
import * as Prose from "../text/Prose.ts"
import type { Notice } from "./Incidents.ts"

export interface Body {
  /** The same when it is delivered a second time. */
  readonly id: string
  readonly type: Notice["type"]
  readonly incidentId: string
  readonly provider: string
  readonly model: string
  /** Since when nobody has been answered: ISO 8601. */
  readonly since: string
  readonly at: string
  readonly durationMs: number
  readonly waiting: number
  readonly reason: string
  readonly message: string
  readonly code?: string
  /** One sentence for people; chat services that take webhooks look for it under this name. */
  readonly text: string
}

/** What is posted, and what a command reads. */
export const bodyOf = (notice: Notice): Body => {
  const { at, incidentId, said, since, target, type, waiting } = notice
  return {
    id: `${incidentId}/${type}`,
    type,
    incidentId,
    ...target,
    since: new Date(since).toISOString(),
    at: new Date(at).toISOString(),
    durationMs: at - since,
    waiting,
    ...said,
    message: Prose.plain(said.message),
    text: Prose.oneLine(textOf(notice))
  }
}

/** The sentence. */
export const textOf = ({ at, said, since, target, type, waiting }: Notice): string => {
  const name = Target.format(target)
  const lasted = Duration.format(Duration.seconds(Math.max(1, Math.round((at - since) / 1_000))))
  if (type === "incident-ended") return `${name} answers again, after ${lasted}.`
  const code = said.code === undefined ? "" : ` ${said.code}`
  const turns = waiting === 1 ? "1 turn waits" : waiting === 0 ? "Turns wait" : `${waiting} turns wait`
  return (
    `${name} has answered nobody for ${lasted} (${said.reason}${code}: ${said.message}). ` +
    `${turns} for it, and will go on when it answers.`
  )
}
