/** What this runner looks after, in memory or not, for those who ask about the process as a whole. */
import { Effect, type Scope } from "effect"
import type { TurnCounts } from "../conversation/Conversations.ts"
import type { AlarmClock } from "./AlarmClock.ts"
import type { Resident } from "./Resident.ts"

/** The conversations in this runner's memory, counted. */
export class Residents {
  private readonly members = new Set<Resident>()

  /** Counts one until its scope closes. */
  add(resident: Resident): Effect.Effect<void, never, Scope.Scope> {
    return Effect.asVoid(
      Effect.acquireRelease(
        Effect.sync(() => this.members.add(resident)),
        () => Effect.sync(() => this.members.delete(resident))
      )
    )
  }

  /** Whether any of them is in the middle of an answer: what a process asks that has to go down. */
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
