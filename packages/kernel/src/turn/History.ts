/**
 * Reads what a turn has done from its records: attempts, waits, tool calls, and what they come to. Pure.
 *
 * For every reader that does not run the turn. The machine's ledger needs the input of the turn and refuses records that contradict it; a
 * history needs the records alone, of any version and also without the content of answers. What both count is the same: tally, spending,
 * open wait.
 */
import { type Failure, type Message, Target, type TurnEvent } from "@holdfast/wire"
import { called, NO_TALLY, spend, waste } from "../internal/machine/Batch.ts"
import type { Tally } from "../internal/machine/Ledger.ts"
import { endsWait, isEarly, sinceOf } from "../ports/RetryStrategy.ts"
import * as Records from "../records/Records.ts"
import type { Route } from "../records/Route.ts"
import * as Directives from "./Directive.ts"
import * as Spending from "./Spending.ts"
import * as ToolQuestion from "./ToolQuestion.ts"

/** One attempt, or one call for a summary (P19), with its decision and its wait. */
export interface Attempt extends Records.RecordPosition {
  /** `provider/model` of the call, if a command (X4) or a router has chosen it. */
  readonly target: string | undefined
  /** The same with its credential. */
  readonly route: Route | undefined
  /** Part of its answer had left the process. */
  readonly hasContent: boolean
  /** Absent while the call is in progress, or if its process died before any result. */
  readonly outcome: Outcome | undefined
  /** The whole body of its failed response, also where the record refers to an earlier one. */
  readonly body: string | undefined
  /** The decision about its failure. */
  readonly decision: Records.Directive | undefined
  /** The wait that was decided on; absent: there is none, or the retry went elsewhere at once. */
  readonly wait: Wait | undefined
  /** The events of the wait, in order: commands, and its end; or of the questions about the response's tool calls. */
  readonly wakes: ReadonlyArray<Records.Wake>
  /** The results of its tool calls, each at the index of its call; a hole where there is none yet. */
  readonly results: ReadonlyArray<Records.ToolResult | undefined>
}

/** A wait for a retry or for an answer. Times are in epoch milliseconds. */
export interface Wait {
  /** The decision that began it; absent: it is a question about tool calls. */
  readonly decision: Retry | undefined
  /** The awaited retry, 0-based within its step; 0 where the turn asks about tool calls. */
  readonly retry: number
  /** When it began. */
  readonly since: number
  /** When it is due, as commands have moved it; with `asks`, until when an answer is accepted. */
  readonly retryAt: number
  /** A person chose `retryAt`, or it is the end of the time for an answer. */
  readonly isMoved: boolean
  /** The question to a person (X11), or about tool calls. */
  readonly asks: TurnEvent.Asks | undefined
  /** The failure that it follows. */
  readonly failure: Failure.Failure | undefined
  /** The reason that it counts for: after an early attempt by the gate, that of the failure before (X5). */
  readonly reason: Failure.Reason | undefined
  /** `provider/model` that failed, if a command (X4) or a router has chosen it. */
  readonly target: string | undefined
  /** The amount that a person added to the budget during the wait (X4), in milliseconds. */
  readonly extendedMs: number
  /** Absent: it has not ended. */
  readonly end: Records.Wake | undefined
}

/** The step that a turn is in. */
interface OpenStep {
  /** 0-based. */
  readonly number: number
  /** Without the wait that it is in. */
  readonly spending: Spending.Spending
  /** The last failure that was decided about. */
  readonly failure: Failure.Failure | undefined
  /** The end of its first failure without a response since, in epoch milliseconds (A16). */
  readonly failingSince: number | undefined
}

/** A turn by its records. The seal is not part of it. */
export interface History {
  readonly attempts: ReadonlyArray<Attempt>
  /** Why a step was the last (A11), by the number of the step. */
  readonly finals: ReadonlyMap<number, Records.FinalCause>
  readonly tally: Tally
  readonly step: OpenStep
  /** The wait that the turn is in. */
  readonly wait: Wait | undefined
  /** The attempt that is due or in progress, and has no record yet. */
  readonly next: Attempt | undefined
  /** `provider/model` of the next attempt, if a command (X4) or a router has chosen it. */
  readonly target: string | undefined
  /** The last retry of each chain of retries (P11), in the order in which they were opened. */
  readonly chains: ReadonlyArray<number>
  /** Names of records that this version cannot use. */
  readonly unread: ReadonlyArray<string>
}

/** Reads a turn's records, oldest first. A record that cannot be read is skipped. */
export const of = (records: ReadonlyArray<Records.Stored>): History => {
  const unread: Array<string> = []
  const read = records.flatMap((stored) => {
    const record = Records.parse(stored)
    if (record === undefined) unread.push(stored.name)
    return record ?? []
  })
  return { ...ofRecords(read), unread }
}

/** Reads records that have been parsed. */
export const ofRecords = (records: ReadonlyArray<Records.TurnRecord>): Omit<History, "unread"> => {
  const reading = new Reading()
  for (const record of records) reading.take(record)
  return reading.history()
}

/** The number of provider calls that have ended. A failure that was taken over from another turn was no call (X5). */
export const callsOf = ({ tally }: Pick<History, "tally">): number => tally.attempts - tally.shared

/** The tool calls of a response. */
export const toolCallsOf = ({ outcome }: Pick<Attempt, "outcome">): ReadonlyArray<Message.ToolCallPart> =>
  outcome?._tag === "Completed" ? outcome.content.filter((part) => part.type === "tool-call") : []

/** How long a wait really took, in milliseconds, until `now` if it has not ended. */
export const waitedMs = ({ end, retryAt, since }: Wait, now: number): number =>
  Math.max(0, (end === undefined ? now : (end.at ?? retryAt)) - since)

/** The spending of the step at the end of the wait that the turn is in, which counts in full. */
export const spendingAfterWait = ({ step: { spending }, wait }: Pick<History, "step" | "wait">): Spending.Spending =>
  wait === undefined ? spending : Spending.extend(sleep(spending, wait), wait.extendedMs)

/** Whether the process died after content of the last attempt had left, with no record since (X2). */
export const isCutOff = ({ attempts }: Pick<History, "attempts">): boolean => {
  const last = attempts.at(-1)
  return last !== undefined && last.hasContent && last.outcome === undefined
}

/** The tally of a turn that is sealed at `at`, in epoch milliseconds, as its records leave it. */
export const tallyAt = (history: History, at: number): Tally => {
  const { attempts, step, wait } = history
  // A summary that could not be made leaves the decision about the attempt before it.
  const last = attempts.findLast(({ outcome }) => outcome?._tag !== "Nothing")
  const undecided = last?.outcome?._tag === "Failed" && last.decision === undefined ? last.outcome : undefined
  const tally = spend(isCutOff(history) ? called(history.tally) : history.tally, usageOf(undecided))
  return {
    ...tally,
    waitedMs: tally.waitedMs + (wait?.decision === undefined ? 0 : waitedMs(wait, at)),
    retryLoopMs: tally.retryLoopMs + Math.max(0, at - (step.failingSince ?? undecided?.endedAt ?? at))
  }
}

// --- internal

type Retry = Extract<Records.Directive, { readonly _tag: "Retry" }>

/** A wait that a decision began. */
type RetryWait = Wait & { readonly decision: Retry }

type Outcome = Records.AttemptOutcome | Records.CompactionOutcome

type Draft<A> = { -readonly [Key in keyof A]: A[Key] }

interface DraftAttempt extends Omit<Draft<Attempt>, "wait" | "wakes" | "results"> {
  wait: Draft<RetryWait> | undefined
  readonly wakes: Array<Records.Wake>
  readonly results: Array<Records.ToolResult | undefined>
}

const STEP = { spending: Spending.none, failure: undefined, failingSince: undefined }

const usageOf = (outcome: Outcome | undefined): Message.Usage | undefined =>
  outcome !== undefined && "usage" in outcome ? outcome.usage : undefined

/** Whether all tool calls of a response have results. Without its content that is not known. */
const isAnswered = (attempt: Attempt): boolean => {
  const calls = toolCallsOf(attempt)
  return calls.length > 0 && calls.every((_, i) => attempt.results[i] !== undefined)
}

/** Whether the turn continues after a wait: neither a person nor the end of the time for an answer gave up. */
const goesOn = ({ asks, end }: Wait): boolean =>
  end !== undefined &&
  end.type !== "cancelled" &&
  !(end.type === "elapsed" && asks !== undefined && asks.goesOn !== true)

const nameOf = (route: Route | undefined): string | undefined => route && Target.format(route.target)

/** An attempt without a record. */
const blank = ({ number, step }: Records.RecordPosition, route: Route | undefined): DraftAttempt => ({
  step,
  number,
  target: nameOf(route),
  route,
  hasContent: false,
  outcome: undefined,
  body: undefined,
  decision: undefined,
  wait: undefined,
  wakes: [],
  results: []
})

/** A history that is read. */
class Reading {
  private readonly attempts = new Map<string, DraftAttempt>()
  private readonly finals = new Map<number, Records.FinalCause>()
  private readonly chains: Array<number> = []
  private tally = NO_TALLY
  private step: Draft<OpenStep> = { number: 0, ...STEP }
  /** The attempt of the last record. */
  private last: DraftAttempt | undefined = undefined
  /** The wait that the gate interrupted for the present attempt (X5). */
  private interrupted: RetryWait | undefined = undefined
  private isChainOpen = false
  private lastBody: string | undefined = undefined
  private route: Route | undefined = undefined

  take(record: Records.TurnRecord): void {
    if (record.step > this.step.number) this.enter(record.step)
    this.add(record)
    this.route = Records.routeAfter(record, this.route)
  }

  private add(record: Records.TurnRecord): void {
    switch (record.kind) {
      case "Begun":
      case "Route":
      case "Seal":
        return
      case "Content":
        this.attemptOf(record).hasContent = true
        return
      case "Attempt":
      case "Compaction":
        return this.ended(this.attemptOf(record), record.value)
      case "Decision":
        return this.decided(this.attemptOf(record), record.value)
      case "Wake":
        return this.woken(this.attemptOf(record), record.value)
      case "Tool":
        return this.answered(record)
      case "Final":
        return void this.finals.set(record.step, record.value.cause)
      default:
        record satisfies never
    }
  }

  history(): Omit<History, "unread"> {
    const { chains, finals, last, route, step, tally } = this
    const wait = last && openWaitOf(last)
    return {
      attempts: Array.from(this.attempts.values()),
      finals,
      tally,
      step,
      wait,
      next: this.next(),
      target: nameOf(route),
      chains
    }
  }

  private next(): Attempt | undefined {
    const { last, route, step } = this
    if (last === undefined || last.step < step.number) {
      // A response without tool calls is the last one.
      const isEnding = last?.outcome?._tag === "Completed" && toolCallsOf(last).length === 0
      return isEnding ? undefined : blank({ step: step.number, number: 0 }, route)
    }
    const { decision, outcome, wait } = last
    const isOver =
      outcome?._tag === "Lost" ||
      outcome?._tag === "Compacted" ||
      (decision?._tag === "Retry" && (wait === undefined || goesOn(wait)))
    return isOver ? blank({ step: last.step, number: last.number + 1 }, route) : undefined
  }

  private enter(number: number): void {
    // A step without a response has ended with its last failure (A14).
    const { outcome } = this.last ?? {}
    if (outcome !== undefined) this.closeLoop(outcome.endedAt)
    this.step = { number, ...STEP }
    this.interrupted = undefined
    this.isChainOpen = false
  }

  private attemptOf(position: Records.RecordPosition): DraftAttempt {
    const key = `${position.step}/${position.number}`
    const attempt = this.attempts.get(key) ?? blank(position, this.route)
    this.attempts.set(key, attempt)
    this.last = attempt
    return attempt
  }

  private ended(attempt: DraftAttempt, outcome: Outcome): void {
    attempt.outcome = outcome
    if ("body" in outcome) {
      if (typeof outcome.body === "string" && "contentSeen" in outcome) this.lastBody = outcome.body
      attempt.body = outcome.body === true ? this.lastBody : outcome.body
    }
    if (outcome._tag === "Nothing" && outcome.failure === undefined) return
    this.tally = called(this.tally, outcome._tag === "Failed" ? outcome.failure : undefined)
    if (outcome._tag === "Completed" || outcome._tag === "Compacted") this.tally = spend(this.tally, outcome.usage)
    if (outcome._tag !== "Completed") return
    this.isChainOpen = false
    this.closeLoop(outcome.endedAt)
    if (toolCallsOf(attempt).length === 0) this.enter(attempt.step + 1)
  }

  private decided(attempt: DraftAttempt, decision: Records.Directive): void {
    const { interrupted } = this
    attempt.decision = decision
    this.interrupted = undefined
    const failed = attempt.outcome?._tag === "Failed" ? attempt.outcome : undefined
    const isResumed = decision._tag === "Retry" && decision.resumes === true && interrupted !== undefined
    if (failed !== undefined) this.failed(failed, decision, interrupted, isResumed)
    if (decision._tag === "GiveUp" || Directives.isImmediate(decision)) return
    const failure = failed?.failure
    attempt.wait = {
      decision,
      retry: decision.attempt,
      since: sinceOf(decision),
      retryAt: decision.retryAt,
      isMoved: false,
      asks: undefined,
      failure,
      reason: isResumed ? interrupted.reason : failure?.reason,
      target: attempt.target,
      extendedMs: 0,
      end: undefined
    }
  }

  /** Counts a failure with the decision about it; a decision that resumes a wait counts nothing (X5). */
  private failed(
    outcome: Extract<Outcome, { readonly _tag: "Failed" }>,
    decision: Records.Directive,
    interrupted: RetryWait | undefined,
    isResumed: boolean
  ): void {
    const { step } = this
    const { endedAt, failure } = outcome
    step.failure = failure
    step.failingSince ??= endedAt
    const count = Records.isVoiding(decision) ? waste : spend
    this.tally = count(this.tally, usageOf(outcome))
    if (isResumed) return
    // An early attempt that failed after the end of its wait is the attempt at that end.
    if (interrupted !== undefined && endedAt >= interrupted.retryAt) this.slept(interrupted)
    step.spending = Spending.fail(step.spending, failure, endedAt)
    if (decision._tag === "GiveUp") return
    this.openChain(step.spending.retries)
    if (Directives.isImmediate(decision)) step.spending = Spending.retry(step.spending, failure, 0)
  }

  private woken({ outcome, wait, wakes }: DraftAttempt, wake: Records.Wake): void {
    wakes.push(wake)
    if (wait === undefined) {
      // A question about tool calls is a chain of its own (P11).
      if (outcome?._tag === "Completed" && wake.type === "asked") this.openChain(0)
    } else if (endsWait(wake)) {
      wait.end = wake
      const { step } = this
      this.tally = { ...this.tally, waitedMs: this.tally.waitedMs + waitedMs(wait, wait.retryAt) }
      step.spending = Spending.extend(step.spending, wait.extendedMs)
      if (isEarly(wake)) this.interrupted = wait
      else if (goesOn(wait)) this.slept(wait)
    } else if (wake.type === "extended") wait.extendedMs += wake.byMs
    else if (wake.type === "until" || wake.type === "asked") {
      wait.retryAt = wake.until
      wait.isMoved = true
      wait.asks = wake.type === "asked" ? wake.asks : undefined // a moved end answers the question
    }
  }

  private answered({ number, step, value }: Records.RecordOf<"Tool">): void {
    const { last } = this
    if (last?.step !== step || last.outcome?._tag !== "Completed") return
    last.results[number] = value
    if (isAnswered(last)) this.enter(step + 1)
  }

  private slept(wait: RetryWait): void {
    this.step.spending = sleep(this.step.spending, wait)
    this.tally = { ...this.tally, sleptMs: this.tally.sleptMs + wait.decision.delayMs }
  }

  private openChain(retry: number): void {
    if (this.isChainOpen) this.chains.pop()
    this.chains.push(retry)
    this.isChainOpen = true
  }

  /** Ends the time in which the step failed (A16). */
  private closeLoop(at: number): void {
    const { failingSince = at } = this.step
    this.tally = { ...this.tally, retryLoopMs: this.tally.retryLoopMs + Math.max(0, at - failingSince) }
    this.step.failingSince = undefined
  }
}

const sleep = (spending: Spending.Spending, { decision, reason }: Wait): Spending.Spending =>
  decision === undefined || reason === undefined ? spending : Spending.retry(spending, { reason }, decision.delayMs)

/** The wait of the last attempt, or the question about its tool calls, if that has not ended. */
const openWaitOf = (attempt: Attempt): Wait | undefined => {
  const { outcome, target, wait, wakes } = attempt
  if (wait !== undefined) return wait.end === undefined ? wait : undefined
  // A question that is left when its calls have results waits for nothing.
  const question = outcome?._tag === "Completed" && !isAnswered(attempt) ? ToolQuestion.openIn(wakes) : undefined
  return question && { ...NO_RETRY, asks: question.asks, since: question.since, retryAt: question.until, target }
}

/** A question about tool calls stands in the place of a retry; its end is always that of the time for an answer. */
const NO_RETRY = {
  decision: undefined,
  retry: 0,
  isMoved: true,
  failure: undefined,
  reason: undefined,
  extendedMs: 0,
  end: undefined
}
