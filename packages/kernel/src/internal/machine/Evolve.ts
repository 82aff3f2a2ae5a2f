/**
 * Folds records into the ledger of a turn.
 *
 * - It follows the records, not the present settings: a turn that resumes under other settings goes where its records went.
 * - A record that contradicts the ledger is a bug, or a damaged journal: `evolve` throws.
 */
import { Ids, type Message, Prompt, type TurnEvent } from "@holdfast/wire"
import * as Records from "../../records/Records.ts"
import * as Approvals from "./Approvals.ts"
import * as Decisions from "./Decisions.ts"
import * as Ending from "./Ending.ts"
import * as LastStep from "./LastStep.ts"
import type { Ledger, TurnFacts } from "./Ledger.ts"
import * as Responses from "./Responses.ts"
import * as ToolRounds from "./ToolRounds.ts"
import * as RouteChanges from "./RouteChanges.ts"
import { entering, eventOf, NO_TALLY, persist, stepOf } from "./Batch.ts"

/** Makes the ledger of a turn without records. */
export const start = (turn: TurnFacts): Ledger => {
  const { history, limits, startedAt, target } = turn
  const events = firstEvents(turn)
  const [, ...prompts] = events
  const ledger: Ledger = {
    turn,
    phase: entering,
    step: stepOf(0, startedAt),
    routing: { primary: target, route: { target }, unproven: undefined },
    tally: NO_TALLY,
    history: withoutOtherTurns(history),
    added: prompts.map(({ message }) => message),
    last: limits?.maxTurns === undefined ? undefined : { step: limits.maxTurns - 1, cause: "max-turns" },
    isFinal: false,
    report: undefined,
    chain: undefined,
    failedToolSteps: 0,
    position: 0,
    outbox: []
  }
  return persist(ledger, events)
}

/**
 * Returns the first events of a turn, from position 0 on.
 *
 * **Details**
 *
 * They follow from the input alone, so a host may write them together with the turn itself, before the turn runs. The turn emits them
 * again, and the sink drops them because their positions are taken.
 */
export const firstEvents = ({
  conversationId,
  prompt,
  startedAt,
  turnId
}: Pick<TurnFacts, "conversationId" | "turnId" | "prompt" | "startedAt">): readonly [
  TurnEvent.TurnStart,
  ...ReadonlyArray<TurnEvent.MessageEvent>
] => {
  const identity = { conversationId, turnId }
  // M1: a manual retry has no prompt.
  if (prompt === undefined) return [eventOf(identity, { type: "turn-start", startedAt, retry: true })]
  const message: Message.UserMessage = {
    role: "user",
    id: Ids.messageIdOf(turnId, 0),
    turnId,
    createdAt: startedAt,
    content: Prompt.partsOf(prompt)
  }
  return [eventOf(identity, { type: "turn-start", startedAt }), eventOf(identity, { type: "message", message })]
}

/** Folds one record into the ledger. Throws if the record contradicts it. */
export const evolve = (ledger: Ledger, record: Records.TurnRecord): Ledger => {
  const { phase } = ledger
  if (record.kind === "Seal" && phase._tag !== "Sealed") return Ending.seal(ledger, record.value)
  if (record.step !== ledger.step.number) return contradicts(ledger, record)
  const { number } = record
  switch (phase._tag) {
    case "Entering":
      if (record.kind === "Final" && !phase.isAnnounced) return LastStep.announce(ledger, record.value)
      if (record.kind === "Route") return RouteChanges.begin(ledger, record.value)
      return call(ledger, 0, record)
    case "Calling":
      return call(ledger, phase.number, record)
    case "Deciding": {
      const { failedCall } = phase
      const { last, number: of } = failedCall
      if (record.kind === "Decision" && number === of) return Decisions.decided(ledger, failedCall, record.value)
      if (record.kind === "Compaction" && number === of + 1 && failedCall.of === "attempt" && last !== undefined)
        return Responses.compacted(ledger, { number, tooLong: last, attempt: of }, record.value)
      return contradicts(ledger, record)
    }
    case "Compacting":
      if (record.kind !== "Compaction" || number !== phase.number) return contradicts(ledger, record)
      return Responses.compacted(ledger, phase, record.value)
    case "Waiting":
      if (record.kind !== "Wake" || number !== phase.wait.failedCall.number) return contradicts(ledger, record)
      return Decisions.woken(ledger, phase.wait, record.value)
    case "Tools":
      if (record.kind === "Wake" && number === phase.round.attempt)
        return Approvals.woken(ledger, phase.round, record.value)
      if (number >= phase.round.calls.length || phase.round.results[number] !== undefined)
        return contradicts(ledger, record)
      if (record.kind === "Begun") return ToolRounds.begun(ledger, phase.round, number, record.value)
      if (record.kind === "Tool") return ToolRounds.answered(ledger, phase.round, number, record.value)
      return contradicts(ledger, record)
    case "Ending":
    case "Sealed":
      return contradicts(ledger, record)
    default:
      return phase satisfies never
  }
}

// --- internal

/** Applies attempt `expected`, or the mark that its content has left. */
const call = (ledger: Ledger, expected: number, record: Records.TurnRecord): Ledger => {
  if (record.number === expected) {
    if (record.kind === "Attempt") return Responses.ended(ledger, expected, record.value)
    if (record.kind === "Content") return { ...ledger, phase: { _tag: "Calling", number: expected, isShown: true } }
  }
  return contradicts(ledger, record)
}

/** A bug, or a damaged journal. */
const contradicts = ({ phase, step }: Ledger, record: Records.TurnRecord): never => {
  const name = Records.nameOf(record.kind, record.step, record.number)
  throw new Error(`the record ${name} does not follow: the turn is ${phase._tag} in step ${step.number}`)
}

/** The history without the synthetic messages of other turns. */
const withoutOtherTurns = (history: ReadonlyArray<Message.Message>): ReadonlyArray<Message.Message> => {
  if (!history.some(isOfItsTurn)) return history
  const ends = new Set(history.map(endOf))
  return history.filter((message) => !isOfItsTurn(message) || ends.has(message.id))
}

/** The last message that a summary replaces: it must stay, because it marks where the kept messages begin. */
const endOf = (message: Message.Message): Ids.MessageId | undefined =>
  message.role === "user" ? message.summary?.upTo : undefined

/** Whether a synthetic message belongs to its own turn alone. A summary does not: it replaces older messages for later turns too. */
const isOfItsTurn = (message: Message.Message): boolean =>
  message.role === "user" && message.synthetic === true && message.summary === undefined
