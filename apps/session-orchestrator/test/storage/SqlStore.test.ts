import * as SqlStore from "../../src/storage/SqlStore.ts"
import { suite } from "./StoreSuite.ts"

suite("memory", SqlStore.layerMemory)
