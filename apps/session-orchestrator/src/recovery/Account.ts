/**
 * Folds a turn's records into attempts, decisions, waits and tool calls, in order. Pure.
 *
 * Account.C1. The same records always give the same account, in a service or long after it.
 * Account.C2. An unknown or unreadable record is skipped and counted; the rest is used. So an older Holdfast can
 *     inspect the records of a newer one.
 */
import { Directive, Records, RetryStrategy } from "@holdfast/kernel"
import { ToolQuestion } from "@holdfast/kernel/host"
import { type Failure, Target, type TurnEvent } from "@holdfast/wire"

/** One attempt, or one call for a summary (rule P19), with its decision and waits. */
export interface AttemptAccount {
  readonly step: number
  /** 0-based within its step. */
  readonly number: number
  /** `provider/model` of the call, if a command (rule X4) or a router has chosen it. */
  readonly target: string | undefined
  /** Part of its answer had left the process. */
  readonly hasContent: boolean
  /** Absent while the call is in progress, or if its process died before any result. */
  readonly outcome: Records.AttemptOutcome | Records.CompactionOutcome | undefined
  /** The decision about its failure. */
  readonly decision: Directive.Directive | undefined
  /** The events of the wait that was decided on, in order: commands, and its end; or of the question about the response's tool calls. */
  readonly wakes: ReadonlyArray<RetryStrategy.Wake>
}

/** One tool call that was begun. */
export interface ToolAccount {
  readonly step: number
  /** 0-based: its place among the calls of its step. */
  readonly number: number
  /** Absent while the tool runs, or if its process died meanwhile. */
  readonly result: Records.ToolResult | undefined
}

/** The progress of a turn. */
type Progress =
  /** Nothing has been recorded. */
  | { readonly _tag: "Fresh" }
  /** Between two records: an attempt or a tool is in progress, or the next action has not begun. */
  | { readonly _tag: "Working"; readonly step: number; readonly attempt: number }
  | Waiting

/** A turn that waits for a retry or for an answer. */
export interface Waiting {
  readonly _tag: "Waiting"
  readonly step: number
  /** The awaited retry; 0-based within its step. */
  readonly retry: number
  /** When it is due, as commands have moved it; with `asks`, until when an answer is accepted. Epoch milliseconds. */
  readonly wakeAt: number
  /** The question to a person that it waits for (rule X11), or about tool calls. */
  readonly asks: TurnEvent.Asks | undefined
  /** When the wait began; epoch milliseconds. */
  readonly since: number
  /** The failure that caused the wait; absent: a question about tool calls did. */
  readonly failure: Failure.Failure | undefined
  /** `provider/model` that failed, if a command (rule X4) or a router has chosen it. */
  readonly target: string | undefined
}

/** The waiting time that a turn's present step has spent; the wait in progress counts in full. */
export interface Spending {
  readonly scheduledMs: number
  /** Milliseconds that were added to its budget (rule X4). */
  readonly extendedMs: number
  /** Epoch milliseconds; absent before the first failure. */
  readonly firstFailureAt: number | undefined
  /** The part spent on failures with the reason of the last one (rule X11). */
  readonly onReason:
    | { readonly reason: Failure.Reason; readonly scheduledMs: number; readonly firstFailureAt: number }
    | undefined
}

/** A turn's history, from its records. */
export interface Account {
  readonly attempts: ReadonlyArray<AttemptAccount>
  /** In the order of their steps; within one step, in the order in which they were begun. */
  readonly tools: ReadonlyArray<ToolAccount>
  /** Why a step was the last (rule A11). */
  readonly finals: ReadonlyArray<{ readonly step: number; readonly cause: Records.FinalCause }>
  readonly progress: Progress
  readonly spending: Spending
  /** `provider/model` of the next attempt, if a command (rule X4) or a router has chosen it. */
  readonly target: string | undefined
  /** Names of records that this reader cannot use. */
  readonly unread: ReadonlyArray<string>
}

/** Reads a turn's records, oldest first. */
export const of = (records: ReadonlyArray<Records.Stored>): Account => {
  const drafts: Drafts = { attempts: new Map(), tools: new Map(), finals: [], target: undefined }
  const unread: Array<string> = []
  for (const record of records) {
    const read = Records.parse(record)
    if (read === undefined) unread.push(record.name)
    else take(drafts, read)
  }
  const attempts = Array.from(drafts.attempts.values())
  const tools = Array.from(drafts.tools.values())
  const { finals, target } = drafts
  return { attempts, tools, finals, progress: progressOf(attempts), spending: spendingOf(attempts), target, unread }
}

/** How long the waits of a turn really took, in milliseconds. A wait without a recorded end has lasted until `now` (epoch milliseconds). */
export const waitedMs = (attempts: ReadonlyArray<AttemptAccount>, now: number): number =>
  attempts.reduce(
    (sum, { decision, wakes }) =>
      decision?._tag === "Retry" && !Directive.isImmediate(decision)
        ? sum + RetryStrategy.waitedMs(decision, wakes, now)
        : sum,
    0
  )

/**
 * What the wait after an attempt costs the budget, in milliseconds (rule D2). A wait that the gate interrupted costs nothing, unless the early
 * attempt failed after its end.
 */
export const scheduledMs = (attempt: AttemptAccount, attempts: ReadonlyArray<AttemptAccount>): number => {
  const { decision, step, wakes } = attempt
  if (decision?._tag !== "Retry") return 0
  if (!wakes.some(RetryStrategy.isEarly)) return decision.delayMs
  const later = attempts.slice(attempts.indexOf(attempt) + 1).find((each) => each.step === step && each.decision)
  const { outcome } = later ?? {}
  const isDue = outcome?._tag === "Failed" && outcome.endedAt >= decision.retryAt
  return isDue ? decision.delayMs : 0
}

/** The number of provider calls that have ended. */
export const endedCalls = (attempts: ReadonlyArray<AttemptAccount>): number =>
  attempts.filter(
    ({ outcome }) =>
      outcome !== undefined && (outcome._tag !== "Nothing" || outcome.failure !== undefined) && !isShared(outcome)
  ).length

// --- internal

/** Whether another turn's failure was taken for it, without a call (rule X5). */
const isShared = (outcome: Records.AttemptOutcome | Records.CompactionOutcome): boolean =>
  outcome._tag === "Failed" && outcome.failure.shared === true

type Draft<A> = { -readonly [Key in keyof A]: A[Key] }

interface Drafts {
  readonly attempts: Map<string, Draft<AttemptAccount>>
  readonly tools: Map<string, Draft<ToolAccount>>
  readonly finals: Array<Account["finals"][number]>
  /** The target of the next attempt. */
  target: string | undefined
}

/** Adds a record to the drafts. */
const take = (drafts: Drafts, record: Records.TurnRecord): void => {
  switch (record.kind) {
    case "Content":
      attemptOf(drafts, record).hasContent = true
      break
    case "Attempt":
    case "Compaction":
      attemptOf(drafts, record).outcome = record.value
      break
    case "Decision":
      attemptOf(drafts, record).decision = record.value
      break
    case "Wake": {
      const attempt = attemptOf(drafts, record)
      attempt.wakes = [...attempt.wakes, record.value]
      break
    }
    case "Begun":
      toolOf(drafts, record)
      break
    case "Tool":
      toolOf(drafts, record).result = record.value
      break
    case "Final":
      drafts.finals.push({ step: record.step, cause: record.value.cause })
      break
    case "Route":
    case "Seal":
      break
    default:
      record satisfies never
  }
  const target = Records.targetOf(record)
  if (target !== undefined) drafts.target = Target.format(target)
}

const attemptOf = ({ attempts, target }: Drafts, { number, step }: Records.RecordPosition): Draft<AttemptAccount> =>
  ofPosition(attempts, { step, number }, (place) => ({
    ...place,
    target,
    hasContent: false,
    outcome: undefined,
    decision: undefined,
    wakes: []
  }))

const toolOf = ({ tools }: Drafts, { number, step }: Records.RecordPosition): Draft<ToolAccount> =>
  ofPosition(tools, { step, number }, (place) => ({ ...place, result: undefined }))

const ofPosition = <A>(
  known: Map<string, A>,
  place: Records.RecordPosition,
  make: (place: Records.RecordPosition) => A
): A => {
  const key = `${place.step}/${place.number}`
  const found = known.get(key) ?? make(place)
  known.set(key, found)
  return found
}

const progressOf = (attempts: ReadonlyArray<AttemptAccount>): Progress => {
  const last = attempts.at(-1)
  if (last === undefined) return { _tag: "Fresh" }
  const { decision, outcome, step, wakes } = last
  const question = outcome?._tag === "Completed" ? ToolQuestion.openIn(wakes) : undefined
  if (question !== undefined) {
    const { asks, since, until } = question
    return { _tag: "Waiting", step, retry: 0, wakeAt: until, asks, since, failure: undefined, target: last.target }
  }
  if (decision?._tag !== "Retry" || outcome?._tag !== "Failed" || isNext(last)) {
    return { _tag: "Working", step, attempt: isNext(last) ? last.number + 1 : last.number }
  }
  const moved = wakes.findLast((wake) => wake.type === "until" || wake.type === "asked")
  return {
    _tag: "Waiting",
    step,
    retry: decision.attempt,
    wakeAt: moved?.until ?? decision.retryAt,
    asks: moved?.type === "asked" ? moved.asks : undefined,
    since: RetryStrategy.sinceOf(decision),
    failure: outcome.failure,
    target: last.target
  }
}

/** Whether the work in progress comes after this attempt. */
const isNext = ({ decision, outcome, wakes }: AttemptAccount): boolean =>
  (outcome?._tag !== "Completed" && wakes.some(RetryStrategy.endsWait)) ||
  outcome?._tag === "Lost" ||
  outcome?._tag === "Compacted" ||
  (decision?._tag === "Retry" && Directive.isImmediate(decision))

const spendingOf = (attempts: ReadonlyArray<AttemptAccount>): Spending => {
  const step = attempts.at(-1)?.step
  const own = attempts.filter((attempt) => attempt.step === step)
  const failed = own.flatMap((attempt) =>
    attempt.outcome?._tag === "Failed" ? [{ ...attempt, attempt, outcome: attempt.outcome }] : []
  )
  const reason = failed.at(-1)?.outcome.failure.reason
  const alike = failed.filter(({ outcome }) => outcome.failure.reason === reason)
  const [first] = alike
  return {
    scheduledMs: scheduledOf(own, own),
    extendedMs: own
      .flatMap(({ wakes }) => wakes)
      .reduce((sum, wake) => sum + (wake.type === "extended" ? wake.byMs : 0), 0),
    firstFailureAt: failed[0]?.outcome.endedAt,
    onReason:
      reason === undefined || first === undefined
        ? undefined
        : {
            reason,
            scheduledMs: scheduledOf(
              alike.map(({ attempt }) => attempt),
              own
            ),
            firstFailureAt: first.outcome.endedAt
          }
  }
}

const scheduledOf = (attempts: ReadonlyArray<AttemptAccount>, all: ReadonlyArray<AttemptAccount>): number =>
  attempts.reduce((sum, attempt) => sum + scheduledMs(attempt, all), 0)
