/** Tags and metadata of turns and conversations: a row for each of those that have any, and a row for each tag, by which lists find them. */
import { Effect } from "effect"
import { SqlClient } from "effect/sql"

/** Adds the tables. */
export const migration = Effect.gen(function* () {
  const sql = yield* SqlClient.SqlClient
  const number = sql.onDialectOrElse({ pg: () => sql.literal("BIGINT"), orElse: () => sql.literal("INTEGER") })
  // In SQLite the key is the table.
  const byKey = sql.onDialectOrElse({ pg: () => sql.literal(""), orElse: () => sql.literal("WITHOUT ROWID") })
  for (const [of, table] of [
    ["turn", "turns"],
    ["conversation", "conversations"]
  ] as const) {
    yield* sql`CREATE TABLE ${sql(`${of}_labels`)} (
      ${sql(of)} ${number} PRIMARY KEY NOT NULL REFERENCES ${sql(table)} (number),
      metadata TEXT,
      tags TEXT
    )`
    yield* sql`CREATE TABLE ${sql(`${of}_tags`)} (
      tag TEXT NOT NULL,
      ${sql(of)} ${number} NOT NULL REFERENCES ${sql(table)} (number),
      PRIMARY KEY (tag, ${sql(of)})
    ) ${byKey}`
    // Rows are deleted with their turn or conversation.
    yield* sql`CREATE INDEX ${sql(`${of}_tags_by_${of}`)} ON ${sql(`${of}_tags`)} (${sql(of)})`
  }
})
