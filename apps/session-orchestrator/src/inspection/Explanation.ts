/**
 * Explains a turn from its stored row, events and records (rule X9). Pure.
 *
 * Explanation.E1. The same record gives the same explanation, in the service that runs the turn, in another one, and long after it.
 * Explanation.E2. All text of a provider or a client is redacted again when it is read: a record may be older than the rule that would have
 *     redacted it, and a key may have been configured since.
 */
import { Interruption } from "@holdfast/journal"
import { Records, type RetryStrategy } from "@holdfast/kernel"
import { History, ModelContext } from "@holdfast/kernel/host"
import { defined, Failure, Target, type TurnEvent, type TurnExplanation } from "@holdfast/wire"
import type { Turn } from "../storage/Store.ts"
import { isByGate } from "../gate/Gatekeeper.ts"
import * as DecisionAccount from "./DecisionAccount.ts"
import { type Redact, stateOf, type StoredTurn } from "./TurnReport.ts"
import * as Words from "./Words.ts"

/** Explains a turn. */
export const of = (evidence: StoredTurn, redact: Redact): TurnExplanation.TurnExplanation => {
  const { events, records, turn } = evidence
  const { end } = turn
  const history = History.of(records)
  return {
    conversationId: turn.conversationId,
    turnId: turn.turnId,
    status: stateOf(end, history, events.length > 0),
    acceptedAt: turn.acceptedAt,
    steps: stepsOf(evidence, history, redact),
    ...interruptionOf(evidence),
    ...defined({ seal: end === undefined ? undefined : sealOf(evidence, history, end, redact) }),
    isForgotten: records.length === 0 && end !== undefined && hasDecided(events, end),
    unread: history.unread
  }
}

/** Formats a moment for `words`: `2031-04-01 02:14:05 UTC`. */
export const at: Words.At = (epochMs) => `${new Date(epochMs).toISOString().slice(0, 19).replace("T", " ")} UTC`

// --- internal

/** Whether a turn must have records: an abort may come before the first one. */
const hasDecided = (events: ReadonlyArray<TurnEvent.PersistedEvent>, { status }: TurnEvent.TurnEnd): boolean =>
  status !== "aborted" || events.some(({ type }) => type === "retry-end" || type === "tool-call")

const stepsOf = (
  { conversation, deaths = [], events, records, turn }: StoredTurn,
  history: History.History,
  redact: Redact
): ReadonlyArray<TurnExplanation.Step> => {
  const steps = new Map<
    number,
    {
      readonly step: number
      readonly final?: string
      readonly attempts: Array<TurnExplanation.Attempt>
      tools: ReadonlyArray<TurnExplanation.Tool>
    }
  >()
  const first = firstTarget(events) ?? turn.model ?? conversation.model
  for (const attempt of [...history.attempts, ...unrecorded(turn, events, records, history)]) {
    const final = history.finals.get(attempt.step)
    const step = steps.get(attempt.step) ?? { step: attempt.step, ...defined({ final }), attempts: [], tools: [] }
    steps.set(attempt.step, step)
    step.attempts.push(attemptOf(attempt, attempt.target ?? first, turn.end, deaths, redact))
    if (attempt.outcome?._tag === "Completed") step.tools = toolsOf(attempt, turn.end, redact)
  }
  return Array.from(steps.values())
}

/** The turn's target before the first change. */
const firstTarget = (events: ReadonlyArray<TurnEvent.PersistedEvent>): string | undefined =>
  events.find((event) => event.type === "model-change")?.from

/** The attempt in progress now, or when the turn ended; nothing is recorded before its first content. */
const unrecorded = (
  { end }: Turn,
  events: ReadonlyArray<TurnEvent.PersistedEvent>,
  records: ReadonlyArray<Records.Stored>,
  { next, tally }: History.History
): ReadonlyArray<History.Attempt> => {
  const isEnded =
    end === undefined ? events.length === 0 : end.status === "completed" || end.attempts <= History.callsOf({ tally })
  // A sealed turn without records may have had any number of attempts.
  const isForgotten = end !== undefined && records.length === 0 && hasDecided(events, end)
  return next === undefined || isEnded || isForgotten ? [] : [next]
}

const attemptOf = (
  made: History.Attempt,
  target: string,
  end: TurnEvent.TurnEnd | undefined,
  deaths: ReadonlyArray<number>,
  redact: Redact
): TurnExplanation.Attempt => {
  const { body, decision, hasContent, number, outcome } = made
  const failed = outcome?._tag === "Failed" || outcome?._tag === "Nothing" ? outcome.failure : undefined
  const failure = failed === undefined ? undefined : cleaned(failed, redact)
  const fields = {
    attempt: number,
    target,
    outcome: outcomeOf(made, end),
    ...defined({ endedAt: outcome?.endedAt }),
    hasContent: outcome?._tag === "Failed" && "contentSeen" in outcome ? outcome.contentSeen || hasContent : hasContent,
    ...defined({ failure, body: body === undefined ? undefined : redact(body) }),
    ...voidOf(outcome, decision),
    ...defined({ finishReason: outcome?._tag === "Completed" ? outcome.finishReason : undefined }),
    ...compactionOf(outcome),
    ...(failure === undefined || decision === undefined ? {} : decided(made, decision, failure, end, deaths, redact)),
    rules: rulesOf(outcome)
  }
  return { ...fields, words: Words.attempt(fields) }
}

/** The facts of content that may be void (X7). */
const voidOf = (
  outcome: History.Attempt["outcome"],
  decision: History.Attempt["decision"]
): Pick<TurnExplanation.Attempt, "isUnseen" | "usage"> => {
  if (outcome?._tag !== "Failed" || !("contentSeen" in outcome)) return {}
  const { unseen: isUnseen, usage } = outcome
  return defined({ isUnseen, usage: Records.isVoiding(decision) ? usage : undefined })
}

/** Only an attempt's failure records whether content was seen: a summary is not shown to clients. */
const compactionOf = (outcome: History.Attempt["outcome"]): { readonly compaction?: TurnExplanation.Compaction } => {
  if (outcome?._tag === "Compacted") return { compaction: "compacted" }
  if (outcome?._tag === "Nothing") return { compaction: "nothing" }
  return outcome?._tag === "Failed" && !("contentSeen" in outcome) ? { compaction: "failed" } : {}
}

const rulesOf = (outcome: History.Attempt["outcome"]): ReadonlyArray<string> => {
  if (outcome?._tag === "Lost") return ["X2"]
  if (outcome?._tag === "Failed" && outcome.failure.shared === true)
    return [Failure.isOfSpendLimit(outcome.failure) ? "X11" : "X5"]
  return compactionOf(outcome).compaction === undefined ? [] : ["P19"]
}

const outcomeOf = (
  { outcome }: History.Attempt,
  end: TurnEvent.TurnEnd | undefined
): TurnExplanation.AttemptOutcome => {
  switch (outcome?._tag) {
    case "Completed":
    case "Compacted":
    case "Nothing":
      return "completed"
    case "Failed":
      return "failed"
    case "Lost":
      return "lost"
    case undefined:
      return end === undefined ? "under-way" : "cut-short"
    default:
      return outcome satisfies never
  }
}

const decided = (
  { wait, wakes }: History.Attempt,
  directive: NonNullable<History.Attempt["decision"]>,
  failure: Failure.Failure,
  end: TurnEvent.TurnEnd | undefined,
  deaths: ReadonlyArray<number>,
  redact: Redact
): Pick<TurnExplanation.Attempt, "decision" | "wait"> => {
  const outcome = DecisionAccount.of(directive, failure)
  const decision = { ...outcome, words: Words.decision(outcome, failure, at) }
  return { decision, ...defined({ wait: wait && waitOf(wait, wakes, end, deaths, redact) }) }
}

const waitOf = (
  wait: History.Wait,
  wakes: ReadonlyArray<RetryStrategy.Wake>,
  end: TurnEvent.TurnEnd | undefined,
  deaths: ReadonlyArray<number>,
  redact: Redact
): TurnExplanation.Wait => {
  const { retryAt, since } = wait
  const ended = wait.end === undefined ? endedBy(end) : endOf(wait.end, wait.asks !== undefined, redact)
  const changes = wakes.flatMap((wake) => changeOf(wake, redact))
  return {
    retryAt,
    changes,
    ...askedOf(wakes, redact),
    ...deathsOf(deaths, since, ended === undefined ? undefined : (ended.at ?? retryAt)),
    ...(ended && { end: { ...ended, words: Words.waitEnd(ended, Words.dueAt({ changes, retryAt })) } })
  }
}

/** The deaths of the service from the begin of a wait until its end; `undefined`: it has not ended. */
const deathsOf = (
  deaths: ReadonlyArray<number>,
  from: number,
  to = Number.POSITIVE_INFINITY
): Pick<TurnExplanation.Wait, "deaths"> => {
  const found = deaths.filter((at) => at >= from && at <= to)
  if (found.length === 0) return {}
  return {
    deaths: found.map((foundAt) => {
      const death = { at: foundAt, rules: ["X1"] }
      return { ...death, words: Words.death(death, at) }
    })
  }
}

type WaitEndFields = Omit<TurnExplanation.WaitEnd, "words">

const endOf = (wake: RetryStrategy.Wake, isAsking: boolean, redact: Redact): WaitEndFields | undefined => {
  switch (wake.type) {
    case "elapsed":
      if (isAsking) return { type: "unanswered", ...commandOf(wake, redact), rules: ["X11"] }
      return wake.heldMs === undefined
        ? { type: "elapsed", ...commandOf(wake, redact), rules: [] }
        : { type: "elapsed", heldMs: wake.heldMs, ...commandOf(wake, redact), rules: ["X5"] }
    case "now":
      return { type: "retry-now", ...commandOf(wake, redact), rules: [isByGate(wake) ? "X5" : "X4"] }
    case "switched":
      return { type: "switched", target: Target.format(wake.target), ...commandOf(wake, redact), rules: ["X4"] }
    case "cancelled":
      return { type: "cancelled", ...commandOf(wake, redact), rules: ["P14", "X4"] }
    case "until":
    case "extended":
    case "asked":
    case "answered":
      return undefined
    default:
      return wake satisfies never
  }
}

/** A wait without a recorded end ended with the turn, or has not ended. */
const endedBy = (end: TurnEvent.TurnEnd | undefined): WaitEndFields | undefined => {
  if (end === undefined) return undefined
  return end.status === "aborted"
    ? { type: "aborted", at: end.endedAt, rules: ["D8"] }
    : { type: "broken", at: end.endedAt, rules: ["D14"] }
}

const changeOf = (wake: RetryStrategy.Wake, redact: Redact): ReadonlyArray<TurnExplanation.WaitChange> => {
  if (wake.type === "until") {
    const moved = { type: "moved" as const, until: wake.until, ...commandOf(wake, redact), rules: ["X4"] }
    return [{ ...moved, words: Words.change(moved, at) }]
  }
  if (wake.type === "extended") {
    const extended = { type: "extended" as const, byMs: wake.byMs, ...commandOf(wake, redact), rules: ["X4"] }
    return [{ ...extended, words: Words.change(extended, at) }]
  }
  return []
}

const askedOf = (
  wakes: ReadonlyArray<RetryStrategy.Wake>,
  redact: Redact
): { readonly asked?: TurnExplanation.Asked } => {
  const wake = wakes.find((wake) => wake.type === "asked")
  if (wake === undefined) return {}
  const fields = { until: wake.until, asks: wake.asks, ...commandOf(wake, redact), rules: ["X11"] }
  return { asked: { ...fields, words: Words.asked(fields, at) } }
}

const commandOf = ({ at, by }: RetryStrategy.Wake, redact: Redact) => ({
  ...defined({ by: by === undefined ? undefined : { commandId: by.commandId, origin: redact(by.origin) }, at })
})

const toolsOf = (
  attempt: History.Attempt,
  end: TurnEvent.TurnEnd | undefined,
  redact: Redact
): ReadonlyArray<TurnExplanation.Tool> =>
  History.toolCallsOf(attempt).map(({ toolCallId, toolName }, tool) => {
    const result = attempt.results[tool]
    const approval = approvalOf(attempt.wakes, toolCallId, end, redact)
    const outcome = toolOutcomeOf(result, end)
    const fields = {
      tool,
      toolCallId,
      toolName,
      outcome,
      ...defined({ approval, endedAt: result?.endedAt }),
      rules: outcome === "unknown" ? ["X8"] : []
    }
    return { ...fields, words: Words.tool(fields) }
  })

/** The question about a call and its answer, from the records of questions about its response; `undefined`: there was none. */
const approvalOf = (
  wakes: ReadonlyArray<RetryStrategy.Wake>,
  toolCallId: string,
  end: TurnEvent.TurnEnd | undefined,
  redact: Redact
): TurnExplanation.Approval | undefined => {
  let found: Omit<TurnExplanation.Approval, "words"> | undefined
  for (const wake of wakes) {
    if (wake.type === "asked" && wake.asks.calls?.some((call) => call.toolCallId === toolCallId) === true)
      found = { outcome: "open", askedAt: wake.at ?? 0, until: wake.until, rules: [] }
    if (found?.outcome !== "open") continue
    if (wake.type === "until") found = { ...found, until: wake.until }
    const outcome = answerIn(wake, toolCallId)
    if (outcome === undefined) continue
    const reason = wake.type === "answered" && wake.reason !== undefined ? redact(wake.reason) : undefined
    found = { ...found, outcome, ...commandOf(wake, redact), ...defined({ reason }) }
  }
  if (found === undefined) return undefined
  const fields = found.outcome === "open" && end !== undefined ? { ...found, outcome: "cut-short" as const } : found
  return { ...fields, words: Words.approval(fields, at) }
}

const answerIn = (wake: RetryStrategy.Wake, toolCallId: string): "approved" | "refused" | "unanswered" | undefined => {
  if (wake.type === "elapsed") return "unanswered"
  if (wake.type === "cancelled") return "refused"
  if (wake.type !== "answered" || wake.toolCallId !== toolCallId) return undefined
  return wake.approved ? "approved" : "refused"
}

const toolOutcomeOf = (
  result: History.Attempt["results"][number],
  end: TurnEvent.TurnEnd | undefined
): TurnExplanation.ToolOutcome => {
  if (result === undefined) return end === undefined ? "under-way" : "cut-short"
  if (!result.isError) return "answered"
  return result.output === ModelContext.INTERRUPTED ? "unknown" : "failed"
}

/** A single death is visible in the attempt that it cut off; from the second on, the row of deaths is reported. */
const interruptionOf = ({
  interruption: { deaths, defects } = Interruption.none("")
}: StoredTurn): { readonly interruption?: TurnExplanation.Interruption } => {
  if (deaths < 2 && defects === 0) return {}
  const fields = { deaths, defects, rules: [...(deaths < 2 ? [] : ["X14"]), ...(defects === 0 ? [] : ["C10"])] }
  return { interruption: { ...fields, words: Words.interruption(fields) } }
}

/** The rule by which a turn was sealed without running to its end. */
const ruleOf = ({ interruption }: StoredTurn, { error, status }: TurnEvent.TurnEnd): ReadonlyArray<string> => {
  if (status === "aborted") return ["P14"]
  if (interruption === undefined || error?.defect !== true) return []
  return interruption.deaths > Interruption.SUSPECT ? ["X14"] : ["C10"]
}

/** A seal of an older version lacks the time that the turn waited: it is computed from the records while they exist. */
const waitedOf = (
  { records }: StoredTurn,
  history: History.History,
  { endedAt, waitedMs }: TurnEvent.TurnEnd
): { readonly waitedMs?: number } => {
  if (waitedMs !== undefined) return { waitedMs }
  return records.length === 0 ? {} : { waitedMs: History.tallyAt(history, endedAt).waitedMs }
}

const sealOf = (
  evidence: StoredTurn,
  history: History.History,
  end: TurnEvent.TurnEnd,
  redact: Redact
): TurnExplanation.Seal => {
  const { attempts, endedAt, error, sleptMs, status } = end
  const fields = {
    status,
    endedAt,
    attempts,
    sleptMs,
    ...waitedOf(evidence, history, end),
    ...defined({ error: error === undefined ? undefined : cleaned(error, redact) }),
    rules: ruleOf(evidence, end)
  }
  return { ...fields, words: Words.seal(fields) }
}

/** Explanation.E2 */
const cleaned = (failure: Failure.Failure, redact: Redact): Failure.Failure => {
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
