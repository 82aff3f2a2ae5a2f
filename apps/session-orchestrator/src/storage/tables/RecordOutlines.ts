/**
 * Reads records without results of tools and without the content of answers: enough for a turn's state, attempts, waits and usage.
 *
 * RecordOutlines.O1. Only long values are left out or cut, in the database: an answer keeps its end, which has its usage. What cannot be cut is
 *     read whole.
 */
import { JournalTable, Rows, type TableError } from "@holdfast/journal/sql"
import type { Records } from "@holdfast/kernel"
import type { Ids } from "@holdfast/wire"
import { Effect } from "effect"
import type { SqlClient } from "effect/sql"
import * as SealTable from "./SealTable.ts"

/** The records of each turn, oldest first, in the order of the ids. */
export const load =
  (sql: SqlClient.SqlClient) =>
  (ids: ReadonlyArray<Ids.TurnId>): Effect.Effect<ReadonlyArray<ReadonlyArray<Records.Stored>>, TableError> =>
    Effect.gen(function* () {
      // The columns are text and NOT NULL, so there is nothing to decode.
      const rows = yield* sql<Row>`
        SELECT t.turn_id AS "turnId", j.name,
          CASE WHEN ${isLong(sql)} AND j.name LIKE 'step/%/attempt/%' THEN ${end(sql)} ELSE j.value END AS value
        FROM turns t JOIN journal j ON j.turn = t.number
        WHERE ${Rows.have(sql, "t.turn_id", ids)} AND NOT (${isLong(sql)} AND j.name LIKE 'step/%/tool/%')
        ORDER BY j.turn, j.seq`
      const records = Map.groupBy(
        rows.map(({ name, turnId, value }) => ({
          turnId,
          name,
          value: value.startsWith(CUT) ? restored(value) : value
        })),
        ({ turnId }) => turnId
      )
      return yield* Effect.forEach(ids, (id) => {
        const found = records.get(id) ?? []
        const read = found.flatMap(({ name, value }) => (value === undefined ? [] : [{ name, value }]))
        return read.length === found.length
          ? Effect.succeed(read)
          : Effect.map(JournalTable.load(sql, SealTable.TABLES)([id]), ([whole = []]) => whole)
      })
    })

// --- internal

interface Row extends Records.Stored {
  readonly turnId: Ids.TurnId
}

/** Bytes of a value that is cut: those of most texts are fewer. */
const LONG = 8 * 1024

/** Characters of a cut value: more than an answer has behind its content. */
const END = 1024

/** Begins a cut value; no JSON does. */
const CUT = "~"

const isLong = (sql: SqlClient.SqlClient) => sql.literal(`octet_length(j.value) > ${LONG}`)

const end = (sql: SqlClient.SqlClient) =>
  sql.onDialectOrElse({
    pg: () => sql.literal(`'${CUT}' || right(j.value, ${END})`),
    orElse: () => sql.literal(`'${CUT}' || substr(j.value, -${END})`)
  })

/** What an answered attempt has behind its content (`Records.AttemptOutcome`). */
const BEHIND_CONTENT = /\]((?:,"usage":\{[^{}]*\}|,"endedAt":[\d.e+]+){1,2},"finishReason":"[a-z-]+"\})$/

/** The value without its content; `undefined`: it is no answered attempt. */
const restored = (value: string): string | undefined => {
  const [, rest] = BEHIND_CONTENT.exec(value) ?? []
  return rest && `{"_tag":"Completed","content":[]${rest}`
}
