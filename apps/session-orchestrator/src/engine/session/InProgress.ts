/**
 * Keeps the present step's events, for clients that connect later (rule X3).
 *
 * Deltas of one kind are kept as one, so the size is that of the text, however small its pieces were; a delta costs one comparison and one
 * append. The step's `message`, or the turn's end, puts the step on disk and empties this. Clients that connect at the same point get the same
 * array, and each piece of the text is encoded once, however many connect.
 */
import { TextBuffer } from "@holdfast/kernel/host"
import type { Ids, TurnEvent } from "@holdfast/wire"
import type { Frame } from "../conversation/Conversations.ts"

type Delta = TurnEvent.TextDelta | TurnEvent.ReasoningDelta
type Content = Delta | TurnEvent.FileEvent

/** The event of a wait that continues beyond its time, until `until` in epoch milliseconds (rule X5). */
export const prolonged = (wait: TurnEvent.ProviderRetry, until: number): TurnEvent.ProviderRetry => ({
  ...wait,
  delayMs: wait.delayMs + (until - wait.retryAt),
  retryAt: until
})

/** The transient events that are not on disk yet. */
export class InProgress {
  /** The tools that the turn lacks, or is held for. */
  private missing: TurnEvent.ToolsMissing | undefined = undefined
  private start: TurnEvent.StepStart | undefined = undefined
  /** The content, but for the text that grows. */
  private readonly content: Array<Content> = []
  private last: { readonly event: Delta; readonly text: TextBuffer.TextBuffer } | undefined = undefined
  private waiting: TurnEvent.ProviderRetry | undefined = undefined
  /** The recorded time of the retry; the record does not include a gate's hold (rule X5). */
  private dueAt: number | undefined = undefined
  private isFinishing = false
  /** The last result of `frames`. */
  private shown: ReadonlyArray<Frame> = []
  private to: string | undefined = undefined

  /** `provider/model` of the turn's attempts, as far as an event has named it. */
  get target(): string | undefined {
    return this.to
  }

  /** The wait in progress, if the turn waits. */
  get retry(): TurnEvent.ProviderRetry | undefined {
    return this.waiting
  }

  /** Whether content was emitted that is not on disk yet, or that is on disk without its sequel: the results of tools, or the seal. */
  get isAnswering(): boolean {
    return this.isFinishing || this.contentOf !== undefined
  }

  /** The turn whose content is in progress; `undefined`: there is none. */
  get contentOf(): Ids.TurnId | undefined {
    return this.last?.event.turnId ?? this.content[0]?.turnId
  }

  /** Whether an event only repeats the state of the turn: its present wait, or the beginning of this step. */
  isKnown(event: TurnEvent.TransientEvent): boolean {
    const { start, waiting } = this
    if (event.type === "provider-retry")
      // A question about tool calls changes with each answer, and keeps its deadline.
      return (
        waiting?.turnId === event.turnId &&
        this.dueAt === event.retryAt &&
        waiting.asks?.calls?.length === event.asks?.calls?.length
      )
    if (event.type !== "step-start" || this.contentOf !== undefined) return false
    return start?.turnId === event.turnId && start.step === event.step && start.target === event.target
  }

  live(event: TurnEvent.TransientEvent): void {
    switch (event.type) {
      case "text-delta":
      case "reasoning-delta":
        if (this.last?.event.type === event.type) {
          this.last.text.append(event.delta)
        } else {
          this.settle()
          this.waiting = undefined
          this.last = { event, text: new TextBuffer.TextBuffer(event.delta) }
        }
        return
      case "file":
        this.settle()
        this.waiting = undefined
        this.content.push(event)
        return
      case "step-start":
        this.clear()
        if (this.missing?.until !== undefined) this.missing = undefined // the turn is held no longer
        this.start = event
        this.to = event.target
        return
      case "tools-missing":
        this.missing = event
        return
      case "provider-retry":
        this.waiting = event.delayMs > 0 ? event : undefined // an immediate retry is no wait
        this.dueAt = event.retryAt
        return
      default:
        return event satisfies never
    }
  }

  persisted(event: TurnEvent.PersistedEvent): void {
    if (event.type === "retry-end") this.waiting = undefined
    if (event.type === "message") this.isFinishing = event.message.role === "assistant"
    if (event.type === "model-change") this.to = event.to
    if (event.type === "turn-end") {
      this.isFinishing = false
      this.missing = undefined
      this.to = undefined
    }
    if (event.type === "message" || event.type === "turn-end" || event.type === "step-discarded") this.clear()
  }

  /** The turn has stopped unsealed: all of this is void. */
  reset(): void {
    this.isFinishing = false
    this.missing = undefined
    this.to = undefined
    this.clear()
  }

  /** Drops the content, which no client has received: later clients get the step without it (rule X7). */
  withdraw(): void {
    this.last = undefined
    this.content.length = 0
  }

  /** The wait is over, though no content has arrived yet. */
  resume(): void {
    this.waiting = undefined
  }

  /** The wait continues beyond its time, until `until` as far as known; returns its event from here on, if there is a wait. */
  hold(until: number): TurnEvent.ProviderRetry | undefined {
    if (this.waiting === undefined) return undefined
    this.waiting = prolonged(this.waiting, until)
    return this.waiting
  }

  /** The events, in order. */
  events(): ReadonlyArray<TurnEvent.TransientEvent> {
    this.settle()
    return [
      ...(this.missing === undefined ? [] : [this.missing]),
      ...(this.start === undefined ? [] : [this.start]),
      ...this.content,
      ...(this.waiting === undefined ? [] : [this.waiting])
    ]
  }

  /** The events, encoded. */
  frames(): ReadonlyArray<Frame> {
    const events = this.events()
    const known = this.shown
    if (events.length === known.length && events.every((event, i) => event === known[i]?.event)) return known
    const frames = new Map(known.map((frame) => [frame.event, frame]))
    this.shown = events.map((event) => frames.get(event) ?? { event, json: JSON.stringify(event), id: undefined })
    return this.shown
  }

  private settle(): void {
    if (this.last !== undefined) this.content.push({ ...this.last.event, delta: this.last.text.text() })
    this.last = undefined
  }

  private clear(): void {
    this.start = undefined
    this.last = undefined
    this.waiting = undefined
    this.content.length = 0
    this.shown = []
  }
}
