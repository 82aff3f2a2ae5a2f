/**
 * Folds turns into a report of a period. Pure.
 *
 * - Each turn is added once. The order of turns changes no figure and no word.
 * - A turn belongs to the period if it ended in it, or has not ended. Its waits count as far as they are within the period.
 * - Kept are sums, open questions, and the times of failures, answers and waits: a hundred thousand turns take some megabytes.
 */
import { History } from "@holdfast/kernel/host"
import type { Prices } from "@holdfast/policy"
import { defined, Failure, HeldCall, type Ids, PeriodReport, type TurnEvent } from "@holdfast/wire"
import type { AnsweredCallsRow } from "../../../storage/AnsweredCalls.ts"
import type { TurnRow } from "../../../storage/ListPage.ts"
import * as TurnReport from "../TurnReport.ts"
import * as TurnUse from "../../../engine/spend/TurnUse.ts"
import * as Outages from "./Outages.ts"
import * as PeriodText from "./PeriodText.ts"
import * as Remedies from "./Remedies.ts"
import { SpendTally } from "./SpendTally.ts"
import * as Timeline from "./Timeline.ts"

/** The period, and what the figures depend on beside the turns. Times are in epoch milliseconds. */
export interface Period {
  readonly since: number
  readonly until: number
  /** As the time zone database names it. */
  readonly timeZone: string
  readonly prices: Prices.Prices
  /** The variables of a provider's keys. */
  readonly keyVariables: (provider: string) => ReadonlyArray<string>
  readonly redact: (text: string) => string
  /** The turns of this conversation alone. */
  readonly conversationId?: Ids.ConversationId | undefined
}

/** The figures of a period so far. */
export class PeriodTally {
  private readonly period: Period
  private readonly turns: Turns = { answered: 0, failed: 0, aborted: 0, waiting: 0, running: 0, queued: 0 }
  private readonly failures: Array<FailedTurn> = []
  /** When each conversation was last run again on its last prompt. */
  private readonly retries = new Map<Ids.ConversationId, number>()
  /** When the last turn of each conversation was accepted. */
  private readonly newest = new Map<Ids.ConversationId, number>()
  private readonly outages = new Outages.EndpointOutages()
  private readonly awaited = new Set<string>()
  private readonly questions: Array<PeriodReport.OpenQuestion> = []
  private readonly switches = new Map<string, PeriodReport.Switch>()
  private readonly spend = new SpendTally()
  private readonly tags = new Map<string, SpendTally>()
  /** What one turn of a conversation used, or several turns together: most have one. */
  private readonly conversations = new Map<Ids.ConversationId, ReadonlyArray<TurnUse.TargetUse> | SpendTally>()
  private readonly timeline: Timeline.Timeline
  private spans: Array<Timeline.TimeSpan> = []
  private turnWaitedMs = 0
  private waited = 0
  private calls = 0
  private savedCalls = 0
  private forgotten = 0
  private answeredCalls = 0

  constructor(period: Period) {
    this.period = period
    this.timeline = new Timeline.Timeline(period.since, period.until)
  }

  /** Adds a turn with what its records come to. A turn that ended before the period is left out. */
  add(row: TurnRow, history: History.History): void {
    const { acceptedAt, conversationId, end, prompt, turnId } = row.turn
    if (end !== undefined && end.endedAt < this.period.since) return
    const { attempts, wait } = history
    const state = TurnReport.stateOf(end, history, row.hasEvents)
    const last = TurnUse.targetOf(history) ?? row.model
    this.turns[state === "completed" ? "answered" : state]++
    this.calls += end?.attempts ?? History.callsOf(history)
    this.savedCalls += attempts.filter(isSaved).length
    if (end !== undefined && attempts.length === 0 && end.attempts > 0 && TurnUse.needsRecords(row)) this.forgotten++
    for (const moments of prompt === undefined ? [this.retries, this.newest] : [this.newest])
      moments.set(conversationId, Math.max(acceptedAt, moments.get(conversationId) ?? -Infinity))
    // A question about tool calls waits for no endpoint.
    if (state === "waiting" && wait?.asks?.because !== "tools") this.awaited.add(last)
    if (end === undefined && wait?.asks !== undefined) {
      const { because, message } = wait.asks
      const command = `holdfast chat --conversation ${conversationId}`
      const question = { conversationId, turnId, because, message: this.period.redact(message) }
      this.questions.push({ ...question, since: wait.since, until: wait.retryAt, command })
    }
    const first = TurnUse.firstOf(row, history)
    const until = end?.endedAt ?? this.period.until
    let before: string | undefined
    for (const attempt of attempts) {
      const { target = first } = attempt
      this.addOutcome(attempt, target, until)
      if (before !== undefined && before !== target) this.addSwitch(before, target)
      before = target
    }
    // A turn that was answered by its first call is read without its records.
    if (before === undefined && end?.status === "completed") this.outages.add({ target: row.model, at: end.endedAt })
    this.addWaits(
      attempts.flatMap(({ wait }) =>
        wait === undefined ? [] : [{ from: wait.since, to: wait.since + History.waitedMs(wait, until) }]
      )
    )
    if (end !== undefined) this.addEnd(row, end, last, TurnUse.byTarget(first, end, history))
  }

  /** Adds calls through the gateway that were answered at once. They are no turns. */
  addAnswered(rows: ReadonlyArray<AnsweredCallsRow>): void {
    for (const row of rows) {
      this.answeredCalls += row.calls
      this.calls += row.calls
      this.spend.addCalls(row)
      this.outages.addHour(row.target, row.hour)
    }
  }

  /** The report. */
  report(): PeriodReport.PeriodReport {
    const { prices, since, timeZone, until } = this.period
    const causes = this.causes()
    const report = {
      since,
      until,
      timeZone,
      turns: { ...this.turns, retried: causes.reduce((sum, { retried }) => sum + retried, 0) },
      waitedMs: Timeline.length(Timeline.union(this.spans)),
      turnWaitedMs: this.turnWaitedMs,
      waited: this.waited,
      calls: this.calls,
      answeredCalls: this.answeredCalls,
      savedCalls: this.savedCalls,
      outages: Outages.longest(
        this.outages.find((target) => this.awaited.has(target)),
        until,
        PeriodReport.MOST_OUTAGES
      ),
      causes,
      switches: Array.from(this.switches.values()).toSorted(
        (a, b) => b.count - a.count || (`${a.from}\n${a.to}` < `${b.from}\n${b.to}` ? -1 : 1)
      ),
      questions: this.questions.toSorted((a, b) => a.until - b.until || (a.turnId < b.turnId ? -1 : 1)),
      spend: this.spend.total(prices),
      models: this.spend.byModel(prices),
      tags: Array.from(this.tags, ([name, tally]) => ({ name, ...tally.total(prices) })).toSorted((a, b) =>
        a.name < b.name ? -1 : 1
      ),
      conversations: this.costliest(),
      forgotten: this.forgotten,
      timeline: this.timeline.parts()
    }
    return { ...report, line: PeriodText.line(report) }
  }

  /** A failure counts against an endpoint only if it may pass by itself, came before content, and was the turn's own call. */
  private addOutcome({ hasContent, outcome }: History.Attempt, target: string, until: number): void {
    // Its answer had begun when its client or a person ended the turn.
    if (outcome === undefined && hasContent) return this.outages.add({ target, at: until })
    if (outcome?._tag === "Completed" || outcome?._tag === "Compacted")
      return this.outages.add({ target, at: outcome.endedAt })
    if (outcome?._tag !== "Failed" || !outcome.failure.retryable || outcome.failure.shared === true) return
    if ("contentSeen" in outcome && outcome.contentSeen) return
    const { reason } = outcome.failure
    this.outages.add({ target, at: outcome.endedAt, why: { reason, code: Failure.codeOf(outcome.failure) } })
  }

  private addSwitch(from: string, to: string): void {
    const key = `${from}\n${to}`
    this.switches.set(key, { from, to, count: (this.switches.get(key)?.count ?? 0) + 1 })
  }

  private addWaits(waits: ReadonlyArray<Timeline.TimeSpan>): void {
    const spans = waits.flatMap(
      (wait) => Timeline.within(wait, { from: this.period.since, to: this.period.until }) ?? []
    )
    if (spans.length === 0) return
    this.waited++
    this.turnWaitedMs += Timeline.length(spans)
    this.timeline.waited(spans)
    this.spans.push(...spans)
    if (this.spans.length > MOST_SPANS) this.spans = [...Timeline.union(this.spans)]
  }

  private addEnd(
    { labels, turn }: TurnRow,
    end: TurnEvent.TurnEnd,
    target: string,
    usage: ReadonlyArray<TurnUse.TargetUse>
  ): void {
    const { acceptedAt, conversationId, turnId } = turn
    const { endedAt, error, status } = end
    this.spend.add(usage)
    for (const tag of labels.tags ?? []) {
      const tally = this.tags.get(tag) ?? new SpendTally()
      this.tags.set(tag, tally)
      tally.add(usage)
    }
    this.addToConversation(conversationId, usage)
    if (status === "completed") this.timeline.answered(endedAt)
    if (status !== "failed") return
    this.timeline.failed(endedAt)
    const { message = "", reason = "unknown" } = error ?? {}
    const code = error && Failure.codeOf(error)
    this.failures.push({ conversationId, turnId, acceptedAt, endedAt, target, reason, code, message })
  }

  private addToConversation(id: Ids.ConversationId, usage: ReadonlyArray<TurnUse.TargetUse>): void {
    const known = this.conversations.get(id)
    if (known instanceof SpendTally) return known.add(usage)
    if (known === undefined) return void this.conversations.set(id, usage)
    const tally = new SpendTally()
    tally.add(known)
    tally.add(usage)
    this.conversations.set(id, tally)
  }

  /** The conversations with several turns, by cost and then by tokens. */
  private costliest(): ReadonlyArray<PeriodReport.NamedSpend> {
    const costOf = ({ cost }: PeriodReport.Spend): number => (cost === "unknown" ? -1 : cost)
    const tokensOf = ({ inputTokens, outputTokens }: PeriodReport.Spend): number => inputTokens + outputTokens
    return Array.from(this.conversations)
      .flatMap(([name, tally]) => (tally instanceof SpendTally ? [{ name, ...tally.total(this.period.prices) }] : []))
      .filter(({ turns }) => turns > 0)
      .toSorted((a, b) => costOf(b) - costOf(a) || tokensOf(b) - tokensOf(a) || (a.name < b.name ? -1 : 1))
      .slice(0, PeriodReport.MOST_CONVERSATIONS)
  }

  /** The failed turns by reason and target, the most first; calls of other programs by themselves. */
  private causes(): ReadonlyArray<PeriodReport.Cause> {
    const { keyVariables, redact, since } = this.period
    const groups = Map.groupBy(this.failures, ({ code, conversationId, reason, target }) =>
      JSON.stringify([target, reason, code, HeldCall.isHeld(conversationId)])
    )
    return Array.from(groups, ([key, turns]) => {
      const last = turns.reduce((last, turn) => (isLater(turn, last) ? turn : last))
      const { code, conversationId, reason, target, turnId } = last
      const open = turns.filter(
        ({ conversationId, endedAt }) => (this.retries.get(conversationId) ?? -Infinity) < endedAt
      )
      const isPassed =
        open.length > 0 && open.every((turn) => (this.newest.get(turn.conversationId) ?? 0) > turn.acceptedAt)
      const cause = {
        target,
        reason,
        ...defined({ code: code === undefined ? undefined : redact(code) }),
        failed: turns.length,
        retried: turns.length - open.length,
        firstAt: turns.reduce((first, { endedAt }) => Math.min(first, endedAt), last.endedAt),
        lastAt: last.endedAt,
        message: redact(last.message),
        turnId,
        remedy: Remedies.of({ code, conversationId, isPassed, reason, target, turnId }, since, keyVariables)
      }
      return { key, cause }
    })
      .toSorted((a, b) => b.cause.failed - a.cause.failed || (a.key < b.key ? -1 : 1))
      .map(({ cause }) => cause)
  }
}

// --- internal

/** Waits that are kept before they are joined. */
const MOST_SPANS = 50_000

type Turns = { -readonly [Key in keyof Omit<PeriodReport.PeriodReport["turns"], "retried">]: number }

/** Whether another turn's failure saved a call (rule X5). */
const isSaved = ({ outcome }: History.Attempt): boolean =>
  outcome?._tag === "Failed" && outcome.failure.shared === true && !Failure.isOfSpendLimit(outcome.failure)

interface FailedTurn extends Pick<PeriodReport.Cause, "turnId" | "target" | "reason" | "message"> {
  readonly conversationId: Ids.ConversationId
  readonly acceptedAt: number
  readonly endedAt: number
  readonly code: string | undefined
}

const isLater = (a: FailedTurn, b: FailedTurn): boolean =>
  a.endedAt > b.endedAt || (a.endedAt === b.endedAt && a.turnId > b.turnId)
