/** Finds the events that the log warns of. Retries are reported elsewhere. */
import type { Message, TurnEvent } from "@holdfast/wire"

/** One line per warning, without its turn. */
export const of = (event: TurnEvent.PersistedEvent): ReadonlyArray<string> => {
  switch (event.type) {
    case "final-turn": // rule A11
      return [
        ...(event.cause === "malformed-report" ? [shortened(event)] : []),
        `step ${event.step + 1} is the turn's last (${event.cause}): it has no tools, except the final report if one is required.`
      ]
    case "synthetic-retry": // rule A9
      return [
        `a response of step ${event.step + 1} was invalid, and is requested again; guidance to the model: ${event.guidance}`
      ]
    case "turn-end": // rule A14
      return event.report?.source === "synthetic" ? [failureReport(event.report)] : []
    case "message":
      return event.message.role === "assistant" ? event.message.content.flatMap(malformed) : []
    default:
      return []
  }
}

// --- internal

/** Rule A12: under the name that the seed's logs use. */
const shortened = ({ shortenedFrom, step }: TurnEvent.FinalTurn): string =>
  `agent:orchestrator: a final report was malformed or incomplete, so maxTurns is ${step + 1} instead of ${shortenedFrom ?? "unlimited"}.`

/** Rule A14: under the name that the seed's logs use. */
const failureReport = ({ content }: TurnEvent.Report): string =>
  `agent:failure-report: there is no final report; the synthetic report is ${JSON.stringify(content)}`

/** Rule A10: whole, as this is the only place that keeps the arguments in one piece. */
const malformed = (part: Message.AssistantPart): ReadonlyArray<string> =>
  part.type === "tool-call" && part.malformed !== undefined
    ? [
        `the arguments of a call of ${part.toolName} could not be read (${part.malformed}): ${JSON.stringify(part.input)}`
      ]
    : []
