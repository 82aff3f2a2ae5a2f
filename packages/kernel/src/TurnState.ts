/**
 * A turn so far: what it runs on, what it has counted, and its voice.
 *
 * S1. Only the fiber that runs the turn writes here. Whoever seals it after an abort does so when that fiber has ended.
 * S2. All of it follows from the input and the recorded results, so a turn that is run again comes to the same state.
 * S3. Events are persisted in one unbroken count from 0; once one is on its way it is not interrupted, or the count would
 *     no longer be what the sink has. For the same reason nothing is persisted after one that could not be.
 */
import { type Failure, Ids, type Message, Target, type TurnEvent } from "@holdfast/wire"
import { Array, Effect } from "effect"
import type { Checkpoint } from "./Checkpoint.ts"
import type { Content } from "./Content.ts"
import type { EventSink } from "./EventSink.ts"
import type { Listeners } from "./Observer.ts"
import type { Provider } from "./Provider.ts"
import type { RetryStrategy } from "./RetryStrategy.ts"
import type { Toolbox } from "./Toolbox.ts"
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
  readonly observer: Listeners | undefined
}

export class TurnState {
  readonly input: TurnInput
  readonly ports: Ports
  /** Where attempts go: the input's target, until somebody switches it (X4). */
  target: Target.Target
  /** The history with what this turn has added. */
  readonly messages: Array<Message.Message>
  /** Steps that are finished; the number of the one that runs. */
  step = 0
  attempts = 0
  sleptMs = 0
  /** When the step that runs began: at the acceptance, or when the step before it had ended; epoch milliseconds. */
  stepStartedAt: number
  /** What steps that are over have taken from their first failure on, in milliseconds (A16). */
  retryLoopMs = 0
  private retryLoopSince: number | undefined = undefined
  usage: Message.Usage = {}
  /** What the response that is under way has said; `undefined` between responses. */
  unfinished: Content | undefined = undefined
  /** The last retry of the chain that `provider-retry` opened; `undefined` when none is open (P11). */
  chain: number | undefined = undefined
  /** What the tools of the step have answered so far; `undefined` between steps. */
  results: ReadonlyArray<Message.ToolResultPart> | undefined = undefined
  /** The seal, once it is recorded. */
  end: TurnEvent.TurnEnd | undefined = undefined
  private stopped: TurnStopped | undefined = undefined
  private position = 0
  private messageCount = 0

  constructor(input: TurnInput, ports: Ports) {
    this.input = input
    this.ports = ports
    this.target = input.target
    this.stepStartedAt = input.startedAt
    this.messages = input.history.slice()
  }

  /** `provider/model` of the attempts from here on. */
  get targetName(): string {
    return Target.format(this.target)
  }

  /** Persists events at the turn's next position. */
  persist(events: ReadonlyArray<TurnEvent.PersistedEvent>): Effect.Effect<void, TurnStopped> {
    return Effect.suspend(() => {
      if (!Array.isReadonlyArrayNonEmpty(events)) return Effect.void
      if (this.stopped !== undefined) return Effect.fail(this.stopped) // S3
      const position = this.position
      this.position += events.length
      return Effect.tapError(this.ports.sink.persist(events, position), (stopped) =>
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
      target: this.target,
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

  /** Closes the open chain of retries, if there is one (P11). */
  closeChain(outcome: { readonly success: true } | { readonly success: false; readonly finalError: string }) {
    const attempt = this.chain
    this.chain = undefined
    return attempt === undefined ? [] : [this.event({ type: "retry-end", attempt, ...outcome })]
  }
}
