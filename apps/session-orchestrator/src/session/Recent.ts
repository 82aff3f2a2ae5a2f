/**
 * Holds the persisted events of turns that this process has accepted, so that a watcher need not read them back.
 *
 * Recent.R1. It has all events of a turn so far, or none. A turn that was taken up from disk, has stopped or has ended is not here.
 * Recent.R2. A turn that has persisted more than `MOST` behind its opening goes: its watchers read the disk. The prompt in the opening is
 *     in memory anyway while the turn runs.
 * Recent.R3. Turns of a conversation run one after the other, so at most one turn here has events, and they have no gap.
 */
import type { Ids } from "@holdfast/wire"
import type { StoredEvent } from "../storage/Store.ts"

/** Characters of JSON, without the opening: some steps with short answers. */
const MOST = 64 * 1024

export class Recent {
  private readonly turns = new Map<Ids.TurnId, Events>()

  /** A turn was accepted, and nothing of it is on disk but its row. */
  accepted(turnId: Ids.TurnId): void {
    this.turns.set(turnId, { stored: [], characters: 0 })
  }

  /** Events of one turn that were written together. */
  persisted(stored: StoredEvent): void {
    const { turnId, type } = stored.event
    const turn = this.turns.get(turnId)
    if (turn === undefined) return
    if (turn.stored.length >= OPENING) turn.characters += stored.json.length
    if (type === "turn-end" || turn.characters > MOST) this.turns.delete(turnId)
    else turn.stored.push(stored)
  }

  /** A turn has stopped: it is read from disk from here on, and so are those behind it. */
  clear(): void {
    this.turns.clear()
  }

  /** The events of a turn; `undefined` where they must be read. */
  of(turnId: Ids.TurnId): ReadonlyArray<StoredEvent> | undefined {
    return this.turns.get(turnId)?.stored.slice()
  }

  /** The events of the conversation after an id that it has, or after 0; `undefined` where they must be read. */
  after(id: number): ReadonlyArray<StoredEvent> | undefined {
    for (const { stored } of this.turns.values()) {
      const [first] = stored
      const last = stored.at(-1)
      if (first === undefined || last === undefined) continue
      return first.id <= id + 1 && id <= last.id ? stored.filter((event) => event.id > id) : undefined // R3
    }
    return undefined
  }
}

// --- internal

interface Events {
  readonly stored: Array<StoredEvent>
  characters: number
}

/** What a turn begins with: `turn-start` and its prompt. */
const OPENING = 2
