/**
 * The conversations that are awake in this process.
 *
 * S1. A session is there while somebody needs it: a turn, a watcher, or whoever holds it. Ten thousand idle
 *     conversations cost nothing here.
 */
import type { Ids } from "@holdfast/wire"
import { Effect, type Scope } from "effect"
import { Session } from "./Session.ts"

export class Sessions {
  private readonly sessions = new Map<Ids.ConversationId, Session>()

  /** The session of a conversation, if it is awake. */
  find(id: Ids.ConversationId): Session | undefined {
    return this.sessions.get(id)
  }

  /** Those that are awake. */
  [Symbol.iterator](): Iterator<Session> {
    return this.sessions.values()
  }

  /** The session of a conversation; one that is not awake is woken, and must be given something to do. */
  wake(id: Ids.ConversationId): Session {
    const session = this.sessions.get(id) ?? new Session(id)
    this.sessions.set(id, session)
    return session
  }

  /** Holds on to a conversation's session for the scope, and wakes it where it is not awake. */
  hold(id: Ids.ConversationId): Effect.Effect<Session, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => {
        const session = this.wake(id)
        session.holders++
        return session
      }),
      (session) =>
        Effect.sync(() => {
          session.holders--
          this.release(session)
        })
    )
  }

  /** Lets go of a session that nobody needs any more. One that was let go of before stays out of its successor's way. */
  release(session: Session): void {
    const { conversationId } = session
    if (session.isIdle && this.sessions.get(conversationId) === session) this.sessions.delete(conversationId)
  }
}
