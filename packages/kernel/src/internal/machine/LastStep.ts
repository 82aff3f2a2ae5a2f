/**
 * Makes a step the last when the turn reaches a limit (A11).
 *
 * - The model is instructed that the step is the last, and only the report is offered. This is decided before the step's first
 *   attempt, and recorded: later limits neither make a step the last after it has begun, nor add steps after the last.
 * - It is announced once. Its retries after a rejected response (A9) offer the report alone too.
 * - If no report is required, the step has no tools, and its text is the answer.
 */
import type { Final, FinalCause } from "../../records/Records.ts"
import type { ToolDefinition } from "../../ports/Toolbox.ts"
import type { Last, Ledger } from "./Ledger.ts"
import { Batch, contextOf, entering, eventOf, synthetic } from "./Batch.ts"

/** Returns why the step that is about to begin has to be the last; `undefined`: it does not. */
export const causeOf = (ledger: Ledger, offered: ReadonlyArray<ToolDefinition>): FinalCause | undefined => {
  const { last, step, tally, turn, routing } = ledger
  if (last !== undefined && step.number >= last.step) return last.cause
  const { exceedsContext } = turn.limits ?? {}
  if (exceedsContext === undefined) return undefined
  const prospect = { ...contextOf(ledger, offered), target: routing.route.target, usage: tally.lastUsage }
  return exceedsContext(prospect) ? "context" : undefined
}

/** Applies the record that the step is the last. */
export const announce = (ledger: Ledger, { at, cause }: Final): Ledger => {
  const { step, turn } = ledger
  const { shortenedFrom } = ledger.last ?? {}
  const shortened = cause === "malformed-report" && shortenedFrom !== undefined ? { shortenedFrom } : undefined
  const final = { ...ledger, isFinal: true }
  const instruction = `This is the last step of this turn: ${because(cause)}. ${wayOut(final)}`
  const announced = new Batch(final)
    .emit(eventOf(turn, { type: "final-turn", step: step.number, cause, ...shortened }))
    .add((ledger) => synthetic(ledger, instruction, at))
    .done()
  return { ...announced, phase: { ...entering, isAnnounced: true } }
}

/** Shortens the turn to one more step, in which the model can correct its report (A12). */
export const collapse = (ledger: Ledger): Ledger => {
  const step = ledger.step.number + 1
  const { last } = ledger
  if (last !== undefined && last.step <= step) return ledger
  const shortenedFrom = last === undefined ? undefined : { shortenedFrom: last.step + 1 }
  return { ...ledger, last: { step, cause: "malformed-report", ...shortenedFrom } }
}

/** Makes the next step the last: it offers the report alone (A14). */
export const exhausted = ({ step }: Ledger): Last => ({ step: step.number + 1, cause: "retries-exhausted" })

/** Instructs the model what it can still do. */
export const wayOut = ({ isFinal, turn: { report } }: Ledger): string => {
  if (report === undefined) return "Answer now, in words, with what you have: no tool can be used."
  const { name } = report.tool
  return isFinal
    ? `Call ${name} now, with what you have: nothing else is accepted.`
    : `Call a tool to go on, or ${name} to end with your report: nothing else is accepted.`
}

// --- internal

const because = (cause: FinalCause): string => {
  switch (cause) {
    case "max-turns":
      return "it has as many steps as it may have"
    case "context":
      return "its context is nearly full"
    case "malformed-report":
      return "the final report could not be accepted"
    case "retries-exhausted":
      return "none of the responses before it could be used"
    default:
      return cause satisfies never
  }
}
