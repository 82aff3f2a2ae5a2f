/**
 * Reads the wait that a parked turn is in from its journal, without running the turn.
 *
 * For a wait that nothing has moved the newest record is enough, so a start costs the same for turns with a long past.
 */
import { Records, RetryStrategy } from "@holdfast/kernel"
import { History } from "@holdfast/kernel/host"
import type { Ids } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import type { Journal } from "./Journal.ts"
import type { StorageError } from "./StorageError.ts"

/**
 * Returns when a wait that is taken up at `now` is over, in epoch milliseconds: no later than its length from now, as the clock may have been set
 * back since it began. A moment that a person chose stays.
 */
export const wakeAt = (
  { isMoved, retryAt, since }: Pick<History.Wait, "isMoved" | "retryAt" | "since">,
  now: number
): number => (isMoved ? retryAt : Math.min(retryAt, now + (retryAt - since)))

/**
 * The wait that a turn is in according to its last record; `undefined` without a wait. Earlier records are loaded only for a wait with a
 * command.
 *
 * @param tail the newest record; `undefined` before the first
 */
export const currentBy = (
  journal: Pick<Journal["Service"], "load">,
  { tail, turnId }: { readonly turnId: Ids.TurnId; readonly tail: Records.Stored | undefined }
): Effect.Effect<History.Wait | undefined, StorageError> => {
  const record = tail && LAST.has(Records.positionOf(tail.name)?.kind) ? Records.parse(tail) : undefined
  if (record?.kind === "Wake" && !RetryStrategy.endsWait(record.value)) return Effect.map(journal.load(turnId), waitIn)
  return Effect.succeed(tail && record?.kind === "Decision" ? waitIn([tail]) : undefined)
}

/** The ids of the commands in some records, so that the same command again does nothing (rule X4). */
export const commandIdsOf = (known: ReadonlyArray<Records.Stored>): ReadonlyArray<string> =>
  known.flatMap((record) => Records.valueOf("Wake", record)?.by?.commandId ?? [])

// --- internal

/** Kinds of records that the journal of a turn in a wait ends with. */
const LAST = new Set<Records.Kind | undefined>(["Decision", "Wake"])

const waitIn = (records: ReadonlyArray<Records.Stored>): History.Wait | undefined => History.of(records).wait
