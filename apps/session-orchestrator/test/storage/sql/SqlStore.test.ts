import { Layer } from "effect"
import * as GateTable from "../../../src/storage/tables/GateTable.ts"
import * as MemoryStore from "../MemoryStore.ts"
import * as DeletionSuite from "../DeletionSuite.ts"
import * as GateSuite from "../GateSuite.ts"
import * as IncidentSuite from "../IncidentSuite.ts"
import * as InterruptionSuite from "../InterruptionSuite.ts"
import * as TurnLogSuite from "../TurnLogSuite.ts"
import * as ListSuite from "../ListSuite.ts"
import * as OutboxSuite from "../OutboxSuite.ts"
import * as StandingSuite from "../StandingSuite.ts"
import * as StoreSuite from "../StoreSuite.ts"

InterruptionSuite.suite("memory", MemoryStore.layer)
StoreSuite.suite("memory", MemoryStore.layer)
TurnLogSuite.suite("memory", MemoryStore.layer)
StandingSuite.suite("memory", MemoryStore.withClient)
OutboxSuite.suite("memory", MemoryStore.layer)
IncidentSuite.suite("memory", MemoryStore.layer)
GateSuite.suite("memory", Layer.provideMerge(GateTable.layer(":memory:"), MemoryStore.withClient))
ListSuite.suite("memory", MemoryStore.withClient)
DeletionSuite.suite("memory", MemoryStore.withClient)
