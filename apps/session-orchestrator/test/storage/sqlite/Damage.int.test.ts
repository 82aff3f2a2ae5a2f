/** Tests files that are damaged before a service opens them, and while they are open. */
import { TemporaryFile } from "@holdfast/journal/testing"
import { describe, expect } from "@effect/vitest"
import type { StorageError } from "@holdfast/journal"
import { Effect, Result, Stream } from "effect"
import { TestClock } from "effect/testing"
import * as fs from "node:fs"
import * as path from "node:path"
import * as Damage from "../../../src/storage/sqlite/Damage.ts"
import * as SqlStore from "../../../src/storage/sql/SqlStore.ts"
import { Store } from "../../../src/storage/Store.ts"
import * as Process from "../../service/Process.ts"
import * as Service from "../../service/Service.ts"
import * as NumberedData from "../NumberedData.ts"
import * as Logged from "../Logged.ts"
import type { TurnLog } from "../../../src/storage/TurnLog.ts"
import * as It from "../../It.ts"

const withStore = <A, E>(filename: string, body: (store: Store["Service"]) => Effect.Effect<A, E, TurnLog>) =>
  Effect.flatMap(Store, body).pipe(Effect.provide(SqlStore.layer({ path: filename })))

const PAGE = 4096

/** Overwrites a part of a file in place, as a bad disk or another program does. */
const overwrite = (filename: string, from: number, bytes: number): void => {
  const file = fs.openSync(filename, "r+")
  fs.writeSync(file, Buffer.alloc(bytes, 0x5a), 0, bytes, from)
  fs.closeSync(file)
}

/** A file with a history of many pages, closed. */
const filled = Effect.gen(function* () {
  const filename = yield* TemporaryFile.temporaryFile
  yield* withStore(
    filename,
    Effect.fnUntraced(function* (store) {
      yield* store.createConversation(NumberedData.conversation(1))
      yield* Logged.accept(NumberedData.turn(1, 1))
      const [first, ...rest] = Array.from({ length: 400 }, (_, i) => NumberedData.message(1, 1, i + 1))
      if (first !== undefined) {
        yield* Logged.events(NumberedData.turnId(1), [first, ...rest], 0)
      }
    })
  )
  return filename
})

/** Everything except the first pages, which hold the schema and the tables' roots. */
const damageHistory = (filename: string): void => {
  const { size } = fs.statSync(filename)
  overwrite(filename, 40 * PAGE, size - 40 * PAGE)
}

const advises = (filename: string, { message }: StorageError) => {
  expect(message).toContain("damaged")
  expect(message).toContain(`cp BACKUP '${filename}'`)
}

/** Repeats a check until it fails: the result of a thread arrives at an unknown time. */
const untilRefused = (store: Store["Service"]): Effect.Effect<StorageError> =>
  Effect.flatMap(
    Effect.result(store.check),
    Result.match({
      onFailure: Effect.succeed,
      onSuccess: () => Effect.andThen(Effect.sleep("10 millis"), untilRefused(store))
    })
  )

describe("a SQLite file that is damaged", () => {
  It.live("while it is open, in pages that are not read: the store is not ready and accepts nothing", function* () {
    const filename = yield* TemporaryFile.temporaryFile
    yield* withStore(
      filename,
      Effect.fnUntraced(function* (store) {
        yield* store.createConversation(NumberedData.conversation(1))
        yield* store.check
        overwrite(filename, 0, 100)
        const refused = yield* untilRefused(store)
        advises(filename, refused)
        expect(refused.message).toContain("it does not begin as a SQLite file does")
        for (const call of [
          Logged.accept(NumberedData.turn(2, 1)),
          store.createConversation(NumberedData.conversation(2)),
          store.check
        ]) {
          expect(yield* Effect.flip<unknown, StorageError, TurnLog>(call)).toBe(refused)
        }
      })
    )
  })

  It.live("while it is open, in pages that a turn reads: the error is remembered", function* () {
    const filename = yield* filled
    yield* withStore(
      filename,
      Effect.fnUntraced(function* (store) {
        damageHistory(filename)
        const read = yield* Effect.flip(Stream.runDrain(Logged.after(NumberedData.conversationId(1), 0)))
        advises(filename, read)
        expect(read.message).toContain("malformed")
        advises(filename, yield* Effect.flip(store.check))
        advises(filename, yield* Effect.flip(Logged.accept(NumberedData.turn(2, 1))))
      })
    )
  })

  It.live("before it is opened, in pages that a start does not read: the check finds it soon", function* () {
    const filename = yield* filled
    damageHistory(filename)
    yield* withStore(filename, (store) => Effect.map(untilRefused(store), (error) => advises(filename, error)))
  })

  It.live("before it is opened, at its beginning: opening fails", function* () {
    const filename = yield* filled
    overwrite(filename, 0, 100)
    const error = yield* Effect.flip(withStore(filename, (store) => store.check))
    expect(error.message).toContain("or its beginning is destroyed")
    expect(error.message).toContain(`cp BACKUP '${filename}'`)
  })

  It.live("a service on it is not ready, reports the next step, and accepts no prompts", function* () {
    const filename = yield* TemporaryFile.temporaryFile
    const service = yield* Service.start({ database: filename })
    const id = yield* service.create()
    expect((yield* service.call({ path: "/readyz" })).status).toBe(200)
    yield* service.stop
    const again = yield* Service.start({ database: filename })
    overwrite(filename, 0, 100)
    const ready = yield* Process.eventually(
      "the service to notice",
      again.call({ path: "/readyz" }),
      ({ status }) => status === 503
    )
    expect(JSON.parse(ready.text).detail).toContain(`cp BACKUP '${filename}'`)
    const prompt = { path: `/v1/conversations/${id}/turns`, body: { prompt: "Hello" } }
    expect((yield* again.call(prompt)).status).toBe(503)
    expect((yield* again.call({ path: "/v1/conversations", body: {} })).status).toBe(503)
    expect(again.provider.count()).toBe(0)
  })
})

describe("Damage", () => {
  /** A file that begins as a SQLite file does, and is empty otherwise. */
  const like = Effect.tap(
    Effect.map(TemporaryFile.temporaryFile, (name) => path.join(path.dirname(path.dirname(name)), "a.db")),
    (name) =>
      Effect.sync(() => fs.writeFileSync(name, Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(PAGE)])))
  )
  const changes: ReadonlyArray<readonly [what: string, change: (name: string) => void, said: RegExp]> = [
    ["shrinks", (name) => fs.truncateSync(name, 100), /it has shrunk from 4112 to 100 bytes/],
    ["is taken away", (name) => fs.rmSync(name), /ENOENT/],
    [
      "is replaced",
      (name) => {
        fs.copyFileSync(name, `${name}.copy`)
        fs.renameSync(`${name}.copy`, name)
      },
      /another file has its name now/
    ]
  ]
  for (const [what, change, said] of changes) {
    It.effect(`a file that ${what} counts as damaged within a second, for good`, function* () {
      const name = yield* like
      const damage = yield* Damage.make(name)
      yield* damage.refuse
      fs.copyFileSync(name, `${name}.as-it-was`)
      change(name)
      yield* TestClock.adjust("999 millis")
      yield* damage.refuse
      yield* TestClock.adjust("1 millis")
      expect((yield* Effect.flip(damage.refuse)).message).toMatch(said)
      fs.renameSync(`${name}.as-it-was`, name)
      yield* TestClock.adjust("1 hour")
      expect((yield* Effect.flip(damage.refuse)).message).toMatch(said)
    })
  }

  It.effect("a file that grows, and a file that is empty until its log is copied, are not damaged", function* () {
    const name = yield* like
    fs.truncateSync(name, 0)
    const damage = yield* Damage.make(name)
    yield* damage.refuse
    fs.writeFileSync(name, Buffer.concat([Buffer.from("SQLite format 3\0"), Buffer.alloc(PAGE)]))
    yield* TestClock.adjust("2 seconds")
    yield* damage.refuse
    fs.appendFileSync(name, Buffer.alloc(PAGE))
    yield* TestClock.adjust("2 seconds")
    yield* damage.refuse
    // The largest size of the file counts.
    fs.truncateSync(name, PAGE + 16)
    yield* TestClock.adjust("2 seconds")
    expect((yield* Effect.flip(damage.refuse)).message).toMatch(/it has shrunk/)
  })

  It.live("a whole file has no fault, and a file that is not SQLite's has one", function* () {
    expect(yield* Damage.faultOf(yield* filled)).toBeUndefined()
    const other = yield* like
    expect(yield* Damage.faultOf(other)).toMatch(/not a database|malformed/)
    expect(yield* Damage.faultOf(`${other}.missing`)).toBeUndefined()
  })
})
