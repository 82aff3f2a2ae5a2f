/**
 * A conversation that is awake: its hub, the turn that runs and the turns that wait for it.
 *
 * N1. There is one session per conversation and process, and only while somebody watches it or a turn of it is not sealed.
 * N2. Turns run one at a time, in the order of the queue, which is the order of acceptance (C1).
 */
import type { Ids } from "@holdfast/wire"
import type { RetryStrategy } from "@holdfast/kernel"
import { Deferred, Effect, Semaphore } from "effect"
import type { Reason } from "./Parking.ts"
import type { Wait } from "./Wait.ts"
import { Hub } from "./Hub.ts"

/** A turn that runs, with the handles that commands reach it by. */
export interface Running {
  readonly turnId: Ids.TurnId
  readonly abort: Deferred.Deferred<void>
  readonly wait: Wait
  /** When it wants to be taken up again, once it has left memory to wait; epoch milliseconds. */
  parkedUntil: number | undefined
}

/** A turn in the queue. Its rows are read when it is its turn. */
export interface Queued {
  readonly turnId: Ids.TurnId
  /** It was accepted by this process and has not been run: there are no records of it. */
  readonly isNew: boolean
  /** Why it is taken up again, if it was parked. */
  readonly reason: Reason | undefined
}

export class Session {
  readonly conversationId: Ids.ConversationId
  readonly hub = new Hub()
  readonly queue: Array<Queued> = []
  running: Running | undefined = undefined
  /**
   * The conversation's switch (P15), if it was turned since this session woke; otherwise it is as the store has it. Who
   * turns it writes first and looks for a session second, who runs a turn does it the other way round: neither misses it.
   */
  autoRetry: boolean | undefined = undefined
  /** Accepting and queueing are one act, or two prompts could be queued in another order than they were accepted in. */
  readonly accepting = Semaphore.makeUnsafe(1)
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

  /** Steers the wait in progress; whether there was one. */
  steer(wake: RetryStrategy.Wake): boolean {
    return this.running?.wait.steer(wake) ?? false
  }

  /** Ends the running turn; whether there was one. */
  abort(): Effect.Effect<boolean> {
    return Effect.suspend(() =>
      this.running === undefined ? Effect.succeed(false) : Deferred.succeed(this.running.abort, undefined)
    )
  }
}
