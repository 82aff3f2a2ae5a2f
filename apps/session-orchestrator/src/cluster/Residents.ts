/** Counts the conversations and turns of this runner, in memory or not, and finds those in memory. */
import type { Ids } from "@holdfast/wire"
import { Deferred, Effect, Exit, type Scope } from "effect"
import type { Conversations, TurnCounts } from "../conversation/Conversations.ts"
import type { AlarmClock } from "./AlarmClock.ts"
import { LoopBudget } from "../pacing/LoopBudget.ts"
import * as InScope from "../system/InScope.ts"
import { WriteClaims } from "./WriteClaims.ts"
import type { Resident } from "./Resident.ts"

/** A conversation in memory. */
export interface Place {
  readonly conversations: Conversations["Service"]
  /** Waits until it leaves memory, or its runner. */
  readonly left: Effect.Effect<void>
}

/** What is counted of a resident. */
type Counted = Pick<Resident, "conversations" | "isAnswering">

/** The conversations in this runner's memory. */
export class Residents {
  readonly claims = new WriteClaims()
  /** Eight conversations leave memory in a turn of the event loop, which takes some two milliseconds. */
  readonly slice = new LoopBudget(8).turn(1)
  private readonly members = new Set<Counted>()

  private readonly places = new Map<Ids.ConversationId, Place>()

  /** The conversation while it is in the memory of this runner. */
  find(id: Ids.ConversationId): Place | undefined {
    return this.places.get(id)
  }

  /** Makes a conversation known here until the scope closes. */
  arrive(id: Ids.ConversationId, conversations: Conversations["Service"]): Effect.Effect<void, never, Scope.Scope> {
    const left = Deferred.makeUnsafe<void>()
    const place: Place = { conversations, left: Deferred.await(left) }
    return InScope.enter(
      () => this.places.set(id, place),
      () => {
        // Its next resident may have arrived.
        if (this.places.get(id) === place) this.places.delete(id)
        Deferred.doneUnsafe(left, Exit.void)
      }
    )
  }

  /** Counts a resident until its scope closes. */
  add(resident: Counted): Effect.Effect<void, never, Scope.Scope> {
    return InScope.enter(
      () => this.members.add(resident),
      () => this.members.delete(resident)
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
