/**
 * A conversation that is awake: its hub, and its turns that are in memory.
 *
 * Session.N1. There is one session per conversation and process, and only while a client watches it or a turn of it is not sealed.
 * Session.N2. Turns run one at a time, in the order of the queue, which is the order of acceptance (C1).
 * Session.N3. A turn that runs before it is accepted (`Early`) is found by nothing but the queue: commands, counts and clients see it
 *     from its acceptance on.
 */
import { StorageError } from "@holdfast/journal"
import type { Ids } from "@holdfast/wire"
import type { Conversation } from "../storage/Store.ts"
import { FailTogether } from "../system/FailTogether.ts"
import { Hub } from "./Hub.ts"
import { type Beginning, TurnLife } from "./TurnLife.ts"

export class Session {
  readonly conversationId: Ids.ConversationId
  readonly hub = new Hub()
  /** In order. The first runs, or is about to. A turn that is parked and not in memory is not among them. */
  readonly turns: Array<TurnLife> = []
  /** A turn that runs and is not accepted yet (N3); there is no other then. */
  early: TurnLife | undefined = undefined
  /**
   * The conversation's switch (rule P15), if it was turned since this session woke; otherwise the store has it. `setAutoRetry` writes first
   * and looks for a session second; a turn that begins does it the other way round, so it misses no change.
   */
  autoRetry: boolean | undefined = undefined
  /** The conversation as it was read when a turn of it was accepted; of its switch `autoRetry` knows more. */
  conversation: Conversation | undefined = undefined
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
    return this.turns.length === 0 && this.early === undefined && this.holders === 0 && !this.hub.isWatched
  }

  /** Whether a turn runs here, or waits for those before it. */
  has(turnId: Ids.TurnId): boolean {
    return this.turns.some((turn) => turn.turnId === turnId)
  }

  /** The turn that runs, or is about to: commands go to it. */
  get head(): TurnLife | undefined {
    return this.turns[0]
  }

  /** The turn that is parked, where it is in memory ahead of its time. */
  get ahead(): TurnLife | undefined {
    return this.head?.state._tag === "Ahead" ? this.head : undefined
  }

  /** A turn comes into memory: before those that are there, or behind them. */
  add(turnId: Ids.TurnId, beginning: Beginning, where: "first" | "last"): TurnLife {
    const turn = this.lifeOf(turnId, beginning)
    if (where === "first") this.turns.unshift(turn)
    else this.turns.push(turn)
    return turn
  }

  /** A turn comes into memory before it is accepted (N3). */
  anticipate(turnId: Ids.TurnId, beginning: Beginning): TurnLife {
    this.early = this.lifeOf(turnId, beginning)
    return this.early
  }

  /** The early turn is accepted. */
  accept(): void {
    if (this.early !== undefined) this.turns.unshift(this.early)
    this.early = undefined
  }

  private lifeOf(turnId: Ids.TurnId, beginning: Beginning): TurnLife {
    const turn = new TurnLife(turnId, beginning, () => {
      if (this.early === turn) this.early = undefined
      else this.turns.splice(this.turns.indexOf(turn), 1)
    })
    return turn
  }
}
