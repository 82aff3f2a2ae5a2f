/** Counts the conversations and turns of this runner, in memory or not. */
import { Effect, type Scope } from "effect"
import type { TurnCounts } from "../conversation/Conversations.ts"
import type { AlarmClock } from "./AlarmClock.ts"
import { WriteClaims } from "./WriteClaims.ts"
import type { Resident } from "./Resident.ts"

/** The conversations in this runner's memory, counted. */
export class Residents {
  readonly claims = new WriteClaims()
  private readonly members = new Set<Resident>()

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
