/**
 * A client that watches a conversation over reconnects, and assembles its text.
 *
 * WatchingClient.N1. It reconnects with the id of its last event, and applies the events: `step-start` begins the text of a step anew, deltas are
 *     appended, `step-discarded` voids the step's text, a `message` finishes it.
 * WatchingClient.N2. It keeps its text when its connection ends. That is a client's whole duty (CONTRACTS.md).
 * WatchingClient.N3. It records a fault for: an id that comes twice or is left out, text of a step without its beginning, an answer that differs
 *     from its shown text, text that replaces other text without a `step-discarded` (rule X2), and a frame that is no event. It never throws: a
 *     client that dies in a fiber of its own would only be missed.
 * WatchingClient.N4. The frame `reconnect` ends a connection, and is no event. A stream that is opened while its database goes away begins with it.
 */
import { Message, TurnEvent } from "@holdfast/wire"
import { Effect, Option, Schema } from "effect"
import type { Live } from "../http/Socket.ts"

export class WatchingClient {
  /** Persisted events in their order, over all connections. */
  readonly events: Array<TurnEvent.PersistedEvent> = []
  /** Announced waits; a wait that was announced again after a reconnect stands here once. */
  readonly retries: Array<TurnEvent.ProviderRetry> = []
  /** How often a wait was announced. */
  announced = 0
  /** Answers in their final form. */
  readonly answers: Array<string> = []
  /** The text of the step in progress. */
  current = ""
  /** Its text before the step began anew. */
  private before = ""
  readonly faults: Array<string> = []
  /** The number of beginnings of a step's text. */
  begun = 0
  private isBegun = false

  /** The id of its last event. */
  get lastId(): number {
    return this.events.length
  }

  /** Whether a turn has an event of a type. */
  has(type: TurnEvent.PersistedEvent["type"], turnId: string): boolean {
    return this.events.some((event) => event.type === type && event.turnId === turnId)
  }

  see(event: TurnEvent.TurnEvent, id: number | undefined): void {
    if (TurnEvent.isPersisted(event)) {
      if (id !== this.lastId + 1) this.faults.push(`event ${id} (${event.type}) came after event ${this.lastId}`)
      this.events.push(event)
    }
    switch (event.type) {
      case "step-start":
        if (this.current.length > this.before.length) this.before = this.current
        this.current = ""
        this.isBegun = true
        this.begun++
        break
      case "text-delta":
        if (!this.isBegun) this.faults.push(`${JSON.stringify(event.delta)} came before its step was begun`)
        this.current += event.delta
        break
      case "step-discarded":
      case "turn-end":
        this.clear()
        break
      case "message":
        if (event.message.role === "assistant") this.finish(Message.textOf(event.message))
        break
      case "provider-retry":
        this.announced++
        if (this.retries.at(-1)?.retryAt !== event.retryAt) this.retries.push(event)
        break
      default:
    }
  }

  /** Reads one SSE frame. */
  read(frame: string): void {
    const data = /^data: (.*)$/m.exec(frame)?.[1]
    const id = /^id: (\d+)$/m.exec(frame)?.[1]
    if (data === undefined || /^event: reconnect$/m.test(frame)) return // WatchingClient.N4
    Option.match(decode(data), {
      onNone: () => void this.faults.push(`${JSON.stringify(frame)} is no event`),
      onSome: (event) => this.see(event, id === undefined ? undefined : Number(id))
    })
  }

  private finish(text: string): void {
    // If the process died after recording an answer, part of it may not have been shown; no part may be shown twice.
    for (const shown of [this.before, this.current]) {
      if (!text.startsWith(shown)) this.faults.push(`it showed ${JSON.stringify(shown)} of ${JSON.stringify(text)}`)
    }
    this.answers.push(text)
    this.clear()
  }

  private clear(): void {
    this.before = ""
    this.current = ""
    this.isBegun = false
  }
}

/** Reads a connection's events into a watcher, until the connection ends. */
export const follow = (watcher: WatchingClient, { next }: Pick<Live, "next">): Effect.Effect<never, Error> => {
  let rest = ""
  return Effect.forever(
    Effect.map(next, (text) => {
      const frames = (rest + text).split("\n\n")
      rest = frames.pop() ?? ""
      for (const frame of frames) watcher.read(frame)
    })
  )
}

// --- internal

const decode = Schema.decodeUnknownOption(Schema.fromJsonString(TurnEvent.TurnEvent))
