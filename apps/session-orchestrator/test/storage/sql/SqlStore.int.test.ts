import { TemporaryFile } from "@holdfast/journal/testing"
import { DatabaseFile, SqliteClient } from "@holdfast/journal/sqlite"
import { describe, expect, it } from "@effect/vitest"
import type { Journal } from "@holdfast/journal"
import { Standing } from "@holdfast/policy"
import { Effect, Fiber, Layer, Option } from "effect"
import { Reactivity } from "effect/reactivity"
import { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as fs from "node:fs"
import * as path from "node:path"
import * as DatabaseVersion from "../DatabaseVersion.ts"
import * as SqlStore from "../../../src/storage/sql/SqlStore.ts"
import { Standings } from "../../../src/storage/Standings.ts"
import { Store } from "../../../src/storage/Store.ts"
import * as NumberedData from "../NumberedData.ts"
import * as TurnLogSuite from "../TurnLogSuite.ts"
import * as Logged from "../Logged.ts"
import type { TurnLog } from "../../../src/storage/TurnLog.ts"
import * as It from "../../It.ts"

/** Uses a store on a file, and closes it. */
const withStore = <A>(
  filename: string,
  body: (store: Store["Service"]) => Effect.Effect<A, Journal.AppendError, TurnLog>
) => Effect.flatMap(Store, body).pipe(Effect.provide(SqlStore.layer({ path: filename })))

/** Uses a store on a file together with the database under it. */
const withDatabase = <A>(
  filename: string,
  body: It.Body<[store: Store["Service"], sql: SqlClient.SqlClient], SqlStore.Storage, A>
) =>
  Effect.gen(function* () {
    const [store, sql] = [yield* Store, yield* SqlClient.SqlClient]
    return yield* Effect.gen(() => body(store, sql))
  }).pipe(Effect.provide(Layer.provideMerge(SqlStore.layerSql(filename), SqliteClient.layer({ filename }))), (effect) =>
    Effect.andThen(DatabaseFile.prepare(filename), effect)
  )

const withSql = <A, E>(filename: string, body: (sql: SqlClient.SqlClient) => Effect.Effect<A, E>) =>
  Effect.flatMap(SqliteClient.make({ filename }), body).pipe(Effect.provide(Reactivity.layer), Effect.scoped)

const modeOf = (file: string) => fs.statSync(file).mode & 0o777

describe("a SQLite file", () => {
  It.live("TurnLog.W1: writes that were queued before closing are made", function* () {
    const filename = yield* TemporaryFile.temporaryFile
    yield* withStore(
      filename,
      Effect.fnUntraced(function* (store) {
        yield* store.createConversation(NumberedData.conversation(1))
        yield* Effect.forkDetach(Logged.accept(NumberedData.turn(1, 1)), { startImmediately: true })
      })
    )
    expect(fs.readdirSync(path.dirname(filename))).toEqual([path.basename(filename)])
    yield* withStore(filename, (store) =>
      Effect.map(store.turn(NumberedData.turnId(1)), (turn) => expect(Option.isSome(turn)).toBe(true))
    )
  })

  It.live("a closed store fails with an error that names that", function* () {
    const store = yield* withStore(yield* TemporaryFile.temporaryFile, Effect.succeed)
    const error = yield* Effect.flip(store.createConversation(NumberedData.conversation(1)))
    expect(error.message).toContain("the database has been closed")
  })

  It.live("the file, its directories and its logs are readable by their owner only", function* () {
    const filename = yield* TemporaryFile.temporaryFile
    yield* withStore(filename, (store) =>
      Effect.map(store.createConversation(NumberedData.conversation(1)), () => {
        expect(modeOf(path.dirname(filename))).toBe(0o700)
        for (const suffix of ["", "-wal", "-shm"]) expect(modeOf(filename + suffix)).toBe(0o600)
      })
    )
  })

  It.live("existing files and directories keep their mode", function* () {
    const filename = yield* TemporaryFile.temporaryFile
    fs.mkdirSync(path.dirname(filename), { mode: 0o750 })
    fs.writeFileSync(filename, "", { mode: 0o640 })
    yield* withStore(filename, (store) => store.check)
    expect([modeOf(path.dirname(filename)), modeOf(filename)]).toEqual([0o750, 0o640])
  })

  it.live.each([
    [24, "is not converted: set database.path (or database.url) to another database to begin anew"],
    [99, "Start the newer Holdfast that made it"]
  ] as const)("a database of version %i is refused, with the next step, and is not touched", ([found, advice]) =>
    Effect.gen(function* () {
      const filename = yield* TemporaryFile.temporaryFile
      yield* withStore(filename, (store) => store.check)
      yield* withSql(filename, (sql) => DatabaseVersion.set(sql, found))
      const before = fs.readFileSync(filename)
      const error = yield* Effect.flip(withStore(filename, (store) => store.check))
      expect(error.message).toContain(`Could not use the database ${filename}: its schema has version ${found}`)
      expect(error.message).toContain(advice)
      expect(fs.readFileSync(filename).equals(before)).toBe(true)
    })
  )
})

describe("a disk that refuses", () => {
  It.live("that is locked for longer than a check may take fails it, and succeeds when it is free", function* () {
    const filename = yield* TemporaryFile.temporaryFile
    yield* withStore(
      filename,
      Effect.fnUntraced(function* (store) {
        const whileLocked = withSql(filename, (sql) =>
          sql.withTransaction(
            Effect.gen(function* () {
              yield* sql`UPDATE probe SET probed_at = 1`
              expect((yield* Effect.flip(store.check)).message).toMatch(/locked.*Another program holds the database/)
            })
          )
        )
        yield* Effect.orDie(whileLocked)
        yield* store.createConversation(NumberedData.conversation(1))
        yield* Effect.eventually(store.check) // a check has a limit of its own, which a busy machine may exceed
      })
    )
  })

  It.live("that is full fails the write with words for a person, keeps its data, works again with room", function* () {
    const filename = yield* TemporaryFile.temporaryFile
    yield* withDatabase(filename, function* (store, sql) {
      yield* NumberedData.oneTurn
      yield* sql.unsafe("PRAGMA max_page_count = 40") // the disk ends here
      const fill = (position: number) =>
        Logged.events(NumberedData.turnId(1), [NumberedData.message(1, 1, position)], position)
      let written = 0
      const error = yield* Effect.flip(
        Effect.gen(function* () {
          while (true) {
            yield* fill(written)
            written++
          }
        })
      )
      expect(error.message).toContain(`Could not record the events of turn turn-1 in ${filename}`)
      expect(error.message).toContain("database or disk is full")
      expect(error.message).toContain("Free some space")
      expect(written).toBeGreaterThan(0)
      expect(yield* store.turnEvents(NumberedData.turnId(1))).toHaveLength(written)

      yield* sql.unsafe("PRAGMA max_page_count = 1000000")
      const [stored] = yield* fill(written)
      expect(stored?.id).toBe(written + 1)
    })
  })

  It.live("GroupCommit.G3: all writes of a commit that a full disk refuses fail, and none is stored", function* () {
    const filename = yield* TemporaryFile.temporaryFile
    yield* withDatabase(filename, function* (store, sql) {
      yield* store.createConversation(NumberedData.conversation(1))
      yield* sql.unsafe("PRAGMA max_page_count = 1")
      const large = (n: number) => Logged.accept(NumberedData.turn(n, 1, { prompt: "x".repeat(100_000) }))
      const results = yield* Effect.all([large(1), large(2), large(3)].map(Effect.result), { concurrency: "unbounded" })
      expect(results.map((result) => result._tag)).toEqual(["Failure", "Failure", "Failure"])
      expect(yield* Logged.tail()).toEqual([])
    })
  })

  It.live("that is read-only can be read, and refuses writes with the things to check", function* () {
    const filename = yield* TemporaryFile.temporaryFile
    yield* withStore(filename, (store) => store.createConversation(NumberedData.conversation(1)))
    yield* Effect.gen(function* () {
      const store = yield* Store
      expect(Option.isSome(yield* store.conversation(NumberedData.conversationId(1)))).toBe(true)
      for (const write of [store.createConversation(NumberedData.conversation(2)), store.check]) {
        const error = yield* Effect.flip(write)
        expect(error.message).toContain(filename)
        expect(error.message).toContain("readonly database")
        expect(error.message).toContain("Check the owner and mode")
      }
    }).pipe(Effect.provide(SqlStore.layerSqlite({ filename, readonly: true })))
  })

  It.effect("the error for a lock that is never released names the program to close", function* () {
    const filename = yield* TemporaryFile.temporaryFile
    yield* withDatabase(filename, function* (store) {
      yield* withSql(filename, (other) =>
        other.withTransaction(
          Effect.gen(function* () {
            const write = yield* Effect.forkChild(Effect.flip(store.createConversation(NumberedData.conversation(1))))
            yield* TestClock.adjust("1 minute")
            const error = yield* Fiber.join(write)
            expect(error.message).toContain("database is locked")
            expect(error.message).toContain("Another program holds the database")
          })
        )
      )
    })
  })

  It.live("the errors of a foreign file, a damaged file and a wrong path differ", function* () {
    const filename = yield* TemporaryFile.temporaryFile
    const failure = (file: string) => Effect.map(Effect.flip(withStore(file, (store) => store.check)), messageOf)

    fs.mkdirSync(path.dirname(filename))
    fs.writeFileSync(filename, "Dear diary, ".repeat(1000))
    expect(yield* failure(filename)).toMatch(
      /is not a database".*is no SQLite database, or its beginning is destroyed/s
    )

    const damaged = `${filename}.damaged`
    yield* withStore(damaged, (store) => store.createConversation(NumberedData.conversation(1)))
    const bytes = fs.readFileSync(damaged)
    fs.writeFileSync(damaged, bytes.fill(0xff, 4096))
    expect(yield* failure(damaged)).toMatch(/malformed".*The file is damaged/s)

    expect(yield* failure(path.dirname(filename))).toMatch(/unable to open.*Check that the path exists, is a file/s)
    expect(yield* failure(path.join(filename, "below"))).toMatch(/Could not create the database .*ENOTDIR|EEXIST/s)
  })

  It.live("rule P8: a pause that a newer Holdfast wrote, and this version cannot read, stops no turn", function* () {
    const filename = yield* TemporaryFile.temporaryFile
    const standings = yield* withDatabase(filename, function* (_, sql) {
      const standings = yield* Standings
      const pause = { until: 900, reason: "overloaded", retryable: true } as const
      yield* standings.note(Standing.paused(Standing.target({ provider: "one", model: "m" }), pause), 100)
      yield* sql`INSERT INTO standings ${sql.insert({ kind: "targets", name: "two/m", until: 900, pause: '{"until":900,"reason":"tired"}' })}`
      yield* sql`INSERT INTO standings ${sql.insert({ kind: "regions", name: "three", until: 900, pause: "{}" })}`
      yield* standings.note(Standing.paused(Standing.target({ provider: "two", model: "m" }), pause), 100)
      return yield* standings.load(200)
    })
    expect(Object.keys(standings.targets)).toEqual(["one/m", "two/m"])
  })

  It.live("the text of an answer is on the disk once", function* () {
    const filename = yield* TemporaryFile.temporaryFile
    const text = "words of one answer"
    yield* withDatabase(filename, function* (_, sql) {
      const { attempt, messageOf } = TurnLogSuite
      yield* NumberedData.oneTurn
      yield* Logged.append(NumberedData.turnId(1), 0, [attempt(0, text)], messageOf(0, text))
      expect(yield* Logged.load(NumberedData.turnId(1))).toEqual([attempt(0, text)])
      yield* sql`PRAGMA wal_checkpoint(TRUNCATE)`
    })
    expect(fs.readFileSync(filename).toString("latin1").split(text).length - 1).toBe(1)
  })

  for (const length of [1, 100_000])
    It.live(`a message of another shape is reported as damaged, not left out (${length} characters)`, function* () {
      const filename = yield* TemporaryFile.temporaryFile
      yield* withDatabase(filename, function* (store, sql) {
        yield* NumberedData.oneTurn
        const events = [NumberedData.message(1, 1, 0), NumberedData.message(1, 1, 1), NumberedData.end(1, 1)] as const
        yield* Logged.events(NumberedData.turnId(1), events, 0)
        yield* Logged.accept(NumberedData.turn(2, 1))
        const damages = [JSON.stringify({ type: "message", other: "x".repeat(length) }), `@${"x".repeat(length)}`]
        for (const payload of damages) {
          yield* sql`UPDATE events SET payload = ${payload}
              WHERE event_id = (SELECT max(event_id) FROM events WHERE type = 'message')`
          const error = yield* Effect.flip(store.resumption(NumberedData.turnId(2), NumberedData.conversationId(1)))
          expect(error).toMatchObject({
            concerns: "one",
            message: expect.stringContaining("a row does not hold what Holdfast writes")
          })
        }
      })
    })

  It.live("a row with a foreign value is reported as damaged, and the others are still read", function* () {
    const filename = yield* TemporaryFile.temporaryFile
    yield* withDatabase(filename, function* (store, sql) {
      yield* NumberedData.oneTurn
      yield* Logged.accept(NumberedData.turn(2, 1))
      yield* Logged.events(NumberedData.turnId(1), [NumberedData.usage(1, 1, 0)], 0)
      yield* Logged.events(NumberedData.turnId(2), [NumberedData.usage(2, 1, 0)], 0)
      yield* sql`UPDATE events SET payload = '{"type":"usage"}'
          WHERE turn = (SELECT number FROM turns WHERE turn_id = ${NumberedData.turnId(1)})`
      const error = yield* Effect.flip(store.turnEvents(NumberedData.turnId(1)))
      expect(error.message).toContain("a row does not hold what Holdfast writes")
      expect(yield* store.turnEvents(NumberedData.turnId(2))).toHaveLength(1)
    })
  })
})

const messageOf = (error: Error): string => error.message
