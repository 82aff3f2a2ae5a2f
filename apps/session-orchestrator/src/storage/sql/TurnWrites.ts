/**
 * Writes the records and events of running turns; events with the records that they follow from.
 *
 * TurnWrites.A1. A write is stored whole or not: when its records collide (`Journal.J2`), its events are not written.
 * TurnWrites.A2. The writes of a group are made together. When a write is refused, each is made in a savepoint of its own
 *     (`GroupCommit.G2`), so A1 holds for each, and the refused write leaves the others alone.
 */
import { type Array as Arr, Effect, Option, type Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type * as EventNumbers from "../tables/EventNumbers.ts"
import * as EventTable from "../tables/EventTable.ts"
import * as JournalTable from "../tables/JournalTable.ts"
import type { StoredEvent } from "../Store.ts"

/** One write of a turn. */
export interface TurnWrite {
  readonly records?: JournalTable.Append
  readonly events?: EventNumbers.Append
}

/** The events of a write with their ids; none: another process has written records under its numbers, and nothing was written. */
export type Written = Option.Option<ReadonlyArray<StoredEvent>>

/**
 * Makes the writes of a group.
 *
 * @param writer names this process, where other processes write to the same database
 */
export const write =
  (sql: SqlClient.SqlClient, writer?: string) =>
  (
    writes: Arr.NonEmptyReadonlyArray<TurnWrite>
  ): Effect.Effect<ReadonlyArray<Written>, SqlError.SqlError | Schema.SchemaError> =>
    Effect.gen(function* () {
      const holding = yield* ofThose(writes, ({ records }) => records, JournalTable.append(sql, writer))
      const made = writes.filter((write) => holding.get(write) !== false) // A1
      const stored = yield* ofThose(made, ({ events }) => events, EventTable.append(sql))
      return writes.map((write) =>
        holding.get(write) === false ? Option.none() : Option.some(stored.get(write) ?? [])
      )
    })

// --- internal

/** Writes one part of the writes that have it, and returns the result of each. */
const ofThose = <Part, Out, E>(
  writes: ReadonlyArray<TurnWrite>,
  partOf: (write: TurnWrite) => Part | undefined,
  make: (parts: ReadonlyArray<Part>) => Effect.Effect<ReadonlyArray<Out>, E>
): Effect.Effect<ReadonlyMap<TurnWrite, Out | undefined>, E> => {
  const having: Array<TurnWrite> = []
  const parts: Array<Part> = []
  for (const write of writes) {
    const part = partOf(write)
    if (part === undefined) continue
    having.push(write)
    parts.push(part)
  }
  if (parts.length === 0) return Effect.succeed(new Map())
  return Effect.map(make(parts), (outs) => new Map(having.map((write, i) => [write, outs[i]])))
}
