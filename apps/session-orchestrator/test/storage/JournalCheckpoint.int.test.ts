/** Runs the suite of `Checkpoint` over the journal of a SQLite file, which each life opens again. */
import { TemporaryFile } from "@holdfast/journal/testing"
import { JournalCheckpoint } from "@holdfast/journal"
import { CheckpointSuite } from "@holdfast/kernel/testing"
import { Context, Effect, Layer } from "effect"
import { Journal } from "../../src/storage/EventJournal.ts"
import * as SqlStore from "../../src/storage/sql/SqlStore.ts"
import * as NumberedData from "./NumberedData.ts"

const engine: CheckpointSuite.MakeEngine = Effect.gen(function* () {
  const path = yield* TemporaryFile.temporaryFile
  yield* Effect.provide(NumberedData.oneTurn, SqlStore.layer({ path }))
  return {
    live: Effect.flatMap(Layer.build(SqlStore.layer({ path })), (services) => {
      const journal = Context.get(services, Journal)
      return Effect.map(journal.load(NumberedData.turnId(1)), (known) =>
        JournalCheckpoint.over(journal, NumberedData.turnId(1), known)
      )
    })
  }
})

// Each life opens the file again, which takes some milliseconds.
CheckpointSuite.suite("the journal on a SQLite file of the service", engine, { runs: 8 })
