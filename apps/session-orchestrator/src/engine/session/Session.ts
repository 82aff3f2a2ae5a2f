/**
 * Holds an awake conversation: its hub, and its turns that are in memory.
 *
 * Session.N1. There is one session per conversation and process, and only while a turn in memory, a watcher or a holder needs it.
 * Session.N2. Turns run one at a time, in the order of the queue, which is the order of acceptance.
 *
 * Ten thousand idle conversations cost nothing here, and parked turns have no session.
 */
import { StorageError } from "@holdfast/journal"
import type { Ids } from "@holdfast/wire"
import { Effect, Semaphore, type Scope } from "effect"
import type { Conversation } from "../../storage/Stored.ts"
import { Hub } from "./Hub.ts"
import { type Known, type Residence, TurnLife } from "./TurnLife.ts"

type Changes = Pick<Conversation, "autoRetryEnabled" | "model" | "modelSince" | "toolAnswers">

/** A conversation in memory. */
export class Session {
  readonly conversationId: Ids.ConversationId
  readonly hub = new Hub()
  /** In order. The first runs, or will run next. A turn that is parked and not in memory is not among them. */
  readonly turns: Array<TurnLife> = []
  /**
   * What was changed of the conversation since this session woke; otherwise the store has it. A change is written first and made here second; a
   * beginning turn reads the other way round, so it misses none. Except for the switch of automatic retries (rule P15) changes are made in the order
   * of `inOrder`.
   */
  private changes: Partial<Changes> = {}
  /** The conversation as it was read when a turn of it was accepted. */
  conversation: Conversation | undefined = undefined
  private readonly line = Semaphore.makeUnsafe(1)
  /** The write of events under way, and those that wait for it. */
  private readonly writes: Array<() => void> = []
  /** The last error in `inOrder` with which the calls that wait would fail too. */
  private trouble: { readonly error: StorageError } | undefined = undefined
  /** The number of holders besides its turns and watchers. */
  holders = 0

  constructor(conversationId: Ids.ConversationId) {
    this.conversationId = conversationId
  }

  /** Whether the session can be removed. */
  get isIdle(): boolean {
    return this.turns.length === 0 && this.holders === 0 && !this.hub.isWatched
  }

  /**
   * Makes a call when the calls that came before have ended: accepting and queueing are one step, otherwise two prompts could be queued in another
   * order than they were accepted in. An error of the database that concerns all fails those that wait too, which would each take as long to fail
   * the same way; a later call is made.
   */
  inOrder<A, E, R>(call: Effect.Effect<A, E, R>): Effect.Effect<A, E | StorageError, R> {
    return Effect.suspend(() => {
      const before = this.trouble
      const noted = Effect.tapError(call, (error) =>
        Effect.sync(() => {
          if (error instanceof StorageError && error.concerns !== "one") this.trouble = { error }
        })
      )
      const next = Effect.suspend((): Effect.Effect<A, E | StorageError, R> =>
        this.trouble === undefined || this.trouble === before ? noted : Effect.fail(this.trouble.error)
      )
      return this.line.withPermits(1)(next)
    })
  }

  /**
   * Begins a write of events when the one before it is over, and returns what ends this one, or takes it out of the line. So events come to the
   * watchers in the order of their ids, also those of a write that was made although its answer was lost.
   */
  write(begin: () => void): () => void {
    const { writes } = this
    if (writes.push(begin) === 1) begin()
    return () => {
      const at = writes.indexOf(begin)
      if (at >= 0) writes.splice(at, 1)
      if (at === 0) writes[0]?.()
    }
  }

  /** The same for a write that is an effect. */
  writing<A, E>(write: Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.uninterruptibleMask((restore) => {
      let over = (): void => {}
      const ended = Effect.sync(() => over())
      const begun = Effect.callback<void>((resume) => {
        over = this.write(() => resume(Effect.void))
        return ended
      })
      return Effect.flatMap(restore(begun), () => Effect.onExit(restore(write), () => ended))
    })
  }

  /** Forgets what was read of the conversation: another process may change it from now on. */
  forget(): void {
    this.conversation = undefined
    this.changes = {}
  }

  /** Something of the conversation was changed. */
  change(changes: Partial<Changes>): void {
    this.changes = { ...this.changes, ...changes }
  }

  /** The conversation with its changes since it was read. */
  present(conversation: Conversation): Conversation {
    return { ...conversation, ...this.changes }
  }

  /** Whether a turn runs here, or waits for those before it. */
  has(turnId: Ids.TurnId): boolean {
    return this.turns.some((turn) => turn.turnId === turnId)
  }

  /** The turn that runs, or will run next: commands go to it. */
  get head(): TurnLife | undefined {
    return this.turns[0]
  }

  /** The parked turn, if it is in memory ahead of its time. */
  get ahead(): TurnLife | undefined {
    return this.head?.residence === "parked" ? this.head : undefined
  }

  /** A turn comes into memory: before the others, or behind them. */
  add(turnId: Ids.TurnId, residence: Residence, where: "first" | "last", known?: Known): TurnLife {
    const turn = new TurnLife(turnId, residence, known, () => this.turns.splice(this.turns.indexOf(turn), 1))
    if (where === "first") this.turns.unshift(turn)
    else this.turns.push(turn)
    return turn
  }
}

/** The sessions of this process, by conversation. */
export class Sessions {
  private readonly sessions = new Map<Ids.ConversationId, Session>()

  /** The session of a conversation, if it is awake. */
  find(id: Ids.ConversationId): Session | undefined {
    return this.sessions.get(id)
  }

  /** All awake sessions. */
  [Symbol.iterator](): Iterator<Session> {
    return this.sessions.values()
  }

  /** The session of a conversation, created if needed. The caller must add a turn or a watcher. */
  wake(id: Ids.ConversationId): Session {
    const session = this.sessions.get(id) ?? new Session(id)
    this.sessions.set(id, session)
    return session
  }

  /** Holds a conversation's session until the scope closes; creates it if needed. */
  hold(id: Ids.ConversationId): Effect.Effect<Session, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => this.taken(id)),
      (session) => Effect.sync(() => this.giveBack(session))
    )
  }

  /** Holds a conversation's session until an effect ends; creates it if needed. */
  using<A, E>(id: Ids.ConversationId, use: (session: Session) => Effect.Effect<A, E>): Effect.Effect<A, E> {
    return Effect.acquireUseRelease(
      Effect.sync(() => this.taken(id)),
      use,
      (session) => Effect.sync(() => this.giveBack(session))
    )
  }

  /** Removes a session that is idle. A session that was removed before does not affect its successor. */
  release(session: Session): void {
    const { conversationId } = session
    if (session.isIdle && this.sessions.get(conversationId) === session) this.sessions.delete(conversationId)
  }

  private taken(id: Ids.ConversationId): Session {
    const session = this.wake(id)
    session.holders++
    return session
  }

  private giveBack(session: Session): void {
    session.holders--
    this.release(session)
  }
}
