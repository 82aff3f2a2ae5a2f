/** The course of a turn: its calls, its waits and its end, as its records come. Times are in epoch milliseconds. */
import { Machine, type Records, RetryStrategy, type Route } from "@holdfast/kernel"
import { defined, Failure, type Message, Target, type TurnEvent } from "@holdfast/wire"
import * as DecisionAccount from "../inspection/DecisionAccount.ts"

/** One attempt. */
export interface CallMark {
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

/** One wait. */
export interface WaitMark {
  readonly from: number
  /** When it was to end, by the decision. */
  readonly retryAt: number
  readonly endedAt: number
  /** The gate ended it before its time (X5). */
  readonly early?: true
}

/** The end of a turn. */
export interface TurnEnding {
  readonly status: "completed" | "failed" | "aborted"
  readonly at: number
  /** Why there was no further attempt, in the words of a decision; absent unless it failed. */
  readonly because?: string
  /** The reason of the last failure; absent unless it failed. */
  readonly reason?: Failure.Reason
}

/** The course of one turn. */
export interface TurnCourse {
  readonly turnId: string
  readonly startedAt: number
  readonly calls: ReadonlyArray<CallMark>
  readonly waits: ReadonlyArray<WaitMark>
  /** Absent: it still waits when the run ends. */
  readonly end?: TurnEnding
}

/** A call that was made. */
export interface RecordedCall {
  readonly turnId: string
  readonly step: number
  readonly number: number
  readonly route: Route.Route
  readonly at: number
  readonly outcome: Exclude<Records.AttemptOutcome, { readonly _tag: "Lost" }>
}

/** Reads the course of a turn from its records, oldest first. */
export class CourseReader {
  private ledger: Machine.Ledger
  private readonly countsTokens: boolean
  private readonly calls: Array<CallMark> = []
  private readonly waits: Array<WaitMark> = []
  private decided: { readonly directive: Records.Directive; readonly failure: Failure.Failure } | undefined = undefined
  private end: TurnEnding | undefined = undefined
  /** The time of the last record. */
  private now: number

  /** A turn that begins at `now`. `countsTokens`: those of its answers are real ones. */
  constructor(facts: Machine.TurnFacts, now: number, countsTokens: boolean) {
    this.ledger = Machine.start(facts)
    this.now = now
    this.countsTokens = countsTokens
  }

  /** The course until now. */
  get course(): TurnCourse {
    const { calls, end, ledger, waits } = this
    const { startedAt, turnId } = ledger.turn
    return { turnId, startedAt, calls, waits, ...defined({ end }) }
  }

  /** The route of the turn's attempts. */
  get route(): Route.Route {
    return this.ledger.routing.route
  }

  /** Takes a record. An attempt began at `at`, or at the record before it. Returns the attempt, unless no response of it is known. */
  take(record: Records.TurnRecord, at = this.now): RecordedCall | undefined {
    const { phase } = this.ledger
    const { route } = this
    this.ledger = { ...Machine.evolve(this.ledger, record), outbox: [] }
    this.now = Math.max(this.now, timeOf(record) ?? 0)
    if (record.kind === "Decision" && phase._tag === "Deciding")
      this.decided = { directive: record.value, failure: phase.failedCall.failure }
    if (record.kind === "Wake" && phase._tag === "Waiting") this.waited(phase.wait, record.value)
    if (record.kind !== "Attempt" || record.value._tag === "Lost") return undefined
    const { number, step, value } = record
    this.called(route, at, value)
    return { turnId: this.ledger.turn.turnId, step, number, route, at, outcome: value }
  }

  /** The turn has ended. */
  sealed({ endedAt: at, error, status }: TurnEvent.TurnEnd): void {
    const { decided } = this
    const account = decided && DecisionAccount.of(decided.directive, decided.failure)
    const hasGivenUp = account?.type === "gave-up"
    const because = hasGivenUp ? account.because : "no-answer"
    const { reason } = (hasGivenUp ? decided?.failure : error) ?? {}
    this.end = { status, at, ...(status === "failed" ? { because, ...defined({ reason }) } : {}) }
  }

  private called({ credential, target }: Route.Route, at: number, outcome: RecordedCall["outcome"]): void {
    const call = { at, endedAt: outcome.endedAt, target: Target.format(target), ...defined({ credential }) }
    if (outcome._tag === "Completed") {
      const usage = this.countsTokens ? outcome.usage : undefined
      return void this.calls.push({ ...call, outcome: "answered", ...defined({ usage }) })
    }
    const { contentSeen, failure } = outcome
    if (Failure.isOfSpendLimit(failure)) return // no call was made
    const seen = contentSeen ? { contentSeen } : {}
    this.calls.push({
      ...call,
      outcome: failure.shared === true ? "shared" : "failed",
      reason: failure.reason,
      ...seen
    })
  }

  private waited({ retry, retryAt }: Waited, wake: Records.Wake): void {
    const since = RetryStrategy.sinceOf(retry)
    const from = Math.max(since, this.waits.at(-1)?.endedAt ?? since)
    const early = RetryStrategy.isEarly(wake) ? { early: true as const } : {}
    this.waits.push({ from, retryAt, endedAt: wake.at ?? retryAt, ...early })
  }
}

// --- internal

type Waited = Extract<Machine.Phase, { readonly _tag: "Waiting" }>["wait"]

/** When a record was made, as far as it keeps that. */
const timeOf = ({ kind, value }: Records.TurnRecord): number | undefined => {
  switch (kind) {
    case "Attempt":
    case "Compaction":
    case "Tool":
      return value.endedAt
    case "Final":
    case "Seal":
    case "Wake":
      return value.at
    case "Decision":
      return value._tag === "Retry" ? RetryStrategy.sinceOf(value) : undefined
    default:
      return undefined
  }
}
