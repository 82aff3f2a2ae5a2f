/**
 * Decides about one endpoint when to notify an operator of an outage, a recovery and failed turns (`Causes`). Pure.
 *
 * An incident begins when a turn waits for the endpoint (a provider's model), which has answered no turn for `afterMs` since the first such
 * wait. It ends with the next answer, or `SETTLE_MS` after the last turn that waited for it has ended. What a process has seen comes as
 * `IncidentNews`; what all turns do and did, over runners and restarts, is in the log (`EndpointLog`).
 *
 * Incidents.I2. An incident has one notice at its beginning and one at its end, for any number of waiting turns and retries. An incident
 *     without a notice of its beginning has no notice of its end.
 * Incidents.I3. If failed turns end an incident, the notice of its end reports them, and no other notice does.
 */
import { defined, Target, TurnState } from "@holdfast/wire"
import { Schema } from "effect"
import * as Causes from "./Causes.ts"
import type { EndpointQuestion, EndpointStanding } from "./EndpointLog.ts"
import * as Notice from "./Notice.ts"

/** Turns that end within this time are reported in one notice. */
export const SETTLE_MS = 10_000

const Trouble = Schema.Struct({
  /** The first wait since the last answer, or an answer that only the log has, in epoch milliseconds. */
  since: Schema.Finite,
  /** It is an incident: the notice of its beginning was made. */
  isTold: Schema.Boolean,
  /** The last failure. */
  said: TurnState.TurnError
})
type Trouble = typeof Trouble.Type

/** An endpoint, as all runners of a database share it. */
export const EndpointState = Schema.Struct({
  trouble: Schema.optionalKey(Trouble),
  causes: Schema.Array(Causes.FailureCause)
})
export type EndpointState = typeof EndpointState.Type

/** An endpoint of which nothing is known. */
export const NOTHING: EndpointState = { causes: [] }

/** What this process has seen of an endpoint since the last decision, in order: an answer, and a wait after it. */
export interface IncidentNews {
  /** The first answer, and the first wait before it. */
  readonly answer?: Partial<Pick<Trouble, "since" | "said">> & {
    readonly at: number
    /** Turns of this process that waited for it. */
    readonly waiting: number
  }
  /** The first wait since the answer. */
  readonly since?: number
  /** The last failure that a turn waits after. */
  readonly said?: TurnState.TurnError
}

/** News in the order of time. */
export const joined = (
  { since: first, ...before }: IncidentNews,
  { since: later, ...more }: IncidentNews
): IncidentNews => {
  const since = more.answer === undefined ? (first ?? later) : later
  return { ...before, ...more, ...defined({ since, answer: before.answer ?? more.answer }) }
}

/** The facts of a decision. Times are in epoch milliseconds. */
interface Situation {
  readonly target: Target.Target
  readonly news: IncidentNews
  /** Turns that failed at the endpoint, oldest first. */
  readonly failed: ReadonlyArray<Causes.FailedTurn>
  readonly at: number
  readonly afterMs: number
}

/** What has to be asked of the log before a decision; `isUnwatched`: no turn of this process waits for the endpoint, and the log is due. */
export const questionOf = (
  { causes, trouble }: EndpointState,
  { afterMs, at, failed, news }: Situation,
  isUnwatched: boolean
): EndpointQuestion | undefined => {
  const since = trouble?.since ?? news.answer?.since ?? news.since
  const isTold = trouble?.isTold === true
  const isBegun = !isTold && since !== undefined && at - since >= afterMs
  const isDue = Causes.dueAt(failed.reduce(Causes.failed, causes), settleOf(afterMs)) <= at
  const wantsEnds = news.answer !== undefined || !isTold
  return isBegun || isDue || (isTold && (isUnwatched || news.answer !== undefined))
    ? { since: since ?? at, at: isBegun ? since + afterMs : at, wantsEnds }
    : undefined
}

/** When something is to be decided if nothing else happens, in epoch milliseconds; `Infinity`: nothing is. */
export const dueAt = ({ causes, trouble }: EndpointState, afterMs: number): number =>
  Math.min(
    Causes.dueAt(causes, settleOf(afterMs)),
    trouble === undefined || trouble.isTold ? Infinity : trouble.since + afterMs
  )

/** Decides; without the log, what does not need it. */
export const decide = (
  before: EndpointState,
  { afterMs, at, failed, news, target }: Situation,
  log: EndpointStanding | undefined
): readonly [EndpointState, ReadonlyArray<Notice.Notice>] => {
  const name = Target.format(target)
  const settleMs = settleOf(afterMs)
  const notices: Array<Notice.Notice> = []
  const { outcomes = Notice.NO_OUTCOMES, waiting = 0 } = log ?? {}
  const notify = (
    type: Notice.Notice["type"],
    { said, since }: Trouble,
    at: number,
    more: Partial<Notice.Notice> = {}
  ) => void notices.push({ type, incidentId: `${name}@${since}`, target, since, at, said, waiting, outcomes, ...more })
  const begin = (trouble: Trouble, more: Partial<Notice.Notice>): Trouble => {
    notify("incident-began", trouble, trouble.since + afterMs, { outcomes: Notice.NO_OUTCOMES, ...more })
    return { ...trouble, isTold: true }
  }
  const { answer, said, since } = news
  let { trouble } = before
  if (trouble === undefined && answer?.since !== undefined && answer.said !== undefined)
    trouble = { since: answer.since, isTold: false, said: answer.said }
  if (answer !== undefined && trouble !== undefined && trouble.since <= answer.at) {
    const { waiting } = answer
    if (!trouble.isTold && answer.at - trouble.since >= afterMs) trouble = begin(trouble, { waiting })
    if (trouble.isTold) notify("incident-ended", trouble, answer.at, { waiting: Math.max(waiting, log?.waiting ?? 0) })
    trouble = undefined
  }
  if (trouble?.isTold === true && log?.answeredAt !== undefined) {
    notify("incident-ended", trouble, log.answeredAt)
    trouble = undefined
  }
  if (since !== undefined && said !== undefined) trouble = { since, isTold: false, ...trouble, said }
  if (log !== undefined && trouble !== undefined && !trouble.isTold) {
    // An answer may be in the log alone: its runner has died, or knew of no trouble yet.
    trouble = { ...trouble, since: Math.max(trouble.since, log.lastAnswerAt) }
    const lasted = log.waiting > 0 || log.lastEndAt >= trouble.since + afterMs
    if (at - trouble.since >= afterMs) trouble = lasted ? begin(trouble, defined({ nextAt: log.nextAt })) : undefined
  }
  const answered = (causes: Causes.Causes) => (answer === undefined ? causes : Causes.answered(causes, answer.at))
  const causes = answered(failed.reduce(Causes.failed, answered(before.causes)))
  const [told, due] = log === undefined ? [causes, []] : Causes.due(causes, at, settleMs)
  const endsAt =
    trouble?.isTold === true && log?.isHeld === false
      ? Math.max(trouble.since + afterMs, log.lastEndAt) + settleMs
      : Infinity
  const isOver = at >= endsAt
  const reported = endsAt < Infinity && outcomes.failed > 0 ? trouble?.said.reason : undefined // Incidents.I3
  for (const { failed, reason, said, since } of due)
    if (reason !== reported)
      notices.push({
        type: "turns-failed",
        incidentId: `${name}/${reason}@${since}`,
        target,
        since,
        at,
        said,
        waiting,
        outcomes: { ...Notice.NO_OUTCOMES, failed }
      })
  if (trouble !== undefined && isOver) notify("incident-gave-up", trouble, endsAt)
  const isHeldBack = ({ reason }: Causes.FailureCause) => reason === reported && !isOver
  return [
    {
      causes: told.map((cause, i) => (isHeldBack(cause) ? (causes[i] ?? cause) : cause)),
      ...defined({ trouble: isOver ? undefined : trouble })
    },
    notices
  ]
}

// --- internal

const settleOf = (afterMs: number): number => Math.min(afterMs, SETTLE_MS)
