/** What a turn does that somebody should find in the log in the morning. Its retries are told elsewhere. */
import type { Message, TurnEvent } from "@holdfast/wire"

/** A line for each thing to be warned of, without its turn. */
export const of = (event: TurnEvent.PersistedEvent): ReadonlyArray<string> => {
  switch (event.type) {
    case "final-turn": // A11
      return [
        ...(event.cause === "malformed-report" ? [shortened(event)] : []),
        `step ${event.step + 1} is the last that it may have (${event.cause}): it has no tools, but a final report's where one is asked for.`
      ]
    case "synthetic-retry": // A9
      return [
        `a response of step ${event.step + 1} would not do, and is asked for again; the model was told: ${event.guidance}`
      ]
    case "turn-end": // A14
      return event.report?.source === "synthetic" ? [failureReport(event.report)] : []
    case "message":
      return event.message.role === "assistant" ? event.message.content.flatMap(malformed) : []
    default:
      return []
  }
}

// --- internal

/** A12: under the name that the seed's logs have it. */
const shortened = ({ shortenedFrom, step }: TurnEvent.FinalTurn): string =>
  `agent:orchestrator: a final report was handed in that would not do, so maxTurns is ${step + 1} instead of ${shortenedFrom ?? "unlimited"}.`

/** A14: under the name that the seed's logs have it. */
const failureReport = ({ content }: TurnEvent.Report): string =>
  `agent:failure-report: there is no final report; in its place stands ${JSON.stringify(content)}`

/** A10: whole, as nobody else keeps it in one piece. */
const malformed = (part: Message.AssistantPart): ReadonlyArray<string> =>
  part.type === "tool-call" && part.malformed !== undefined
    ? [
        `the arguments of a call of ${part.toolName} could not be read (${part.malformed}): ${JSON.stringify(part.input)}`
      ]
    : []
