/**
 * Deletes the journals of turns that ended long ago.
 *
 * A journal serves to resume a turn and to explain its decisions. For a sealed turn only the second use is left, and the journal takes
 * several times the space of the answer. History and events are never touched.
 *
 * - Journals of turns without a seal stay, however old they are.
 * - Running turns have priority: each batch deletes a few journals, and the database is left alone between batches.
 * - A storage error ends one round; the round of the next day starts again.
 */
import type { Ids } from "@holdfast/wire"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import type { Journal } from "./Journal.ts"
import type { StorageError } from "./StorageError.ts"

/** The time between two rounds. */
export const INTERVAL = Duration.days(1)

/** The time between two batches: a batch takes some milliseconds, so turns have nine tenths of the time. */
export const PAUSE = Duration.millis(50)

/** Deletes journals of turns sealed longer than `keep` ago, once a day; infinity keeps all. */
export const run = (journal: Pick<Journal["Service"], "forget">, keep: Duration.Duration): Effect.Effect<never> =>
  Duration.isFinite(keep)
    ? daily(
        "journals",
        Effect.gen(function* () {
          const sealedBefore = (yield* Clock.currentTimeMillis) - Duration.toMillis(keep)
          const forgotten = yield* sweep<Ids.TurnId>((after) => journal.forget(sealedBefore, after))
          if (forgotten > 0) yield* Effect.logInfo(`Deleted the journals of ${forgotten} turn(s) that ended long ago.`)
        })
      )
    : Effect.never

/** Runs a round at once and then one a day, without end; `what` it deletes stays if the storage fails. */
export const daily = (what: string, round: Effect.Effect<void, StorageError>): Effect.Effect<never> =>
  round.pipe(
    Effect.catchTag("StorageError", ({ message }) => Effect.logWarning(`Old ${what} are kept for now. ${message}`)),
    Effect.andThen(Effect.sleep(INTERVAL)),
    Effect.forever
  )

/** Deletes batch by batch, with a pause after each; returns how many have gone. */
export const sweep = Effect.fnUntraced(function* <After>(
  batch: (
    after: After | undefined
  ) => Effect.Effect<{ readonly forgotten: number; readonly next: After | undefined }, StorageError>,
  from?: After
): Effect.fn.Return<number, StorageError> {
  let sum = 0
  for (let after = from; ; yield* Effect.sleep(PAUSE)) {
    const { forgotten, next } = yield* batch(after)
    sum += forgotten
    if (next === undefined) return sum
    after = next
  }
})
