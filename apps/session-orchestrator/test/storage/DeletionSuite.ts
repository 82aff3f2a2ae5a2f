/** Tests the laws of every `Deletions`, over any database. */
import { expect, it } from "@effect/vitest"
import type { StorageError } from "@holdfast/journal"
import { Effect, type Layer, Option } from "effect"
import { SqlClient, type SqlError } from "effect/sql"
import { Deletions } from "../../src/storage/Deletions.ts"
import type { TurnLog } from "../../src/storage/TurnLog.ts"
import { Lists } from "../../src/storage/Lists.ts"
import { SpendRaises } from "../../src/storage/SpendRaises.ts"
import { Store } from "../../src/storage/Store.ts"
import * as NumberedData from "./NumberedData.ts"
import * as Logged from "./Logged.ts"
import * as It from "../It.ts"

type Storage = Store | TurnLog | Lists | Deletions | SpendRaises | SqlClient.SqlClient

/** Tables with rows of conversations. */
const TABLES = `conversations turns events journal interruptions turn_labels turn_tags turn_prompts
  conversation_labels conversation_tags outbox spend_raises`.split(/\s+/)

/** Runs the suite; each test builds the layer anew, and finds it empty. */
export const suite = (name: string, layer: Layer.Layer<Storage, StorageError | SqlError.SqlError>) => {
  const test = It.suite(name, layer, it.live)
  const rows = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const counts: Array<unknown> = []
    for (const table of TABLES) counts.push([table, (yield* sql`SELECT * FROM ${sql(table)}`).length])
    return counts
  })

  /** Conversation `of` with a turn of its own, with all that a turn can have. */
  const write = Effect.fnUntraced(function* (of: number, isSealed: boolean) {
    const [store, sql] = [yield* Store, yield* SqlClient.SqlClient]
    const scope = NumberedData.conversationId(of)
    yield* sql`INSERT INTO spend_raises ${sql.insert({ spend_limit: "daily", scope, until: 9, money: null, tokens: 5 })}`
    const labels = { tags: ["nightly"], metadata: { of } }
    yield* store.createConversation(NumberedData.conversation(of, { labels }))
    yield* Logged.accept(NumberedData.turn(of, of, { labels, notify: ["webhook"], ...NumberedData.withImage }))
    yield* Logged.append(NumberedData.turnId(of), 0, [{ name: "step/0/attempt/0", value: "{}" }])
    yield* Logged.events(NumberedData.turnId(of), [NumberedData.message(of, of, 0)], 0)
    if (isSealed) yield* Logged.events(NumberedData.turnId(of), [NumberedData.end(of, of)], 1)
  })

  test("rule X15: a conversation is deleted with everything in it, and nothing else is", function* () {
    const [deletions, store] = [yield* Deletions, yield* Store]
    yield* write(1, true)
    const before = yield* rows
    yield* write(2, true)
    expect(yield* deletions.conversation(NumberedData.conversationId(2))).toBe("deleted")
    yield* deletions.scrub
    expect(yield* rows).toEqual(before)
    expect(yield* store.conversation(NumberedData.conversationId(2))).toEqual(Option.none())
    expect(yield* deletions.conversation(NumberedData.conversationId(2))).toBe("missing")
    // The same ids again are new.
    yield* write(2, true)
    expect(yield* Logged.history(NumberedData.conversationId(2))).toHaveLength(1)
    const { rows: listed } = yield* (yield* Lists).turns({ tag: "nightly" }, undefined, 10)
    expect(listed.map(({ turn }) => turn.turnId)).toEqual([2, 1].map(NumberedData.turnId))
  })

  test("rule X11: a raise of a limit is deleted when it has ended, and replaced by the next for the same sum", function* () {
    const { add, load } = yield* SpendRaises
    const raise = { of: "daily", scope: "", until: 9, money: null, tokens: 5 }
    for (const scope of ["", "nightly"]) yield* add({ ...raise, scope }, 0)
    yield* add({ ...raise, until: 20, money: 7, tokens: null }, 8)
    expect(yield* load(8)).toHaveLength(2)
    expect(yield* load(9)).toEqual([{ ...raise, until: 20, money: 7, tokens: null }])
    yield* add({ ...raise, until: 30 }, 9)
    expect(yield* load(0)).toEqual([{ ...raise, until: 30 }])
  })

  test("rule X15: a conversation whose turn has not ended stays", function* () {
    const deletions = yield* Deletions
    yield* write(1, false)
    const before = yield* rows
    expect(yield* deletions.conversation(NumberedData.conversationId(1))).toBe("busy")
    expect(yield* rows).toEqual(before)
  })

  test("rule X15: a conversation of thousands of events is deleted in parts, all in one transaction", function* () {
    const [deletions, sql] = [yield* Deletions, yield* SqlClient.SqlClient]
    yield* write(1, true)
    const before = yield* rows
    yield* write(2, true)
    const [row] = yield* sql<{ readonly number: number }>`SELECT CAST(number AS INTEGER) AS number FROM conversations
        WHERE conversation_id = ${NumberedData.conversationId(2)}`
    const of = row?.number ?? 0
    const many = sql`(WITH RECURSIVE r(n) AS (SELECT 1001 UNION ALL SELECT n + 1 FROM r WHERE n < 2100) SELECT n FROM r) AS s`
    yield* sql`INSERT INTO turns (number, turn_id, conversation, prompt, accepted_at, after_event_id, end_event_id, status, ended_at)
        SELECT n, 'turn-' || n, ${of}, 'go', n, 2 * n, 2 * n + 2, 'completed', n FROM ${many}`
    for (const position of [1, 2])
      yield* sql`INSERT INTO events (conversation, event_id, turn, position, type, payload)
          SELECT ${of}, 2 * n + ${position}, n, ${position}, 'message', '' FROM ${many}`
    yield* sql`INSERT INTO turn_tags (tag, turn) SELECT 'nightly', n FROM ${many}`
    expect(yield* deletions.conversation(NumberedData.conversationId(2))).toBe("deleted")
    expect(yield* rows).toEqual(before)
  })

  test("rule X15: rows that refer to a deleted row are found by an index", function* () {
    const sql = yield* SqlClient.SqlClient
    const references = yield* sql<{ readonly name: string; readonly columns: string }>`${sql.onDialectOrElse({
      pg: () => sql`SELECT conrelid::regclass::text AS name, (SELECT string_agg(a.attname, ',' ORDER BY a.attname)
            FROM pg_attribute a WHERE a.attrelid = conrelid AND a.attnum = ANY (conkey)) AS columns
          FROM pg_constraint WHERE contype = 'f'`,
      orElse:
        () => sql`SELECT t.name, (SELECT group_concat(f."from", ',') FROM pragma_foreign_key_list(t.name) f) AS columns
          FROM sqlite_schema t WHERE t.type = 'table' AND columns IS NOT NULL`
    })}`
    const indexes = yield* sql<{ readonly name: string; readonly first: string }>`${sql.onDialectOrElse({
      pg: () => sql`SELECT i.indrelid::regclass::text AS name, a.attname AS first
          FROM pg_index i JOIN pg_attribute a ON a.attrelid = i.indrelid AND a.attnum = i.indkey[0]
          WHERE i.indpred IS NULL OR pg_get_indexdef(i.indexrelid) LIKE '%IS NOT NULL)'`,
      orElse: () => sql`SELECT t.name, c.name AS first FROM sqlite_schema t JOIN pragma_index_list(t.name) i
            JOIN pragma_index_info(i.name) c ON c.seqno = 0
          WHERE t.type = 'table' AND (i.partial = 0 OR EXISTS (
            SELECT 1 FROM sqlite_schema s WHERE s.name = i.name AND s.sql LIKE '%IS NOT NULL'))
          UNION ALL SELECT t.name, c.name FROM sqlite_schema t JOIN pragma_table_info(t.name) c ON c.pk = 1 WHERE t.type = 'table'`
    })}`
    const isFound = (table: string, columns: string) =>
      indexes.some(({ first, name }) => name === table && columns.split(",").includes(first))
    expect(references.length).toBeGreaterThan(8)
    expect(references.filter(({ columns, name }) => !isFound(name, columns))).toEqual([])
  })
}
