/** Runs the suites of `Journal` and `Checkpoint` over a SQLite file, and tests an application's own statements in it. */
import { assert, describe, it } from "@effect/vitest"
import { Records } from "@holdfast/kernel"
import { CheckpointSuite } from "@holdfast/kernel/testing"
import { Context, Effect, Exit, Layer, Option } from "effect"
import type { SqlClient } from "effect/sql"
import { Interruptions } from "../../src/Interruptions.ts"
import * as Interruption from "../../src/Interruption.ts"
import { Journal } from "../../src/Journal.ts"
import * as JournalCheckpoint from "../../src/JournalCheckpoint.ts"
import type * as GroupCommit from "../../src/sql/GroupCommit.ts"
import type { TableError } from "../../src/sql/JournalTable.ts"
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

/** The application's statement: a row of its own table. */
const insertOrders =
  (sql: SqlClient.SqlClient): GroupCommit.Apply<string, number, TableError> =>
  (orders) =>
    Effect.forEach(orders, (order) =>
      Effect.map(
        sql<{
          readonly id: number
        }>`INSERT INTO orders (name) VALUES (${order}) ON CONFLICT (name) DO UPDATE SET name = name RETURNING id`,
        ([row]) => row?.id ?? 0
      )
    )

/** Opens a file with a table of the application. */
const opened = (path: string) =>
  Effect.tap(SqliteJournal.make({ path }, insertOrders), ({ sql }) =>
    Effect.orDie(
      sql`CREATE TABLE IF NOT EXISTS orders (id INTEGER PRIMARY KEY, name TEXT NOT NULL UNIQUE CHECK (name <> ''))`
    )
  )

const ordersIn = (sql: SqlClient.SqlClient) =>
  Effect.map(Effect.orDie(sql<{ readonly name: string }>`SELECT name FROM orders ORDER BY id`), (rows) =>
    rows.map(({ name }) => name)
  )

describe("an application's statements", () => {
  it.effect("SqlJournal.S1: are committed with their records, and are there after opening again", () =>
    Effect.gen(function* () {
      const path = yield* TemporaryFile.temporaryFile
      yield* Effect.scoped(
        Effect.gen(function* () {
          const { journal } = yield* opened(path)
          assert.strictEqual(yield* journal.appendWith(turnId(1), 0, [record(0)], "tea"), 1)
          // As after a lost result.
          assert.strictEqual(yield* journal.appendWith(turnId(1), 0, [record(0)], "tea"), 1)
        })
      )
      const { journal, sql } = yield* opened(path)
      assert.deepStrictEqual(yield* journal.load(turnId(1)), [record(0)])
      assert.deepStrictEqual(yield* ordersIn(sql), ["tea"])
    }).pipe(Effect.scoped)
  )

  it.effect("SqlJournal.S1: do not run when their records collide; a refused statement keeps its records out", () =>
    Effect.gen(function* () {
      const { journal, sql } = yield* opened(yield* TemporaryFile.temporaryFile)
      yield* journal.append(turnId(1), 0, record(0, "another process's"))
      const outcomes = yield* Effect.forEach(
        [
          journal.appendWith(turnId(1), 0, [record(0)], "of a collision"),
          journal.appendWith(turnId(2), 0, [record(0)], ""),
          journal.appendWith(turnId(3), 0, [record(0)], "tea")
        ],
        (write) => Effect.match(write, { onFailure: ({ _tag }) => _tag, onSuccess: () => "written" }),
        { concurrency: "unbounded" }
      )
      assert.deepStrictEqual(outcomes, ["JournalConflict", "StorageError", "written"])
      assert.deepStrictEqual(yield* ordersIn(sql), ["tea"])
      assert.deepStrictEqual(yield* journal.load(turnId(2)), [])
    }).pipe(Effect.scoped)
  )

  it.effect("SqlJournal.S1: of several appends a refused one leaves the others alone", () =>
    Effect.gen(function* () {
      const { journal, sql } = yield* opened(yield* TemporaryFile.temporaryFile)
      yield* journal.append(turnId(1), 0, record(0, "another process's"))
      const outcomes = yield* journal.appendAll([
        { turnId: turnId(1), seq: 0, records: [record(0)], statements: "of a collision" },
        { turnId: turnId(2), seq: 0, records: [record(0)], statements: "tea" },
        { turnId: turnId(3), seq: 0, records: [record(0)] },
        { turnId: turnId(4), seq: 0, records: [], statements: "coffee" }
      ])
      assert.deepStrictEqual(outcomes.map(Exit.isSuccess), [false, true, true, true])
      assert.deepStrictEqual(yield* ordersIn(sql), ["tea", "coffee"])
      for (const n of [2, 3]) assert.deepStrictEqual(yield* journal.load(turnId(n)), [record(0)])
      assert.deepStrictEqual(yield* journal.load(turnId(4)), [])
    }).pipe(Effect.scoped)
  )

  it.effect("JournalCheckpoint.K8: carry the answer that waited for them", () =>
    Effect.gen(function* () {
      const { journal, sql } = yield* opened(yield* TemporaryFile.temporaryFile)
      const { carrying, checkpoint } = JournalCheckpoint.joined(journal, turnId(1), [])
      const answered = { _tag: "Completed", content: [], endedAt: 0, finishReason: "stop" } as const
      yield* checkpoint.run("step/0/attempt/0", Records.AttemptOutcome, Effect.succeed(answered))
      assert.deepStrictEqual(yield* journal.load(turnId(1)), [])
      yield* carrying("tea", Effect.succeed(0))
      assert.strictEqual((yield* journal.load(turnId(1))).length, 1)
      assert.deepStrictEqual(yield* ordersIn(sql), ["tea"])
      // X7: so is the decision that voids content.
      const voids = { _tag: "Retry", attempt: 0, delayMs: 1, retryAt: 1, midStream: "discard" } as const
      yield* checkpoint.run("step/0/decision/0", Records.Directive, Effect.succeed(voids))
      assert.strictEqual((yield* journal.load(turnId(1))).length, 1)
      yield* carrying("milk", Effect.succeed(0))
      assert.strictEqual((yield* journal.load(turnId(1))).length, 2)
    }).pipe(Effect.scoped)
  )
})

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

  it.effect("J2: of two connections that write to one turn, the second gets a conflict", () =>
    Effect.gen(function* () {
      const path = yield* TemporaryFile.temporaryFile
      const [one, other] = [yield* opened(path), yield* opened(path)]
      yield* one.journal.append(turnId(1), 0, record(0, "one"))
      const error = yield* Effect.flip(other.journal.append(turnId(1), 0, record(0, "other")))
      assert.strictEqual(error._tag, "JournalConflict")
      assert.deepStrictEqual(yield* other.journal.load(turnId(1)), [record(0, "one")])
    }).pipe(Effect.scoped)
  )

  it.effect("SqliteJournal.S2: of a newer version is refused, with the next step", () =>
    Effect.gen(function* () {
      const path = yield* TemporaryFile.temporaryFile
      yield* Effect.scoped(
        Effect.flatMap(opened(path), ({ sql }) =>
          Effect.orDie(sql`INSERT INTO holdfast_journal_migrations (migration_id, name) VALUES (2, 'later')`)
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
