/** Helps the handlers of records to build the next ledger: its events, messages, counts, steps and phases. Pure. */
import { defined, type Failure, Ids, Message, Target, type TurnEvent } from "@holdfast/wire"
import * as Arr from "effect/Array"
import * as ModelContext from "../../turn/ModelContext.ts"
import * as Spending from "../../turn/Spending.ts"
import type { ToolDefinition } from "../../ports/Toolbox.ts"
import type { Emission, Ledger, Phase, Step, Tally, TurnFacts } from "./Ledger.ts"

/** Collects events that are persisted together, and the ledger after them. Local to one handler. */
export class Batch {
  private ledger: Ledger
  private readonly events: Array<TurnEvent.PersistedEvent> = []

  constructor(ledger: Ledger) {
    this.ledger = ledger
  }

  emit(...events: ReadonlyArray<TurnEvent.PersistedEvent>): this {
    this.events.push(...events)
    return this
  }

  /** Adds a message to the history, and its event. */
  add(make: (ledger: Ledger) => Message.Message): this {
    const message = make(this.ledger)
    this.ledger = { ...this.ledger, added: [...this.ledger.added, message] }
    return this.emit(eventOf(this.ledger.turn, { type: "message", message }))
  }

  /** Closes the open chain of retries, if there is one (P11). */
  closeChain(outcome: { readonly success: true } | { readonly success: false; readonly finalError: string }): this {
    const { chain: attempt, step, turn } = this.ledger
    if (attempt === undefined) return this
    this.ledger = { ...this.ledger, chain: undefined }
    const { midStream } = step
    return this.emit(eventOf(turn, { type: "retry-end", attempt, ...outcome, ...defined({ midStream }) }))
  }

  done(): Ledger {
    return persist(this.ledger, this.events)
  }
}

/** Adds events that are persisted together to the outbox. */
export const persist = (ledger: Ledger, events: ReadonlyArray<TurnEvent.PersistedEvent>): Ledger => {
  if (!Arr.isReadonlyArrayNonEmpty(events)) return ledger
  const { outbox, position } = ledger
  const due: Emission = { _tag: "Persist", events, position }
  return { ...ledger, outbox: [...outbox, due], position: position + events.length }
}

/** Puts the turn's identity on an event. */
export const eventOf = <const Fields extends { readonly type: TurnEvent.TurnEvent["type"] }>(
  { conversationId, turnId }: Pick<TurnFacts, "conversationId" | "turnId">,
  fields: Fields
) => ({ conversationId, turnId, ...fields })

/** `provider/model` of the attempts from here on. */
export const targetNameOf = ({ routing }: Pick<Ledger, "routing">): string => Target.format(routing.route.target)

/** The whole history, oldest first. */
export const messagesOf = ({ added, history }: Pick<Ledger, "added" | "history">): ReadonlyArray<Message.Message> =>
  added.length === 0 ? history : [...history, ...added]

/** Makes a message to the model that is not a person's prompt. `createdAt` is in epoch milliseconds. */
export const synthetic = (ledger: Ledger, text: string, createdAt: number): Message.UserMessage => ({
  role: "user",
  ...headOf(ledger, createdAt),
  content: [{ type: "text", text }],
  synthetic: true
})

/** Makes an assistant message; with `failure`, a failed one. `createdAt` is in epoch milliseconds. */
export const responseOf = (
  ledger: Ledger,
  said: Pick<Message.AssistantMessage, "content" | "usage" | "finishReason">,
  createdAt: number,
  failure?: Failure.Failure
): Message.AssistantMessage => ({
  role: "assistant",
  ...headOf(ledger, createdAt),
  content: said.content,
  target: ledger.routing.route.target,
  ...defined({ finishReason: said.finishReason, usage: said.usage, error: failure })
})

/** Returns the tools that the model may call. */
export const toolsOf = (
  { isFinal, turn: { report } }: Ledger,
  offered: ReadonlyArray<ToolDefinition>
): ReadonlyArray<ToolDefinition> => {
  const definitions = isFinal ? [] : offered
  if (report === undefined) return definitions
  return [...definitions.filter(({ name }) => name !== report.tool.name), report.tool]
}

/** The context of the next request, for what measures it before it is made. */
export const contextOf = (ledger: Ledger, offered: ReadonlyArray<ToolDefinition>) => ({
  system: ledger.turn.system,
  messages: ModelContext.of(messagesOf(ledger)),
  tools: toolsOf(ledger, offered)
})

/** What every message of the turn has. `createdAt` is in epoch milliseconds. */
export const headOf = ({ added, turn: { turnId } }: Ledger, createdAt: number) => ({
  id: Ids.messageIdOf(turnId, added.length),
  turnId,
  createdAt
})

// --- counts

/** The counts of a turn that has done nothing. */
export const NO_TALLY: Tally = {
  attempts: 0,
  shared: 0,
  sleptMs: 0,
  waitedMs: 0,
  usage: {},
  unreported: 0,
  lastUsage: undefined,
  retryLoopMs: 0
}

/** Counts the usage of a response. */
export const spend = (tally: Tally, usage: Message.Usage | undefined): Tally =>
  usage === undefined ? tally : { ...tally, usage: Message.addUsage(tally.usage, usage), lastUsage: usage }

/** Counts an attempt whose content is void (X7). Its usage is not that of the turn's last response. */
export const waste = (tally: Tally, usage: Message.Usage | undefined): Tally =>
  usage === undefined
    ? { ...tally, unreported: tally.unreported + 1 }
    : { ...tally, usage: Message.addUsage(tally.usage, usage) }

/** Counts a call of a provider. */
export const called = (tally: Tally, failure?: Failure.Failure): Tally => ({
  ...tally,
  attempts: tally.attempts + 1,
  shared: failure?.shared === true ? tally.shared + 1 : tally.shared
})

/** Ends the step's time of failing: at its response, or at the seal. `at` is in epoch milliseconds. */
export const closeRetryLoop = (ledger: Ledger, at: number): Ledger => {
  const { step, tally } = ledger
  const since = step.failingSince
  if (since === undefined) return ledger
  const retryLoopMs = tally.retryLoopMs + Math.max(0, at - since)
  return { ...ledger, step: { ...step, failingSince: undefined }, tally: { ...tally, retryLoopMs } }
}

// --- steps

/** Makes a step without records; `startedAt` is in epoch milliseconds. */
export const stepOf = (number: number, startedAt: number): Step => ({
  number,
  startedAt,
  spending: Spending.none,
  defects: 0,
  waitedMs: 0,
  voids: 0,
  midStream: undefined,
  interrupted: undefined,
  heldMs: 0,
  state: undefined,
  hasCompacted: false,
  lastBody: undefined,
  failingSince: undefined
})

/** The first phase of a step. */
export const entering = { _tag: "Entering", isAnnounced: false, stuck: undefined } as const satisfies Phase

/** The phase in which the next attempt is made. */
export const calling = (number: number): Phase => ({ _tag: "Calling", number, isShown: false })
