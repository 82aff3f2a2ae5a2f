/** The conversations that this runner has in memory, for those who ask about the process as a whole. */
import { Effect, type Scope } from "effect"
import type { TurnCounts } from "../conversation/Conversations.ts"
import type { Resident } from "./Resident.ts"

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

  /** Their turns that are not sealed. */
  readonly counts: Effect.Effect<TurnCounts> = Effect.suspend(() =>
    Effect.map(
      Effect.forEach(this.members, ({ conversations }) => conversations.counts),
      (each) => ({
        running: sum(each.map(({ running }) => running)),
        retrying: sum(each.map(({ retrying }) => retrying)),
        queued: sum(each.map(({ queued }) => queued))
      })
    )
  )
}

// --- internal

const sum = (numbers: ReadonlyArray<number>): number => numbers.reduce((a, b) => a + b, 0)
