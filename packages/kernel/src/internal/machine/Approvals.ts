/**
 * Asks a person about tool calls that need approval.
 *
 * - Calls that need none run first. Then there is one question about the others; the approved ones run when each has its answer.
 * - A call needs approval if its definition says so when the question is due. A call that has begun to run needs none: it was
 *   approved, or needed none then.
 * - The end of the time for an answer, and a command that gives up, refuse the calls without an answer. The turn continues.
 * - A question is a chain of its own to clients: `provider-retry` opens it, `retry-end` closes it (P11).
 */
import { type Message, Millis, type TurnEvent } from "@holdfast/wire"
import * as RetryEvent from "../../turn/RetryEvent.ts"
import type { Wake } from "../../records/Records.ts"
import type { ToolDefinition } from "../../ports/Toolbox.ts"
import type { Approval, Ledger, Round } from "./Ledger.ts"
import * as ToolQuestion from "../../turn/ToolQuestion.ts"
import * as Judging from "./Judging.ts"
import { Batch, targetNameOf } from "./Batch.ts"

/** Returns the time for an answer about a call, in milliseconds; `undefined`: the call needs none, or has it. */
export const withinMs = (
  { isFinal, turn }: Ledger,
  { approvals, asked, begun, calls }: Round,
  number: number,
  tools: ReadonlyArray<ToolDefinition>
): number | undefined => {
  const call = calls[number]
  if (call === undefined || approvals[number] !== undefined) return undefined
  if (isIn(asked?.asks, call)) return 0
  const needsNone = begun[number] !== undefined || isFinal || call.malformed !== undefined
  if (needsNone || Judging.isReport(turn.report, call)) return undefined
  return tools.find(({ name }) => name === call.toolName)?.confirmWithinMs
}

/** Where no strategy can wait for a person. */
export const UNASKED: Approval = {
  refusal: "This call needs the approval of a person, and there is no way to ask here."
}

/** Applies a record of a question. */
export const woken = (ledger: Ledger, before: Round, wake: Wake): Ledger => {
  const { asked: open, calls, parts } = before
  const asked = ToolQuestion.after(open, wake)
  const next = (approvals: Round["approvals"]): Ledger => ({
    ...ledger,
    phase: { _tag: "Tools", round: { ...before, parts: parts + 1, approvals, asked } }
  })
  if (wake.type === "asked") return { ...next(before.approvals), chain: 0 }
  if (open === undefined) return next(before.approvals)
  const given = approvalOf(open, wake)
  const isAnswered = (call: Message.ToolCallPart) => isIn(open.asks, call) && !isIn(asked?.asks, call)
  const answered = next(calls.map((call, i) => before.approvals[i] ?? (isAnswered(call) ? given : undefined)))
  return asked === undefined ? new Batch(answered).closeChain({ success: true }).done() : answered // P11
}

/** Makes the event of a question: emitted before its sleep, and again when its deadline is moved. */
export const eventOf = (ledger: Ledger, { asks, since, until }: ToolQuestion.Open): TurnEvent.ProviderRetry =>
  RetryEvent.of({
    ...ledger.turn,
    attempt: 0,
    delayMs: Math.max(0, until - since),
    retryAt: until,
    failure: ToolQuestion.failureOf(asks),
    target: targetNameOf(ledger),
    maxRetries: undefined,
    asks
  })

// --- internal

const isIn = (asks: TurnEvent.Asks | undefined, { toolCallId }: Message.ToolCallPart): boolean =>
  asks?.calls?.some((call) => call.toolCallId === toolCallId) === true

/** The answer in the record of a call's end of waiting. */
const approvalOf = ({ since, until }: ToolQuestion.Open, wake: Wake): Approval => {
  const { at = until } = wake
  if (wake.type === "elapsed") return { refusal: `No person approved this call within ${Millis.format(at - since)}.` }
  if (wake.type !== "answered") return { refusal: "A person refused this call." }
  return wake.approved ? {} : { refusal: `A person refused this call${wake.reason ? `: ${wake.reason}` : "."}` }
}
