import { SqliteClient } from "@holdfast/journal/sqlite"
import { Layer } from "effect"
import * as GateTable from "../../../src/storage/tables/GateTable.ts"
import * as SqlStore from "../../../src/storage/sql/SqlStore.ts"
import * as DeletionSuite from "../DeletionSuite.ts"
import * as GateSuite from "../GateSuite.ts"
import * as IncidentSuite from "../IncidentSuite.ts"
import * as InterruptionSuite from "../InterruptionSuite.ts"
import * as JournalWithEventsSuite from "../JournalWithEventsSuite.ts"
import * as ListSuite from "../ListSuite.ts"
import * as OutboxSuite from "../OutboxSuite.ts"
import * as StandingSuite from "../StandingSuite.ts"
import * as StoreSuite from "../StoreSuite.ts"

InterruptionSuite.suite("memory", SqlStore.layerMemory)
StoreSuite.suite("memory", SqlStore.layerMemory)
JournalWithEventsSuite.suite("memory", SqlStore.layerMemory)
StandingSuite.suite("memory", SqlStore.layerMemory)
OutboxSuite.suite("memory", SqlStore.layerMemory)
IncidentSuite.suite("memory", SqlStore.layerMemory)
GateSuite.suite(
  "memory",
  GateTable.layer(":memory:").pipe(
    Layer.provideMerge(SqlStore.layerSql(":memory:")),
    Layer.provide(SqliteClient.layer({ filename: ":memory:" }))
  )
)
const withClient = SqlStore.layerSql(":memory:").pipe(Layer.provideMerge(SqliteClient.layer({ filename: ":memory:" })))
ListSuite.suite("memory", withClient)
DeletionSuite.suite("memory", withClient)
