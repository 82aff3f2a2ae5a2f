/**
 * Reports one turn to an operator: state, wait, cause, and remaining budget.
 *
 * A pure function of the turn's rows, its records and the present time.
 */
import { History, Spending } from "@holdfast/kernel/host"
import { Budget, ReasonLimits, type RetryPolicy } from "@holdfast/policy"
import { defined, Failure, type Ids, type Message, type TurnEvent, type TurnState } from "@holdfast/wire"
import type * as Holders from "./Holders.ts"
import type { Conversation, Turn } from "../storage/Store.ts"

/** The state of an unsealed turn, or the status of its seal. */
export type ReportedState = TurnState.TurnState["status"]

/** The wait in progress. */
interface WaitReport extends TurnState.Wait {
  /** 0 if it is overdue. */
  readonly leftMs: number
}

/** The budget for waiting. Limits are absent if there are none. */
interface BudgetReport {
  readonly measure: "scheduled" | "wall-clock"
  /** Milliseconds. With `measure: "scheduled"` the wait in progress counts in full. */
  readonly spentMs: number
  readonly totalMs?: number
  /** Of the step's budget; of the budget for the failure's reason, if that exists and has less left (rule X11). */
  readonly leftMs?: number
}

/** Used tokens. */
interface TokenReport {
  readonly input?: number
  readonly output?: number
}

/** One turn, for an operator. */
export interface TurnReport {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  readonly state: ReportedState
  /** `provider/model`. */
  readonly model: string
  /** As it was given; absent on a manual retry. */
  readonly prompt?: string
  /** Epoch milliseconds. */
  readonly acceptedAt: number
  /** Milliseconds since its acceptance; until its end if it has ended. */
  readonly ageMs: number
  /** The number of provider calls that have ended. */
  readonly attempts: number
  /** The end, in epoch milliseconds. */
  readonly endedAt?: number
  /** Milliseconds that an ended turn has waited; for a turn of an older version, the scheduled waits. */
  readonly waitedMs?: number
  /** Tokens that an ended turn has used, if its providers reported them. */
  readonly tokens?: TokenReport
  /** The turn that ran the model again after this one had failed or was aborted (rule M1). */
  readonly retriedBy?: Ids.TurnId
  readonly wait?: WaitReport
  /** The failure that caused the wait or the end. */
  readonly error?: TurnState.TurnError
  /** The budget of its present step; absent before the first failure and after the end. */
  readonly budget?: BudgetReport
  /** The runner that has the turn; absent after the end, and if no runners share the database. */
  readonly runner?: Holders.Holder
}

/** Facts about an ended turn that are not in its rows. */
export interface Ending {
  /** `provider/model` of its last attempt, if that is not the conversation's. */
  readonly model?: string | undefined
  readonly retriedBy?: Ids.TurnId | undefined
}

/** Reports a turn that has ended. */
export const ofSealed = (
  turn: Turn,
  end: TurnEvent.TurnEnd,
  conversation: Conversation,
  { model = modelOf(turn, conversation), retriedBy }: Ending = {}
): TurnReport => ({
  ...headOf(turn, model, end.endedAt),
  state: end.status,
  attempts: end.attempts,
  endedAt: end.endedAt,
  waitedMs: end.waitedMs ?? end.sleptMs,
  ...tokensOf(end.usage),
  ...defined({ retriedBy, error: end.error === undefined ? undefined : errorOf(end.error) })
})

/** Reports a turn behind another one of its conversation. */
export const ofQueued = (turn: Turn, conversation: Conversation, now: number): TurnReport => ({
  ...headOf(turn, modelOf(turn, conversation), now),
  state: "queued",
  attempts: 0
})

/** Reports the turn at the head of its conversation, by its records. */
export const ofOpen = (
  turn: Turn,
  history: History.History,
  conversation: Conversation,
  policy: RetryPolicy.RetryPolicy,
  now: number
): TurnReport => {
  const head = headOf(turn, modelOf(turn, conversation), now)
  const { wait } = history
  return {
    ...head,
    model: targetOf(history) ?? head.model,
    state: stateOf(undefined, history, true),
    attempts: History.callsOf(history),
    ...(wait && waitOf(wait, now)),
    ...budgetOf(history, policy, now)
  }
}

/** The state of a turn. A turn without events is behind another one of its conversation. */
export const stateOf = (
  end: TurnEvent.TurnEnd | undefined,
  { wait }: Pick<History.History, "wait">,
  hasEvents: boolean
): ReportedState => end?.status ?? (wait === undefined ? (hasEvents ? "running" : "queued") : "waiting")

/** `provider/model` that a turn waits for, or that its attempts use, the last one at its end; absent if no command or router has chosen one. */
export const targetOf = ({ target, wait }: Pick<History.History, "target" | "wait">): string | undefined =>
  wait === undefined ? target : wait.target

/** A failure without the evidence that it was classified by. */
export const errorOf = (failure: Failure.Failure): TurnState.TurnError => {
  const code = Failure.codeOf(failure)
  return { reason: failure.reason, message: failure.message, ...defined({ code }) }
}

// --- internal

/** `provider/model` that a turn was accepted with. */
const modelOf = (turn: Turn, conversation: Conversation): string => turn.model ?? conversation.model

const headOf = (turn: Turn, model: string, until: number) => ({
  conversationId: turn.conversationId,
  turnId: turn.turnId,
  model,
  ...defined({ prompt: turn.prompt }),
  acceptedAt: turn.acceptedAt,
  ageMs: Math.max(0, until - turn.acceptedAt)
})

const tokensOf = ({ inputTokens: input, outputTokens: output }: Message.Usage): { readonly tokens?: TokenReport } =>
  input === undefined && output === undefined ? {} : { tokens: defined({ input, output }) }

const waitOf = (
  { asks, failure, retry, retryAt, since }: History.Wait,
  now: number
): Pick<TurnReport, "wait" | "error"> => ({
  wait: { retry, retryAt, leftMs: Math.max(0, retryAt - now), since, ...defined({ asks }) },
  ...defined({ error: failure && errorOf(failure) })
})

/** Rule D2 */
const budgetOf = (
  history: History.History,
  policy: RetryPolicy.RetryPolicy,
  now: number
): { readonly budget?: BudgetReport } => {
  const { failure } = history.step
  if (failure === undefined) return {}
  const { measure, totalMs } = policy.budget
  const spent = Spending.spentAt(History.spendingAfterWait(history), failure, now, 0)
  const { extendedMs = 0, onReason } = spent
  const own = ReasonLimits.budgetOf(policy, failure.reason)
  const ownLeftMs = own && onReason ? Budget.remainingMs(own, { ...onReason, extendedMs }) : Infinity
  const leftMs = Math.min(ownLeftMs, Budget.remainingMs(policy.budget, spent))
  return {
    budget: {
      measure,
      spentMs: measure === "scheduled" ? spent.sleptMs : spent.elapsedMs,
      ...defined({
        totalMs: totalMs === undefined ? undefined : totalMs + extendedMs,
        leftMs: Number.isFinite(leftMs) ? leftMs : undefined
      })
    }
  }
}
