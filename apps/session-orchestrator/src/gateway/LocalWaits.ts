/** The waits of held calls of one process that has its database alone (`HeldWaits`): in memory, and read from the disk at start. */
import type { Failure, Ids } from "@holdfast/wire"
import { Clock, Duration, Effect, type Scope } from "effect"
import { type HeldWaits, KEPT_MS, type Known, type Sought, type Wait } from "../engine/orchestrator/HeldWaits.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"

/** The waits of this process. */
export class LocalWaits implements HeldWaits {
  /** Waits without a client, in the order in which their clients left. */
  private readonly waits = new Set<{ readonly wait: Wait; readonly until: number }>()
  private isExpiring = false
  private readonly givenUp = new Map<
    string,
    { readonly turnId: Ids.TurnId; readonly failure: Failure.Failure; readonly at: number }
  >()
  private readonly abort: (id: Ids.ConversationId) => Effect.Effect<void>
  private readonly scope: Scope.Scope

  /** `abort` ends the turn of a wait that was kept long enough, within `scope`. */
  constructor(abort: (id: Ids.ConversationId) => Effect.Effect<void>, scope: Scope.Scope) {
    this.abort = abort
    this.scope = scope
  }

  /** A call gave up at a moment in epoch milliseconds, here or in the last process. */
  gaveUp({ key, turnId }: Pick<Wait, "key" | "turnId">, failure: Failure.Failure, at: number): void {
    this.givenUp.set(key, { turnId, failure, at })
  }

  find(of: () => Sought): Effect.Effect<Known | undefined> {
    // A key costs a digest of the body: most calls need none.
    if (this.waits.size === 0 && this.givenUp.size === 0) return Effect.undefined
    return Effect.map(Clock.currentTimeMillis, (now): Known | undefined => {
      const { isRenewable, key } = of()
      const call = key.slice(0, HeldCallIds.CALL_LENGTH)
      const gaveUp = this.givenUp.get(key)
      const before = gaveUp !== undefined && gaveUp.at + KEPT_MS > now ? gaveUp : undefined
      if (before === undefined) this.givenUp.delete(key)
      // A wait that began later is of the call that was asked again after a cut.
      const kept = Array.from(this.waits).findLast(
        ({ wait }) => (isRenewable ? wait.key.startsWith(call) : wait.key === key) && sinceOf(wait) >= (before?.at ?? 0)
      )
      if (kept === undefined) return before && { _tag: "GaveUp", key, turnId: before.turnId, failure: before.failure }
      this.waits.delete(kept)
      return { _tag: "Left", wait: { ...kept.wait, key } }
    })
  }

  taken(_wait: Wait): Effect.Effect<void> {
    return Effect.void
  }

  left(wait: Wait): Effect.Effect<void> {
    return Effect.flatMap(Clock.currentTimeMillis, (now) => {
      // An object of its own: a wait may be left, found and left again before its first time is over.
      this.waits.add({ wait, until: now + KEPT_MS })
      if (this.isExpiring) return Effect.void
      this.isExpiring = true
      return Effect.asVoid(Effect.forkIn(this.expire, this.scope, { startImmediately: true }))
    })
  }

  /** Aborts the waits whose time is over, until none is left. One timer serves them all: those of clients that came back would stay. */
  private readonly expire: Effect.Effect<void> = Effect.gen({ self: this }, function* () {
    for (const kept of this.waits) {
      yield* Effect.sleep(Duration.millis(kept.until - (yield* Clock.currentTimeMillis)))
      if (this.waits.delete(kept)) yield* Effect.forkIn(this.abort(kept.wait.conversationId), this.scope)
    }
    this.isExpiring = false
  })

  ended(wait: Wait, failure: Failure.Failure | undefined): Effect.Effect<void> {
    return Effect.map(Clock.currentTimeMillis, (now) => {
      if (failure === undefined) return
      for (const [given, { at }] of this.givenUp) if (at + KEPT_MS <= now) this.givenUp.delete(given)
      this.gaveUp(wait, failure, now)
    })
  }
}

// --- internal

/** When a wait's call began, in epoch milliseconds. */
const sinceOf = ({ conversationId }: Wait): number => HeldCallIds.read(conversationId)?.since ?? 0
