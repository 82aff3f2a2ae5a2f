/** Tests inspections of a file, with and without a running service. */
import { Interruptions } from "@holdfast/journal"
import { TemporaryFile } from "@holdfast/journal/testing"
import { GivenRecords as Records } from "@holdfast/kernel/testing"
import { SqliteClient } from "@holdfast/journal/sqlite"
import { expect } from "@effect/vitest"
import { Context, Effect, Layer, Option } from "effect"
import { Reactivity } from "effect/reactivity"
import { TestClock } from "effect/testing"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Inspection from "../../../src/insight/inspection/Inspection.ts"
import * as DatabaseVersion from "../../storage/DatabaseVersion.ts"
import * as SqlStore from "../../../src/storage/sql/SqlStore.ts"
import * as Tenancy from "../../../src/storage/sqlite/Tenancy.ts"
import { Store } from "../../../src/storage/Store.ts"
import { TurnLog } from "../../../src/storage/TurnLog.ts"
import * as NumberedData from "../../storage/NumberedData.ts"
import * as Logged from "../../storage/Logged.ts"
import * as It from "../../It.ts"

const settings = { prices: {}, retry: {} }

const look = (filename: string, all = false) =>
  Effect.gen(function* () {
    const inspection = yield* Inspection.Inspection
    return { turns: yield* inspection.turns({ all }), isUnserved: yield* inspection.isUnserved }
  }).pipe(Effect.provide(Inspection.layerSqlite(filename, settings)))

/** Two conversations: the first has a waiting turn with a second turn behind it, the other an ended turn. */
const fill = Effect.gen(function* () {
  const store = yield* Store
  yield* store.createConversation(NumberedData.conversation(1, { retry: { budget: "1 hour" } }))
  yield* store.createConversation(NumberedData.conversation(2))
  yield* Logged.accept(NumberedData.turn(1, 1))
  yield* Logged.accept(NumberedData.turn(2, 2))
  yield* Logged.accept(NumberedData.turn(3, 1))
  yield* Logged.events(NumberedData.turnId(2), [NumberedData.end(2, 2)], 0)
  yield* Logged.append(NumberedData.turnId(1), 0, [Records.failed(0, 1_000)])
  yield* Logged.append(NumberedData.turnId(1), 1, [Records.retry(0, 5_000, 6_000)])
})

It.effect("lists waiting turns, with and without a service that uses the file", function* () {
  const filename = yield* TemporaryFile.temporaryFile
  yield* TestClock.setTime(2_000)
  const beside = yield* Effect.gen(function* () {
    yield* fill
    return yield* look(filename)
  }).pipe(Effect.provide(Layer.merge(SqlStore.layer({ path: filename }), Tenancy.layerOwner(filename))))
  const states = beside.turns.flatMap(({ state, turnId }) => [turnId, state])
  expect(states).toEqual([NumberedData.turnId(1), "waiting", NumberedData.turnId(3), "queued"])
  expect(beside.turns[0]).toMatchObject({
    wait: { retryAt: 6_000, leftMs: 4_000 },
    error: { code: "529" },
    // The budget of the conversation's own settings.
    budget: { totalMs: 3_600_000, leftMs: 3_595_000 }
  })
  // No runners share a file.
  for (const turn of beside.turns) expect(turn).not.toHaveProperty("runner")
  expect(beside.isUnserved).toBe(false)

  const alone = yield* look(filename)
  expect(alone).toEqual({ turns: beside.turns, isUnserved: true })
})

It.effect("lists all turns on request, in the order of acceptance", function* () {
  const filename = yield* TemporaryFile.temporaryFile
  yield* Effect.provide(fill, SqlStore.layer({ path: filename }))
  const { turns } = yield* look(filename, true)
  expect(turns.map(({ state }) => state)).toEqual(["waiting", "completed", "queued"])
  expect(turns[1]).toMatchObject({ attempts: 3, endedAt: 1_760_000_001_000, waitedMs: 15_000 })
})

It.effect("has the last target of ended turns, and the turn that retried each", function* () {
  const filename = yield* TemporaryFile.temporaryFile
  yield* Effect.gen(function* () {
    const store = yield* Store
    yield* store.createConversation(NumberedData.conversation(1))
    const { prompt: _prompt, ...retry } = NumberedData.turn(2, 1)
    const [conversationId, turnId] = [NumberedData.conversationId(1), NumberedData.turnId(1)]
    const change = { type: "model-change", conversationId, turnId, from: "a/m", to: "b/m" } as const
    yield* Logged.accept(NumberedData.turn(1, 1))
    yield* Logged.events(turnId, [change, NumberedData.end(1, 1)], 0)
    yield* Logged.accept({ ...retry, prompt: undefined })
    yield* Logged.events(NumberedData.turnId(2), [NumberedData.end(2, 1)], 0)
    yield* store.createConversation(NumberedData.conversation(2))
    yield* Logged.accept(NumberedData.turn(3, 2))
    yield* Logged.events(NumberedData.turnId(3), [NumberedData.end(3, 2)], 0)
    yield* store.change(conversationId, { model: "c/m" })
    yield* Logged.accept(NumberedData.turn(4, 1))
    yield* Logged.events(NumberedData.turnId(4), [NumberedData.end(4, 1)], 0)
  }).pipe(Effect.provide(SqlStore.layer({ path: filename })))
  const { turns } = yield* look(filename, true)
  // The second turn continued on the first turn's last target, and the last one on what a person had chosen.
  expect(turns.map(({ model, retriedBy }) => [model, retriedBy])).toEqual([
    ["b/m", NumberedData.turnId(2)],
    ["b/m", undefined],
    [NumberedData.conversation(2).model, undefined],
    ["c/m", undefined]
  ])
})

It.effect("changes nothing, and creates no database", function* () {
  const filename = yield* TemporaryFile.temporaryFile
  const { message } = yield* Effect.flip(look(filename))
  expect(message).toContain(`There is no database at ${filename}.`)
  expect(fs.existsSync(filename)).toBe(false)
  const folder = import.meta.dirname
  expect((yield* Effect.flip(look(folder))).message).toContain(
    `There is no database at ${folder}, which is a directory.`
  )
  yield* Effect.provide(fill, SqlStore.layer({ path: filename }))
  const before = fs.readFileSync(filename)
  yield* look(filename, true)
  expect(fs.readFileSync(filename).equals(before)).toBe(true)
})

It.effect("names a file that is no database", function* () {
  const filename = yield* TemporaryFile.temporaryFile
  fs.mkdirSync(path.dirname(filename))
  fs.writeFileSync(filename, "Dear diary, ".repeat(1000))
  const { message } = yield* Effect.flip(look(filename))
  expect(message).toContain(filename)
  expect(message).toContain("The file is no SQLite database")
})

It.effect("names a database of another version with the way on, and does not change it", function* () {
  const filename = yield* TemporaryFile.temporaryFile
  yield* Effect.provide(fill, SqlStore.layer({ path: filename }))
  const version = (found: number) =>
    Effect.flatMap(SqliteClient.make({ filename }), (sql) => DatabaseVersion.set(sql, found)).pipe(
      Effect.provide(Reactivity.layer),
      Effect.scoped
    )
  for (const [found, advice] of [
    [24, "set database.path (or database.url) to another database to begin anew"],
    [99, "Start the newer Holdfast that made it"]
  ] as const) {
    yield* version(found)
    const before = fs.readFileSync(filename)
    const { message } = yield* Effect.flip(look(filename))
    expect(message).toContain(`Could not use the database ${filename}: its schema has version ${found}`)
    expect(message).toContain(advice)
    expect(fs.readFileSync(filename).equals(before)).toBe(true)
  }
})

It.effect("rule X9: reads all stored data of a turn, and none of an unknown one", function* () {
  const filename = yield* TemporaryFile.temporaryFile
  yield* Effect.provide(fill, SqlStore.layer({ path: filename }))
  const reading = yield* Layer.build(Inspection.layerSqlite(filename, settings))
  const { conversation, turn, turnEvents } = Context.get(reading, Store)
  const found = Option.getOrThrow(yield* turn(NumberedData.turnId(1)))
  expect(found.conversationId).toEqual(NumberedData.conversationId(1))
  expect(Option.isSome(yield* conversation(found.conversationId))).toBe(true)
  expect(yield* turnEvents(found.turnId)).toEqual([])
  expect((yield* Context.get(reading, TurnLog).load(found.turnId)).length).toBe(2)
  expect(Option.isNone(yield* Context.get(reading, Interruptions.Interruptions).find(found.turnId))).toBe(true)
  expect(Option.isNone(yield* turn(NumberedData.turnId(9)))).toBe(true)
})
