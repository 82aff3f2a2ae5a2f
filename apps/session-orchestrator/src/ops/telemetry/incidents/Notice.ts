/**
 * Defines a notice to an operator, that an incident began or ended or turns failed, as JSON and as a sentence without control characters.
 *
 * Pure. A notice goes into the outbox with its transition (`Notifications`).
 */
import { Count, defined, Target, type TurnState } from "@holdfast/wire"
import type { NoticeBody } from "../../delivery/NoticeFormat.ts"
import * as DurationText from "../../../base/text/DurationText.ts"
import * as LocalTime from "../../../base/text/LocalTime.ts"
import * as Prose from "../../../base/text/Prose.ts"

/** The outcomes of turns that waited: how many failed, were aborted, or were answered by another endpoint. */
export type Outcomes = Readonly<Record<"failed" | "aborted" | "elsewhere", number>>

/** No turn has ended. */
export const NO_OUTCOMES: Outcomes = { failed: 0, aborted: 0, elsewhere: 0 }

/** One notice. Times are in epoch milliseconds. */
export interface Notice {
  readonly type: "incident-began" | "incident-ended" | "incident-gave-up" | "turns-failed"
  /** The same for all notices of an incident, over restarts too. */
  readonly incidentId: string
  readonly target: Target.Target
  readonly since: number
  readonly at: number
  /** The last failure of the endpoint. */
  readonly said: TurnState.TurnError
  /** Turns that wait for the endpoint, on all runners. */
  readonly waiting: number
  /** When the first of them asks the endpoint again, of an incident that began; absent if no runner knows. */
  readonly nextAt?: number
  readonly outcomes: Outcomes
}

/** The JSON for a webhook and for a command: docs/telemetry.md has its fields. `text` is the name that chat services read. */
export const bodyOf = (notice: Notice): NoticeBody => {
  const { at, incidentId, nextAt, outcomes, said, since, target, type, waiting } = notice
  return {
    id: `${incidentId}/${type}`,
    type,
    incidentId,
    ...target,
    since: new Date(since).toISOString(),
    at: new Date(at).toISOString(),
    durationMs: at - since,
    waiting,
    ...defined({ nextAt: nextAt === undefined ? undefined : new Date(nextAt).toISOString() }),
    ...outcomes,
    ...said,
    message: Prose.plain(said.message),
    text: Prose.oneLine(textOf(notice))
  }
}

/** The notice as a sentence, or two. */
export const textOf = ({ at, nextAt, outcomes, said, since, target, type, waiting }: Notice): string => {
  const name = Target.format(target)
  const lasted = DurationText.format(Math.max(1, Math.round((at - since) / 1_000)) * 1_000)
  const code = said.code === undefined ? "" : ` ${said.code}`
  const because = `(${said.reason}${code}: ${said.message})`
  const { failed } = outcomes
  switch (type) {
    case "incident-began": {
      const turns = waiting === 0 ? "Turns wait" : `${counted(waiting)} ${waiting === 1 ? "waits" : "wait"}`
      const next = nextAt === undefined ? "" : ` The next attempt is at ${momentOf(nextAt, at)}.`
      return `${name} has answered no turn for ${lasted} ${because}. ${turns} for it, and will go on when it answers.${next}`
    }
    case "incident-ended": {
      const lost = failed === 0 ? "" : ` ${counted(failed)} that waited for it ${have(failed)} failed. ${NOT_BY_ITSELF}`
      return `${name} answers again, after ${lasted}.${lost}`
    }
    case "incident-gave-up": {
      const ends = endsOf(outcomes)
      return (
        `${name} has answered no turn for ${lasted} ${because}, and no turn waits for it any more` +
        (ends === "" ? "." : `: ${ends}. ${NOT_BY_ITSELF}`)
      )
    }
    case "turns-failed": {
      const others = waiting === 0 ? "" : ` ${counted(waiting)} still ${waiting === 1 ? "waits" : "wait"} for it.`
      return `${counted(failed)} at ${name} ${have(failed)} failed ${because}. ${NOT_BY_ITSELF}${others} ${IN_THE_LOG}`
    }
    default:
      return type satisfies never
  }
}

// --- internal

const NOT_BY_ITSELF = "A turn that failed does not go on by itself."

const IN_THE_LOG = "Further turns that fail of this are in the log alone."

/** In UTC, as other moments of notices: receivers may be elsewhere. With its date if that is not the day of the notice. */
const momentOf = (moment: number, at: number): string =>
  `${LocalTime.seenFrom(LocalTime.full("UTC", "medium"), at)(moment)} UTC`

const counted = (turns: number): string => Count.of(turns, "turn")

const have = (turns: number): string => (turns === 1 ? "has" : "have")

const endsOf = ({ aborted, elsewhere, failed }: Outcomes): string =>
  [
    ...(failed === 0 ? [] : [`${failed} ${have(failed)} failed`]),
    ...(aborted === 0 ? [] : [`${aborted} ${aborted === 1 ? "was" : "were"} aborted`]),
    ...(elsewhere === 0 ? [] : [`${elsewhere} ${elsewhere === 1 ? "was" : "were"} answered elsewhere`])
  ].join(", ")
