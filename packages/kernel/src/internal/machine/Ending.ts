/**
 * Seals a turn: the remaining events and the seal, in one write.
 *
 * The content until then stays in the history, and is not sent to the model (P12).
 */
import { defined, Failure, type Message, type TurnEvent } from "@holdfast/wire"
import type { Seal } from "../../records/Records.ts"
import { waitedMs } from "../../ports/RetryStrategy.ts"
import * as Judging from "./Judging.ts"
import * as Decisions from "./Decisions.ts"
import type { Ledger, TurnFacts } from "./Ledger.ts"
import * as Responses from "./Responses.ts"
import * as ToolRounds from "./ToolRounds.ts"
import { Batch, called, closeRetryLoop, eventOf, responseOf, spend } from "./Batch.ts"

/** The totals of a turn in its seal. */
export type Tally = Pick<TurnEvent.TurnEnd, "steps" | "attempts" | "sleptMs" | "waitedMs" | "usage">

/** Applies the seal. */
export const seal = (ledger: Ledger, record: Seal): Ledger => {
  const { at, cut } = record
  const { status, failure } = cut ?? outcomeOf(ledger)
  const counted = count(ledger, record)
  const closing = failure === undefined ? new Batch(counted) : remains(counted, ledger, record, status, failure)
  const { step, tally, turn } = counted
  const { shared, sleptMs, usage } = tally
  const attempts = tally.attempts - shared
  const error = status === "failed" ? failure : undefined
  const [end, ...errors] = ending(
    turn,
    { steps: step.number, attempts, sleptMs, waitedMs: tally.waitedMs, usage },
    {
      status,
      failure: error,
      report: reportOf(counted) ?? (error && turn.report && Judging.synthetic(attempts, step.number, error)),
      endedAt: at
    }
  )
  const said = closing.emit(...errors, end).done()
  return { ...said, phase: { _tag: "Sealed", end } }
}

/** Makes the seal, and the error event before it if the turn failed. */
export const ending = (
  turn: Pick<TurnFacts, "conversationId" | "turnId">,
  tally: Tally,
  {
    endedAt,
    failure,
    report,
    status
  }: Pick<TurnEvent.TurnEnd, "status" | "endedAt"> & {
    readonly failure: Failure.Failure | undefined
    readonly report: TurnEvent.Report | undefined
  }
): readonly [TurnEvent.TurnEnd, ...ReadonlyArray<TurnEvent.ErrorEvent>] => {
  const end: TurnEvent.TurnEnd = {
    ...eventOf(turn, { type: "turn-end", status, endedAt }),
    ...tally,
    ...defined({ error: failure, report })
  }
  return failure === undefined ? [end] : [end, errorOf(turn, failure)]
}

// --- internal

const outcomeOf = ({
  phase
}: Ledger): { readonly status: "completed" | "failed"; readonly failure?: Failure.Failure } => {
  if (phase._tag === "Ending") return phase.outcome
  if (phase._tag === "Entering" && phase.stuck !== undefined) return { status: "failed", failure: phase.stuck }
  throw new Error(`the turn cannot be sealed without a cut: it is ${phase._tag}`)
}

/** Counts the call or wait that was under way when the turn ended. */
const count = (ledger: Ledger, { at, cut }: Seal): Ledger => {
  const { phase, step } = ledger
  // A16: if a decision was under way, the time counts from its failure on.
  const failingSince = step.failingSince ?? (phase._tag === "Deciding" ? phase.failedCall.endedAt : undefined)
  const closed = closeRetryLoop({ ...ledger, step: { ...step, failingSince } }, at)
  const { tally } = closed
  if (cut === undefined) return closed
  switch (phase._tag) {
    case "Entering":
    case "Calling":
      return { ...closed, tally: spend(cut.called === true ? called(tally) : tally, cut.said?.usage) }
    case "Deciding":
      return { ...closed, tally: spend(tally, phase.failedCall.last?.usage) }
    case "Compacting":
      return { ...closed, tally: spend(tally, phase.tooLong.usage) }
    case "Waiting": {
      const { retry, failedCall, wakes } = phase.wait
      const waited = { ...tally, waitedMs: tally.waitedMs + waitedMs(retry, wakes, at) }
      return { ...closed, tally: spend(waited, failedCall.last?.usage) }
    }
    default:
      return closed
  }
}

/** Closes the open chain of retries, and the response or the tool calls that are under way. */
const remains = (
  counted: Ledger,
  { phase }: Ledger,
  { at, cut }: Seal,
  status: TurnEvent.TurnStatus,
  failure: Failure.Failure
): Batch => {
  const ended = phase._tag === "Ending" && phase.outcome.status === "failed" ? phase.outcome : undefined
  const finalError = status === "aborted" ? Decisions.CANCELLED : (ended?.finalError ?? failure.message)
  const batch = new Batch(counted)
  if (phase._tag === "Calling" && phase.isShown)
    batch.emit(Responses.discarded(counted.turn, counted.step.number, Responses.LOST))
  batch.closeChain({ success: false, finalError })
  const said = unfinishedOf(counted, cut)
  if (said !== undefined) return batch.add((ledger) => responseOf(ledger, said, at, failure))
  // The model's context answers calls without a result with `ModelContext.INTERRUPTED`.
  const message = phase._tag === "Tools" ? ToolRounds.answers(counted, phase.round, at) : undefined
  return message === undefined ? batch : batch.add(() => message)
}

/** The response that is under way, or the last one if the history does not have it yet. */
const unfinishedOf = (
  { phase }: Ledger,
  cut: Seal["cut"]
): Pick<Message.AssistantMessage, "content" | "usage"> | undefined => {
  switch (phase._tag) {
    case "Entering":
    case "Calling":
      return cut?.said
    case "Deciding":
      return phase.failedCall.last
    case "Compacting":
      return phase.tooLong
    case "Waiting":
      return phase.wait.failedCall.last
    case "Ending":
      return phase.outcome.status === "failed" ? phase.outcome.last : undefined
    default:
      return undefined
  }
}

const reportOf = (ledger: Ledger): TurnEvent.Report | undefined =>
  ledger.report ?? (ledger.phase._tag === "Tools" ? ToolRounds.reportIn(ledger, ledger.phase.round) : undefined)

const errorOf = (
  turn: Pick<TurnFacts, "conversationId" | "turnId">,
  failure: Failure.Failure
): TurnEvent.ErrorEvent => {
  const code = Failure.codeOf(failure)
  return eventOf(turn, {
    type: "error",
    message: failure.message,
    reason: failure.reason,
    ...defined({ code })
  })
}
