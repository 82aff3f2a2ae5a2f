/** Builds the question about tool calls that need approval, and its state after each record. Pure. */
import { type Failure, type Message, Quote, type TurnEvent } from "@holdfast/wire"
import type { Wake } from "../records/Records.ts"

/** The characters of a call's arguments in a question. */
const MOST_QUOTED = 200

/** Makes the part of a question about one call. */
export const callOf = ({ input, toolCallId, toolName }: Message.ToolCallPart): TurnEvent.AskedCall => ({
  toolCallId,
  toolName,
  quoted: Quote.clip(JSON.stringify(input), MOST_QUOTED)
})

/** Makes the question about these calls. */
export const of = (calls: ReadonlyArray<TurnEvent.AskedCall>): TurnEvent.Asks => ({
  because: "tools",
  tokens: 0,
  limit: 0,
  waitedMs: 0,
  message: `A person has to approve ${calls.map(({ quoted, toolName }) => `${toolName} ${quoted}`).join(", ")}.`,
  calls
})

/** A question without all of its answers. Times are in epoch milliseconds. */
export interface Open {
  /** Its calls are those without an answer. */
  readonly asks: TurnEvent.Asks
  readonly since: number
  /** The deadline for an answer. */
  readonly until: number
}

/** Returns the open question among the records of one response's questions, oldest first; `undefined`: there is none. */
export const openIn = (wakes: ReadonlyArray<Wake>): Open | undefined => wakes.reduce<Open | undefined>(after, undefined)

/** The question in the place of a wait's failure: it follows no error. */
export const failureOf = ({ message }: TurnEvent.Asks): Failure.Failure => ({
  reason: "unknown",
  message,
  retryable: false
})

/** Returns the open question after a record; `undefined`: each call has an answer, or none will come. */
export const after = (open: Open | undefined, wake: Wake): Open | undefined => {
  if (wake.type === "asked") return { asks: wake.asks, since: wake.at ?? 0, until: wake.until }
  if (open === undefined || wake.type === "elapsed" || wake.type === "cancelled") return undefined
  const { calls = [] } = open.asks
  const left = calls.filter(({ toolCallId }) => wake.type !== "answered" || wake.toolCallId !== toolCallId)
  if (left.length === 0) return undefined
  return { ...open, asks: of(left), until: wake.type === "until" ? wake.until : open.until }
}
