/**
 * Makes one stream of events out of the connections of a client that comes back: plain functions.
 *
 * Each connection has the events of a turn from the first on, and then the text of the step in progress from its beginning.
 *
 * Rejoined.R1. No persisted event comes twice, and no wait that was announced.
 * Rejoined.R2. No text of a step comes twice: what comes again is left out up to where the client had got. What came between two
 *     connections is in the step's message, and comes ahead of it as a delta.
 */
import { Message, TurnEvent } from "@holdfast/wire"

/** What a client has seen, over all connections. */
export interface Seen {
  /** Persisted events. */
  readonly persisted: number
  /** Characters and files of the step in progress, by kind. */
  readonly text: Lengths
  /** The step in progress has begun. */
  readonly isInStep: boolean
  /** The wait that was announced last. */
  readonly wait: Pick<TurnEvent.ProviderRetry, "attempt" | "retryAt"> | undefined
}

/** Where one connection is. */
export interface Connection {
  readonly persisted: number
  readonly text: Lengths
  /** Some text of the step in progress has come on this connection. */
  readonly hasText: boolean
}

interface Lengths {
  readonly "text-delta": number
  readonly "reasoning-delta": number
  /** Files are counted, each as one. */
  readonly file: number
}

const NONE: Lengths = { "text-delta": 0, "reasoning-delta": 0, file: 0 }

/** A client that has not connected yet. */
export const nothing: Seen = { persisted: 0, text: NONE, isInStep: false, wait: undefined }

/** A connection on which no event has come yet. */
export const connected: Connection = { persisted: 0, text: NONE, hasText: false }

/** Takes an event of a connection in; gives what is new. */
export const take = (
  seen: Seen,
  connection: Connection,
  event: TurnEvent.TurnEvent
): readonly [Seen, Connection, ReadonlyArray<TurnEvent.TurnEvent>] => {
  if (TurnEvent.isPersisted(event)) {
    const persisted = connection.persisted + 1
    const isEnd = event.type === "message" || event.type === "step-discarded"
    const next = isEnd ? { ...connected, persisted } : { ...connection, persisted }
    if (persisted <= seen.persisted) return [seen, next, []] // Rejoined.R1
    const after: Partial<Seen> = isEnd ? { text: NONE, isInStep: false } : {}
    return [{ ...seen, ...after, persisted }, next, [...missedOf(seen, event), event]]
  }
  switch (event.type) {
    case "step-start":
      return seen.isInStep && !connection.hasText
        ? [seen, connection, []]
        : [{ ...seen, text: NONE, isInStep: true }, { ...connection, text: NONE, hasText: false }, [event]]
    case "text-delta":
    case "reasoning-delta":
    case "file": {
      const { type } = event
      const end = connection.text[type] + (type === "file" ? 1 : event.delta.length)
      const next = { ...connection, text: { ...connection.text, [type]: end }, hasText: true }
      const fresh = end - seen.text[type]
      if (fresh <= 0) return [seen, next, []] // Rejoined.R2
      return [
        { ...seen, text: { ...seen.text, [type]: end }, isInStep: true, wait: undefined },
        next,
        [event.type === "file" ? event : { ...event, delta: event.delta.slice(-fresh) }]
      ]
    }
    case "provider-retry": {
      const { attempt, retryAt } = event
      return seen.wait?.attempt === attempt && seen.wait.retryAt === retryAt
        ? [seen, connection, []]
        : [{ ...seen, wait: { attempt, retryAt } }, connection, [event]]
    }
    case "tools-missing":
      return [seen, connection, [event]]
    default:
      return event satisfies never
  }
}

// --- internal

/** The text of a finished step that no connection had (Rejoined.R2). A step of which nothing was seen is in its message. */
const missedOf = (seen: Seen, event: TurnEvent.PersistedEvent): ReadonlyArray<TurnEvent.TextDelta> => {
  const had = seen.text["text-delta"]
  if (event.type !== "message" || event.message.role !== "assistant" || had === 0) return []
  const delta = Message.textOf(event.message).slice(had)
  const { conversationId, turnId } = event
  return delta === "" ? [] : [{ type: "text-delta", conversationId, turnId, delta }]
}
