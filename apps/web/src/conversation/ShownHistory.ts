/** The part of a history that has an entry. Pure. */
import type { ConversationView } from "@holdfast/client"

type History = ConversationView.ConversationView["history"]

/**
 * A history without the ends of questions about tool calls.
 *
 * A question is closed as a chain of retries is, but no attempt was repeated: its end is the `retry-end` behind the message with the calls.
 */
export const of = (history: History): History =>
  history.filter((event, index) => event.type !== "retry-end" || !hasCalls(history[index - 1]))

// --- internal

const hasCalls = (event: History[number] | undefined): boolean =>
  event?.type === "message" &&
  event.message.role === "assistant" &&
  event.message.content.some(({ type }) => type === "tool-call")
