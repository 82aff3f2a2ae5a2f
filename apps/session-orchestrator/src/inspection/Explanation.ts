/**
 * Explains a turn from its stored row, events and records (rule X9). Pure.
 *
 * Explanation.E1. The same record gives the same explanation, in the service that runs the turn, in another one, and long after it.
 * Explanation.E2. All text of a provider or a client is redacted again when it is read: a record may be older than the rule that would have
 *     redacted it, and a key may have been configured since.
 */
import { Interruption } from "@holdfast/journal"
import { Directive, Records, type RetryStrategy } from "@holdfast/kernel"
import { ModelContext } from "@holdfast/kernel/host"
import { defined, Failure, type Message, Target, type TurnEvent, type TurnExplanation } from "@holdfast/wire"
import type { Turn } from "../storage/Store.ts"
import { isByGate } from "../gate/Gatekeeper.ts"
import * as Account from "../recovery/Account.ts"
import type { StoredTurn, Redact } from "./StoredTurn.ts"
import * as DecisionAccount from "./DecisionAccount.ts"
import * as TurnReport from "./TurnReport.ts"
import * as Words from "./Words.ts"

/** Explains a turn. */
export const of = (evidence: StoredTurn, redact: Redact): TurnExplanation.TurnExplanation => {
  const { events, records, turn } = evidence
  const { end } = turn
  const account = Account.of(records)
  return {
    conversationId: turn.conversationId,
    turnId: turn.turnId,
    status: TurnReport.stateOf(end, account, events.length > 0),
    acceptedAt: turn.acceptedAt,
    steps: stepsOf(evidence, account, redact),
    ...interruptionOf(evidence),
    ...defined({ seal: end === undefined ? undefined : sealOf(evidence, account, end, redact) }),
    isForgotten: records.length === 0 && end !== undefined && hasDecided(events, end),
    unread: account.unread
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
  account: Account.Account,
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
  const bodies = bodiesOf(account.attempts)
  for (const attempt of [...account.attempts, ...unrecorded(turn, events, records, account)]) {
    const cause = account.finals.find(({ step }) => step === attempt.step)?.cause
    const final = cause === undefined ? undefined : { final: cause }
    const step = steps.get(attempt.step) ?? { step: attempt.step, ...final, attempts: [], tools: [] }
    steps.set(attempt.step, step)
    step.attempts.push(attemptOf(attempt, attempt.target ?? first, bodies.get(attempt), turn.end, deaths, redact))
    if (attempt.outcome?._tag === "Completed") step.tools = toolsOf(attempt, account.tools, turn.end, redact)
  }
  return Array.from(steps.values())
}

/** The full responses of endpoints. A body that was repeated is recorded once per step. */
const bodiesOf = (attempts: ReadonlyArray<Account.AttemptAccount>): ReadonlyMap<Account.AttemptAccount, string> => {
  const bodies = new Map<Account.AttemptAccount, string>()
  let last: string | undefined
  for (const attempt of attempts) {
    const { outcome } = attempt
    const body = outcome !== undefined && "body" in outcome ? outcome.body : undefined
    if (typeof body === "string" && outcome?._tag === "Failed" && "contentSeen" in outcome) last = body
    const whole = body === true ? last : body
    if (whole !== undefined) bodies.set(attempt, whole)
  }
  return bodies
}

/** The turn's target before the first change. */
const firstTarget = (events: ReadonlyArray<TurnEvent.PersistedEvent>): string | undefined =>
  events.find((event) => event.type === "model-change")?.from

/** The attempt in progress now, or when the turn ended; nothing is recorded before its first content. */
const unrecorded = (
  { end }: Turn,
  events: ReadonlyArray<TurnEvent.PersistedEvent>,
  records: ReadonlyArray<Records.Stored>,
  { attempts, progress, target, tools }: Account.Account
): ReadonlyArray<Account.AttemptAccount> => {
  const isEnded =
    end === undefined ? events.length === 0 : end.status === "completed" || end.attempts <= Account.endedCalls(attempts)
  // A sealed turn without records may have had any number of attempts.
  if (isEnded || (end !== undefined && records.length === 0 && hasDecided(events, end))) return []
  const none = { target, hasContent: false, outcome: undefined, decision: undefined, wakes: [] }
  const last = attempts.at(-1)
  if (last === undefined) return [{ step: 0, number: 0, ...none }]
  if (progress._tag === "Working" && progress.attempt > last.number)
    return [{ step: last.step, number: progress.attempt, ...none }]
  const calls = callsOf(last)
  const answered = tools.filter(({ result, step }) => step === last.step && result !== undefined)
  return calls.length > 0 && answered.length === calls.length ? [{ step: last.step + 1, number: 0, ...none }] : []
}

const attemptOf = (
  account: Account.AttemptAccount,
  target: string,
  body: string | undefined,
  end: TurnEvent.TurnEnd | undefined,
  deaths: ReadonlyArray<number>,
  redact: Redact
): TurnExplanation.Attempt => {
  const { decision, hasContent, number, outcome } = account
  const failed = outcome?._tag === "Failed" || outcome?._tag === "Nothing" ? outcome.failure : undefined
  const failure = failed === undefined ? undefined : cleaned(failed, redact)
  const fields = {
    attempt: number,
    target,
    outcome: outcomeOf(account, end),
    ...defined({ endedAt: outcome?.endedAt }),
    hasContent: outcome?._tag === "Failed" && "contentSeen" in outcome ? outcome.contentSeen || hasContent : hasContent,
    ...defined({ failure, body: body === undefined ? undefined : redact(body) }),
    ...voidOf(outcome, decision),
    ...defined({ finishReason: outcome?._tag === "Completed" ? outcome.finishReason : undefined }),
    ...compactionOf(outcome),
    ...(failure === undefined || decision === undefined
      ? {}
      : decided(account, decision, failure, end, deaths, redact)),
    rules: rulesOf(outcome)
  }
  return { ...fields, words: Words.attempt(fields) }
}

/** The facts of content that may be void (X7). */
const voidOf = (
  outcome: Account.AttemptAccount["outcome"],
  decision: Account.AttemptAccount["decision"]
): Pick<TurnExplanation.Attempt, "isUnseen" | "usage"> => {
  if (outcome?._tag !== "Failed" || !("contentSeen" in outcome)) return {}
  const { unseen: isUnseen, usage } = outcome
  return defined({ isUnseen, usage: Records.isVoiding(decision) ? usage : undefined })
}

/** Only an attempt's failure records whether content was seen: a summary is not shown to clients. */
const compactionOf = (
  outcome: Account.AttemptAccount["outcome"]
): { readonly compaction?: TurnExplanation.Compaction } => {
  if (outcome?._tag === "Compacted") return { compaction: "compacted" }
  if (outcome?._tag === "Nothing") return { compaction: "nothing" }
  return outcome?._tag === "Failed" && !("contentSeen" in outcome) ? { compaction: "failed" } : {}
}

const rulesOf = (outcome: Account.AttemptAccount["outcome"]): ReadonlyArray<string> => {
  if (outcome?._tag === "Lost") return ["X2"]
  if (outcome?._tag === "Failed" && outcome.failure.shared === true)
    return [Failure.isOfSpendLimit(outcome.failure) ? "X11" : "X5"]
  return compactionOf(outcome).compaction === undefined ? [] : ["P19"]
}

const outcomeOf = (
  { outcome }: Account.AttemptAccount,
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
  account: Account.AttemptAccount,
  directive: NonNullable<Account.AttemptAccount["decision"]>,
  failure: Failure.Failure,
  end: TurnEvent.TurnEnd | undefined,
  deaths: ReadonlyArray<number>,
  redact: Redact
): Pick<TurnExplanation.Attempt, "decision" | "wait"> => {
  const outcome = DecisionAccount.of(directive, failure)
  const decision = { ...outcome, words: Words.decision(outcome, failure, at) }
  return outcome.type === "retry" && account.decision?._tag === "Retry" && !Directive.isImmediate(account.decision)
    ? { decision, wait: waitOf(account.wakes, outcome, end, deaths, redact) }
    : { decision }
}

const waitOf = (
  wakes: ReadonlyArray<RetryStrategy.Wake>,
  decision: Pick<TurnExplanation.Retry, "decidedAt" | "retryAt">,
  end: TurnEvent.TurnEnd | undefined,
  deaths: ReadonlyArray<number>,
  redact: Redact
): TurnExplanation.Wait => {
  const moved = wakes.findLast((wake) => wake.type === "until" || wake.type === "asked")
  const retryAt = moved?.until ?? decision.retryAt
  const isAsking = moved?.type === "asked"
  const ended = wakes.map((wake) => endOf(wake, isAsking, redact)).find((end) => end !== undefined) ?? endedBy(end)
  const changes = wakes.flatMap((wake) => changeOf(wake, redact))
  return {
    retryAt,
    changes,
    ...askedOf(wakes, redact),
    ...deathsOf(deaths, decision.decidedAt, ended === undefined ? undefined : (ended.at ?? retryAt)),
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

const callsOf = ({ outcome }: Account.AttemptAccount): ReadonlyArray<Message.ToolCallPart> =>
  outcome?._tag === "Completed" ? outcome.content.filter((part) => part.type === "tool-call") : []

const toolsOf = (
  attempt: Account.AttemptAccount,
  accounts: ReadonlyArray<Account.ToolAccount>,
  end: TurnEvent.TurnEnd | undefined,
  redact: Redact
): ReadonlyArray<TurnExplanation.Tool> =>
  callsOf(attempt).map(({ toolCallId, toolName }, tool) => {
    const result = accounts.find(({ number, step }) => step === attempt.step && number === tool)?.result
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
  result: Account.ToolAccount["result"],
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
  { attempts }: Account.Account,
  { endedAt, waitedMs }: TurnEvent.TurnEnd
): { readonly waitedMs?: number } => {
  if (waitedMs !== undefined) return { waitedMs }
  return records.length === 0 ? {} : { waitedMs: Account.waitedMs(attempts, endedAt) }
}

const sealOf = (
  evidence: StoredTurn,
  account: Account.Account,
  end: TurnEvent.TurnEnd,
  redact: Redact
): TurnExplanation.Seal => {
  const { attempts, endedAt, error, sleptMs, status } = end
  const fields = {
    status,
    endedAt,
    attempts,
    sleptMs,
    ...waitedOf(evidence, account, end),
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
