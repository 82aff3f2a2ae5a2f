/**
 * One turn as an operator sees it: what it does, until when, why, and what it may still spend. A plain function of its rows,
 * its records and the present.
 */
import { Budget, ReasonLimits, type RetryPolicy } from "@holdfast/policy"
import { Failure, type Ids, type Message, type TurnEvent } from "@holdfast/wire"
import type * as Holders from "./Holders.ts"
import type { Conversation, Turn } from "../storage/Store.ts"
import * as Account from "../recovery/Account.ts"

/** What a turn that is not sealed does, or how it ended. */
export type State = "queued" | "running" | "waiting" | TurnEvent.TurnStatus

export interface WaitReport {
  /** The retry that is waited for; 0-based, as in `provider-retry`. */
  readonly retry: number
  /** Epoch milliseconds; with `asks`, until when there can be an answer. */
  readonly retryAt: number
  /** 0 where it is overdue. */
  readonly leftMs: number
  readonly since: number
  /** It waits for a person, and gives up without an answer (X11). */
  readonly asks?: TurnEvent.Asks
}

export interface ErrorReport {
  readonly reason: Failure.Reason
  readonly message: string
  /** The HTTP status, or the provider's code. */
  readonly code?: string
}

/** What waiting may cost. Limits are absent where there are none. */
export interface BudgetReport {
  readonly measure: "scheduled" | "wall-clock"
  /** The wait in progress counts in full when waits are what is counted. */
  readonly spentMs: number
  readonly totalMs?: number
  /** Of the step's budget; of that of what it waits for to pass, where that has one of its own with less left (X11). */
  readonly leftMs?: number
}

export interface TokenReport {
  readonly input?: number
  readonly output?: number
}

export interface TurnReport {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  readonly state: State
  /** `provider/model`. */
  readonly model: string
  /** As it was given; absent on a manual retry. */
  readonly prompt?: string
  /** Epoch milliseconds. */
  readonly acceptedAt: number
  /** Since its acceptance; up to its end where it has one. */
  readonly ageMs: number
  /** Calls of a provider that have come to an end. */
  readonly attempts: number
  /** When it ended, in epoch milliseconds. */
  readonly endedAt?: number
  /** How long a turn that has ended has waited; of one that an older version ran, what was scheduled. */
  readonly waitedMs?: number
  /** What an ended turn has used, where its providers reported it. */
  readonly tokens?: TokenReport
  /** The turn that ran the model again after this one had failed or was aborted (M1). */
  readonly retriedBy?: Ids.TurnId
  readonly wait?: WaitReport
  /** What it waits for to pass, or what it failed with. */
  readonly error?: ErrorReport
  /** Of the step that it is in; absent before the first failure and after the end. */
  readonly budget?: BudgetReport
  /** Which runner has it; absent after the end, and where no runners share the database. */
  readonly runner?: Holders.Holder
}

/** What is known of an ended turn besides its rows. */
export interface Ending {
  /** `provider/model` of its last attempt, where that is not the conversation's. */
  readonly model?: string | undefined
  readonly retriedBy?: Ids.TurnId | undefined
}

/** A turn that has ended. */
export const ofSealed = (
  turn: Turn,
  end: TurnEvent.TurnEnd,
  conversation: Conversation,
  { model = conversation.model, retriedBy }: Ending = {}
): TurnReport => ({
  ...headOf(turn, { ...conversation, model }, end.endedAt),
  state: end.status,
  attempts: end.attempts,
  endedAt: end.endedAt,
  waitedMs: end.waitedMs ?? end.sleptMs,
  ...tokensOf(end.usage),
  ...(retriedBy === undefined ? {} : { retriedBy }),
  ...(end.error === undefined ? {} : { error: errorOf(end.error) })
})

/** A turn that waits for another of its conversation. */
export const ofQueued = (turn: Turn, conversation: Conversation, now: number): TurnReport => ({
  ...headOf(turn, conversation, now),
  state: "queued",
  attempts: 0
})

/** The turn at the head of its conversation, by its records. */
export const ofOpen = (
  turn: Turn,
  account: Account.Account,
  conversation: Conversation,
  policy: RetryPolicy.RetryPolicy,
  now: number
): TurnReport => {
  const head = headOf(turn, conversation, now)
  const attempts = Account.endedCalls(account.attempts)
  const budget = budgetOf(account.spending, policy, now)
  const { place } = account
  const opened = { ...head, model: targetOf(account) ?? head.model, state: stateOf(undefined, account, true), attempts }
  if (place._tag !== "Waiting") return { ...opened, ...budget }
  return {
    ...opened,
    wait: {
      retry: place.retry,
      retryAt: place.wakeAt,
      leftMs: Math.max(0, place.wakeAt - now),
      since: place.since,
      ...(place.asks === undefined ? {} : { asks: place.asks })
    },
    error: errorOf(place.failure),
    ...budget
  }
}

/** What a turn does, or how it ended. One that has no event yet is behind another of its conversation. */
export const stateOf = (
  end: TurnEvent.TurnEnd | undefined,
  { place }: Pick<Account.Account, "place">,
  hasEvents: boolean
): State => end?.status ?? (place._tag === "Waiting" ? "waiting" : hasEvents ? "running" : "queued")

/** `provider/model` that a turn waits for, or that its attempts go to; absent where nothing has sent it anywhere. */
export const targetOf = ({ place, target }: Pick<Account.Account, "place" | "target">): string | undefined =>
  place._tag === "Waiting" ? place.target : target

/** An error without what it was made from. */
export const errorOf = (failure: Failure.Failure): ErrorReport => {
  const code = Failure.codeOf(failure)
  return { reason: failure.reason, message: failure.message, ...(code === undefined ? {} : { code }) }
}

// --- internal

const headOf = (turn: Turn, { model }: Conversation, until: number) => ({
  conversationId: turn.conversationId,
  turnId: turn.turnId,
  model,
  ...(turn.prompt === undefined ? {} : { prompt: turn.prompt }),
  acceptedAt: turn.acceptedAt,
  ageMs: Math.max(0, until - turn.acceptedAt)
})

const tokensOf = ({ inputTokens: input, outputTokens: output }: Message.Usage): { readonly tokens?: TokenReport } =>
  input === undefined && output === undefined
    ? {}
    : { tokens: { ...(input === undefined ? {} : { input }), ...(output === undefined ? {} : { output }) } }

/** D2 */
const budgetOf = (
  { extendedMs, firstFailureAt, onReason, scheduledMs }: Account.Spending,
  policy: RetryPolicy.RetryPolicy,
  now: number
): { readonly budget?: BudgetReport } => {
  if (firstFailureAt === undefined) return {}
  const { measure, totalMs } = policy.budget
  const since = (at: number): number => Math.max(0, now - at)
  const elapsedMs = since(firstFailureAt)
  const spent = { measure, spentMs: measure === "scheduled" ? scheduledMs : elapsedMs }
  const own = ReasonLimits.budgetOf(policy, onReason?.reason)
  const ownLeftMs =
    own === undefined || onReason === undefined
      ? Infinity
      : Budget.remainingMs(own, {
          sleptMs: onReason.scheduledMs,
          elapsedMs: since(onReason.firstFailureAt),
          extendedMs
        })
  const leftMs = Math.min(ownLeftMs, Budget.remainingMs(policy.budget, { sleptMs: scheduledMs, elapsedMs, extendedMs }))
  return {
    budget: {
      ...spent,
      ...(totalMs === undefined ? {} : { totalMs: totalMs + extendedMs }),
      ...(Number.isFinite(leftMs) ? { leftMs } : {})
    }
  }
}
