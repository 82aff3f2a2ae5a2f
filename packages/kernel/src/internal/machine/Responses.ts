/**
 * Applies the outcome of an attempt or a compaction to the ledger.
 *
 * - An error is held back while a retry is possible: clients receive it only in `provider-retry` (D7).
 * - An attempt whose process died after content had left is void: it never continues as if nothing had been shown (X2).
 * - A rejected response stays in the history, leaves the model's context, and is answered by a synthetic message (A9).
 */
import { defined, type Message, type TurnEvent } from "@holdfast/wire"
import * as ModelContext from "../../turn/ModelContext.ts"
import type { AttemptOutcome, CompactionOutcome } from "../../records/Records.ts"
import * as Judging from "./Judging.ts"
import * as LastStep from "./LastStep.ts"
import type { Completed, Failed, Ledger, Phase, FailedCall, TurnFacts } from "./Ledger.ts"
import * as ToolRounds from "./ToolRounds.ts"
import * as RouteChanges from "./RouteChanges.ts"
import {
  Batch,
  called,
  calling,
  closeRetryLoop,
  eventOf,
  messagesOf,
  persist,
  responseOf,
  spend,
  synthetic,
  waste
} from "./Batch.ts"

/** Applies the outcome of attempt `number` of the step. */
export const ended = (ledger: Ledger, number: number, outcome: AttemptOutcome): Ledger => {
  switch (outcome._tag) {
    case "Completed":
      return completed(ledger, number, outcome)
    case "Failed":
      return failed(ledger, number, outcome)
    case "Lost": {
      const { step, tally, turn } = ledger
      const lost = { ...ledger, tally: called(tally), phase: calling(number + 1) }
      return persist(lost, [discarded(turn, step.number, LOST)])
    }
    default:
      return outcome satisfies never
  }
}

/**
 * Applies the outcome of compaction `number` of the step (P19). If nothing could be compacted, a decision about the attempt that was too
 * long follows.
 */
export const compacted = (
  ledger: Ledger,
  { attempt, number, tooLong }: Omit<Extract<Phase, { readonly _tag: "Compacting" }>, "_tag">,
  outcome: CompactionOutcome
): Ledger => {
  const made = { ...ledger, step: { ...ledger.step, hasCompacted: true } }
  switch (outcome._tag) {
    case "Nothing": {
      const tally = outcome.failure === undefined ? made.tally : called(made.tally)
      return { ...made, tally, phase: deciding(failedCallOf(attempt, tooLong)) }
    }
    case "Failed": {
      const { endedAt, failure, spread } = outcome
      const failedCall = { ...failedCallOf(attempt, tooLong), number, failure, spread, endedAt }
      return { ...made, tally: called(made.tally, failure), phase: deciding({ ...failedCall, of: "compaction" }) }
    }
    case "Compacted": {
      const { endedAt, summary, upTo, usage } = outcome
      const stoodFor = ModelContext.of(messagesOf(made)).findIndex(({ id }) => id === upTo) + 1
      return new Batch({ ...made, tally: spend(called(made.tally), usage), phase: calling(number + 1) })
        .emit(eventOf(made.turn, { type: "compaction", summary, messages: stoodFor }))
        .add((ledger) => ({ ...synthetic(ledger, `${PREFACE}\n\n${summary}`, endedAt), summary: { upTo } }))
        .done()
    }
    default:
      return outcome satisfies never
  }
}

/** Whether a failure means that the context is too long, before any content was shown. */
export const isTooLong = ({ contentSeen, failure }: Pick<FailedCall, "contentSeen" | "failure">): boolean =>
  failure.reason === "context-overflow" && !contentSeen

/** Adds a rejected response and the guidance for the model to the history, before the retry (A9). */
export const guide = (ledger: Ledger, outcome: Failed): Ledger => {
  const { endedAt, failure, usage } = outcome
  const guidance = `TURN-FAILED: ${failure.message} ${LastStep.wayOut(ledger)}`
  return new Batch({ ...ledger, tally: spend(ledger.tally, usage) })
    .add((ledger) => responseOf(ledger, outcome, endedAt, failure))
    .emit(eventOf(ledger.turn, { type: "synthetic-retry", step: ledger.step.number, guidance }))
    .add((ledger) => synthetic(ledger, guidance, endedAt))
    .done()
}

/** Voids the content of a failed attempt, before the retry (X7). Its tool calls were not run, and its usage counts. */
export const discard = (
  ledger: Ledger,
  { failure, last }: Pick<FailedCall, "failure" | "last">,
  midStream: TurnEvent.MidStream
): Ledger => {
  const { step, tally, turn } = ledger
  const usage = last?.usage
  const voided: Ledger = {
    ...ledger,
    tally: waste(tally, usage),
    step: { ...step, voids: step.voids + 1, midStream }
  }
  return persist(voided, [discarded(turn, step.number, `${BROKEN} The error was: ${failure.message}`, usage)])
}

/** Makes the event of a step whose text is void: its process died (X2), or its attempt failed (X7). */
export const discarded = (
  turn: Pick<TurnFacts, "conversationId" | "turnId">,
  step: number,
  message: string,
  usage?: Message.Usage
): TurnEvent.StepDiscarded => eventOf(turn, { type: "step-discarded", step, message, ...defined({ usage }) })

/** The message to clients when the process died in the middle of a response (X2). */
export const LOST =
  "Holdfast was restarted in the middle of this answer. What was shown of it is void; it is asked for again."

// --- internal

/** The message to clients when the transport failed in the middle of a response (X7). */
const BROKEN = "This answer broke off. What was shown of it is void; it is asked for again."

const PREFACE = "The conversation until here, summed up, because it had become too long:"

const deciding = (failedCall: FailedCall): Phase => ({ _tag: "Deciding", failedCall })

const failedCallOf = (number: number, outcome: Failed): FailedCall => {
  const { contentSeen, endedAt, failure, spread, unseen, whole } = outcome
  return {
    of: "attempt",
    number,
    failure,
    contentSeen,
    unseen,
    whole: whole === true,
    spread,
    endedAt,
    last: outcome,
    attempt: number
  }
}

const failed = (ledger: Ledger, number: number, outcome: Failed): Ledger => {
  const { step, tally } = ledger
  const { body, failure, report } = outcome
  const counted: Ledger = {
    ...ledger,
    tally: called(tally, failure),
    step: typeof body === "string" ? { ...step, lastBody: body } : step,
    phase: deciding(failedCallOf(number, outcome))
  }
  return report === undefined ? counted : LastStep.collapse(counted) // A12
}

const completed = (ledger: Ledger, number: number, outcome: Completed): Ledger => {
  const { content, endedAt, finishReason, usage } = outcome
  const { turn, step } = ledger
  const calls = content.filter((part) => part.type === "tool-call")
  const over = closeRetryLoop(ledger, endedAt)
  const { routing } = over
  const answered: Ledger = {
    ...over,
    tally: spend(called(over.tally), usage),
    routing: routing.unproven === undefined ? routing : { ...routing, unproven: undefined }
  }
  const said = new Batch(answered)
    .closeChain({ success: true })
    .emit(...RouteChanges.proven(over))
    .emit(
      ...calls.map(({ toolCallId, toolName, input }) =>
        eventOf(turn, { type: "tool-call", toolCallId, toolName, input })
      )
    )
    .emit(...(usage === undefined ? [] : [eventOf(turn, { type: "usage", step: step.number, usage })]))
    .add((ledger) => responseOf(ledger, outcome, endedAt))
    .done()
  if (calls.length > 0) return ToolRounds.begin(said, calls, finishReason, number)
  return {
    ...said,
    report: turn.report === undefined ? undefined : Judging.reportIn(content),
    step: { ...said.step, number: step.number + 1 },
    phase: { _tag: "Ending", outcome: { status: "completed" } }
  }
}
