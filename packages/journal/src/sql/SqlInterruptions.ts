/** Implements `Interruptions` on a SQL database. */
import type { Ids } from "@holdfast/wire"
import type * as Effect from "effect/Effect"
import type { Interruption } from "../Interruption.ts"
import type { Interruptions } from "../Interruptions.ts"
import type { StorageError } from "../StorageError.ts"
import * as InterruptionTable from "./InterruptionTable.ts"
import type { SqlDatabase } from "./SqlDatabase.ts"
import type { Tables } from "./Tables.ts"

/** Adds the lane of interruptions to a database. */
export const make = ({ failed, lane, read, sql }: SqlDatabase, tables: Tables): Interruptions["Service"] => {
  const write = lane(InterruptionTable.note(sql, tables))
  const noting =
    (takesUp: boolean) =>
    (turnId: Ids.TurnId, interruption: Interruption): Effect.Effect<void, StorageError> =>
      write({ turnId, interruption, takesUp }).pipe(failed(`record what has interrupted turn ${turnId}`))
  return {
    find: (turnId) => InterruptionTable.find(sql, tables, turnId).pipe(read(`what has interrupted turn ${turnId}`)),
    takeUp: noting(true),
    note: noting(false)
  }
}
