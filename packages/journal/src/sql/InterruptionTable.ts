/** Implements `Interruptions` on a SQL database; a turn without interruptions has no row. */
import type * as Interruption from "../Interruption.ts"
import type { Interruptions } from "../Interruptions.ts"
import type { StorageError } from "../StorageError.ts"
import type { Ids } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SqlClient, SqlError } from "effect/sql"
import * as Rows from "./Rows.ts"
import type { SqlDatabase } from "./SqlDatabase.ts"
import type { Tables } from "./JournalTable.ts"

/** The port over the rows. */
export const make = ({ failed, lane, read: reading, sql }: SqlDatabase, tables: Tables): Interruptions["Service"] => {
  const write = lane(note(sql, tables))
  const noting =
    (takesUp: boolean) =>
    (turnId: Ids.TurnId, interruption: Interruption.Interruption): Effect.Effect<void, StorageError> =>
      write({ turnId, interruption, takesUp }).pipe(failed(`record what has interrupted turn ${turnId}`))
  return {
    find: (turnId) => find(sql, tables, turnId).pipe(reading(`what has interrupted turn ${turnId}`)),
    takeUp: noting(true),
    note: noting(false)
  }
}

/** The interruptions of a turn. */
export const find = (
  sql: SqlClient.SqlClient,
  tables: Tables,
  turnId: Ids.TurnId
): Effect.Effect<Option.Option<Interruption.Interruption>, SqlError.SqlError> =>
  Effect.map(
    sql<Row>`
      SELECT ${sql.literal(COLUMNS)} FROM ${sql.literal(tables.interruptions)} i
      JOIN ${sql.literal(tables.turns)} t ON t.number = i.turn WHERE t.turn_id = ${turnId}`,
    ([row]) => Option.fromUndefinedOr(row && read(row))
  )

/** Deletes the interruptions of turns. */
export const forget = (
  sql: SqlClient.SqlClient,
  tables: Tables,
  ids: ReadonlyArray<Ids.TurnId>
): Effect.Effect<void, SqlError.SqlError> =>
  Effect.asVoid(
    sql`DELETE FROM ${sql.literal(tables.interruptions)} WHERE turn IN (
      SELECT t.number FROM ${sql.literal(tables.turns)} t WHERE ${Rows.have(sql, "t.turn_id", ids)})`
  )

/** The columns of `Row`, for a query that names the table `i`. */
export const COLUMNS = "i.life, i.seen, i.deaths, i.is_alone, i.is_orderly, i.defects"

/** A row. It was written from this type, so it is not decoded. */
export interface Row {
  readonly life: string
  readonly seen: number
  readonly deaths: number
  readonly is_alone: number
  readonly is_orderly: number
  readonly defects: number
}

/** The interruption in a row. */
export const read = ({ deaths, defects, is_alone, is_orderly, life, seen }: Row): Interruption.Interruption => ({
  life,
  seen,
  deaths,
  isAlone: is_alone === 1,
  isOrderly: is_orderly === 1,
  defects
})

// --- internal

/** The row to write for one turn. */
interface Note {
  readonly turnId: Ids.TurnId
  readonly interruption: Interruption.Interruption
  /** The process takes the turn up, so the row is written whatever process had the turn; otherwise only if this process has it. */
  readonly takesUp: boolean
}

/** Writes the interruptions of turns, in order. A count of defects never shrinks. */
const note =
  (sql: SqlClient.SqlClient, tables: Tables) =>
  (notes: ReadonlyArray<Note>): Effect.Effect<ReadonlyArray<void>, SqlError.SqlError> =>
    Effect.forEach(notes, ({ interruption, takesUp, turnId }) => {
      const { deaths, defects, isAlone, isOrderly, life, seen } = interruption
      const owned = takesUp ? sql`` : sql`WHERE ${sql.literal(tables.interruptions)}.life = excluded.life`
      return Effect.asVoid(sql`
        INSERT INTO ${sql.literal(tables.interruptions)} (turn, life, seen, deaths, is_alone, is_orderly, defects)
        SELECT t.number, ${life}, ${seen}, ${deaths}, ${isAlone ? 1 : 0}, ${isOrderly ? 1 : 0}, ${defects}
        FROM ${sql.literal(tables.turns)} t WHERE t.turn_id = ${turnId}
        ON CONFLICT (turn) DO UPDATE SET life = excluded.life, seen = excluded.seen, deaths = excluded.deaths,
          is_alone = excluded.is_alone, is_orderly = excluded.is_orderly,
          defects = CASE WHEN excluded.defects > ${sql.literal(tables.interruptions)}.defects
            THEN excluded.defects ELSE ${sql.literal(tables.interruptions)}.defects END
        ${owned}`)
    })
