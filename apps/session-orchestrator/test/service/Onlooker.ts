/**
 * A person who watches a conversation through a client that reconnects, and what that client has put together.
 *
 * N1. It comes back with the id of the last event that it saw, and believes what it is sent: `step-start` begins the text of a
 *     step anew, deltas are appended, `step-discarded` voids what the step has shown, a `message` finishes it.
 * N2. It holds on to what it shows when its connection goes. That is all that a client has to do (CONTRACTS.md).
 * N3. What no client may ever see is a fault: an id twice or left out, text of a step whose beginning it was not told of, an
 *     answer that is not what was shown of it, other text than was shown before without a word that that is void (X2).
 */
import { Message, TurnEvent } from "@holdfast/wire"
import { Effect, Schema } from "effect"
import type { Live } from "../http/Socket.ts"

export class Onlooker {
  /** Persisted events as they came, over all connections. */
  readonly events: Array<TurnEvent.PersistedEvent> = []
  /** Waits that it was told of; one that it was told of again, after it came back, stands here once. */
  readonly retries: Array<TurnEvent.ProviderRetry> = []
  /** Answers as they stood there in the end. */
  readonly answers: Array<string> = []
  /** What is shown of the step in progress. */
  current = ""
  /** What was shown of it before its text began anew. */
  private before = ""
  readonly faults: Array<string> = []
  /** How often it was told that the text of a step begins. */
  begun = 0
  private isBegun = false

  /** The id of the last event that it saw. */
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
        if (this.retries.at(-1)?.retryAt !== event.retryAt) this.retries.push(event)
        break
      default:
    }
  }

  /** Reads one SSE frame. */
  read(frame: string): void {
    const data = /^data: (.*)$/m.exec(frame)?.[1]
    const id = /^id: (\d+)$/m.exec(frame)?.[1]
    if (data !== undefined) this.see(decode(data), id === undefined ? undefined : Number(id))
  }

  private finish(text: string): void {
    // Of an answer that was recorded before its process died, a part may not have been shown; none may stand there twice.
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

/** Has somebody read a connection's events for as long as it holds. */
export const follow = (onlooker: Onlooker, { next }: Pick<Live, "next">): Effect.Effect<never, Error> => {
  let rest = ""
  return Effect.forever(
    Effect.map(next, (text) => {
      const frames = (rest + text).split("\n\n")
      rest = frames.pop() ?? ""
      for (const frame of frames) onlooker.read(frame)
    })
  )
}

// --- internal

const decode = Schema.decodeUnknownSync(Schema.fromJsonString(TurnEvent.TurnEvent))
