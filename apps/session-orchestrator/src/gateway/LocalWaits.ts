/** The waits of held calls of one process that has its database alone (`HeldWaits`): in memory, and read from the disk at start. */
import type { Failure, Ids } from "@holdfast/wire"
import { Clock, Duration, Effect, type Scope } from "effect"
import { type HeldWaits, KEPT_MS, type Known, type Wait } from "../engine/orchestrator/HeldWaits.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"

/** The waits of this process, none yet. `abort` ends the turn of a wait that was kept long enough, within `scope`. */
export const make = (abort: (id: Ids.ConversationId) => Effect.Effect<void>, scope: Scope.Scope) => {
  /** Waits without a client, in the order in which their clients left. */
  const waits = new Set<{ readonly wait: Wait; readonly until: number }>()
  let isExpiring = false
  const givenUp = new Map<
    string,
    { readonly turnId: Ids.TurnId; readonly failure: Failure.Failure; readonly at: number }
  >()

  /** Aborts the waits whose time is over, until none is left. One timer serves them all: those of clients that came back would stay. */
  const expire: Effect.Effect<void> = Effect.gen(function* () {
    for (const kept of waits) {
      yield* Effect.sleep(Duration.millis(kept.until - (yield* Clock.currentTimeMillis)))
      if (waits.delete(kept)) yield* Effect.forkIn(abort(kept.wait.conversationId), scope)
    }
    isExpiring = false
  })

  /** A call gave up at a moment in epoch milliseconds, here or in the last process. */
  const gaveUp = ({ key, turnId }: Pick<Wait, "key" | "turnId">, failure: Failure.Failure, at: number): void =>
    void givenUp.set(key, { turnId, failure, at })

  const shared: HeldWaits = {
    find: (of) => {
      // A key costs a digest of the body: most calls need none.
      if (waits.size === 0 && givenUp.size === 0) return Effect.undefined
      return Effect.map(Clock.currentTimeMillis, (now): Known | undefined => {
        const { isRenewable, key } = of()
        const call = key.slice(0, HeldCallIds.CALL_LENGTH)
        const gaveUp = givenUp.get(key)
        const before = gaveUp !== undefined && gaveUp.at + KEPT_MS > now ? gaveUp : undefined
        // A wait that began later is of the call that was asked again after a cut.
        const kept = Array.from(waits).findLast(
          ({ wait }) =>
            (isRenewable ? wait.key.startsWith(call) : wait.key === key) && sinceOf(wait) >= (before?.at ?? 0)
        )
        if (kept === undefined) return before && { _tag: "GaveUp", key, turnId: before.turnId, failure: before.failure }
        waits.delete(kept)
        return { _tag: "Left", wait: { ...kept.wait, key } }
      })
    },
    taken: () => Effect.void,
    left: (wait) =>
      Effect.flatMap(Clock.currentTimeMillis, (now) => {
        // An object of its own: a wait may be left, found and left again before its first time is over.
        waits.add({ wait, until: now + KEPT_MS })
        if (isExpiring) return Effect.void
        isExpiring = true
        return Effect.asVoid(Effect.forkIn(expire, scope, { startImmediately: true }))
      }),
    ended: (wait, failure) =>
      Effect.map(Clock.currentTimeMillis, (now) => {
        if (failure === undefined) return
        for (const [given, { at }] of givenUp) if (at + KEPT_MS <= now) givenUp.delete(given)
        gaveUp(wait, failure, now)
      })
  }
  return { ...shared, gaveUp }
}

// --- internal

/** When a wait's call began, in epoch milliseconds. */
const sinceOf = ({ conversationId }: Wait): number => HeldCallIds.read(conversationId)?.since ?? 0
