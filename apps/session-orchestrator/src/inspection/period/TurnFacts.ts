/**
 * What one turn adds to a report of a period, from its row and its records. Pure.
 *
 * TurnFacts.F1. A failure counts against an endpoint only if it may pass by itself: it is retryable, it came before content, and it was the
 *     turn's own call.
 */
import { History } from "@holdfast/kernel/host"
import { Failure, type Ids, type TurnEvent } from "@holdfast/wire"
import type { TurnRow } from "../../storage/Lists.ts"
import * as TurnReport from "../TurnReport.ts"
import * as TurnUse from "../TurnUse.ts"
import type * as Intervals from "./Intervals.ts"

/** An answer or a failure of an endpoint. */
export interface EndpointFact {
  /** `provider/model`. */
  readonly target: string
  readonly at: number
  /** Why it failed; absent: it answered. */
  readonly why?: Why | undefined
}

/** The reason of a failure, and the provider's code. */
export interface Why {
  readonly reason: Failure.Reason
  readonly code: string | undefined
}

/** The question to a person that a turn waits with. */
export interface QuestionFact {
  readonly asks: TurnEvent.Asks
  readonly since: number
  /** Until when an answer is accepted. */
  readonly until: number
}

/** The facts of one turn. */
export interface TurnFacts {
  readonly turnId: Ids.TurnId
  readonly conversationId: Ids.ConversationId
  readonly state: TurnReport.ReportedState
  readonly acceptedAt: number
  readonly endedAt: number | undefined
  /** It runs the model again on the last prompt (M1). */
  readonly isRetry: boolean
  /** `provider/model` of its last attempt. */
  readonly target: string
  readonly tags: ReadonlyArray<string>
  readonly error: TurnReport.ErrorReport | undefined
  readonly calls: number
  readonly savedCalls: number
  readonly waits: ReadonlyArray<Intervals.Span>
  /** Absent: it asks nothing. */
  readonly question?: QuestionFact | undefined
  readonly endpoints: ReadonlyArray<EndpointFact>
  readonly switches: ReadonlyArray<{ readonly from: string; readonly to: string }>
  readonly usage: ReadonlyArray<TurnUse.TargetUse>
  /** Its records have been deleted. */
  readonly isForgotten: boolean
}

/** The facts of a turn. */
export const of = (row: TurnRow, history: History.History, now: number): TurnFacts => {
  const { end } = row.turn
  const { attempts } = history
  const target = TurnReport.lastTargetOf(history) ?? row.model
  const targetAt = (index: number): string => attempts[index]?.target ?? row.model
  return {
    turnId: row.turn.turnId,
    conversationId: row.turn.conversationId,
    state: TurnReport.stateOf(end, history, row.hasEvents),
    acceptedAt: row.turn.acceptedAt,
    endedAt: end?.endedAt,
    isRetry: row.turn.prompt === undefined,
    target,
    tags: row.labels.tags ?? [],
    error: end?.error === undefined ? undefined : TurnReport.errorOf(end.error),
    calls: end?.attempts ?? History.callsOf(history),
    savedCalls: attempts.filter(
      ({ outcome }) =>
        outcome?._tag === "Failed" && outcome.failure.shared === true && !Failure.isOfSpendLimit(outcome.failure)
    ).length,
    waits: attempts.flatMap((attempt) => waitOf(attempt, end?.endedAt ?? now)),
    question: end === undefined ? questionOf(history) : undefined,
    endpoints:
      attempts.length === 0
        ? answerOf(row)
        : attempts.flatMap((attempt, index) => endpointOf(attempt, targetAt(index))),
    switches: attempts.flatMap((_, index) => {
      const [from, to] = [targetAt(index - 1), targetAt(index)]
      return index > 0 && from !== to ? [{ from, to }] : []
    }),
    usage: end === undefined ? [] : TurnUse.byTarget(row.model, end, history),
    isForgotten: end !== undefined && attempts.length === 0 && end.attempts > 0 && TurnUse.needsRecords(row)
  }
}

// --- internal

const waitOf = ({ wait }: History.Attempt, until: number): ReadonlyArray<Intervals.Span> =>
  wait === undefined ? [] : [{ from: wait.since, to: wait.since + History.waitedMs(wait, until) }]

const questionOf = ({ wait }: History.History): QuestionFact | undefined =>
  wait?.asks && { asks: wait.asks, since: wait.since, until: wait.retryAt }

const endpointOf = ({ outcome }: History.Attempt, target: string): ReadonlyArray<EndpointFact> => {
  if (outcome?._tag === "Completed" || outcome?._tag === "Compacted") return [{ target, at: outcome.endedAt }]
  if (outcome?._tag !== "Failed" || !outcome.failure.retryable || outcome.failure.shared === true) return [] // TurnFacts.F1
  if ("contentSeen" in outcome && outcome.contentSeen) return []
  const { reason } = outcome.failure
  return [{ target, at: outcome.endedAt, why: { reason, code: Failure.codeOf(outcome.failure) } }]
}

/** Without records: a turn that was answered by its first call. */
const answerOf = ({ model, turn: { end } }: TurnRow): ReadonlyArray<EndpointFact> =>
  end?.status === "completed" ? [{ target: model, at: end.endedAt }] : []
