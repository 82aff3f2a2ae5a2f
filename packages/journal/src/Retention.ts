/**
 * Deletes the journals of turns that ended long ago.
 *
 * A journal serves to resume a turn and to explain its decisions. For a sealed turn only the second use is left, and the journal takes
 * several times the space of the answer. History and events are never touched.
 *
 * Retention.N1. Journals of turns without a seal stay, however old they are.
 * Retention.N2. Running turns have priority: each batch deletes a few journals, and the database is left alone between batches.
 * Retention.N3. A storage error ends one round; the round of the next day starts again.
 */
import type { Ids } from "@holdfast/wire"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Journal } from "./Journal.ts"
import type { StorageError } from "./StorageError.ts"

/** The time between two rounds. */
export const INTERVAL = Duration.days(1)

/** The time between two batches: a batch takes some milliseconds, so turns have nine tenths of the time (N2). */
export const PAUSE = Duration.millis(50)

/** Runs a round at once and then one a day, without end. Deletes journals of turns sealed longer than `keep` ago; infinity keeps all. */
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
