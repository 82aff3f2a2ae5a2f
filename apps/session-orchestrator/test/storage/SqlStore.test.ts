import * as SqlStore from "../../src/storage/SqlStore.ts"
import * as JournalSuite from "./JournalSuite.ts"
import * as StandingSuite from "./StandingSuite.ts"
import * as StoreSuite from "./StoreSuite.ts"

StoreSuite.suite("memory", SqlStore.layerMemory)
JournalSuite.suite("memory", SqlStore.layerMemory)
StandingSuite.suite("memory", SqlStore.layerMemory)
