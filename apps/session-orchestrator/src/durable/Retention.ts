/**
 * Lets go of the journals of turns that ended long ago.
 *
 * A journal is there to take a turn up again and to explain what was decided. Once its turn is sealed only the second is left,
 * and it takes several times the room of the answer. History and events are never touched.
 *
 * N1. Journals of turns that are not sealed stay, however old they are.
 * N2. Turns come first: it deletes a few journals at a time, and leaves the database alone in between.
 * N3. A disk that refuses costs one round; the next day's begins anew.
 */
import type { Ids } from "@holdfast/wire"
import { Clock, Duration, Effect } from "effect"
import type { Journal } from "./Journal.ts"
import type { StorageError } from "../storage/Store.ts"

/** Between two rounds. */
export const INTERVAL = Duration.days(1)

/** Between two batches: a batch takes some milliseconds, so turns have nine tenths of the time (N2). */
export const PAUSE = Duration.millis(50)

/** Deletes now and then daily, without end. Infinity keeps everything. */
export const run = (journal: Pick<Journal["Service"], "forget">, keep: Duration.Duration): Effect.Effect<never> =>
  Duration.isFinite(keep)
    ? Effect.andThen(round(journal, keep), Effect.sleep(INTERVAL)).pipe(Effect.forever)
    : Effect.never

// --- internal

const round = (journal: Pick<Journal["Service"], "forget">, keep: Duration.Duration): Effect.Effect<void> =>
  Effect.gen(function* () {
    const sealedBefore = (yield* Clock.currentTimeMillis) - Duration.toMillis(keep)
    const forgotten = yield* sweep(journal, sealedBefore)
    if (forgotten > 0) yield* Effect.logInfo(`Deleted the journals of ${forgotten} turn(s) that ended long ago.`)
  }).pipe(
    Effect.catchTag("StorageError", ({ message }) => Effect.logWarning(`Old journals are kept for now. ${message}`)) // N3
  )

const sweep = Effect.fnUntraced(function* (
  journal: Pick<Journal["Service"], "forget">,
  sealedBefore: number
): Effect.fn.Return<number, StorageError> {
  let forgotten = 0
  let after: Ids.TurnId | undefined
  for (;;) {
    const batch = yield* journal.forget(sealedBefore, after)
    forgotten += batch.forgotten
    if (batch.next === undefined) return forgotten
    after = batch.next
    yield* Effect.sleep(PAUSE)
  }
})
