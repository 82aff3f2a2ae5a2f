/** The course of a turn: its calls, its waits and its end, by its records. Times are in epoch milliseconds. */
import { type Records, RetryStrategy, type Route } from "@holdfast/kernel"
import { History } from "@holdfast/kernel/host"
import { defined, Failure, type Message, Target, type TurnEvent } from "@holdfast/wire"
import * as DecisionAccount from "../inspection/DecisionAccount.ts"

/** One attempt. */
interface CallMark {
  readonly at: number
  readonly endedAt: number
  /** `provider/model`. */
  readonly target: string
  /** Absent: the provider's first. */
  readonly credential?: string
  /** `shared`: no call was made, because the failure of another turn's call was taken over (X5). */
  readonly outcome: "answered" | "failed" | "shared"
  /** Why it failed. */
  readonly reason?: Failure.Reason
  /** It had content before it failed. */
  readonly contentSeen?: true
  /** The tokens of an answer; absent: they are not known. */
  readonly usage?: Message.Usage
}

/** One wait, or a part of it between two changes. */
interface WaitMark {
  readonly from: number
  /** When it was to end, by the decision. */
  readonly retryAt: number
  readonly endedAt: number
  /** The gate ended it before its time (X5). */
  readonly early?: true
}

/** The end of a turn. */
interface TurnEnding {
  readonly status: "completed" | "failed" | "aborted"
  readonly at: number
  /** Why there was no further attempt, in the words of a decision; absent unless it failed. */
  readonly because?: string
  /** The reason of the last failure; absent unless it failed. */
  readonly reason?: Failure.Reason
}

/** The course of one turn. */
export interface DryTurnCourse {
  readonly turnId: string
  readonly startedAt: number
  readonly calls: ReadonlyArray<CallMark>
  readonly waits: ReadonlyArray<WaitMark>
  /** Absent: it still waits when the run ends. */
  readonly end?: TurnEnding
}

/** A call that was made. */
export interface RecordedCall extends Records.RecordPosition {
  readonly turnId: string
  readonly route: Route.Route
  readonly at: number
  readonly outcome: Exclude<Records.AttemptOutcome, { readonly _tag: "Lost" }>
}

/** A turn with its records, oldest first. */
interface Recorded {
  readonly turnId: string
  readonly startedAt: number
  /** The route of attempts that no router or command sent elsewhere. */
  readonly target: Target.Target
  readonly records: ReadonlyArray<Records.TurnRecord>
  readonly end: TurnEvent.TurnEnd | undefined
  /** When it began behind the turn before it; absent: at once. */
  readonly from?: number
  /** When a call began; `undefined`: when the record before it was made. */
  readonly beganAt?: (attempt: Records.RecordPosition) => number | undefined
}

/** The course of a turn, and the calls that it made. `countsTokens`: those of its answers are real ones. */
export const of = (turn: Recorded, countsTokens: boolean) => {
  const { end, records, startedAt, turnId } = turn
  const history = History.ofRecords(records)
  const calls = callsOf(turn, history)
  const course: DryTurnCourse = {
    turnId,
    startedAt,
    calls: calls.flatMap((call) => markOf(call, countsTokens)),
    waits: waitsOf(history),
    ...defined({ end: end && endingOf(end, history) })
  }
  return { course, calls }
}

// --- internal

type Read = Omit<History.History, "unread">

const callsOf = (
  { beganAt, from, startedAt, target, turnId }: Recorded,
  { attempts }: Read
): ReadonlyArray<RecordedCall> => {
  let now = from ?? startedAt
  return attempts.flatMap(({ decision, number, outcome, results, route = { target }, step, wakes }) => {
    const at = beganAt?.({ step, number }) ?? now
    const times = [
      outcome?.endedAt,
      decision?._tag === "Retry" ? RetryStrategy.sinceOf(decision) : undefined,
      ...wakes.map((wake) => wake.at),
      ...results.map((result) => result?.endedAt)
    ]
    now = times.reduce<number>((last, time = 0) => Math.max(last, time), now)
    const isCall = outcome?._tag === "Completed" || (outcome?._tag === "Failed" && "contentSeen" in outcome)
    return isCall ? [{ turnId, step, number, route, at, outcome }] : []
  })
}

const markOf = ({ at, outcome, route }: RecordedCall, countsTokens: boolean): ReadonlyArray<CallMark> => {
  const { endedAt } = outcome
  const call = { at, endedAt, target: Target.format(route.target), ...defined({ credential: route.credential }) }
  if (outcome._tag === "Completed")
    return [{ ...call, outcome: "answered", ...defined({ usage: countsTokens ? outcome.usage : undefined }) }]
  const { contentSeen, failure } = outcome
  if (Failure.isOfSpendLimit(failure)) return [] // no call was made
  const how = failure.shared === true ? "shared" : "failed"
  return [{ ...call, outcome: how, reason: failure.reason, ...(contentSeen ? { contentSeen } : {}) }]
}

const waitsOf = ({ attempts }: Read): ReadonlyArray<WaitMark> => {
  const marks: Array<WaitMark> = []
  for (const { decision, wait, wakes } of attempts) {
    if (wait === undefined || decision?._tag !== "Retry") continue
    let { retryAt } = decision
    for (const wake of wakes) {
      const from = Math.max(wait.since, marks.at(-1)?.endedAt ?? wait.since)
      const early = RetryStrategy.isEarly(wake) ? { early: true as const } : {}
      marks.push({ from, retryAt, endedAt: wake.at ?? retryAt, ...early })
      if (wake.type === "until" || wake.type === "asked") retryAt = wake.until
    }
  }
  return marks
}

const endingOf = ({ endedAt: at, error, status }: TurnEvent.TurnEnd, { attempts }: Read): TurnEnding => {
  if (status !== "failed") return { status, at }
  const failure = attempts.findLast(({ outcome }) => outcome?._tag === "Failed")?.outcome
  const decision = attempts.findLast(({ decision }) => decision !== undefined)?.decision
  const failed = failure?._tag === "Failed" ? failure.failure : error
  const account = decision && failed && DecisionAccount.of(decision, failed)
  const hasGivenUp = account?.type === "gave-up"
  const { reason } = (hasGivenUp ? failed : error) ?? {}
  return { status, at, because: hasGivenUp ? account.because : "no-answer", ...defined({ reason }) }
}
