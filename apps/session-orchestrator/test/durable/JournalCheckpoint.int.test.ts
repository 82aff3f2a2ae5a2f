/** Runs the suite of `Checkpoint` over the journal of a SQLite file, which each life opens again. */
import { TurnStopped } from "@holdfast/kernel"
import { CheckpointSuite } from "@holdfast/kernel/testing"
import { Context, Effect, Layer } from "effect"
import * as JournalCheckpoint from "../../src/durable/JournalCheckpoint.ts"
import { Journal } from "../../src/durable/Journal.ts"
import * as SqlStore from "../../src/storage/sql/SqlStore.ts"
import * as Given from "../storage/Given.ts"
import { temporaryFile } from "../storage/TemporaryFile.ts"

/** An append that fails stops the turn at once. */
const atOnce: JournalCheckpoint.Persist = (append) =>
  Effect.mapError(append, ({ message }) => new TurnStopped.TurnStopped({ message }))

const engine: CheckpointSuite.MakeEngine = Effect.gen(function* () {
  const path = yield* temporaryFile
  yield* Effect.provide(Given.oneTurn, SqlStore.layer({ path }))
  return {
    live: Effect.flatMap(Layer.build(SqlStore.layer({ path })), (services) =>
      Effect.map(
        JournalCheckpoint.make(Context.get(services, Journal), Given.turnId(1), atOnce),
        ({ checkpoint }) => checkpoint
      )
    )
  }
})

// Each life opens the file again, which takes some milliseconds. The seal is the turn's last event, on the same disk (K7).
CheckpointSuite.suite("the journal on a SQLite file", engine, { sealIsInEvents: true, runs: 8 })
