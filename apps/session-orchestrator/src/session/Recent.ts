/**
 * Keeps persisted events of just accepted turns, so that watchers need not read them back: a turn that ends within such a read would have no
 * transient event for the client that submitted it (Watching.V2).
 *
 * Recent.R1. It has all events of a turn so far, or none. A turn that was taken up from disk, has stopped or has ended is not here.
 * Recent.R2. A turn with more than `MOST` persisted characters behind its opening is dropped: its watchers read the disk. So is one whose
 *     prompt has more than `MOST_OPENING`, such as one with images: it would stay here while the turn waits.
 * Recent.R3. Turns of a conversation run one after the other, so at most one turn here has events, and they have no gap.
 */
import type { Ids } from "@holdfast/wire"
import type { StoredEvent } from "../storage/Store.ts"

/** Characters of JSON, without the opening: some steps with short answers. */
const MOST = 64 * 1024

/** Characters of JSON of a prompt: some images of a few kilobytes, or a long text. */
const MOST_OPENING = 1024 * 1024

/** The events of a conversation's turns that this process has accepted. */
export class Recent {
  private readonly turns = new Map<Ids.TurnId, Events>()

  /** A turn was accepted; only its row is on disk. */
  accepted(turnId: Ids.TurnId): void {
    this.turns.set(turnId, { stored: [], characters: 0 })
  }

  /** An event of a turn is on disk. */
  persisted(stored: StoredEvent): void {
    const { turnId, type } = stored.event
    const turn = this.turns.get(turnId)
    if (turn === undefined) return
    const isOpening = turn.stored.length < OPENING
    if (!isOpening) turn.characters += stored.json.length
    const isTooLong = turn.characters > MOST || (isOpening && stored.json.length > MOST_OPENING)
    if (type === "turn-end" || isTooLong) this.turns.delete(turnId)
    else turn.stored.push(stored)
  }

  /** A turn has stopped: it and the turns behind it are read from disk from here on. */
  clear(): void {
    this.turns.clear()
  }

  /** The events of a turn; `undefined` if they must be read from disk. */
  of(turnId: Ids.TurnId): ReadonlyArray<StoredEvent> | undefined {
    return this.turns.get(turnId)?.stored.slice()
  }

  /** The conversation's events after `id`, which must be here or 0; `undefined` if they must be read from disk. */
  after(id: number): ReadonlyArray<StoredEvent> | undefined {
    for (const { stored } of this.turns.values()) {
      const [first] = stored
      const last = stored.at(-1)
      if (first === undefined || last === undefined) continue
      return first.id <= id + 1 && id <= last.id ? stored.filter((event) => event.id > id) : undefined // Recent.R3
    }
    return undefined
  }
}

// --- internal

interface Events {
  readonly stored: Array<StoredEvent>
  characters: number
}

/** The events that open a turn: `turn-start` and its prompt. */
const OPENING = 2
