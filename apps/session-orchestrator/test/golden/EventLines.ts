/** The events of a conversation as one line each: what must be the same whenever it is resumed, without times and wordings. */
import { Message, type TurnEvent } from "@holdfast/wire"

export const linesOf = (events: ReadonlyArray<TurnEvent.PersistedEvent>): ReadonlyArray<string> => events.map(lineOf)

// --- internal

const lineOf = (event: TurnEvent.PersistedEvent): string => {
  switch (event.type) {
    case "message":
      return `message ${event.message.role}: ${textOf(event.message)}`
    case "tool-call":
      return `tool-call ${event.toolCallId} ${event.toolName}`
    case "tool-result":
      return `tool-result ${event.toolCallId} ${event.toolName}${event.isError ? " failed" : ""}`
    case "retry-end":
      return `retry-end ${event.success ? "success" : "failure"} attempt=${event.attempt}`
    case "retry-fallback-applied":
      return `retry-fallback-applied ${event.from} -> ${event.to} (${event.role})`
    case "retry-fallback-succeeded":
      return `retry-fallback-succeeded ${event.model} (${event.role})`
    case "model-change":
      return `model-change ${event.from} -> ${event.to}`
    case "final-turn":
      return `final-turn ${event.step} ${event.cause}`
    case "error":
      return `error ${event.reason}`
    case "turn-end": {
      const { attempts, report, sleptMs, status, steps } = event
      const handedIn = report === undefined ? "" : ` report=${report.source}`
      return `turn-end ${status} steps=${steps} attempts=${attempts} sleptMs=${sleptMs}${handedIn}`
    }
    default:
      return event.type
  }
}

/** Texts of a person or a model; Holdfast's own instructions may change their wording. */
const textOf = (message: Message.Message): string => {
  if (message.role === "tool") return message.content.map(({ toolCallId }) => toolCallId).join(" ")
  return message.role === "user" && message.synthetic ? "(an instruction)" : Message.textOf(message)
}
