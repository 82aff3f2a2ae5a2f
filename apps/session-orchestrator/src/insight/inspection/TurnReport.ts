/** Reports turns from their rows and records: their states to clients (X15), and wait, cause and budget to an operator. Pure. */
import type { Interruption } from "@holdfast/journal"
import type { Records } from "@holdfast/kernel"
import { History, Spending } from "@holdfast/kernel/host"
import { Budget, type Prices, type RetryPolicy } from "@holdfast/policy"
import {
  defined,
  Failure,
  FilePart,
  type Ids,
  type Message,
  Target,
  type TurnEvent,
  type TurnExplanation,
  type TurnState
} from "@holdfast/wire"
import * as ModelAnswer from "../../engine/conversation/ModelAnswer.ts"
import type { TurnRow } from "../../storage/ListPage.ts"
import type { Conversation, Turn } from "../../storage/Stored.ts"
import type * as Holders from "./Holders.ts"
import * as TurnUse from "../../engine/spend/TurnUse.ts"

/** The stored data of one turn. */
export interface StoredTurn {
  readonly turn: Turn
  readonly conversation: Conversation
  /** The turn's own, oldest first. */
  readonly events: ReadonlyArray<TurnEvent.PersistedEvent>
  readonly records: ReadonlyArray<Records.Stored>
  /** Absent for a turn that was never interrupted. */
  readonly interruption?: Interruption.Interruption | undefined
  /** Deaths of the service, by the moments at which they were found; some may be older than the turn. Absent: they were not read. */
  readonly deaths?: ReadonlyArray<number>
}

/** Removes secrets from a text. */
export type Redact = (text: string) => string

/** The state of an unsealed turn, or the status of its seal. */
export type ReportedState = TurnState.TurnState["status"]

/** The budget for waiting. Limits are absent if there are none. With `measure: "scheduled"` the wait in progress counts in full. */
interface BudgetReport extends Omit<TurnExplanation.ExplainedSpending, "extendedMs"> {
  /** Of the step's budget; of the budget for the failure's reason, if that exists and has less left (rule X11). */
  readonly leftMs?: number
}

/** One turn, for an operator. Times are in epoch milliseconds. */
export interface TurnReport extends Omit<TurnState.TurnSummary, "status" | "usage" | "wait"> {
  readonly state: ReportedState
  /** Milliseconds since its acceptance; until its end if it has ended. */
  readonly ageMs: number
  /** Tokens that an ended turn has used, if its providers reported them. */
  readonly tokens?: { readonly input?: number; readonly output?: number }
  /** The turn that ran the model again after this one had failed or was aborted (rule M1). */
  readonly retriedBy?: Ids.TurnId
  /** The wait in progress; `leftMs` is 0 if it is overdue. */
  readonly wait?: TurnState.Wait & { readonly leftMs: number }
  /** The budget of its present step; absent before the first failure and after the end. */
  readonly budget?: BudgetReport
  /** The runner that has the turn; absent after the end, and if no runners share the database. */
  readonly runner?: Holders.RunnerAddress
}

/** Reports a turn of a list to an operator, with what only a reader of the database knows. */
export const of = (
  { status, usage, wait, ...known }: TurnState.TurnSummary,
  now: number,
  more: {
    readonly [Key in "budget" | "retriedBy" | "runner"]?: TurnReport[Key] | undefined
  } = {}
): TurnReport => ({
  ...known,
  state: status,
  ageMs: Math.max(0, (known.endedAt ?? now) - known.acceptedAt),
  ...defined({
    ...more,
    wait: wait && { ...wait, leftMs: Math.max(0, wait.retryAt - now) },
    tokens: usage && tokensOf(usage)
  })
})

/** The state of a turn for a client; of its events and records the digest and the outline will do. */
export const ofStored = (
  { conversation, events, records, turn }: StoredTurn,
  redact: Redact,
  prices: Prices.Prices = {}
): TurnState.TurnState => {
  const { end } = turn
  const history = History.of(records)
  const changes = events.filter((event) => event.type === "model-change")
  const changed = changes.at(-1)?.to
  const answered = ModelAnswer.messageOf(events)?.target
  // The journal of an ended turn may be deleted (`database.retention`); its events stay, and contain changes of the target (rule P8).
  const own = changed ?? (answered === undefined ? (turn.model ?? conversation.model) : Target.format(answered))
  const facts = factsOf(turn, history, own, events.length > 0, redact)
  if (end === undefined) return facts
  const isAnswered = end.status === "completed"
  return {
    ...facts,
    ...defined({
      text: isAnswered ? ModelAnswer.textOf(events) : undefined,
      files: isAnswered ? filesOf(events) : undefined,
      report: end.report
    }),
    // Without records the shares of several models are not known any more.
    cost:
      history.attempts.length === 0 && changed !== undefined
        ? "unknown"
        : TurnUse.costOf(end, history, changes[0]?.from ?? facts.model, prices)
  }
}

/** A turn in a list, by its row and what its records come to. */
export const ofRow = (
  { changedFrom, hasEvents, labels, model, turn }: TurnRow,
  history: History.History,
  redact: Redact,
  prices: Prices.Prices = {}
): TurnState.TurnSummary => {
  const { end, prompt } = turn
  return {
    ...factsOf(turn, history, model, hasEvents, redact),
    ...defined({
      cost: end && (changedFrom === undefined ? TurnUse.costOf(end, history, model, prices) : ("unknown" as const))
    }),
    ...labels,
    ...defined({ prompt })
  }
}

/** The state of a turn. A turn without events is behind another one of its conversation. */
export const stateOf = (
  end: TurnEvent.TurnEnd | undefined,
  { wait }: Pick<History.History, "wait">,
  hasEvents: boolean
): ReportedState => end?.status ?? (wait === undefined ? (hasEvents ? "running" : "queued") : "waiting")

/** The history of a turn whose records are not read. */
export const NO_RECORDS = History.of([])

/** The budget of a turn's present step (D2); `undefined`: nothing has failed in it. */
export const budgetOf = (
  history: History.History,
  policy: RetryPolicy.RetryPolicy,
  now: number
): BudgetReport | undefined => {
  const { failure } = history.step
  if (failure === undefined) return undefined
  const { measure, totalMs } = policy.budget
  const spent = Spending.spentAt(History.spendingAfterWait(history), failure, now, 0)
  const { extendedMs = 0, onReason } = spent
  const own = Budget.ofReason(policy, failure.reason)
  const ownLeftMs = own && onReason ? Budget.remainingMs(own, { ...onReason, extendedMs }) : Infinity
  const leftMs = Math.min(ownLeftMs, Budget.remainingMs(policy.budget, spent))
  return {
    measure,
    spentMs: measure === "scheduled" ? spent.sleptMs : spent.elapsedMs,
    ...defined({
      totalMs: totalMs === undefined ? undefined : totalMs + extendedMs,
      leftMs: Number.isFinite(leftMs) ? leftMs : undefined
    })
  }
}

/** A failure without the evidence that it was classified by. A record may be older than the rule that would have redacted it. */
export const errorOf = (failure: Failure.Failure, redact: Redact): TurnState.TurnError => {
  const code = Failure.codeOf(failure)
  return { reason: failure.reason, message: redact(failure.message), ...defined({ code: code && redact(code) }) }
}

// --- internal

/** What all reports of a turn have. `model`: that of attempts which no command or router has sent elsewhere. */
const factsOf = (
  { acceptedAt, conversationId, end, turnId }: Turn,
  history: History.History,
  model: string,
  hasEvents: boolean,
  redact: Redact
) => {
  const wait = end === undefined ? history.wait : undefined
  const failure = end === undefined ? wait?.failure : end.error
  return {
    conversationId,
    turnId,
    status: stateOf(end, history, hasEvents),
    model: TurnUse.targetOf(history) ?? model,
    acceptedAt,
    attempts: end?.attempts ?? History.callsOf(history),
    ...(end && { endedAt: end.endedAt, waitedMs: end.waitedMs ?? end.sleptMs, usage: end.usage }),
    ...defined({ wait: wait && waitOf(wait, redact), error: failure && errorOf(failure, redact) })
  }
}

/** Arguments of a tool call may have secrets, which are redacted as in an error. */
const waitOf = ({ asks, retry, retryAt, since }: History.Wait, redact: Redact): TurnState.Wait => ({
  retry,
  retryAt,
  since,
  ...defined({
    asks: asks && {
      ...asks,
      message: redact(asks.message),
      ...defined({ calls: asks.calls?.map((call) => ({ ...call, quoted: redact(call.quoted) })) })
    }
  })
})

const filesOf = (events: ReadonlyArray<TurnEvent.PersistedEvent>): TurnState.TurnState["files"] => {
  const [first, ...more] = ModelAnswer.filesOf(events).map((file) => ({
    mediaType: file.mediaType,
    ...defined({ name: file.name }),
    ...("data" in file ? { sizeBytes: FilePart.sizeOf(file) } : { url: file.url })
  }))
  return first === undefined ? undefined : [first, ...more]
}

const tokensOf = ({ inputTokens: input, outputTokens: output }: Message.Usage): TurnReport["tokens"] =>
  input === undefined && output === undefined ? undefined : defined({ input, output })
