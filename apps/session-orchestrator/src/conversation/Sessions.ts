/**
 * The conversations that are awake in this process.
 *
 * S1. A session is there while somebody needs it: a turn, a watcher, or whoever holds it. Ten thousand idle
 *     conversations cost nothing here.
 */
import type { Ids } from "@holdfast/wire"
import { Effect, type Scope } from "effect"
import type { Conversation } from "../storage/Store.ts"
import { Session } from "./Session.ts"

export class Sessions {
  private readonly sessions = new Map<Ids.ConversationId, Session>()

  /** The session of a conversation, if it is awake. */
  find(id: Ids.ConversationId): Session | undefined {
    return this.sessions.get(id)
  }

  /** How many are awake. */
  get size(): number {
    return this.sessions.size
  }

  [Symbol.iterator](): Iterator<Session> {
    return this.sessions.values()
  }

  /** Holds on to a conversation's session for the scope, and wakes it where it is not awake. */
  hold(conversation: Conversation): Effect.Effect<Session, never, Scope.Scope> {
    return Effect.acquireRelease(
      Effect.sync(() => {
        const { conversationId, autoRetryEnabled } = conversation
        const session = this.sessions.get(conversationId) ?? new Session(conversationId, autoRetryEnabled)
        this.sessions.set(conversationId, session)
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

  /** Lets go of a session that nobody needs any more. */
  release(session: Session): void {
    if (session.isIdle) this.sessions.delete(session.conversationId)
  }
}
