/** Implements `Interruptions` on a SQL database; a turn without interruptions has no row. */
import type * as Interruption from "../Interruption.ts"
import type { Ids } from "@holdfast/wire"
import * as Effect from "effect/Effect"
import * as Option from "effect/Option"
import type { SqlDatabase } from "./SqlDatabase.ts"
import type { Tables } from "./JournalTable.ts"
import * as Rows from "./Rows.ts"

/** Makes the port. */
export const make = ({ each, read: reading, sql }: SqlDatabase, tables: Tables) => {
  const [table, turns] = [sql.literal(tables.interruptions), sql.literal(tables.turns)]
  const write = each(
    (turnId) => `record what has interrupted turn ${turnId}`,
    (turnId: Ids.TurnId, interruption: Interruption.Interruption, takesUp: boolean) => {
      const { deaths, defects, isAlone, isOrderly, life, seen } = interruption
      // A count of defects never shrinks.
      const take = (column: string) =>
        column === "defects"
          ? `CASE WHEN excluded.defects > ${tables.interruptions}.defects THEN excluded.defects ELSE ${tables.interruptions}.defects END`
          : `excluded.${column}`
      return Effect.asVoid(sql`
        INSERT INTO ${table} (turn, ${sql.literal(COLUMNS.join(", "))})
        SELECT t.number, ${life}, ${seen}, ${deaths}, ${isAlone ? 1 : 0}, ${isOrderly ? 1 : 0}, ${defects}
        FROM ${turns} t WHERE t.turn_id = ${turnId} ${Rows.replacing(sql, "turn", COLUMNS, take)}
        ${takesUp ? sql`` : sql`WHERE ${table}.life = excluded.life`}`)
    }
  )
  return {
    /** The interruptions of a turn; none for a turn that was never interrupted. */
    find: (turnId: Ids.TurnId) =>
      sql<Row>`SELECT ${sql.literal(SELECTED)} FROM ${table} i JOIN ${turns} t ON t.number = i.turn WHERE t.turn_id = ${turnId}`.pipe(
        reading(`what has interrupted turn ${turnId}`),
        Effect.map(([row]) => Option.fromUndefinedOr(row && read(row)))
      ),
    /** Writes the interruptions of a turn that this process takes up, whatever process had it before. */
    takeUp: (turnId: Ids.TurnId, interruption: Interruption.Interruption) => write(turnId, interruption, true),
    /** Writes the interruptions of a turn that this process has (Interruptions.S1). */
    note: (turnId: Ids.TurnId, interruption: Interruption.Interruption) => write(turnId, interruption, false)
  }
}

const COLUMNS = ["life", "seen", "deaths", "is_alone", "is_orderly", "defects"]

/** The columns of `Row`, for a query that names the table `i`. */
export const SELECTED = `i.life, i.seen, i.deaths, i.is_alone AS "isAlone", i.is_orderly AS "isOrderly", i.defects`

/** A row. It was written from this type, so it is not decoded. */
export interface Row extends Omit<Interruption.Interruption, "isAlone" | "isOrderly"> {
  readonly isAlone: number
  readonly isOrderly: number
}

/** The interruption in a row. */
export const read = (row: Row): Interruption.Interruption => ({
  ...row,
  isAlone: row.isAlone === 1,
  isOrderly: row.isOrderly === 1
})
