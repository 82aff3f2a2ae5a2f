/**
 * Decides when to report failed turns: once per endpoint and cause. Pure.
 *
 * However many turns fail of one cause, there is one notice.
 *
 * A cause is reported `settleMs` after it began, so that one notice counts the turns that fail together.
 *
 * A cause begins with the first turn that fails of it. It is over when its endpoint has answered a turn since then and no turn has failed
 * of it for `QUIET_MS`; the next failed turn begins it anew.
 *
 * Causes.K3. If failed turns end an incident, the notice of the incident's end reports them, and no other notice does. Until that notice
 *     is due they are not reported. If another turn waits again, the end is postponed, and the failed turns are reported like any others.
 */
import { Failure, Target } from "@holdfast/wire"
import { HashMap, Option, Schema } from "effect"
import * as Notice from "./Notice.ts"

/** The most endpoints whose causes are kept: the simulated provider has any number of model names. */
export const MOST_ENDPOINTS = 1_000

/** An endpoint that answers most turns and fails some, as with contexts that are too long, is reported once an hour at most. */
export const QUIET_MS = 3_600_000

/** A cause of failed turns, as it is kept. Times are in epoch milliseconds. */
export const FailureCause = Schema.Struct({
  target: Target.Target,
  reason: Failure.Reason,
  /** When the first turn failed. */
  since: Schema.Finite,
  /** When the last turn failed. */
  last: Schema.Finite,
  failed: Schema.Int,
  /** A notice has reported it. */
  isTold: Schema.Boolean,
  /** The endpoint has answered a turn since the last failure. */
  isAnswered: Schema.Boolean,
  said: Notice.NoticeFailure
})
export type FailureCause = typeof FailureCause.Type

/** The causes of each endpoint, by its formatted target. */
export type Causes = HashMap.HashMap<string, ReadonlyArray<FailureCause>>

/** The causes that an earlier process saved. */
export const restore = (kept: ReadonlyArray<FailureCause>): Causes =>
  kept.reduce<Causes>(
    (causes, cause) =>
      HashMap.modifyAt(causes, Target.format(cause.target), (all) =>
        Option.some([...Option.getOrElse(all, () => []), cause])
      ),
    HashMap.empty()
  )

/** The causes to keep over a restart. */
export const save = (causes: Causes): ReadonlyArray<FailureCause> => Array.from(HashMap.values(causes)).flat()

/** Records that a turn has failed at an endpoint. */
export const failed = (
  causes: Causes,
  { at, said, target }: { readonly target: Target.Target; readonly said: Notice.NoticeFailure; readonly at: number }
): Causes => {
  const key = Target.format(target)
  const all = Option.getOrElse(HashMap.get(causes, key), (): ReadonlyArray<FailureCause> => [])
  if (all.length === 0 && HashMap.size(causes) >= MOST_ENDPOINTS) return causes
  const known = all.find(({ reason }) => reason === said.reason)
  const others = all.filter((cause) => cause !== known)
  const isOver = known !== undefined && known.isTold && known.isAnswered && at - known.last >= QUIET_MS
  const cause: FailureCause =
    known === undefined || isOver
      ? { target, reason: said.reason, since: at, last: at, failed: 1, isTold: false, isAnswered: false, said }
      : { ...known, last: at, failed: known.failed + 1, isAnswered: false, said }
  return HashMap.set(causes, key, [...others, cause])
}

/** Records that an endpoint has answered a turn. */
export const answered = (causes: Causes, target: Target.Target): Causes => {
  const key = Target.format(target)
  const all = Option.getOrUndefined(HashMap.get(causes, key))
  if (all === undefined || all.every(({ isAnswered }) => isAnswered)) return causes
  return HashMap.set(
    causes,
    key,
    all.map((cause) => ({ ...cause, isAnswered: true }))
  )
}

/** The end of an endpoint's incident. Its notice reports the turns that failed of the incident's reason (Causes.K3). */
export interface IncidentEnd {
  readonly reason: Failure.Reason
  /** When the notice is due, in epoch milliseconds. */
  readonly at: number
}

/** When the next notice about a cause is due, in epoch milliseconds; `Infinity` if none is. */
export const dueAt = (
  causes: Causes,
  settleMs: number,
  endingOf: (target: Target.Target) => IncidentEnd | undefined = () => undefined
): number =>
  save(causes).reduce(
    (first, cause) => (cause.isTold ? first : Math.min(first, momentOf(cause, settleMs, endingOf(cause.target)))),
    Infinity
  )

/**
 * Makes the notices of the causes that are due at a moment.
 *
 * @param situation how many turns wait for an endpoint, and the end of its incident if that is due
 */
export const dueNotices = (
  causes: Causes,
  at: number,
  settleMs: number,
  situation: (target: Target.Target) => { readonly waiting: number; readonly ending: IncidentEnd | undefined }
): readonly [Causes, ReadonlyArray<Notice.Notice>] => {
  const notices: Array<Notice.Notice> = []
  let next = causes
  for (const [key, all] of causes) {
    const unreported = all.filter(({ isTold }) => !isTold)
    const [first] = unreported
    if (first === undefined) continue
    const { ending, waiting } = situation(first.target)
    const due = unreported.filter((cause) => at >= momentOf(cause, settleMs, ending))
    if (due.length === 0) continue
    next = HashMap.set(
      next,
      key,
      all.map((cause) => (due.includes(cause) ? { ...cause, isTold: true } : cause))
    )
    for (const { failed, reason, said, since, target } of due) {
      if (ending?.reason === reason) continue // Causes.K3
      const outcomes = { ...Notice.NO_OUTCOMES, failed }
      notices.push({
        type: "turns-failed",
        incidentId: `${key}/${reason}@${since}`,
        target,
        since,
        at,
        said,
        waiting,
        outcomes
      })
    }
  }
  return [next, notices]
}

// --- internal

const momentOf = ({ reason, since }: FailureCause, settleMs: number, ending: IncidentEnd | undefined): number =>
  Math.max(since + settleMs, ending?.reason === reason ? ending.at : since)
