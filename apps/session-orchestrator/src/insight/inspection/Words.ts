/**
 * Writes the sentences of an explanation, with moments in UTC (`Rfc3339.local`). Pure.
 *
 * A sentence contains the facts of the fields, and nothing else; numbers count from 1. A provider's text is quoted, on one line.
 */
import { Directive } from "@holdfast/kernel"
import { Count, Failure, HeldCall, type TurnExplanation, Rfc3339 } from "@holdfast/wire"
import * as Prose from "../../base/text/Prose.ts"
import * as DurationText from "../../base/text/DurationText.ts"

/** A value without its sentence. */
type Fields<A> = A extends unknown ? Omit<A, "words"> : never

type Attempt = Fields<TurnExplanation.ExplainedAttempt>
type Retry = Fields<TurnExplanation.ExplainedRetry>
type GaveUp = Fields<TurnExplanation.GaveUp>
type WaitEnd = Fields<TurnExplanation.WaitEnd>

/** A sentence, or a part of one, for each value of a field. */
type Sentences<Field extends string, Facts extends ReadonlyArray<unknown>> = {
  readonly [Value in Field]: (...facts: Facts) => string
}

/** The failure as one clause: `overloaded, 529 overloaded_error: "Overloaded"`. */
export const failure = ({ code, message, reason, status }: Failure.Failure): string => {
  const codes = [...(status === undefined ? [] : [String(status)]), ...(code === undefined ? [] : [code])].join(" ")
  return `${reason}${codes === "" ? "" : `, ${codes}`}: "${Prose.oneLine(message)}"`
}

/** The delay that the provider asked for, and where it was found. Empty if it asked for none. */
export const asking = ({ evidence = {}, hint }: Failure.Failure): string =>
  hint === undefined
    ? ""
    : `The provider asked for ${DurationText.format(hint.retryAfterMs)} (${source(hint, evidence)}).`

/** Further data of the provider's response: a hint, with where it was found, and the request's id. Empty if there is none. */
export const evidence = (failure: Failure.Failure): string => {
  const { evidence = {}, hint } = failure
  const asked = hint === undefined ? [] : [asking(failure)]
  const others = Object.entries(evidence).filter(([name]) => name !== hint?.source)
  const headers = others.map(([name, value]) => `${name}: ${Prose.oneLine(value)}`)
  return [...asked, ...(headers.length === 0 ? [] : [`Its answer had ${headers.join(", ")}.`])].join(" ")
}

/** The endpoint's full response; empty if the failure's message contains all of it. */
export const body = ({ body }: Pick<TurnExplanation.ExplainedAttempt, "body">): string =>
  body === undefined ? "" : `It answered in full: ${Prose.oneLine(body)}`

/** The outcome of an attempt. */
export const attempt = (attempt: Attempt): string =>
  attempt.compaction === undefined
    ? ATTEMPTS[attempt.outcome](`Attempt ${attempt.attempt + 1}`, attempt)
    : COMPACTIONS[attempt.compaction](`Call ${attempt.attempt + 1}, for a summary,`, attempt.failure)

/** The decision about a failure, and its reason. */
export const decision = (decision: Fields<TurnExplanation.ExplainedDecision>, failed: Failure.Failure): string =>
  decision.type === "retry" && decision.resumes === true
    ? `The gate had made this attempt early; it costs nothing, and the turn is back in its wait: retry ${decision.retry + 1} at ${Rfc3339.format(decision.retryAt)}.${voided(decision)}`
    : decision.type === "retry"
      ? `Retry ${decision.retry + 1} ${whenOf(decision, failed)}${whereOf(decision)}${spentWith(decision, failed)}.${voided(decision)}`
      : `Gave up: ${WHY_NOT[decision.because](decision, failed)}.`

/** A command's change of a wait. */
export const change = (change: Fields<TurnExplanation.WaitChange>): string =>
  change.type === "moved"
    ? `The wait was moved to ${Rfc3339.format(change.until)}${by(change)}.`
    : `${DurationText.format(change.byMs)} were added to the budget${by(change)}.`

/** A death of the service during a wait. */
export const death = ({ at: foundAt }: Fields<TurnExplanation.WaitDeath>): string =>
  `The service's process died; the next one found the wait at ${Rfc3339.format(foundAt)}, and it went on to its own end.`

/** A wait's question, and until when an answer is accepted. */
export const asked = ({ asks, until }: Fields<TurnExplanation.ExplainedQuestion>): string =>
  `${Prose.oneLine(asks.message)} The turn asked, and waits for an answer until ${Rfc3339.format(until)}.`

/** Whether a wait is for an answer. */
export const isAsking = ({ asked, end, retryAt }: TurnExplanation.ExplainedWait): boolean =>
  asked !== undefined && end === undefined && asked.until === retryAt

/** When a wait was due. If it was moved to a past time: when that command was taken. */
export const dueAt = ({ changes, retryAt }: Pick<TurnExplanation.ExplainedWait, "changes" | "retryAt">): number =>
  Math.max(retryAt, changes.findLast(({ type }) => type === "moved")?.at ?? retryAt)

/** How a wait of a conversation ended that was due at `due` (epoch milliseconds). */
export const waitEnd = (end: WaitEnd, due: number, conversationId: string): string =>
  `The ${WAIT_ENDS[end.type](end, due, conversationId)}.`

/** Whether a turn was woken later than a busy process explains. */
export const isLate = (end: WaitEnd, due: number): boolean => lateMs(end, due) >= LATE_MS

/** Whether the end of a wait needs no words: it ended on time, and its gate let the turn in within a moment. */
export const isOnTime = (end: WaitEnd, due: number): boolean =>
  end.type === "elapsed" && held(end) === "" && !isLate(end, due)

/** How long a turn was held at its endpoint's gate, beyond the end of its wait. */
const held = ({ heldMs }: WaitEnd): string =>
  heldMs === undefined || heldMs < LATE_MS
    ? ""
    : `, and the turn was held for ${DurationText.format(heldMs)} until the gate let it in`

/** That a step was the last, and why; empty if it was not. */
export const last = (final: string | undefined): string => {
  if (final === undefined) return ""
  const why = WHY_LAST[final] ?? final
  return `, the last step: ${why}`
}

/** The outcome of a tool call. */
export const tool = ({ outcome, tool, toolName }: Fields<TurnExplanation.ExplainedTool>): string =>
  `Tool call ${tool + 1}, ${Prose.oneLine(toolName)}, ${TOOLS[outcome]}`

/** A question about a tool call, and its answer. */
export const approval = (approval: Fields<TurnExplanation.ExplainedApproval>): string => {
  const { askedAt, outcome, reason, until } = approval
  if (outcome === "open")
    return `It needs approval. The turn asked at ${Rfc3339.format(askedAt)}, and waits for an answer until ${Rfc3339.format(until)}.`
  const answers = {
    approved: `was approved${by(approval)}`,
    refused: `was refused${by(approval)}${reason === undefined ? "" : `: ${Prose.oneLine(reason)}`}`,
    unanswered: `got no answer until ${Rfc3339.format(until)}, which refused it`
  }
  return outcome === "cut-short"
    ? "It needed approval, and the turn ended before there was an answer."
    : ended(`It needed approval, and ${answers[outcome]}`)
}

/** How the turn ended. */
export const seal = ({ attempts, error, sleptMs, status, waitedMs }: Fields<TurnExplanation.ExplainedSeal>): string => {
  const waited = waiting(sleptMs, waitedMs)
  const effort = `after ${Count.of(attempts, "call")}${waited === "" ? "" : ` and ${waited}`}`
  const how = status === "completed" ? "was answered" : status === "aborted" ? "was aborted" : status
  return ended(`The turn ${how} ${effort}${because(error)}`)
}

/**
 * How long a turn waited, and the scheduled time of its waits if they were cut short: `4 h 15 m of waiting (4 h 39 m 45 s were scheduled)`.
 * Empty if it did not wait. Older seals have only the scheduled time.
 */
export const waiting = (sleptMs: number, waitedMs: number | undefined): string => {
  const scheduled = DurationText.format(sleptMs)
  if (waitedMs === undefined) return sleptMs === 0 ? "" : `${scheduled} of scheduled waiting`
  // Timers of a busy process are not exact to the millisecond.
  const isAsScheduled = Math.abs(waitedMs - sleptMs) < LATE_MS
  if (isAsScheduled) return sleptMs === 0 ? "" : `${scheduled} of waiting`
  const waited = `${waitedMs < LATE_MS ? DurationText.format(waitedMs) : DurationText.format(wholeSeconds(waitedMs))} of waiting`
  return waitedMs < sleptMs ? `${waited} (${scheduled} were scheduled)` : waited
}

/** What has interrupted a turn. */
export const interruption = ({ deaths, defects }: Fields<TurnExplanation.ExplainedInterruption>): string =>
  ended(
    [
      ...(deaths < 2 ? [] : [`The process died ${deaths} times in a row in the middle of this turn`]),
      ...(defects === 0 ? [] : [`Holdfast itself failed ${Count.of(defects, "time")} while it ran this turn`])
    ].join(". ")
  )

// --- internal

const ATTEMPTS: Sentences<TurnExplanation.ExplainedOutcome, [name: string, attempt: Attempt]> = {
  completed: (name, { finishReason }) =>
    `${name} was answered${finishReason === undefined ? "" : ` (${finishReason})`}.`,
  failed: (name, attempt) => {
    const failed = attempt.failure
    if (failed !== undefined && Failure.isOfSpendLimit(failed))
      return `${name} was not made: ${Prose.oneLine(failed.message)}`
    if (failed?.shared === true)
      return ended(`${name} was not made, because another turn's call had just failed here: ${failure(failed)}`)
    return `${ended(`${name} failed ${whenFailed(attempt)}${because(failed)}`)}${wasted(attempt)}`
  },
  lost: (name) =>
    `${name} was lost: its process died after content had left. The shown text is void; the attempt costs no retry.`,
  "cut-short": (name, { hasContent }) =>
    `${name} was cut short${hasContent ? ", after content had left" : ""}: the turn ended.`,
  "under-way": (name, { hasContent }) => `${name} is under way${hasContent ? ", and content has left" : ""}.`
}

const COMPACTIONS: Sentences<TurnExplanation.ExplainedCompaction, [name: string, failed: Failure.Failure | undefined]> =
  {
    compacted: (name) => `${name} was answered: the summary replaces the older messages from here on.`,
    nothing: (name, failed) => {
      const call = failed === undefined ? "" : `${ended(`${name} was too long itself${because(failed)}`)} `
      return `${call}No part of the context could be left out.`
    },
    failed: (name, failed) => ended(`${name} failed${because(failed)}`)
  }

const TOOLS: { readonly [O in TurnExplanation.ExplainedToolOutcome]: string } = {
  answered: "was answered.",
  failed: "failed; the model got the error.",
  unknown:
    "was running when its process died. It was not run again; the model was informed that its outcome is unknown.",
  "cut-short": "was cut short: the turn ended.",
  "under-way": "is under way."
}

const WAIT_ENDS: Sentences<WaitEnd["type"], [end: WaitEnd, due: number, conversationId: string]> = {
  elapsed: (end, due, conversationId) => `wait was over${held(end)}${late(end, due, conversationId)}`,
  "retry-now": (end) =>
    isByGate(end)
      ? `wait was ended early by ${end.by?.origin ?? "the gate"}`
      : `wait was ended${by(end)}, to retry at once`,
  switched: (end) => `wait was ended${by(end)}, to continue on ${end.target ?? "another target"}`,
  cancelled: (end) => `wait was ended${by(end)}, and the retries given up`,
  aborted: () => "wait was ended by an abort of the turn",
  broken: () => "wait itself failed, and there is no retry without it",
  unanswered: () => "question got no answer, and the turn gave up"
}

const isByGate = ({ rules, type }: WaitEnd): boolean => type === "retry-now" && rules.includes("X5")

/** How late a wait ended, if a busy process does not explain it. */
const late = (end: WaitEnd, due: number, conversationId: string): string => {
  if (!isLate(end, due)) return ""
  const why = HeldCall.isHeld(conversationId) ? "it waited for its program" : "nothing ran this turn"
  return `, ${DurationText.format(wholeSeconds(lateMs(end, due)))} late: ${why}, or the machine slept`
}

/** A failure as the cause of what stands before it. */
const because = (failed: Failure.Failure | undefined): string => (failed === undefined ? "" : `: ${failure(failed)}`)

/** By the cause of `final-turn`. */
const WHY_LAST: Readonly<Record<string, string>> = {
  "max-turns": "the turn had used all of its steps",
  context: "the next request would have been too long",
  "malformed-report": "a final report was malformed or incomplete",
  "retries-exhausted": "the step before used up its attempts on invalid responses"
}

/** Timers of a busy process are late by less. */
const LATE_MS = 1000

const lateMs = ({ at, heldMs = 0, type }: WaitEnd, due: number): number =>
  type === "elapsed" && at !== undefined ? at - due - heldMs : 0

/** A sentence with its full stop, unless it ends with one, or in a quotation with one. */
const ended = (text: string): string => (/[.!?]"?$/.test(text) ? text : `${text}.`)

const wholeSeconds = (ms: number): number => Math.floor(ms / 1000) * 1000

const source = (hint: Failure.Hint, evidence: Readonly<Record<string, string>>): string => {
  const value = evidence[hint.source]
  if (value === undefined) return hint.source === "body" ? "in the error itself" : hint.source
  return `${hint.source}: ${Prose.oneLine(value)}`
}

const whenFailed = ({ hasContent, isUnseen }: Attempt): string => {
  if (!hasContent) return "before any content"
  return isUnseen === true ? "after content that no client had received" : "after content had left"
}

/** The tokens of an attempt whose content is void. */
const wasted = ({ decision, usage }: Attempt): string => {
  if (decision?.type !== "retry" || decision.midStream === undefined) return ""
  const { inputTokens, outputTokens } = usage ?? {}
  const known = [
    ...(inputTokens === undefined ? [] : [`${inputTokens} input`]),
    ...(outputTokens === undefined ? [] : [`${outputTokens} output`])
  ]
  return known.length === 0
    ? " Its provider reported no tokens of it."
    : ` It used ${known.join(" and ")} tokens, which count.`
}

/** That the content of the failed attempt is void. */
const voided = ({ midStream }: Retry): string =>
  midStream === undefined ? "" : ` The content of the failed attempt is void: midStream is ${midStream}.`

const by = ({ by }: { readonly by?: TurnExplanation.By }): string =>
  by === undefined ? "" : ` by ${Prose.oneLine(by.origin)}, command ${by.commandId}`

const whenOf = (decision: Retry, failed: Failure.Failure): string =>
  decision.delayMs === 0 ? "at once" : `at ${Rfc3339.format(decision.retryAt)}, after ${lengthOf(decision, failed)}`

/** The target and credential of a retry that was sent elsewhere. */
const whereOf = ({ credential, role, target }: Retry): string => {
  if (target === undefined) return ""
  const key = credential === undefined ? "" : ` with credential ${Prose.oneLine(credential)}`
  return `, on ${target}${key}${role === undefined ? "" : `, of the chain ${Prose.oneLine(role)}`}`
}

/** The wait, and the source of its length. */
const lengthOf = (decision: Retry, { hint }: Failure.Failure): string => {
  const { clipped, delayMs, hintMs = 0, isEarlier, jitterMs = 0, scheduledMs } = decision
  const wait = DurationText.format(delayMs)
  if (scheduledMs === undefined) return wait
  const isHint = hintMs > scheduledMs
  const theirs = isEarlier === true ? "as its provider had asked before:" : "the provider's"
  const base = isHint ? theirs : "the schedule's"
  const other = isHint ? `longer than the schedule's ${DurationText.format(scheduledMs)}` : unheeded(decision, hint)
  const beside = other === "" ? "" : `, ${other}`
  if (jitterMs === 0 && clipped === undefined) return `${wait}, ${base.replace(/:$/, "")}${beside}`
  const cut = clipped === undefined ? "" : ", cut to what was left of the budget"
  const chance = jitterMs === 0 ? "" : ` and ${DurationText.format(jitterMs)} of jitter`
  return `${wait}: ${base} ${DurationText.format(Math.max(hintMs, scheduledMs))}${chance}${beside}${cut}`
}

/** A hint that changed nothing. */
const unheeded = ({ hintMs, isEarlier, target }: Retry, hint: Failure.Hint | undefined): string => {
  if (hintMs !== undefined)
    return isEarlier === true
      ? `no shorter than the ${DurationText.format(hintMs)} that its provider had asked for before`
      : `no shorter than the provider's ${DurationText.format(hintMs)}`
  // One target's hint does not count for another.
  return hint === undefined || target !== undefined
    ? ""
    : `not the provider's ${DurationText.format(hint.retryAfterMs)}, which is not followed (retry.hints)`
}

/** The sum of the waits, this one included. */
const spentWith = ({ delayMs, onReason, spending }: Retry, { reason }: Failure.Failure): string => {
  const partOf = (spending: TurnExplanation.ExplainedSpending | undefined, on: string): ReadonlyArray<string> => {
    if (spending?.totalMs === undefined) return []
    const { measure, spentMs, totalMs } = spending
    return measure === "scheduled"
      ? [`${DurationText.format(spentMs + delayMs)} of ${DurationText.format(totalMs)} spent${on}`]
      : [`${DurationText.format(spentMs)} of ${DurationText.format(totalMs)} had passed${on}`]
  }
  return [...partOf(spending, ""), ...partOf(onReason, ` on ${reason}`)].map((part) => `; ${part}`).join("")
}

const WHY_NOT: Sentences<TurnExplanation.GaveUpBecause, [decision: GaveUp, failed: Failure.Failure]> = {
  "after-content": ({ midStream }, failed) =>
    `content had left, and shown text is not produced twice: ${whyKept(midStream, failed)}`,
  "not-retryable": (_, failed) => {
    if (failed.evidence?.["x-should-retry"] === "false") return "the provider forbade a retry (x-should-retry)"
    if (Failure.isOfSpendLimit(failed)) return "the limit fails the turn (spend)"
    return failed.reason === "quota-exhausted"
      ? "the quota is used up, and the provider named no time of its reset"
      : `a failure of this kind (${failed.reason}) is not retried`
  },
  "context-overflow": () => "a context that is too long for the model is not sent again",
  defect: () => "this is a bug of the program, and it was retried twice already",
  "no-strategy": () => "no retries were configured",
  disabled: () => "retries are switched off in the configuration (retry.enabled)",
  "switched-off": () => "automatic retries had been switched off for this conversation",
  "max-retries": ({ byReason, limit }, { reason }) => {
    if (limit === undefined) return "the maximum of retries was reached"
    const [after, where] = byReason === true ? [` after ${reason}`, " (retry.reasons)"] : ["", ""]
    return `${Count.of(limit, "retry", "retries")} had been made${after}, and there may be no more${where}`
  },
  "max-delay": ({ limit, refusedMs = 0 }) =>
    `the next wait would be ${DurationText.format(refusedMs)}${limit === undefined ? "" : `, and none may be longer than ${DurationText.format(limit)}`}`,
  budget: ({ byReason, onReason, refusedMs = 0, spending }, { reason }) =>
    `the next wait of ${DurationText.format(refusedMs)} does not fit into the budget${
      byReason === true ? ` for ${reason} (retry.reasons)${spentOf(onReason)}` : spentOf(spending)
    }`,
  exhausted: () => "the strategy had no further retry"
}

/** Why content was not void. */
const whyKept = (midStream: TurnExplanation.GaveUp["midStream"], failed: Failure.Failure): string => {
  if (midStream === "fail" || midStream === undefined) return "midStream is fail"
  if (!Directive.isOfTransport(failed)) return `midStream is ${midStream}, and this is no failure of the transport`
  return `midStream is ${midStream}, and a client had received some of it`
}

const spentOf = (spending: TurnExplanation.ExplainedSpending | undefined): string => {
  if (spending?.totalMs === undefined) return ""
  const { measure, spentMs, totalMs } = spending
  return `: ${DurationText.format(spentMs)} of ${DurationText.format(totalMs)} ${measure === "scheduled" ? "were spent" : "had passed"}`
}
