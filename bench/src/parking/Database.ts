/** What the benchmark does to a database behind the service's back: it gives conversations a past, and turns a time to wake. */
import { DatabaseSync } from "node:sqlite"
import { statSync } from "node:fs"
import { Ids } from "@holdfast/wire"

/** The bytes of a database file. */
export const sizeOf = (database: string): number => statSync(database).size

/** The ids of all conversations in a database. */
export const conversationsIn = (database: string): ReadonlyArray<Ids.ConversationId> => {
  const sql = new DatabaseSync(database, { readOnly: true })
  const rows = sql.prepare("SELECT conversation_id AS id FROM conversations").all()
  sql.close()
  return rows.map((row) => Ids.ConversationId.make(String(row["id"])))
}

/** Gives every conversation a turn of the past with its messages. */
export const addHistory = (database: string, messages: number): void => {
  const sql = new DatabaseSync(database)
  sql.exec(`
    BEGIN;
    INSERT INTO turns (turn_id, conversation, prompt, accepted_at, after_event_id, end_event_id)
      SELECT 'past-' || number, number, 'past', 0, 0, ${messages} FROM conversations;
    WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < ${messages})
    INSERT INTO events (conversation, event_id, turn, position, type, payload)
      SELECT t.conversation, n.i, t.number, n.i - 1, CASE WHEN n.i = ${messages} THEN 'turn-end' ELSE 'message' END,
        CASE WHEN n.i = ${messages}
          THEN ',"status":"completed","endedAt":0,"steps":1,"attempts":1,"sleptMs":0,"usage":{}}'
          ELSE 'user.' || n.i || ',"createdAt":0,"content":' || json_array(
            json_object('type', 'text', 'text', 'A message of some sixty characters, as people write them.')) || '}'
        END
      FROM turns t, n WHERE t.prompt = 'past';
    COMMIT;
    PRAGMA wal_checkpoint(TRUNCATE)`)
  sql.close()
}

/** Lets the waits of crowds of so many turns end, each crowd's within one second that begins at its time, in epoch milliseconds. */
export const makeDue = (database: string, due: number, ...times: ReadonlyArray<number>): void => {
  const sql = new DatabaseSync(database)
  const update = sql.prepare(
    "UPDATE journal SET value = json_set(value, '$.retryAt', ?) WHERE turn = ? AND name LIKE '%/decision/%'"
  )
  sql.exec("BEGIN")
  sql
    .prepare("SELECT number FROM turns WHERE end_event_id IS NULL LIMIT ?")
    .all(due * times.length)
    .forEach((row, i) => {
      const from = times[Math.floor(i / due)] ?? 0
      update.run(from + Math.floor(((i % due) / due) * 1_000), row["number"] ?? 0)
    })
  sql.exec("COMMIT; PRAGMA wal_checkpoint(TRUNCATE)")
  sql.close()
}

/** Takes the unfinished turns out of sight; the result brings them back. */
export const hide = (database: string): (() => void) => {
  const change = (statement: string) => {
    const sql = new DatabaseSync(database)
    sql.exec(`${statement}; PRAGMA wal_checkpoint(TRUNCATE)`)
    sql.close()
  }
  change("UPDATE turns SET end_event_id = -1 WHERE end_event_id IS NULL")
  return () => change("UPDATE turns SET end_event_id = NULL WHERE end_event_id = -1")
}

/** When each conversation's turn is due, of those that are due within a second from a time on; by the conversation's id. */
export const dueTimes = (database: string, from: number): ReadonlyMap<string, number> => {
  const sql = new DatabaseSync(database, { readOnly: true })
  const rows = sql
    .prepare(
      `SELECT c.conversation_id AS id, json_extract(j.value, '$.retryAt') AS due FROM journal j
       JOIN turns t ON t.number = j.turn JOIN conversations c ON c.number = t.conversation
       WHERE j.name LIKE '%/decision/%' AND due >= ? AND due < ?`
    )
    .all(from, from + 1_000)
  sql.close()
  return new Map(rows.map((row) => [String(row["id"]), Number(row["due"])]))
}

/** One row a turn, in groups, with the pragmas of the service. */
export const bareInserts = (
  file: string,
  turns: number,
  atOnce: number
): { readonly perSecond: number; readonly bytes: number } => {
  const sql = new DatabaseSync(file)
  sql.exec(
    "PRAGMA journal_mode=WAL; PRAGMA synchronous=FULL; CREATE TABLE park (turn_id TEXT PRIMARY KEY, wake_at INTEGER, value TEXT)"
  )
  const insert = sql.prepare("INSERT INTO park VALUES (?, ?, ?)")
  const value = JSON.stringify({ _tag: "Retry", attempt: 0, delayMs: 3_600_000, retryAt: Date.now() })
  const start = performance.now()
  for (let i = 0; i < turns; i += atOnce) {
    sql.exec("BEGIN")
    for (let j = i; j < Math.min(turns, i + atOnce); j++) insert.run(crypto.randomUUID(), Date.now(), value)
    sql.exec("COMMIT")
  }
  const perSecond = turns / ((performance.now() - start) / 1_000)
  sql.exec("PRAGMA wal_checkpoint(TRUNCATE)")
  sql.close()
  return { perSecond, bytes: statSync(file).size / turns }
}
