/** How a turn ended, from its events. */
import type { Failure, TurnEvent } from "@holdfast/wire"

/** How a turn ended. */
export interface TurnResult {
  readonly turnId: string
  readonly status: TurnEvent.TurnStatus
  /** The text of its last answer. */
  readonly text: string
  /** Set on `failed`. */
  readonly error?: Failure.Failure
  /** The event of the end: attempts, waits, usage, report. */
  readonly end: TurnEvent.TurnEnd
}

/** The text of the answer that an event has; absent where it has none. */
export const answerOf = (event: TurnEvent.TurnEvent): string | undefined =>
  event.type === "message" && event.message.role === "assistant"
    ? event.message.content.map((part) => (part.type === "text" ? part.text : "")).join("")
    : undefined

/** The result of a turn, from its end and its last answer. */
export const resultOf = (end: TurnEvent.TurnEnd, text: string): TurnResult => {
  const { error, status, turnId } = end
  return { turnId, status, text, ...(error === undefined ? undefined : { error }), end }
}
