/** What a turn does that somebody should find in the log in the morning. Its retries are told elsewhere. */
import type { Message, TurnEvent } from "@holdfast/wire"

/** A line for each thing to be warned of, without its turn. */
export const of = (event: TurnEvent.PersistedEvent): ReadonlyArray<string> => {
  switch (event.type) {
    case "final-turn": // A11
      return [
        `step ${event.step + 1} is the last that it may have (${event.cause}): it has no tools, but a final report's where one is asked for.`
      ]
    case "message":
      return event.message.role === "assistant" ? event.message.content.flatMap(malformed) : []
    default:
      return []
  }
}

// --- internal

/** A10: whole, as nobody else keeps it in one piece. */
const malformed = (part: Message.AssistantPart): ReadonlyArray<string> =>
  part.type === "tool-call" && part.malformed !== undefined
    ? [
        `the arguments of a call of ${part.toolName} could not be read (${part.malformed}): ${JSON.stringify(part.input)}`
      ]
    : []
