/** Counts the conversations and turns of this runner, in memory or not, and finds those in memory. */
import type { Ids } from "@holdfast/wire"
import { Deferred, Effect, type Scope } from "effect"
import type { Conversations, TurnCounts } from "../conversation/Conversations.ts"
import type { AlarmClock } from "./AlarmClock.ts"
import { WriteClaims } from "./WriteClaims.ts"
import type { Resident } from "./Resident.ts"

/** A conversation in memory. */
export interface Place {
  readonly conversations: Conversations["Service"]
  /** Waits until it leaves memory, or its runner. */
  readonly left: Effect.Effect<void>
}

/** The conversations in this runner's memory. */
export class Residents {
  readonly claims = new WriteClaims()
  private readonly members = new Set<Resident>()

  private readonly places = new Map<Ids.ConversationId, Place>()

  /** The conversation while it is in the memory of this runner. */
  find(id: Ids.ConversationId): Place | undefined {
    return this.places.get(id)
  }

  /** Makes a conversation known here until the scope closes. */
  arrive(id: Ids.ConversationId, conversations: Conversations["Service"]): Effect.Effect<void, never, Scope.Scope> {
    const left = Deferred.makeUnsafe<void>()
    const place: Place = { conversations, left: Deferred.await(left) }
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => this.places.set(id, place)),
        () => {
          // Its next resident may have arrived.
          if (this.places.get(id) === place) this.places.delete(id)
          return Deferred.succeed(left, undefined)
        }
      )
    )
  }

  /** Counts a resident until its scope closes. */
  add(resident: Resident): Effect.Effect<void, never, Scope.Scope> {
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => this.members.add(resident)),
        () => Effect.sync(() => this.members.delete(resident))
      )
    )
  }

  /** Whether a provider's answer to one of them is streaming; a process that shuts down waits for that. */
  readonly isAnswering = (): boolean => Iterator.from(this.members).some(({ isAnswering }) => isAnswering())

  /** The turns of this runner that are not sealed. */
  counts(alarms: AlarmClock): Effect.Effect<TurnCounts> {
    return Effect.suspend(() =>
      Effect.map(
        Effect.forEach(this.members, ({ conversations }) => conversations.counts),
        (inMemory) => [...inMemory, alarms.counts].reduce(plus)
      )
    )
  }
}

// --- internal

const plus = (a: TurnCounts, b: TurnCounts): TurnCounts => ({
  running: a.running + b.running,
  retrying: a.retrying + b.retrying,
  queued: a.queued + b.queued
})
