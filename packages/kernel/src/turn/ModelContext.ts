/**
 * Selects the messages of a history that are sent to the model.
 *
 * - No failed response: it stays in the history and leaves the context (P12, M1).
 * - Every tool call has its result right after it and every result its call, because providers reject anything else. A call
 *   whose turn ended before its result is answered with `INTERRUPTED`.
 * - Messages that a later summary replaces are left out; the summary comes first, and the messages after them follow (P19).
 *   If there are several summaries, the last one counts: it replaces the others too.
 */
import type { Message } from "@holdfast/wire"

/** The result that the model receives for a call whose end is unknown. */
export const INTERRUPTED = "The call was interrupted before a result came back. Whether it took effect is unknown."

/** Returns the messages to send, oldest first. */
export const of = (history: ReadonlyArray<Message.Message>): ReadonlyArray<Message.Message> => {
  const context: Array<Message.Message> = []
  const summary = summaryOf(history)
  if (summary !== undefined) context.push(summary)
  for (let i = behind(history, summary); i < history.length; i++) {
    const message = history[i]
    if (message === undefined || message.role === "tool") continue
    if (message.role === "user") {
      if (message.summary === undefined) context.push(message)
      continue
    }
    if (message.error !== undefined) continue
    context.push(message)
    const calls = message.content.filter((part) => part.type === "tool-call")
    if (calls.length > 0) context.push(resultsOf(message, calls, history[i + 1]))
  }
  return context
}

// --- internal

const summaryOf = (history: ReadonlyArray<Message.Message>): Message.UserMessage | undefined => {
  for (let i = history.length - 1; i >= 0; i--) {
    const message = history[i]
    if (message?.role === "user" && message.summary !== undefined) return message
  }
  return undefined
}

/** The index of the first message that a summary does not replace. */
const behind = (history: ReadonlyArray<Message.Message>, summary: Message.UserMessage | undefined): number => {
  const upTo = summary?.summary?.upTo
  return upTo === undefined ? 0 : history.findIndex(({ id }) => id === upTo) + 1
}

const resultsOf = (
  asked: Message.AssistantMessage,
  calls: ReadonlyArray<Message.ToolCallPart>,
  next: Message.Message | undefined
): Message.ToolMessage => {
  const given = next?.role === "tool" ? next.content : []
  const content = calls.map(
    ({ toolCallId, toolName }): Message.ToolResultPart =>
      given.find((result) => result.toolCallId === toolCallId) ?? {
        type: "tool-result",
        toolCallId,
        toolName,
        output: INTERRUPTED,
        isError: true
      }
  )
  return next?.role === "tool"
    ? { ...next, content }
    : { role: "tool", id: asked.id, turnId: asked.turnId, createdAt: asked.createdAt, content }
}
