/**
 * A conversation that is awake: its hub, the turn that runs and the turns that wait for it.
 *
 * N1. There is one session per conversation and process, and only while somebody watches it or a turn of it is not sealed.
 * N2. Turns run one at a time, in the order of the queue, which is the order of acceptance (C1).
 */
import type { Ids } from "@holdfast/wire"
import type { TurnStopped } from "@holdfast/kernel"
import { Deferred } from "effect"
import { type Resumption, StorageError } from "../storage/Store.ts"
import { FailTogether } from "./FailTogether.ts"
import type { Interruption } from "../durable/Interruption.ts"
import type * as Gatekeeper from "./Gatekeeper.ts"
import { Hub } from "./Hub.ts"
import type * as Quarantine from "./Quarantine.ts"
import type * as ReadAhead from "./ReadAhead.ts"
import { Wait } from "./Wait.ts"

/**
 * A turn in memory, queued or running, with the handles that commands reach it by. They are its own for as long as it is
 * there, so what came while it was queued, read from the disk, or about to leave is heard when it runs.
 */
export interface Running {
  readonly turnId: Ids.TurnId
  /** Of one that was accepted by this process and has not been run; there are no records of it. */
  arrival: Arrival | undefined
  readonly abort: Deferred.Deferred<void>
  /** Its seal is on disk, or it has stopped without one. */
  readonly ended: Deferred.Deferred<void, TurnStopped.TurnStopped>
  readonly wait: Wait
  /** Gives its place at the turnstile back; does nothing for one that has none. */
  leaveTurnstile: () => void
  /** Its place, while it is in memory ahead of its time and still parked; nobody has called it yet. */
  ahead: ReadAhead.Place | undefined
  /** It is due, and waits outside the turnstile: in its wait, or while it is still run up to that. */
  isOutside: boolean
  /** The gate that its wait ends at, where it waits for an endpoint that has one. */
  awaited: Gatekeeper.Awaited | undefined
  /** What the gate has told it, for its next attempt; it is given back where there is none. */
  pass: Gatekeeper.Pass | undefined
  /** What had interrupted it when this process took it up in the middle of something (X14); nothing any more once it has come further. */
  interruption: Interruption | undefined
  /** Its place among the turns that run, while it runs. */
  stay: Quarantine.Stay | undefined
}

/** What is known of a turn that has just been accepted. */
export interface Arrival {
  /** What it begins with, where the disk need not be asked for that. */
  readonly resumption: Resumption | undefined
}

/** Handles for a turn that comes into memory. */
export const running = (turnId: Ids.TurnId, arrival?: Arrival, interruption?: Interruption): Running => ({
  turnId,
  arrival,
  abort: Deferred.makeUnsafe(),
  ended: Deferred.makeUnsafe(),
  wait: new Wait(),
  leaveTurnstile: () => {},
  ahead: undefined,
  isOutside: false,
  awaited: undefined,
  pass: undefined,
  interruption,
  stay: undefined
})

export class Session {
  readonly conversationId: Ids.ConversationId
  readonly hub = new Hub()
  readonly queue: Array<Running> = []
  running: Running | undefined = undefined
  /**
   * The conversation's switch (P15), if it was turned since this session woke; otherwise it is as the store has it. Who
   * turns it writes first and looks for a session second, who runs a turn does it the other way round: neither misses it.
   */
  autoRetry: boolean | undefined = undefined
  /** Accepting and queueing are one act, or two prompts could be queued in another order than they were accepted in. */
  readonly accepting = new FailTogether(
    (error): error is StorageError => error instanceof StorageError && error.concerns !== "one"
  )
  /** Who holds on to this session besides its turns. */
  holders = 0

  constructor(conversationId: Ids.ConversationId) {
    this.conversationId = conversationId
  }

  /** Whether anything still needs it. */
  get isIdle(): boolean {
    return this.running === undefined && this.queue.length === 0 && this.holders === 0 && !this.hub.isWatched
  }

  /** Whether a turn runs here, or waits for those before it. */
  has(turnId: Ids.TurnId): boolean {
    return this.running?.turnId === turnId || this.queue.some((queued) => queued.turnId === turnId)
  }

  /** The turn that runs, or is about to: the one that commands are for. */
  get head(): Running | undefined {
    return this.running ?? this.queue[0]
  }

  /** The turns behind it, in order. */
  get behind(): ReadonlyArray<Running> {
    return this.running === undefined ? this.queue.slice(1) : this.queue
  }
}
