/**
 * What one turn adds to a report of a period, from its row and its records. Pure.
 *
 * TurnFacts.F1. A failure counts against an endpoint only if it may pass by itself: it is retryable, it came before content, and it was the
 *     turn's own call.
 */
import { Directive, RetryStrategy } from "@holdfast/kernel"
import { Prices } from "@holdfast/policy"
import { Failure, type Ids, type TurnEvent } from "@holdfast/wire"
import * as Account from "../../recovery/Account.ts"
import * as Usage from "../../spend/Usage.ts"
import type { TurnRow } from "../../storage/Lists.ts"
import * as TurnReport from "../TurnReport.ts"

/** A wait of a turn. Times are in epoch milliseconds. */
export interface WaitFact {
  readonly from: number
  readonly to: number
}

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

/** The tokens that a turn used at a target. */
export interface UsageFact {
  readonly target: string
  readonly tokens: Prices.Tokens
  /** The provider reported none. */
  readonly isUnreported: boolean
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
  readonly waits: ReadonlyArray<WaitFact>
  /** Absent: it asks nothing. */
  readonly question?: QuestionFact | undefined
  readonly endpoints: ReadonlyArray<EndpointFact>
  readonly switches: ReadonlyArray<{ readonly from: string; readonly to: string }>
  readonly usage: ReadonlyArray<UsageFact>
  /** Its records have been deleted. */
  readonly isForgotten: boolean
}

/** Whether the facts of a turn need its records. A turn that was answered by its first call has all of them in its row. */
export const needsRecords = ({ turn: { end } }: TurnRow): boolean =>
  end === undefined || end.status !== "completed" || end.attempts !== 1 || end.sleptMs > 0 || (end.waitedMs ?? 0) > 0

/** The facts of a turn. */
export const of = (row: TurnRow, account: Account.Account, now: number): TurnFacts => {
  const { end } = row.turn
  const { attempts } = account
  const target = TurnReport.targetOf(account) ?? attempts.at(-1)?.target ?? row.model
  const targetAt = (index: number): string => attempts[index]?.target ?? row.model
  return {
    turnId: row.turn.turnId,
    conversationId: row.turn.conversationId,
    state: TurnReport.stateOf(end, account, row.hasEvents),
    acceptedAt: row.turn.acceptedAt,
    endedAt: end?.endedAt,
    isRetry: row.turn.prompt === undefined,
    target,
    tags: row.labels.tags ?? [],
    error: end?.error === undefined ? undefined : TurnReport.errorOf(end.error),
    calls: end?.attempts ?? Account.endedCalls(attempts),
    savedCalls: attempts.filter(
      ({ outcome }) =>
        outcome?._tag === "Failed" && outcome.failure.shared === true && !Failure.isOfSpendLimit(outcome.failure)
    ).length,
    waits: attempts.flatMap((attempt) => waitOf(attempt, end?.endedAt ?? now)),
    question: end === undefined ? questionOf(account) : undefined,
    endpoints:
      attempts.length === 0
        ? answerOf(row)
        : attempts.flatMap((attempt, index) => endpointOf(attempt, targetAt(index))),
    switches: attempts.flatMap((_, index) => {
      const [from, to] = [targetAt(index - 1), targetAt(index)]
      return index > 0 && from !== to ? [{ from, to }] : []
    }),
    usage: end === undefined ? [] : usageOf(end, attempts, target, row.model),
    isForgotten: end !== undefined && attempts.length === 0 && end.attempts > 0 && needsRecords(row)
  }
}

/** The tokens of a turn by the target of each call, if there were several; the turn's own sum is right in any case. */
export const usageOf = (
  end: TurnEvent.TurnEnd,
  attempts: ReadonlyArray<Attempt>,
  last: string,
  model: string
): ReadonlyArray<UsageFact> => {
  const total = Usage.tokensOf(end.usage)
  const isUnreported = Usage.isUnreported(end)
  const parts = new Map<string, Prices.Tokens>()
  for (const { outcome, target = model } of attempts) {
    if (outcome === undefined || !("usage" in outcome) || outcome.usage === undefined) continue
    parts.set(target, Prices.add(parts.get(target) ?? Prices.NO_TOKENS, Usage.tokensOf(outcome.usage)))
  }
  if (parts.size <= 1) {
    const [target = last] = parts.keys()
    return isUnreported || total.input > 0 || total.output > 0 ? [{ target, tokens: total, isUnreported }] : []
  }
  const known = Array.from(parts.values()).reduce(Prices.add, Prices.NO_TOKENS)
  parts.set(last, Prices.add(parts.get(last) ?? Prices.NO_TOKENS, Usage.missing(total, known)))
  return Array.from(parts, ([target, tokens]) => ({ target, tokens, isUnreported: isUnreported && target === last }))
}

// --- internal

type Attempt = Account.AttemptAccount

const waitOf = ({ decision, wakes }: Attempt, until: number): ReadonlyArray<WaitFact> => {
  if (decision?._tag !== "Retry" || Directive.isImmediate(decision)) return []
  const from = RetryStrategy.sinceOf(decision)
  return [{ from, to: from + RetryStrategy.waitedMs(decision, wakes, until) }]
}

const questionOf = ({ progress }: Account.Account): QuestionFact | undefined =>
  progress._tag === "Waiting" && progress.asks !== undefined
    ? { asks: progress.asks, since: progress.since, until: progress.wakeAt }
    : undefined

const endpointOf = ({ outcome }: Attempt, target: string): ReadonlyArray<EndpointFact> => {
  if (outcome?._tag === "Completed" || outcome?._tag === "Compacted") return [{ target, at: outcome.endedAt }]
  if (outcome?._tag !== "Failed" || !outcome.failure.retryable || outcome.failure.shared === true) return [] // TurnFacts.F1
  if ("contentSeen" in outcome && outcome.contentSeen) return []
  const { reason } = outcome.failure
  return [{ target, at: outcome.endedAt, why: { reason, code: Failure.codeOf(outcome.failure) } }]
}

/** Without records: a turn that was answered by its first call. */
const answerOf = ({ model, turn: { end } }: TurnRow): ReadonlyArray<EndpointFact> =>
  end?.status === "completed" ? [{ target: model, at: end.endedAt }] : []
