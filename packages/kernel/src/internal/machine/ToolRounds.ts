/**
 * Applies the tool calls of one response, answered in the order of the calls.
 *
 * - Calls run at the same time. Results are persisted in the order of the calls, each as soon as it and all before it are there:
 *   the order in which tools finish differs when a turn runs again.
 * - The first accepted report, in the order of the calls, is the turn's (A13); a rejected report shortens the turn (A12).
 * - Files of a result are in its record and in its message. The event `tool-result` has their placeholders.
 */
import { type Message, type TurnEvent, type Failure, Quote, defined } from "@holdfast/wire"
import { MOST_FAILED_TOOL_STEPS } from "../../turn/TurnLimits.ts"
import type { Begun, ToolResult } from "../../records/Records.ts"
import * as Judging from "./Judging.ts"
import * as LastStep from "./LastStep.ts"
import type { Ledger, Round } from "./Ledger.ts"
import { Batch, eventOf, persist, stepOf, headOf, entering } from "./Batch.ts"

/** Begins the tool calls of a response. */
export const begin = (
  ledger: Ledger,
  calls: ReadonlyArray<Message.ToolCallPart>,
  finishReason: Message.FinishReason,
  attempt: number
): Ledger => {
  const none = calls.map(() => undefined)
  const round = { calls, finishReason, attempt, parts: 0, asked: undefined, approvals: none }
  return { ...ledger, phase: { _tag: "Tools", round: { ...round, begun: none, results: none, content: [] } } }
}

/** Marks that call `number` is about to run. */
export const begun = (ledger: Ledger, round: Round, number: number, value: Begun): Ledger => ({
  ...ledger,
  phase: { _tag: "Tools", round: { ...round, begun: round.begun.with(number, value) } }
})

/** Adds the result of call `number`, and persists the events of all results before which none is missing. The last result ends the step. */
export const answered = (ledger: Ledger, before: Round, number: number, result: ToolResult): Ledger => {
  const { calls } = before
  const results = before.results.with(number, result)
  const content = [...before.content]
  let told = ledger
  for (const call of calls.slice(content.length)) {
    const next = results[content.length]
    if (next === undefined) break
    const part = partOf(call, next)
    content.push(part)
    const { content: _, ...event } = part
    told = persist(told, [eventOf(ledger.turn, event)])
  }
  const round: Round = { ...before, results, content }
  return content.length < calls.length ? { ...told, phase: { _tag: "Tools", round } } : finished(told, round)
}

/** Returns the first accepted report among the calls, if there is one (A13). */
export const reportIn = ({ turn: { report } }: Ledger, { calls, results }: Round): TurnEvent.Report | undefined => {
  const index = calls.findIndex((call, i) => Judging.isReport(report, call) && results[i]?.isError === false)
  const call = calls[index]
  return call && { source: "tool-call", success: true, content: call.input }
}

/** Makes the message of the persisted results; `undefined`: there is no result. */
export const answers = (ledger: Ledger, { content }: Round, createdAt: number): Message.ToolMessage | undefined =>
  content.length === 0 ? undefined : resultsOf(ledger, content, createdAt)

// --- internal

const resultsOf = (ledger: Ledger, content: Round["content"], createdAt: number): Message.ToolMessage => ({
  role: "tool",
  ...headOf(ledger, createdAt),
  content
})

const partOf = (
  { toolCallId, toolName }: Message.ToolCallPart,
  { content, isError, output }: ToolResult
): Message.ToolResultPart => ({
  type: "tool-result",
  toolCallId,
  toolName,
  output,
  ...defined({ content }),
  isError
})

/** Ends the step, because every call is answered. */
const finished = (ledger: Ledger, round: Round): Ledger => {
  const { calls, content, results } = round
  const { limits, report: port, startedAt } = ledger.turn
  const endedAt = Math.max(startedAt, ...results.flatMap((result) => result?.endedAt ?? []))
  const report = reportIn(ledger, round)
  const isRefused = calls.some((call, i) => Judging.isReport(port, call) && results[i]?.isError === true)
  const said = new Batch(isRefused ? LastStep.collapse(ledger) : ledger)
    .closeChain({ success: true }) // of a question that there is no way to ask any more
    .add((ledger) => resultsOf(ledger, content, endedAt))
    .done()
  const failedToolSteps = failedStepsAfter(ledger.failedToolSteps, content)
  const stuck = stuckBy(failedToolSteps, limits?.maxFailedToolSteps ?? MOST_FAILED_TOOL_STEPS, content)
  return {
    ...said,
    report,
    failedToolSteps,
    step: stepOf(ledger.step.number + 1, endedAt),
    // A13: a report ends its turn in the same step.
    phase: report === undefined ? { ...entering, stuck } : { _tag: "Ending", outcome: { status: "completed" } }
  }
}

/** Returns how many steps in a row had only failed tool calls, after a step with these results. */
const failedStepsAfter = (before: number, results: ReadonlyArray<Message.ToolResultPart>): number =>
  results.every(({ isError }) => isError) ? before + 1 : 0

/** Returns the failure of the turn; `undefined`: it may continue. A limit of 0 means no limit. */
const stuckBy = (
  steps: number,
  most: number,
  results: ReadonlyArray<Message.ToolResultPart>
): Failure.Failure | undefined => {
  if (most === 0 || steps < most) return undefined
  const last = results.at(-1)
  const said = last === undefined ? "" : ` The last one, of ${last.toolName}: ${wordsOf(last.output)}`
  return {
    reason: "invalid-response",
    message: `The model made nothing but failed tool calls in ${steps} steps in a row.${said}`,
    retryable: false
  }
}

/** An error's first sentences. */
const MOST_CHARACTERS = 300

const wordsOf = (output: Message.ToolResultPart["output"]): string =>
  Quote.clip(typeof output === "string" ? output : JSON.stringify(output), MOST_CHARACTERS)
