/**
 * A turn so far: what it runs on, what it has counted, and its voice.
 *
 * S1. Only the fiber that runs the turn writes here. Whoever seals it after an abort does so when that fiber has ended.
 * S2. All of it follows from the input and the recorded results, so a turn that is run again comes to the same state.
 * S3. Events are persisted in one unbroken count from 0; once one is on its way it is not interrupted, or the count would
 *     no longer be what the sink has. For the same reason nothing is persisted after one that could not be.
 */
import { type Failure, Ids, Message, Target, type TurnEvent } from "@holdfast/wire"
import { Array, Effect } from "effect"
import type { Checkpoint } from "./Checkpoint.ts"
import type { Compactor } from "./Compactor.ts"
import type { Content } from "./Content.ts"
import type { EventSink } from "./EventSink.ts"
import type { FinalReport } from "./FinalReport.ts"
import type { Last } from "./FinalStep.ts"
import * as Observer from "./Observer.ts"
import type { Provider } from "./Provider.ts"
import type { RetryStrategy } from "./RetryStrategy.ts"
import type { Route } from "./Route.ts"
import type { Router } from "./Router.ts"
import type { ToolDefinition, Toolbox } from "./Toolbox.ts"
import type { TurnLimits } from "./TurnLimits.ts"
import type { TurnStopped } from "./TurnStopped.ts"

/** What a turn is asked to do. */
export interface TurnInput {
  readonly conversationId: Ids.ConversationId
  readonly turnId: Ids.TurnId
  readonly target: Target.Target
  readonly system?: string
  /** The conversation before this turn, oldest first; failed responses may be in it. */
  readonly history: ReadonlyArray<Message.Message>
  /** Absent on a manual retry: the model is run again on the history as it is (M1). */
  readonly prompt?: string
  /** Epoch milliseconds. */
  readonly startedAt: number
  readonly limits?: TurnLimits
  /** Succeeds when the user wants the turn to end. */
  readonly abort?: Effect.Effect<void>
}

/** The ports a turn runs on. */
export interface Ports {
  readonly provider: Provider["Service"]
  readonly toolbox: Toolbox["Service"]
  readonly sink: EventSink["Service"]
  readonly checkpoint: Checkpoint["Service"]
  readonly strategy: RetryStrategy["Service"] | undefined
  readonly router: Router["Service"] | undefined
  readonly report: FinalReport["Service"] | undefined
  readonly compactor: Compactor["Service"] | undefined
  readonly observer: Observer.Listeners | undefined
}

export class TurnState {
  readonly input: TurnInput
  readonly ports: Ports
  /** The input's target, until a person switches it (X4). */
  primary: Target.Target
  /** Where attempts go. */
  route: Route
  /** The role of a fallback that has taken over and not answered yet (P8). */
  unproven: string | undefined = undefined
  /** The history with what this turn has added. */
  readonly messages: Array<Message.Message>
  /** Steps that are finished; the number of the one that runs. */
  step = 0
  attempts = 0
  /** Of those, the ones that took another turn's failure for their own, without a call (X5). */
  shared = 0
  /** Scheduled sleep of all steps (D2). */
  sleptMs = 0
  /** How long the waits that are over really took. */
  waitedMs = 0
  /** How long the wait that is under way has taken at a moment in epoch milliseconds; `undefined` between waits. */
  waiting: ((now: number) => number) | undefined = undefined
  /** When the step that runs began: at the acceptance, or when the step before it had ended; epoch milliseconds. */
  stepStartedAt: number
  /** When the last attempt of this life began, for who is told of what was decided about it. */
  attemptStartedAt: number | undefined = undefined
  /** What steps that are over have taken from their first failure on, in milliseconds (A16). */
  retryLoopMs = 0
  private retryLoopSince: number | undefined = undefined
  usage: Message.Usage = {}
  /** What the response that is under way has said; `undefined` between responses. */
  unfinished: Content | undefined = undefined
  /** What the last response cost, where its provider said so. */
  lastUsage: Message.Usage | undefined = undefined
  /** The body of the last failure of the step that has one; `undefined` before that. */
  lastBody: string | undefined = undefined
  /** The step after which there is none; `undefined`: there may be any number. */
  last: Last | undefined = undefined
  /** The step that runs is the last. */
  isFinal = false
  /** The report that was accepted (A13). */
  report: TurnEvent.Report | undefined = undefined
  /** Whether an attempt's process died with content shown, and nobody has been told that it is void (X2). */
  isLost = false
  /** The last retry of the chain that `provider-retry` opened; `undefined` when none is open (P11). */
  chain: number | undefined = undefined
  /** What the tools of the step have answered so far; `undefined` between steps. */
  results: ReadonlyArray<Message.ToolResultPart> | undefined = undefined
  /** Steps in a row until now with nothing but failed tool calls. */
  failedToolSteps = 0
  /** The seal, once it is recorded. */
  end: TurnEvent.TurnEnd | undefined = undefined
  private stopped: TurnStopped | undefined = undefined
  private position = 0
  private messageCount = 0

  constructor(input: TurnInput, ports: Ports) {
    this.input = input
    this.ports = ports
    this.primary = input.target
    this.route = { target: input.target }
    this.stepStartedAt = input.startedAt
    const ends = new Set(input.history.map(endOf))
    this.messages = input.history.filter((message) => !isOfItsTurn(message) || ends.has(message.id))
    const { maxTurns } = input.limits ?? {}
    if (maxTurns !== undefined) this.last = { step: maxTurns - 1, cause: "max-turns" }
  }

  /** Attempts that called somebody. */
  get calls(): number {
    return this.attempts - this.shared
  }

  /** `provider/model` of the attempts from here on. */
  get targetName(): string {
    return Target.format(this.route.target)
  }

  /** Whether the step that runs has a record of its beginning: an earlier life of the turn has come that far. */
  get hasBegun(): boolean {
    const path = `step/${this.step}`
    const beginnings = [`${path}/route`, `${path}/attempt/0`, `${path}/attempt/0/content`]
    return beginnings.some((name) => this.ports.checkpoint.isRecorded(name))
  }

  /** What the model may call. */
  get tools(): ReadonlyArray<ToolDefinition> {
    const { report, toolbox } = this.ports
    const definitions = this.isFinal ? [] : toolbox.definitions
    if (report === undefined) return definitions
    return [...definitions.filter(({ name }) => name !== report.tool.name), report.tool]
  }

  /** Counts what a response has cost. */
  spend(usage: Message.Usage | undefined): void {
    if (usage === undefined) return
    this.usage = Message.addUsage(this.usage, usage)
    this.lastUsage = usage
  }

  /** Tells an event that passes, and is no single token's. */
  live(event: TurnEvent.ProviderRetry | TurnEvent.StepStart): void {
    this.ports.sink.live(event)
    Observer.live(this, event)
  }

  /** Persists events at the turn's next position. They are made where nothing can come between that and the write (S3). */
  persist(make: () => ReadonlyArray<TurnEvent.PersistedEvent>): Effect.Effect<void, TurnStopped> {
    return Effect.suspend(() => {
      const events = make()
      if (!Array.isReadonlyArrayNonEmpty(events)) return Effect.void
      if (this.stopped !== undefined) return Effect.fail(this.stopped) // S3
      const position = this.position
      this.position += events.length
      const persist = this.ports.sink.persist(events, position)
      return Effect.tapError(Observer.events(this, events, position, persist), (stopped) =>
        Effect.sync(() => {
          this.stopped = stopped
        })
      )
    }).pipe(Effect.uninterruptible)
  }

  /** Adds a message to the history, and returns the event that says so. */
  add(message: Message.Message): TurnEvent.MessageEvent {
    this.messages.push(message)
    return this.event({ type: "message", message })
  }

  /** The id of this turn's next message. */
  nextMessageId(): Ids.MessageId {
    return Ids.messageIdOf(this.input.turnId, this.messageCount++)
  }

  /** A message to the model that is nobody's prompt. */
  told(text: string, createdAt: number): Message.UserMessage {
    return {
      role: "user",
      id: this.nextMessageId(),
      turnId: this.input.turnId,
      createdAt,
      content: [{ type: "text", text }],
      synthetic: true
    }
  }

  /** An assistant message; with `failure`, one that broke off. */
  response(
    said: Pick<Message.AssistantMessage, "content" | "usage" | "finishReason">,
    createdAt: number,
    failure?: Failure.Failure
  ): Message.AssistantMessage {
    return {
      role: "assistant",
      id: this.nextMessageId(),
      turnId: this.input.turnId,
      createdAt,
      content: said.content,
      target: this.route.target,
      ...(said.finishReason === undefined ? undefined : { finishReason: said.finishReason }),
      ...(said.usage === undefined ? undefined : { usage: said.usage }),
      ...(failure === undefined ? undefined : { error: failure })
    }
  }

  /** Puts the turn's identity on an event. */
  event<const Fields extends { readonly type: TurnEvent.TurnEvent["type"] }>(fields: Fields) {
    return { conversationId: this.input.conversationId, turnId: this.input.turnId, ...fields }
  }

  /** A failure opens the step's retry loop, its response or the turn's seal closes it. Epoch milliseconds. */
  openRetryLoop(failedAt: number): void {
    this.retryLoopSince ??= failedAt
  }

  closeRetryLoop(at: number): void {
    if (this.retryLoopSince !== undefined) this.retryLoopMs += Math.max(0, at - this.retryLoopSince)
    this.retryLoopSince = undefined
  }

  /** Counts the wait that is under way as over, if there is one; epoch milliseconds. */
  closeWait(now: number): void {
    this.waitedMs += this.waiting?.(now) ?? 0
    this.waiting = undefined
  }

  /** Closes the open chain of retries, if there is one (P11). */
  closeChain(outcome: { readonly success: true } | { readonly success: false; readonly finalError: string }) {
    const attempt = this.chain
    this.chain = undefined
    return attempt === undefined ? [] : [this.event({ type: "retry-end", attempt, ...outcome })]
  }
}

// --- internal

/** The last message that a summary stands for: without it nobody could tell where what is kept begins. */
const endOf = (message: Message.Message): Ids.MessageId | undefined =>
  message.role === "user" ? message.summary?.upTo : undefined

/** What another turn's model was told is not for this one's, unless it stands for what was said. */
const isOfItsTurn = (message: Message.Message): boolean =>
  message.role === "user" && message.synthetic === true && message.summary === undefined
