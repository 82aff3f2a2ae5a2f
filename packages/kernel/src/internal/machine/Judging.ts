/**
 * Judges whether a response meets what its step requires (A9, A10, A12-A14). Pure.
 *
 * The result is part of the attempt's record, so a schema that changes overnight does not change responses that have been judged.
 *
 * - A rejected response is a failure (invalid-response). It may be retried in spite of D4: a complete response was shown, and
 *   stays shown, so nothing is shown twice.
 * - A rejected report shortens the turn (A12). A call of the report's tool is answered like any failed call. In the final step,
 *   and for a response without a tool call in any step, it is one too: no later step could correct it.
 * - The first valid report is the turn's; a later failure does not remove it (A13).
 */
import { defined, type Failure, JsonShape, type Message, type TurnEvent } from "@holdfast/wire"
import type * as Schema from "effect/Schema"
import type { FinalReport, Refusal } from "../../ports/FinalReport.ts"
import type { AttemptOutcome } from "../../records/Records.ts"
import type { ToolOutcome } from "../../ports/Toolbox.ts"

type Completed = Extract<AttemptOutcome, { readonly _tag: "Completed" }>
type Failed = Extract<AttemptOutcome, { readonly _tag: "Failed" }>

/** The reason why a response is rejected. */
interface Shortcoming {
  readonly message: string
  /** The fault of the report in the response (A12). */
  readonly report?: Refusal
}

/** Turns a rejected response into its failure. `spread` is drawn for the decision about it. */
export const failedWith = (outcome: Completed, found: Shortcoming, spread: number): Failed => {
  const { finishReason: _, ...said } = outcome
  return {
    ...said,
    _tag: "Failed",
    failure: { reason: "invalid-response", message: found.message, retryable: true },
    contentSeen: false, // it may be retried in spite of D4
    spread,
    whole: true,
    ...defined({ report: found.report })
  }
}

/** Returns the reason why a response is rejected; `undefined`: it is accepted. */
export const shortcoming = (
  { content, finishReason }: Said,
  report: FinalReport["Service"] | undefined,
  isFinal: boolean
): Shortcoming | undefined => {
  const calls = content.filter((part) => part.type === "tool-call")
  if (report === undefined) {
    return isFinal && calls.length > 0
      ? { message: "The response asked for a tool, and no tool could be used." }
      : undefined
  }
  if (calls.length > 0 && !isFinal) return undefined
  const reports = calls.filter((call) => isReport(report, call))
  if (reports.length > 0) {
    const faults = reports.map((call) => call.malformed ?? report.validate(call.input))
    const [first] = reports
    const fault = faults.includes(undefined) ? undefined : faults[0]
    return fault === undefined || first === undefined
      ? undefined
      : { message: `The final report was not valid: ${fault}`, report: refusalOf(first, finishReason) }
  }
  if (calls.length > 0) return { message: "The response asked for a tool other than the final report." }
  const value = inText(content)
  if (value === undefined) {
    return isBegun(content)
      ? { message: "The response ended before its final report was complete.", report: "incomplete" }
      : { message: "The response had neither a tool call nor a final report." }
  }
  const fault = report.validate(value)
  if (fault === undefined) return undefined
  const message = `The final report was not valid: ${fault}`
  return typeof value === "object" && value !== null ? { message, report: "invalid" } : { message }
}

/** Returns the fault of a rejected call of the report's tool. */
export const refusalOf = (
  { malformed }: Pick<Message.ToolCallPart, "malformed">,
  finishReason: Message.FinishReason
): Refusal => (malformed === undefined ? "invalid" : finishReason === "length" ? "incomplete" : "malformed")

/** Whether a call submits the report. */
export const isReport = (
  report: FinalReport["Service"] | undefined,
  { toolName }: Pick<Message.ToolCallPart, "toolName">
): boolean => toolName === report?.tool.name

/** Answers a call of the report's tool whose arguments could be read. */
export const answer = (report: FinalReport["Service"], { input }: Message.ToolCallPart): ToolOutcome => {
  const fault = report.validate(input)
  return fault === undefined
    ? { output: "The report was accepted.", isError: false }
    : { output: `The report was not accepted: ${fault}`, isError: true }
}

/** Returns the report in an accepted response: its whole text; `undefined`: the text is none. */
export const reportIn = (content: ReadonlyArray<Message.AssistantPart>): TurnEvent.Report | undefined => {
  const value = inText(content)
  return value === undefined ? undefined : { source: "tool-message", success: true, content: value }
}

/** Makes the report of a turn that failed without one (A14). `step` is 0-based. */
export const synthetic = (calls: number, step: number, failure: Failure.Failure): TurnEvent.Report => ({
  source: "synthetic",
  success: false,
  content: { reason: failure.reason, context: `After ${calls} attempt(s), in step ${step + 1}: ${failure.message}` }
})

// --- internal

/** The parts of a response that are judged. */
type Said = Pick<Completed, "content" | "finishReason">

/** Whether a text begins like a report: with an object, often inside a code fence. */
const isBegun = (content: ReadonlyArray<Message.AssistantPart>): boolean =>
  /^\s*(?:```\w*\s*)?\{/.test(wordsOf(content))

const wordsOf = (content: ReadonlyArray<Message.AssistantPart>): string =>
  content.map((part) => (part.type === "text" ? part.text : "")).join("")

const inText = (content: ReadonlyArray<Message.AssistantPart>): Schema.Json | undefined => {
  const text = wordsOf(content)
  // What reads a report later recurses, so a text that is nested too deeply is none.
  return JsonShape.isTextTooDeep(text) ? undefined : JsonShape.parse(text)
}
