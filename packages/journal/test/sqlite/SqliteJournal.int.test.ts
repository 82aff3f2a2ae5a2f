/** Runs the suites of `Journal` and `Checkpoint` over a SQLite file. */
import { assert, describe, it } from "@effect/vitest"
import { Records } from "@holdfast/kernel"
import { CheckpointSuite } from "@holdfast/kernel/testing"
import { Context, Effect, Layer, Option } from "effect"
import { SqlClient } from "effect/sql"
import { Interruptions } from "../../src/Interruptions.ts"
import * as Interruption from "../../src/Interruption.ts"
import { Journal } from "../../src/Journal.ts"
import * as JournalCheckpoint from "../../src/JournalCheckpoint.ts"
import * as SqliteClient from "../../src/sqlite/SqliteClient.ts"
import * as SqliteJournal from "../../src/sqlite/SqliteJournal.ts"
import { JournalSuite, TemporaryFile } from "../../testing/index.ts"

const { record, turnId } = JournalSuite

const sealing = (n: number, at: number) => ({
  turnId: turnId(n),
  seq: 1,
  record: { name: Records.nameOf("Seal", 0), value: JSON.stringify({ at }) }
})

JournalSuite.suite("a SQLite file", {
  layer: Layer.unwrap(Effect.map(TemporaryFile.temporaryFile, (path) => SqliteJournal.layer({ path }))),
  journal: Journal,
  accept: () => Effect.void,
  seal: (n, at) =>
    Effect.flatMap(Journal, (journal) => {
      const { record, seq, turnId } = sealing(n, at)
      return journal.append(turnId, seq, record)
    })
})

const engine: CheckpointSuite.MakeEngine = Effect.map(TemporaryFile.temporaryFile, (path) => ({
  live: Effect.flatMap(Layer.build(SqliteJournal.layer({ path })), (services) =>
    Effect.provideService(JournalCheckpoint.load(turnId(1)), Journal, Context.get(services, Journal))
  )
}))

// Each life opens the file again, which takes some milliseconds.
CheckpointSuite.suite("the journal on a SQLite file", engine, { runs: 8 })

/** A connection to a file. */
const opened = (path: string) =>
  Effect.map(Layer.build(SqliteJournal.layer({ path })), (services) => Context.get(services, Journal))

describe("a SQLite file of a journal", () => {
  it.effect("rule X14: stores the interruptions of a turn, which go with its records", () =>
    Effect.gen(function* () {
      const journal = yield* Journal
      const interruptions = yield* Interruptions
      yield* journal.append(turnId(1), 0, record(0))
      const died = { ...Interruption.none("life 2"), deaths: 1 }
      yield* interruptions.takeUp(turnId(1), died)
      yield* interruptions.note(turnId(1), { ...died, life: "life 1", deaths: 2 })
      assert.deepStrictEqual(yield* interruptions.find(turnId(1)), Option.some(died))
      const { record: seal, seq } = sealing(1, 5)
      yield* journal.append(turnId(1), seq, seal)
      yield* journal.forget(6, undefined)
      assert.deepStrictEqual(yield* interruptions.find(turnId(1)), Option.none())
    }).pipe(
      Effect.provide(Layer.unwrap(Effect.map(TemporaryFile.temporaryFile, (path) => SqliteJournal.layer({ path }))))
    )
  )

  it.effect("Journal.J2: of two connections that write to one turn, the second gets a conflict", () =>
    Effect.gen(function* () {
      const path = yield* TemporaryFile.temporaryFile
      const [one, other] = [yield* opened(path), yield* opened(path)]
      yield* one.append(turnId(1), 0, record(0, "one"))
      const error = yield* Effect.flip(other.append(turnId(1), 0, record(0, "other")))
      assert.strictEqual(error._tag, "JournalConflict")
      assert.deepStrictEqual(yield* other.load(turnId(1)), [record(0, "one")])
    }).pipe(Effect.scoped)
  )

  it.effect("of a newer version is refused, with the next step", () =>
    Effect.gen(function* () {
      const path = yield* TemporaryFile.temporaryFile
      yield* Effect.scoped(
        Effect.andThen(
          opened(path),
          Effect.map(Layer.build(SqliteClient.layer({ filename: path })), (services) =>
            Context.get(services, SqlClient.SqlClient)
          )
        ).pipe(
          Effect.flatMap((sql) => sql`INSERT INTO holdfast_journal_migrations (migration_id, name) VALUES (2, 'later')`)
        )
      )
      const error = yield* Effect.flip(opened(path))
      assert.match(
        error.message,
        /its schema has version 2, and this Holdfast reads version 1\. Start the newer Holdfast that made it, or use another file\./
      )
    }).pipe(Effect.scoped)
  )
})
