import { expect, it } from "@effect/vitest"
import { SqliteClient } from "@holdfast/journal/sqlite"
import { Effect, Layer } from "effect"
import { SqlClient } from "effect/sql"
import * as GateTable from "../../../src/storage/tables/GateTable.ts"
import * as SqlStore from "../../../src/storage/sql/SqlStore.ts"
import * as MemoryStore from "../MemoryStore.ts"
import * as DeletionSuite from "../DeletionSuite.ts"
import * as GateSuite from "../GateSuite.ts"
import * as IncidentSuite from "../IncidentSuite.ts"
import * as InterruptionSuite from "../InterruptionSuite.ts"
import * as JournalWithEventsSuite from "../JournalWithEventsSuite.ts"
import * as ListSuite from "../ListSuite.ts"
import * as OutboxSuite from "../OutboxSuite.ts"
import * as StandingSuite from "../StandingSuite.ts"
import * as StoreSuite from "../StoreSuite.ts"

InterruptionSuite.suite("memory", MemoryStore.layer)
StoreSuite.suite("memory", MemoryStore.layer)
JournalWithEventsSuite.suite("memory", MemoryStore.layer)
StandingSuite.suite("memory", MemoryStore.layer)
OutboxSuite.suite("memory", MemoryStore.layer)
IncidentSuite.suite("memory", MemoryStore.layer)
GateSuite.suite("memory", Layer.provideMerge(GateTable.layer(":memory:"), MemoryStore.withClient))
ListSuite.suite("memory", MemoryStore.withClient)
DeletionSuite.suite("memory", MemoryStore.withClient)

it.effect("a copy of a migrated database has the tables, the indexes and the rows of one that was migrated", () => {
  const content = Effect.gen(function* () {
    const sql = yield* SqlClient.SqlClient
    const entries = yield* sql`SELECT type, name, tbl_name, sql FROM sqlite_master ORDER BY type, name`
    const versions = yield* sql`SELECT migration_id, name FROM holdfast_migrations ORDER BY migration_id`
    return { entries, versions, probe: yield* sql`SELECT * FROM probe` }
  })
  const migrated = Layer.provideMerge(SqlStore.layerSql(":memory:"), SqliteClient.layer({ filename: ":memory:" }))
  return Effect.gen(function* () {
    expect(yield* Effect.provide(content, MemoryStore.withClient)).toEqual(yield* Effect.provide(content, migrated))
  })
})
