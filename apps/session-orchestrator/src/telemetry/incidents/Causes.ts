/**
 * Decides when an operator is told that turns failed: once an endpoint and cause, however many turns fail of it. Pure.
 *
 * K1. A cause begins with the first turn that fails of it. It is over when its endpoint has answered a turn since, and no turn has failed
 *     of it for `QUIET_MS`; the next one begins it anew.
 * K2. It is told `settleMs` after it began, so that one notice counts the turns that fail together.
 * K3. Turns that failed in an incident that ends with them are told by the notice of its end, and not twice. Until that is due they are
 *     told by nothing else: a turn that waits again puts the end off, and then they are told as any others are.
 */
import { Failure, Target } from "@holdfast/wire"
import { HashMap, Option, Schema } from "effect"
import * as Notice from "./Notice.ts"

/** Endpoints of which causes are kept; names of the simulated provider's models have no end. */
export const MOST_ENDPOINTS = 1_000

/** An endpoint that answers most turns and fails some, as with contexts that are too long, is told once an hour at most. */
export const QUIET_MS = 3_600_000

/** A cause of failed turns, as it is kept. Times are in epoch milliseconds. */
export const Cause = Schema.Struct({
  target: Target.Target,
  reason: Failure.Reason,
  /** The first failed turn. */
  since: Schema.Finite,
  /** The last one. */
  last: Schema.Finite,
  failed: Schema.Int,
  isTold: Schema.Boolean,
  /** The endpoint has answered since the last failed turn. */
  isAnswered: Schema.Boolean,
  said: Notice.Said
})
export type Cause = typeof Cause.Type

/** By endpoint. */
export type Causes = HashMap.HashMap<string, ReadonlyArray<Cause>>

/** What an earlier life has left. */
export const restore = (kept: ReadonlyArray<Cause>): Causes =>
  kept.reduce<Causes>(
    (causes, cause) =>
      HashMap.modifyAt(causes, Target.format(cause.target), (all) =>
        Option.some([...Option.getOrElse(all, () => []), cause])
      ),
    HashMap.empty()
  )

/** What a next life needs. */
export const save = (causes: Causes): ReadonlyArray<Cause> => Array.from(HashMap.values(causes)).flat()

/** A turn has failed at an endpoint. */
export const failed = (
  causes: Causes,
  { at, said, target }: { readonly target: Target.Target; readonly said: Notice.Said; readonly at: number }
): Causes => {
  const key = Target.format(target)
  const all = Option.getOrElse(HashMap.get(causes, key), (): ReadonlyArray<Cause> => [])
  if (all.length === 0 && HashMap.size(causes) >= MOST_ENDPOINTS) return causes
  const known = all.find(({ reason }) => reason === said.reason)
  const others = all.filter((cause) => cause !== known)
  const isOver = known !== undefined && known.isTold && known.isAnswered && at - known.last >= QUIET_MS // K1
  const cause: Cause =
    known === undefined || isOver
      ? { target, reason: said.reason, since: at, last: at, failed: 1, isTold: false, isAnswered: false, said }
      : { ...known, last: at, failed: known.failed + 1, isAnswered: false, said }
  return HashMap.set(causes, key, [...others, cause])
}

/** An endpoint has answered a turn. */
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

/** The end of an endpoint's incident, whose notice tells that turns failed of its reason (K3). */
export interface Ending {
  readonly reason: Failure.Reason
  /** When it is told, in epoch milliseconds. */
  readonly at: number
}

/** When the next cause is to be told, in epoch milliseconds. */
export const dueAt = (
  causes: Causes,
  settleMs: number,
  endingOf: (target: Target.Target) => Ending | undefined = () => undefined
): number =>
  save(causes).reduce(
    (first, cause) => (cause.isTold ? first : Math.min(first, momentOf(cause, settleMs, endingOf(cause.target)))),
    Infinity
  )

/**
 * The causes that are due by a moment, as notices.
 *
 * @param situation how many turns wait for an endpoint, and the end of its incident, where that is near
 */
export const told = (
  causes: Causes,
  at: number,
  settleMs: number,
  situation: (target: Target.Target) => { readonly waiting: number; readonly ending: Ending | undefined }
): readonly [Causes, ReadonlyArray<Notice.Notice>] => {
  const notices: Array<Notice.Notice> = []
  let next = causes
  for (const [key, all] of causes) {
    const untold = all.filter(({ isTold }) => !isTold)
    const [first] = untold
    if (first === undefined) continue
    const { ending, waiting } = situation(first.target)
    const due = untold.filter((cause) => at >= momentOf(cause, settleMs, ending))
    if (due.length === 0) continue
    next = HashMap.set(
      next,
      key,
      all.map((cause) => (due.includes(cause) ? { ...cause, isTold: true } : cause))
    )
    for (const { failed, reason, said, since, target } of due) {
      if (ending?.reason === reason) continue // K3
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

const momentOf = ({ reason, since }: Cause, settleMs: number, ending: Ending | undefined): number =>
  Math.max(since + settleMs, ending?.reason === reason ? ending.at : since)
