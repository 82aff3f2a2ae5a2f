/** Finds the model's answer in a turn's events. */
import { Message, type TurnEvent } from "@holdfast/wire"

/** The last message of the model, if there is one. */
export const messageOf = (events: ReadonlyArray<TurnEvent.PersistedEvent>): Message.AssistantMessage | undefined => {
  for (const event of events.toReversed())
    if (event.type === "message" && event.message.role === "assistant") return event.message
  return undefined
}

/** The files of the last message of the model. */
export const filesOf = (events: ReadonlyArray<TurnEvent.PersistedEvent>): ReadonlyArray<Message.ModelFile> =>
  (messageOf(events)?.content ?? []).flatMap((part) => (part.type === "file" ? [part] : []))

/** The text of the last message of the model; empty if there is none. */
export const textOf = (events: ReadonlyArray<TurnEvent.PersistedEvent>): string => {
  const message = messageOf(events)
  return message === undefined ? "" : Message.textOf(message)
}
