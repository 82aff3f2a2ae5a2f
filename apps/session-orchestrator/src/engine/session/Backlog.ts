/**
 * The frames of a conversation that its subscribers have not taken: a chain, in which each subscriber holds its place.
 *
 * Backlog.B1. A frame takes the same memory whether one subscriber is behind or two thousand are. Nothing but the places before it keeps it: it is
 *     gone when every subscriber has passed it or left.
 * Backlog.B2. Subscribers that are far behind take whole pages: the same arrays, wherever each of them stopped, so that a transport encodes
 *     them once.
 */
import type { Frame } from "../conversation/Conversations.ts"

/** How far one subscriber may be behind, in characters of JSON: some minutes of tokens. */
export const MAX_BEHIND = 4 * 1024 * 1024

/** Most characters that one event counts for: a single large event must not disconnect a client that keeps up. */
const MAX_COUNTED = MAX_BEHIND / 4

/**
 * Size of a page, in characters: some reads of a provider. A reader gets one page immediately, because Node accepts any single write of a
 * client that does not read, and applies back-pressure only after it.
 */
const PAGE = 32 * 1024

/** A place between two frames. */
export class Place {
  /** The characters that the frames before it count for. */
  readonly counted: number
  private readonly page: number
  private readonly size: number
  private frame: Frame | undefined = undefined
  private next: Place | undefined = undefined
  /** What was taken from here, if that can become no more. */
  private taken: Taken | undefined = undefined

  constructor(counted = 0, size = 0) {
    this.counted = counted
    this.size = size
    this.page = Math.floor(size / PAGE)
  }

  /** Whether no frame follows. */
  get isEnd(): boolean {
    return this.next === undefined
  }

  /** Adds a frame at the end; returns the place behind it. */
  add(frame: Frame): Place {
    this.frame = frame
    this.next = new Place(this.counted + countedOf(frame), this.size + frame.json.length)
    return this.next
  }

  /** The frames from here to the end of a page, and the place behind them: at least one frame, if one follows. */
  take(): Taken {
    const { frame, next, page, taken: known } = this
    if (known !== undefined) return known
    if (frame === undefined || next === undefined) return { frames: [], to: this }
    const frames = [frame]
    let to = next
    for (; to.frame !== undefined && to.next !== undefined && to.page === page; to = to.next) frames.push(to.frame)
    const taken = { frames, to }
    if (to.page !== page) this.taken = taken
    return taken
  }
}

/** The characters that a frame counts for. */
export const countedOf = ({ json }: Frame): number => Math.min(json.length, MAX_COUNTED)

// --- internal

interface Taken {
  readonly frames: ReadonlyArray<Frame>
  readonly to: Place
}
