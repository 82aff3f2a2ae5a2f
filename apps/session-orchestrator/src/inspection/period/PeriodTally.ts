/**
 * Folds the facts of turns into a report of a period. Pure.
 *
 * PeriodTally.P1. Each turn is added once. The order of turns changes no figure and no word.
 * PeriodTally.P2. A turn belongs to the period if it ended in it, or has not ended. Its waits count as far as they are within the period.
 * PeriodTally.P3. Kept are sums, open questions, and the times of failures, answers and waits: a hundred thousand turns take some megabytes.
 */
import type { Prices } from "@holdfast/policy"
import { defined, type Ids, PeriodReport } from "@holdfast/wire"
import type { AnsweredCallsRow } from "../../storage/AnsweredCalls.ts"
import * as Intervals from "./Intervals.ts"
import * as Outages from "./Outages.ts"
import * as PeriodLine from "./PeriodLine.ts"
import * as Remedies from "./Remedies.ts"
import { SpendTally } from "./SpendTally.ts"
import { Timeline } from "./Timeline.ts"
import type { TargetUse } from "../TurnUse.ts"
import type { QuestionFact, TurnFacts } from "./TurnFacts.ts"

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
  private readonly outages = new Outages.Outages()
  private readonly awaited = new Set<string>()
  private readonly questions: Array<Asking> = []
  private readonly switches = new Map<string, PeriodReport.Switch>()
  private readonly spend = new SpendTally()
  private readonly tags = new Map<string, SpendTally>()
  /** What one turn of a conversation used, or several turns together: most have one. */
  private readonly conversations = new Map<Ids.ConversationId, ReadonlyArray<TargetUse> | SpendTally>()
  private readonly timeline: Timeline
  private spans: Array<Intervals.Span> = []
  private turnWaitedMs = 0
  private waited = 0
  private calls = 0
  private savedCalls = 0
  private forgotten = 0
  private answeredCalls = 0

  constructor(period: Period) {
    this.period = period
    this.timeline = new Timeline(period.since, period.until)
  }

  /** Adds a turn (PeriodTally.P1). A turn that ended before the period is left out (PeriodTally.P2). */
  add(facts: TurnFacts): void {
    if (facts.endedAt !== undefined && facts.endedAt < this.period.since) return
    this.turns[COUNTED[facts.state]]++
    this.calls += facts.calls
    this.savedCalls += facts.savedCalls
    if (facts.isForgotten) this.forgotten++
    if (facts.isRetry) {
      this.retries.set(
        facts.conversationId,
        Math.max(facts.acceptedAt, this.retries.get(facts.conversationId) ?? -Infinity)
      )
    }
    // A question about tool calls waits for no endpoint.
    if (facts.state === "waiting" && facts.question?.asks.because !== "tools") this.awaited.add(facts.target)
    if (facts.question !== undefined) this.questions.push({ ...facts, question: facts.question })
    for (const endpoint of facts.endpoints) this.outages.add(endpoint)
    for (const { from, to } of facts.switches) {
      const key = `${from}\n${to}`
      this.switches.set(key, { from, to, count: (this.switches.get(key)?.count ?? 0) + 1 })
    }
    this.addWaits(facts)
    this.addEnd(facts)
  }

  /** Adds calls through the gateway that were answered at once. They are no turns. */
  addAnswered(rows: ReadonlyArray<AnsweredCallsRow>): void {
    for (const row of rows) {
      this.answeredCalls += row.calls
      this.calls += row.calls
      this.spend.addCalls(row)
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
      waitedMs: Intervals.length(Intervals.union(this.spans)),
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
      questions: this.questions
        .map((asking) => this.openQuestion(asking))
        .toSorted((a, b) => a.until - b.until || (a.turnId < b.turnId ? -1 : 1)),
      spend: this.spend.total(prices),
      models: this.spend.byModel(prices),
      tags: Array.from(this.tags, ([name, tally]) => ({ name, ...tally.total(prices) })).toSorted((a, b) =>
        a.name < b.name ? -1 : 1
      ),
      conversations: this.costliest(),
      forgotten: this.forgotten,
      timeline: this.timeline.parts()
    }
    return { ...report, line: PeriodLine.of(report) }
  }

  private openQuestion({ conversationId, question, turnId }: Asking): PeriodReport.OpenQuestion {
    const { asks, since, until } = question
    const message = this.period.redact(asks.message)
    const command = `holdfast chat --conversation ${conversationId}`
    return { conversationId, turnId, because: asks.because, message, since, until, command }
  }

  private addWaits({ waits }: TurnFacts): void {
    const spans = waits.flatMap(
      (wait) => Intervals.within(wait, { from: this.period.since, to: this.period.until }) ?? []
    )
    if (spans.length === 0) return
    this.waited++
    this.turnWaitedMs += Intervals.length(spans)
    this.timeline.waited(spans)
    this.spans.push(...spans)
    if (this.spans.length > MOST_SPANS) this.spans = [...Intervals.union(this.spans)]
  }

  private addEnd(facts: TurnFacts): void {
    const { conversationId, endedAt, error, state, tags, target, turnId, usage } = facts
    if (endedAt === undefined) return
    this.spend.add(usage)
    for (const tag of tags) {
      const tally = this.tags.get(tag) ?? new SpendTally()
      this.tags.set(tag, tally)
      tally.add(usage)
    }
    this.addToConversation(conversationId, usage)
    if (state === "completed") this.timeline.answered(endedAt)
    if (state !== "failed") return
    this.timeline.failed(endedAt)
    const { code, message = "", reason = "unknown" } = error ?? {}
    this.failures.push({ conversationId, turnId, endedAt, target, reason, code, message })
  }

  private addToConversation(id: Ids.ConversationId, usage: ReadonlyArray<TargetUse>): void {
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

  /** The failed turns by reason and target, the most first. */
  private causes(): ReadonlyArray<PeriodReport.Cause> {
    const { keyVariables, redact, since } = this.period
    const groups = Map.groupBy(this.failures, ({ code, reason, target }) => JSON.stringify([target, reason, code]))
    return Array.from(groups, ([key, turns]) => {
      const last = turns.reduce((last, turn) => (isLater(turn, last) ? turn : last))
      const { code, reason, target, turnId } = last
      const cause = {
        target,
        reason,
        ...defined({ code: code === undefined ? undefined : redact(code) }),
        failed: turns.length,
        retried: turns.filter(
          ({ conversationId, endedAt }) => (this.retries.get(conversationId) ?? -Infinity) >= endedAt
        ).length,
        firstAt: turns.reduce((first, { endedAt }) => Math.min(first, endedAt), last.endedAt),
        lastAt: last.endedAt,
        message: redact(last.message),
        turnId,
        remedy: Remedies.of({ code, reason, target, turnId }, since, keyVariables)
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

const COUNTED: { readonly [State in TurnFacts["state"]]: keyof Turns } = {
  completed: "answered",
  failed: "failed",
  aborted: "aborted",
  waiting: "waiting",
  running: "running",
  queued: "queued"
}

type Asking = Pick<TurnFacts, "conversationId" | "turnId"> & { readonly question: QuestionFact }

interface FailedTurn {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  readonly endedAt: number
  readonly target: string
  readonly reason: PeriodReport.Cause["reason"]
  readonly code: string | undefined
  readonly message: string
}

const isLater = (a: FailedTurn, b: FailedTurn): boolean =>
  a.endedAt > b.endedAt || (a.endedAt === b.endedAt && a.turnId > b.turnId)
