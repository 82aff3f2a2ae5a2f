/**
 * Finds the conversations that are awake in this process.
 *
 * Sessions.S1. A session exists while a turn, a watcher or a holder needs it. Ten thousand idle conversations cost nothing here.
 */
import type { Ids } from "@holdfast/wire"
import { Effect, type Scope } from "effect"
import * as InScope from "../system/InScope.ts"
import { Session } from "./Session.ts"

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
    return InScope.take(
      () => this.taken(id),
      (session) => this.giveBack(session)
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
