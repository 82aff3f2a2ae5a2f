/**
 * Explains a turn from its stored row, events and records (rule X9). Pure.
 *
 * The same record gives the same explanation, in the service that runs the turn, in another one, and long after it. All text of a provider
 * or a client is redacted again when it is read: a record may be older than the rule that would have redacted it, and a key may have been
 * configured since.
 */
import { Interruption } from "@holdfast/journal"
import { Records, type RetryStrategy } from "@holdfast/kernel"
import { History, ModelContext } from "@holdfast/kernel/host"
import { defined, Failure, Target, type TurnEvent, type TurnExplanation } from "@holdfast/wire"
import { isByGate } from "../../engine/gate/Gatekeeper.ts"
import * as DecisionAccount from "./DecisionAccount.ts"
import { type Redact, stateOf, type StoredTurn } from "./TurnReport.ts"
import * as Words from "./Words.ts"

/** Explains a turn. */
export const of = (evidence: StoredTurn, redact: Redact): TurnExplanation.TurnExplanation =>
  new Account(evidence, redact).explanation()

// --- internal

/** The account of one turn. */
class Account {
  private readonly evidence: StoredTurn
  private readonly redact: Redact
  private readonly history: History.History
  private readonly end: TurnEvent.TurnEnd | undefined
  /** The turn's target before the first change. */
  private readonly first: string

  constructor(evidence: StoredTurn, redact: Redact) {
    const { conversation, events, records, turn } = evidence
    this.evidence = evidence
    this.redact = redact
    this.history = History.of(records)
    this.end = turn.end
    this.first = events.find((event) => event.type === "model-change")?.from ?? turn.model ?? conversation.model
  }

  explanation(): TurnExplanation.TurnExplanation {
    const { end, evidence, history, isForgotten } = this
    const { events, turn } = evidence
    return {
      conversationId: turn.conversationId,
      turnId: turn.turnId,
      status: stateOf(end, history, events.length > 0),
      acceptedAt: turn.acceptedAt,
      steps: this.steps(),
      ...defined({ interruption: this.interruption(), seal: end && this.seal(end) }),
      isForgotten,
      unread: history.unread
    }
  }

  /** Whether its records were deleted. A turn must have some, unless it was aborted before the first one. */
  private get isForgotten(): boolean {
    const { end, evidence } = this
    return (
      evidence.records.length === 0 &&
      end !== undefined &&
      (end.status !== "aborted" || evidence.events.some(({ type }) => type === "retry-end" || type === "tool-call"))
    )
  }

  private steps(): ReadonlyArray<TurnExplanation.ExplainedStep> {
    const { finals } = this.history
    const made = [...this.history.attempts, ...this.unrecorded()]
    return Array.from(
      Map.groupBy(made, ({ step }) => step),
      ([step, attempts]) => ({
        step,
        ...defined({ final: finals.get(step) }),
        attempts: attempts.map((attempt) => this.attempt(attempt)),
        tools: this.tools(attempts.findLast(({ outcome }) => outcome?._tag === "Completed"))
      })
    )
  }

  /** The attempt in progress now, or when the turn ended; nothing is recorded before its first content. */
  private unrecorded(): ReadonlyArray<History.Attempt> {
    const { end, evidence, history } = this
    const isEnded =
      end === undefined
        ? evidence.events.length === 0
        : end.status === "completed" || end.attempts <= History.callsOf(history)
    // A sealed turn without records may have had any number of attempts.
    return history.next === undefined || isEnded || this.isForgotten ? [] : [history.next]
  }

  private attempt(made: History.Attempt): TurnExplanation.ExplainedAttempt {
    const { body, decision, hasContent, number, outcome, target = this.first, wait } = made
    const failed = outcome?._tag === "Failed" || outcome?._tag === "Nothing" ? outcome.failure : undefined
    const failure = failed && this.cleaned(failed)
    // Only an attempt's failure records whether content was seen: a summary is not shown to clients.
    const { contentSeen, unseen, usage } = outcome?._tag === "Failed" && "contentSeen" in outcome ? outcome : NO_CONTENT
    const account = failure && decision && DecisionAccount.of(decision, failure)
    return worded(
      {
        attempt: number,
        target,
        outcome: outcome === undefined ? (this.end === undefined ? "under-way" : "cut-short") : OUTCOMES[outcome._tag],
        ...defined({ endedAt: outcome?.endedAt }),
        hasContent: hasContent || contentSeen,
        ...defined({
          failure,
          body: body === undefined ? undefined : this.redact(body),
          // Content that may be void (X7).
          isUnseen: unseen,
          usage: Records.isVoiding(decision) ? usage : undefined,
          finishReason: outcome?._tag === "Completed" ? outcome.finishReason : undefined,
          compaction: compactionOf(outcome),
          decision: account && { ...account, words: Words.decision(account, failure) },
          wait: account && wait && this.wait(wait, made.wakes)
        }),
        rules: rulesOf(outcome)
      },
      Words.attempt
    )
  }

  private wait(wait: History.Wait, wakes: ReadonlyArray<RetryStrategy.Wake>): TurnExplanation.ExplainedWait {
    const { retryAt, since } = wait
    const end = this.waitEnd(wait)
    const changes = wakes.flatMap((wake) => this.change(wake))
    const asked = wakes.find((wake) => wake.type === "asked")
    const until = end === undefined ? Number.POSITIVE_INFINITY : (end.at ?? retryAt)
    const deaths = (this.evidence.deaths ?? [])
      .filter((foundAt) => foundAt >= since && foundAt <= until)
      .map((foundAt) => worded({ at: foundAt, rules: ["X1"] }, Words.death))
    return {
      retryAt,
      changes,
      ...defined({
        asked:
          asked && worded({ until: asked.until, asks: asked.asks, ...this.by(asked), rules: ["X11"] }, Words.asked),
        deaths: deaths.length === 0 ? undefined : deaths,
        end: end && {
          ...end,
          words: Words.waitEnd(end, Words.dueAt({ changes, retryAt }), this.evidence.turn.conversationId)
        }
      })
    }
  }

  /** The end of a wait. A wait without a recorded one ended with the turn, or has not ended. */
  private waitEnd({ asks, end: wake }: History.Wait): Omit<TurnExplanation.WaitEnd, "words"> | undefined {
    if (wake === undefined) {
      if (this.end === undefined) return undefined
      const { endedAt, status } = this.end
      return status === "aborted"
        ? { type: "aborted", at: endedAt, rules: ["D8"] }
        : { type: "broken", at: endedAt, rules: ["D14"] }
    }
    const by = this.by(wake)
    switch (wake.type) {
      case "elapsed": {
        if (asks !== undefined && asks.goesOn !== true) return { type: "unanswered", ...by, rules: ["X11"] }
        const { heldMs } = wake
        return { type: "elapsed", ...defined({ heldMs }), ...by, rules: heldMs === undefined ? [] : ["X5"] }
      }
      case "now":
        return { type: "retry-now", ...by, rules: [isByGate(wake) ? "X5" : "X4"] }
      case "switched":
        return { type: "switched", target: Target.format(wake.target), ...by, rules: ["X4"] }
      case "cancelled":
        return { type: "cancelled", ...by, rules: ["P14", "X4"] }
      case "until":
      case "extended":
      case "asked":
      case "answered":
        return undefined
      default:
        return wake satisfies never
    }
  }

  private change(wake: RetryStrategy.Wake): ReadonlyArray<TurnExplanation.WaitChange> {
    if (wake.type === "until")
      return [worded({ type: "moved", until: wake.until, ...this.by(wake), rules: ["X4"] }, Words.change)]
    if (wake.type === "extended")
      return [worded({ type: "extended", byMs: wake.byMs, ...this.by(wake), rules: ["X4"] }, Words.change)]
    return []
  }

  /** The command behind a wake, and when it was taken. */
  private by({ at, by }: RetryStrategy.Wake) {
    return defined({ by: by && { commandId: by.commandId, origin: this.redact(by.origin) }, at })
  }

  private tools(attempt: History.Attempt | undefined): ReadonlyArray<TurnExplanation.ExplainedTool> {
    if (attempt === undefined) return []
    return History.toolCallsOf(attempt).map(({ toolCallId, toolName }, tool) => {
      const result = attempt.results[tool]
      const outcome = this.toolOutcome(result)
      return worded(
        {
          tool,
          toolCallId,
          toolName,
          outcome,
          ...defined({ approval: this.approval(attempt.wakes, toolCallId), endedAt: result?.endedAt }),
          rules: outcome === "unknown" ? ["X8"] : []
        },
        Words.tool
      )
    })
  }

  private toolOutcome(result: History.Attempt["results"][number]): TurnExplanation.ExplainedToolOutcome {
    if (result === undefined) return this.end === undefined ? "under-way" : "cut-short"
    if (!result.isError) return "answered"
    return result.output === ModelContext.INTERRUPTED ? "unknown" : "failed"
  }

  /** The question about a call and its answer, from the records of questions about its response; `undefined`: there was none. */
  private approval(
    wakes: ReadonlyArray<RetryStrategy.Wake>,
    toolCallId: string
  ): TurnExplanation.ExplainedApproval | undefined {
    let found: Omit<TurnExplanation.ExplainedApproval, "words"> | undefined
    for (const wake of wakes) {
      if (wake.type === "asked" && wake.asks.calls?.some((call) => call.toolCallId === toolCallId) === true)
        found = { outcome: "open", askedAt: wake.at ?? 0, until: wake.until, rules: [] }
      if (found?.outcome !== "open") continue
      if (wake.type === "until") found = { ...found, until: wake.until }
      const outcome = answerIn(wake, toolCallId)
      if (outcome === undefined) continue
      const reason = wake.type === "answered" && wake.reason !== undefined ? this.redact(wake.reason) : undefined
      found = { ...found, outcome, ...this.by(wake), ...defined({ reason }) }
    }
    if (found?.outcome === "open" && this.end !== undefined) found = { ...found, outcome: "cut-short" }
    return found && worded(found, Words.approval)
  }

  /** A single death is visible in the attempt that it cut off; from the second on, the row of deaths is reported. */
  private interruption(): TurnExplanation.ExplainedInterruption | undefined {
    const { deaths, defects } = this.evidence.interruption ?? Interruption.none("")
    if (deaths < 2 && defects === 0) return undefined
    const rules = [...(deaths < 2 ? [] : ["X14"]), ...(defects === 0 ? [] : ["C10"])]
    return worded({ deaths, defects, rules }, Words.interruption)
  }

  private seal({
    attempts,
    endedAt,
    error,
    sleptMs,
    status,
    waitedMs
  }: TurnEvent.TurnEnd): TurnExplanation.ExplainedSeal {
    const { interruption } = this.evidence
    const isSealedByDefect = interruption !== undefined && error?.defect === true
    const byDefect = isSealedByDefect ? [interruption.deaths > Interruption.SUSPECT ? "X14" : "C10"] : []
    return worded(
      {
        status,
        endedAt,
        attempts,
        sleptMs,
        ...defined({ waitedMs, error: error && this.cleaned(error) }),
        rules: status === "aborted" ? ["P14"] : byDefect
      },
      Words.seal
    )
  }

  private cleaned(failure: Failure.Failure): Failure.Failure {
    const { redact } = this
    const { code, evidence, message } = failure
    return {
      ...failure,
      message: redact(message),
      ...defined({
        code: code === undefined ? undefined : redact(code),
        evidence: evidence && Object.fromEntries(Object.entries(evidence).map(([name, value]) => [name, redact(value)]))
      })
    }
  }
}

/** A value with the sentence about it. */
const worded = <const A extends object>(fields: A, words: (fields: A) => string): A & { readonly words: string } => ({
  ...fields,
  words: words(fields)
})

const NO_CONTENT = { contentSeen: false, unseen: undefined, usage: undefined }

const OUTCOMES = {
  Completed: "completed",
  Compacted: "completed",
  Nothing: "completed",
  Failed: "failed",
  Lost: "lost"
} as const

const compactionOf = (outcome: History.Attempt["outcome"]): TurnExplanation.ExplainedCompaction | undefined => {
  if (outcome?._tag === "Compacted") return "compacted"
  if (outcome?._tag === "Nothing") return "nothing"
  return outcome?._tag === "Failed" && !("contentSeen" in outcome) ? "failed" : undefined
}

const rulesOf = (outcome: History.Attempt["outcome"]): ReadonlyArray<string> => {
  if (outcome?._tag === "Lost") return ["X2"]
  if (outcome?._tag === "Failed" && outcome.failure.shared === true)
    return [Failure.isOfSpendLimit(outcome.failure) ? "X11" : "X5"]
  return compactionOf(outcome) === undefined ? [] : ["P19"]
}

const answerIn = (wake: RetryStrategy.Wake, toolCallId: string): "approved" | "refused" | "unanswered" | undefined => {
  if (wake.type === "elapsed") return "unanswered"
  if (wake.type === "cancelled") return "refused"
  if (wake.type !== "answered" || wake.toolCallId !== toolCallId) return undefined
  return wake.approved ? "approved" : "refused"
}
