/**
 * Ends a turn whose steps contain only failed tool calls. Pure.
 *
 * A model that calls a missing tool, or repeats a call that cannot succeed, would spend tokens without end: each step succeeds, so no retry
 * limit counts it.
 */
import { type Failure, type Message, Quote } from "@holdfast/wire"

/** Returns how many steps in a row had only failed tool calls, after a step with these results. */
export const after = (before: number, results: ReadonlyArray<Message.ToolResultPart>): number =>
  results.length > 0 && results.every(({ isError }) => isError) ? before + 1 : 0

/** Returns the failure of the turn; `undefined`: it may continue. A limit of 0 means no limit. */
export const failureOf = (
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

// --- internal

/** An error's first sentences. */
const MOST_CHARACTERS = 300

const wordsOf = (output: Message.ToolResultPart["output"]): string =>
  Quote.clip(typeof output === "string" ? output : JSON.stringify(output), MOST_CHARACTERS)
