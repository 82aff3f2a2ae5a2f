import { assert, describe, it } from "@effect/vitest"
import { Effect } from "effect"
import { SqlClient } from "effect/sql"
import * as SchemaVersion from "../../src/sql/SchemaVersion.ts"
import * as SqliteClient from "../../src/sqlite/SqliteClient.ts"

const run = (statement: string) => Effect.flatMap(SqlClient.SqlClient, (sql) => Effect.asVoid(sql.unsafe(statement)))

const first: SchemaVersion.Versions = {
  table: "versions",
  another: "use another file",
  migrations: { "0025_tables": run("CREATE TABLE things (name TEXT)") }
}
const next: SchemaVersion.Versions = {
  ...first,
  migrations: { ...first.migrations, "0026_sizes": run("ALTER TABLE things ADD COLUMN size INTEGER") }
}

const bring = (versions: SchemaVersion.Versions) => SchemaVersion.bring("the file", versions)
const columns = Effect.flatMap(SqlClient.SqlClient, (sql) => sql`SELECT name FROM pragma_table_info('things')`)

describe("a database", () => {
  it.effect("gets its tables once, and each later version once", () =>
    Effect.gen(function* () {
      yield* bring(first)
      yield* bring(first)
      yield* SchemaVersion.refuseOther("the file", first)
      yield* run("INSERT INTO things VALUES ('kept')")
      yield* bring(next)
      yield* bring(next)
      assert.deepStrictEqual(yield* columns, [{ name: "name" }, { name: "size" }])
      const sql = yield* SqlClient.SqlClient
      assert.deepStrictEqual(yield* sql`SELECT * FROM things`, [{ name: "kept", size: null }])
    }).pipe(Effect.provide(SqliteClient.layer({ filename: ":memory:" })))
  )

  it.effect("of a newer version is refused by the start and by a reader", () =>
    Effect.gen(function* () {
      yield* bring(next)
      const { message } = yield* Effect.flip(bring(first))
      assert.strictEqual(
        message,
        "Could not use the database the file: its schema has version 26, and this Holdfast reads version 25. " +
          "Start the newer Holdfast that made it, or use another file. Nothing was changed."
      )
      assert.strictEqual((yield* Effect.flip(SchemaVersion.refuseOther("the file", first))).message, message)
    }).pipe(Effect.provide(SqliteClient.layer({ filename: ":memory:" })))
  )

  it.effect("of an older version is left to the start by a reader", () =>
    Effect.gen(function* () {
      yield* bring(first)
      const { message } = yield* Effect.flip(SchemaVersion.refuseOther("the file", next))
      assert.include(message, "has version 25, and this Holdfast reads version 26. Start the service of this Holdfast")
      assert.deepStrictEqual(yield* columns, [{ name: "name" }])
    }).pipe(Effect.provide(SqliteClient.layer({ filename: ":memory:" })))
  )

  it.effect("of before the first version is refused by the start, with all of its tables as they were", () =>
    Effect.gen(function* () {
      yield* bring({ ...first, migrations: { "0024_other": run("CREATE TABLE other (id INTEGER)") } })
      const { message } = yield* Effect.flip(bring(next))
      assert.include(message, "has version 24, and this Holdfast reads version 26. It is older than the first release")
      const sql = yield* SqlClient.SqlClient
      assert.deepStrictEqual(yield* columns, [])
      assert.deepStrictEqual(yield* sql`SELECT migration_id FROM versions`, [{ migration_id: 24 }])
    }).pipe(Effect.provide(SqliteClient.layer({ filename: ":memory:" })))
  )
})
