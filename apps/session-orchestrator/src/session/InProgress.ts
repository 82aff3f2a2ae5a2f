/**
 * What has been said of the step in progress and is on no disk yet: what a client that comes late is shown first (X3).
 *
 * P1. Deltas of one kind are kept as one, so the size is that of the text, however small its pieces were.
 * P2. The step's `message`, or the turn's end, puts it on disk and empties this.
 * P3. Hearing a delta costs one comparison and one append.
 * P4. Clients that connect at the same point get the same frames, and each piece of the text is encoded once, however many connect.
 */
import { TextBuffer } from "@holdfast/kernel"
import type { TurnEvent } from "@holdfast/wire"
import type { Frame } from "../conversation/Conversations.ts"
import * as SharedFrames from "./SharedFrames.ts"

type Delta = TurnEvent.TextDelta | TurnEvent.ReasoningDelta

/** A wait that goes on beyond its time, as it is told (X5). */
export const prolonged = (wait: TurnEvent.ProviderRetry, until: number): TurnEvent.ProviderRetry => ({
  ...wait,
  delayMs: wait.delayMs + (until - wait.retryAt),
  retryAt: until
})

export class InProgress {
  /** The tools that the turn does not have, or is held for. */
  private missing: TurnEvent.ToolsMissing | undefined = undefined
  private start: TurnEvent.StepStart | undefined = undefined
  private readonly said: Array<Delta> = []
  private last: { readonly event: Delta; readonly text: TextBuffer.TextBuffer } | undefined = undefined
  private waiting: TurnEvent.ProviderRetry | undefined = undefined
  /** When the retry was due by its record, which knows nothing of a gate (X5). */
  private dueAt: number | undefined = undefined
  private isFinishing = false
  /** What `frames` gave last (P4). */
  private shown: ReadonlyArray<Frame> = []
  private to: string | undefined = undefined

  /** `provider/model` that attempts of the turn go to, as far as it has been told. */
  get target(): string | undefined {
    return this.to
  }

  /** The wait in progress, if the turn waits. */
  get retry(): TurnEvent.ProviderRetry | undefined {
    return this.waiting
  }

  /** Something has been said that is not on disk yet, or is, without what has to follow: the results of tools, or the seal. */
  get isAnswering(): boolean {
    return this.isFinishing || this.said.length > 0 || this.last !== undefined
  }

  /** Whether an event only says again where the turn is: in this wait, or at the beginning of this step. */
  isKnown(event: TurnEvent.TransientEvent): boolean {
    const { start, waiting } = this
    if (event.type === "provider-retry") return waiting?.turnId === event.turnId && this.dueAt === event.retryAt
    if (event.type !== "step-start" || this.last !== undefined || this.said.length > 0) return false
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
        this.waiting = event.delayMs > 0 ? event : undefined // what goes on at once does not wait
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

  /** The wait is over, though nothing has been said yet. */
  resume(): void {
    this.waiting = undefined
  }

  /** The wait goes on beyond its time, until `until` as far as is known: what is told of it from here on, where it is told. */
  hold(until: number): TurnEvent.ProviderRetry | undefined {
    if (this.waiting === undefined) return undefined
    this.waiting = prolonged(this.waiting, until)
    return this.waiting
  }

  /** As events, in order. */
  events(): ReadonlyArray<TurnEvent.TransientEvent> {
    this.settle()
    return [
      ...(this.missing === undefined ? [] : [this.missing]),
      ...(this.start === undefined ? [] : [this.start]),
      ...this.said,
      ...(this.waiting === undefined ? [] : [this.waiting])
    ]
  }

  /** The same, encoded (P4). */
  frames(): ReadonlyArray<Frame> {
    const events = this.events()
    const known = this.shown
    if (events.length === known.length && events.every((event, i) => event === known[i]?.event)) return known
    const frames = new Map(known.map((frame) => [frame.event, frame]))
    const shown = events.map((event) => frames.get(event) ?? { event, json: JSON.stringify(event), id: undefined })
    this.shown = SharedFrames.mark(shown)
    return this.shown
  }

  private settle(): void {
    if (this.last !== undefined) this.said.push({ ...this.last.event, delta: this.last.text.text() })
    this.last = undefined
  }

  private clear(): void {
    this.start = undefined
    this.last = undefined
    this.waiting = undefined
    this.said.length = 0
    this.shown = []
  }
}
