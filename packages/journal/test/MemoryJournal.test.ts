import { CheckpointSuite } from "@holdfast/kernel/testing"
import { Effect } from "effect"
import { Journal } from "../src/Journal.ts"
import * as JournalCheckpoint from "../src/JournalCheckpoint.ts"
import * as MemoryJournal from "../src/MemoryJournal.ts"
import { JournalSuite } from "../testing/index.ts"

const { turnId } = JournalSuite

JournalSuite.suite("memory", {
  layer: MemoryJournal.layer,
  journal: Journal,
  accept: () => Effect.void,
  seal: (n, at) =>
    Effect.flatMap(Journal, (journal) => journal.append(turnId(n), 1, { name: "seal", value: JSON.stringify({ at }) }))
})

const engine: CheckpointSuite.MakeEngine = Effect.sync(() => {
  const journal = MemoryJournal.make()
  return { live: Effect.provideService(JournalCheckpoint.load(turnId(1)), Journal, journal) }
})

CheckpointSuite.suite("the journal in memory", engine)
