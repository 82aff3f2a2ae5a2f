/**
 * Turns as they come in, with what they say first.
 *
 * A turn that is about to run anyway has its first events written in the transaction that accepts it: one sync of the disk less
 * before its provider is asked.
 */
import type { Array as Arr } from "effect"
import { Effect, type Schema } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import type { Append } from "./EventNumbers.ts"
import * as EventTable from "./EventTable.ts"
import type { Acceptance } from "./Store.ts"
import * as TurnTable from "./TurnTable.ts"

/** A turn, and the first of its events, encoded. */
export interface Arrival {
  readonly turn: TurnTable.NewTurn
  readonly opening: Append["events"] | undefined
}

/** Records turns whose ids are free, with their openings, and says of each what became of it. */
export const accept =
  (sql: SqlClient.SqlClient) =>
  (
    arrivals: Arr.NonEmptyReadonlyArray<Arrival>
  ): Effect.Effect<ReadonlyArray<Acceptance>, SqlError.SqlError | Schema.SchemaError> =>
    Effect.gen(function* () {
      const entries = yield* TurnTable.accept(sql)(arrivals.map(({ turn }) => turn))
      const opened = arrivals.flatMap(({ opening, turn }, i) =>
        opening !== undefined && entries[i]?._tag === "Accepted" ? [{ i, append: appendOf(turn, opening) }] : []
      )
      if (opened.length === 0) return entries
      const stored = yield* EventTable.append(sql)(opened.map(({ append }) => append))
      const acceptances: Array<Acceptance> = Array.from(entries)
      opened.forEach(({ i }, nth) => (acceptances[i] = { _tag: "Accepted", opening: stored[nth] ?? [] }))
      return acceptances
    })

// --- internal

const appendOf = ({ conversationId, turnId }: TurnTable.NewTurn, events: Append["events"]): Append => ({
  conversationId,
  turnId,
  position: 0,
  events
})
