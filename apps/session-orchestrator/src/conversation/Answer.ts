/** The text that a turn was answered with. */
import { Message, type TurnEvent } from "@holdfast/wire"

/** The last message of the model, where there is one. */
export const messageOf = (events: ReadonlyArray<TurnEvent.PersistedEvent>): Message.AssistantMessage | undefined => {
  for (const event of events.toReversed())
    if (event.type === "message" && event.message.role === "assistant") return event.message
  return undefined
}

/** Its text; empty where there is none. */
export const textOf = (events: ReadonlyArray<TurnEvent.PersistedEvent>): string => {
  const message = messageOf(events)
  return message === undefined ? "" : Message.textOf(message)
}
