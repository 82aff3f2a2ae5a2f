/** The results of the tool calls of a conversation, by the call. Pure. */
import type { ConversationView } from "@holdfast/client"
import type { Message } from "@holdfast/wire"

/** What is known of a call. */
export interface CallResult {
  readonly state: "running" | "succeeded" | "failed"
  readonly output: unknown
}

/** The results by turn and call. An id that two calls of one turn have stands for the later one. */
export type Results = ReadonlyMap<string, CallResult>

/** The results of a view. The same history and calls have the same map. */
export const of = ({
  history,
  toolCalls
}: Pick<ConversationView.ConversationView, "history" | "toolCalls">): Results => {
  if (last !== undefined && last.history === history && last.toolCalls === toolCalls) return last.results
  const results = new Map<string, CallResult>()
  for (const event of history) {
    if (event.type !== "message" || event.message.role !== "tool") continue
    for (const part of event.message.content) {
      results.set(keyOf(event.turnId, part.toolCallId), {
        state: part.isError ? "failed" : "succeeded",
        output: part.output
      })
    }
  }
  const turnId = history.at(-1)?.turnId
  for (const { output, state, toolCallId } of toolCalls) {
    if (turnId !== undefined) results.set(keyOf(turnId, toolCallId), { state, output })
  }
  last = { history, toolCalls, results }
  return results
}

/** The result of a call; `undefined` where there is none yet. */
export const find = (
  results: Results,
  turnId: string,
  { toolCallId }: Pick<Message.ToolCallPart, "toolCallId">
): CallResult | undefined => results.get(keyOf(turnId, toolCallId))

// --- internal

/** One view is drawn at a time. */
let last:
  | {
      readonly history: ConversationView.ConversationView["history"]
      readonly toolCalls: ConversationView.ConversationView["toolCalls"]
      readonly results: Results
    }
  | undefined = undefined

const keyOf = (turnId: string, toolCallId: string): string => `${turnId} ${toolCallId}`
