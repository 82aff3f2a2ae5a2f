/**
 * Decides what a client subscribes from, which events it passes on, and when it reconnects. Pure: the shell connects and sleeps.
 *
 * A stream of one turn ends with its `turn-end`, and nothing after that is passed on. A reconnect is immediate after a connection that
 * lasted or that passed an event on. Connections that fail in a row are made less and less often.
 *
 * Cursor.C1. Persisted events are passed on in the order of their ids, each once, over any number of connections (X3). A connection of a
 *     conversation that leaves one out is given up. Between those of a turn the ends of queued prompts that were cancelled have their ids.
 * Cursor.C2. Transient events are passed on as they come: `step-start` begins the text of its step anew, so nothing of them is held
 *     twice.
 */
import type { Sse, TurnEvent } from "@holdfast/wire"

/** An event as a connection delivers it; a persisted one has its id in the conversation. */
export interface EventFrame {
  readonly id: number | undefined
  readonly event: TurnEvent.TurnEvent
}

/** Where a stream is. */
export interface Cursor {
  /** The turn that the stream is of, up to its end; absent: a whole conversation, without end. */
  readonly turnId: string | undefined
  /** The id of the last persisted event that was passed on: what the next connection subscribes from. */
  readonly after: number
  /** The turn has ended: there is nothing to reconnect to. */
  readonly isOver: boolean
  /** Connections in a row that did not last. */
  readonly failures: number
  /** Whether this connection has passed a persisted event on. */
  readonly hasBegun: boolean
}

/** What a read of a connection gives. */
export interface Passed {
  readonly cursor: Cursor
  /** To be passed on, in order. */
  readonly passed: ReadonlyArray<EventFrame>
  /**
   * - `read`: go on reading.
   * - `reconnect`: the connection left an event out; give it up.
   * - `restored`: the conversation has fewer events than the client: the service has an earlier copy, and ids mean other events.
   * - `over`: the stream has ended as it should.
   */
  readonly then: "read" | "reconnect" | "restored" | "over"
}

/** How a connection ended before the stream was over. */
export interface Ending {
  /** How long it was open; 0 where it was not. */
  readonly openMs: number
  /** The reason that the server gave. */
  readonly code?: Sse.Reconnect["code"] | undefined
  /** The delay that the server asked for. */
  readonly retryAfterMs?: number | undefined
  /** A number of 0 to 1, by chance: clients of a service that restarts do not come back at once. */
  readonly spread: number
}

/** The delays between connections that fail. */
export interface Backoff {
  /** The first delay, which doubles. */
  readonly firstMs: number
  readonly longestMs: number
}

/** A person who watches does not wait longer than this for a service that is back. */
export const DEFAULT_BACKOFF: Backoff = { firstMs: 250, longestMs: 10_000 }

/** When to reconnect. */
export interface Again {
  readonly cursor: Cursor
  readonly delayMs: number
}

/** A stream that begins: after an event of a conversation, or at the beginning of a turn. */
export const start = ({ after = 0, turnId }: { readonly after?: number; readonly turnId?: string } = {}): Cursor => ({
  turnId,
  after,
  isOver: false,
  failures: 0,
  hasBegun: false
})

/** Takes the frames of one read. */
export const received = (cursor: Cursor, frames: ReadonlyArray<EventFrame>): Passed => {
  const passed: Array<EventFrame> = []
  let { after, hasBegun, isOver } = cursor
  const so = (then: Passed["then"]): Passed => ({ cursor: { ...cursor, after, hasBegun, isOver }, passed, then })
  for (const frame of frames) {
    const { event, id } = frame
    if (isOver) break
    if (cursor.turnId !== undefined && event.turnId !== cursor.turnId) continue
    if (id !== undefined) {
      if (id <= after) {
        // A stream of a turn begins with its first event each time; one of a conversation begins after the id that it was asked for.
        if (cursor.turnId === undefined && !hasBegun) return so("restored")
        continue
      }
      if (cursor.turnId === undefined && id !== after + 1) return so("reconnect") // Cursor.C1
      after = id
      hasBegun = true
    }
    passed.push(frame)
    isOver = cursor.turnId !== undefined && event.type === "turn-end"
  }
  return so(isOver ? "over" : "read")
}

/** A connection has ended before the stream was over. */
export const ended = (
  cursor: Cursor,
  { code, openMs, retryAfterMs = 0, spread }: Ending,
  { firstMs, longestMs }: Backoff = DEFAULT_BACKOFF
): Again => {
  const failures = openMs >= LASTING_MS || cursor.hasBegun ? 0 : cursor.failures + 1
  const backoff = failures === 0 ? 0 : Math.min(firstMs * 2 ** (failures - 1), longestMs)
  const least = code !== undefined && UNAVAILABLE.has(code) ? Math.min(PAUSE_MS, longestMs) : 0
  // Half of it is by chance; what the server asked for is not shortened.
  const delayMs = Math.max(Math.round(Math.max(backoff, least) * (0.5 + spread / 2)), Math.min(retryAfterMs, longestMs))
  return { cursor: { ...cursor, failures, hasBegun: false }, delayMs }
}

// --- internal

/** A connection that lasted so long was no failure. */
const LASTING_MS = 5_000

/** The least delay where the server cannot serve now. */
const PAUSE_MS = 2_000

const UNAVAILABLE: ReadonlySet<Sse.Reconnect["code"]> = new Set(["storage-unavailable", "shutting-down", "unexpected"])
