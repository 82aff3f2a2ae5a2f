import { describe, expect, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Layer, Option, Stream } from "effect"
import * as fs from "node:fs"
import * as path from "node:path"
import { DatabaseSync } from "node:sqlite"
import { Journal } from "../../src/storage/Journal.ts"
import * as Migrations from "../../src/storage/Migrations.ts"
import * as SqlStore from "../../src/storage/SqlStore.ts"
import { type StorageError, Store } from "../../src/storage/Store.ts"
import { Start } from "../../src/storage/thread/Start.ts"
import * as ThreadedStore from "../../src/storage/ThreadedStore.ts"
import * as Given from "./Given.ts"
import * as JournalSuite from "./JournalSuite.ts"
import * as StandingSuite from "./StandingSuite.ts"
import * as StoreSuite from "./StoreSuite.ts"
import { temporaryFile } from "./TemporaryFile.ts"
import * as Trouble from "./thread/Trouble.ts"
import { Unruly } from "./thread/Unruly.ts"

const threaded = Layer.unwrap(Effect.map(temporaryFile, (path) => ThreadedStore.layer({ path, crowd: 0 })))
// Each run of a property starts a thread, which takes longer than the run.
StoreSuite.suite("thread", threaded, { runs: 3 })
JournalSuite.suite("thread", threaded)
StandingSuite.suite("thread", threaded)

const withStore = <A, E>(filename: string, body: (store: Store["Service"]) => Effect.Effect<A, E>) =>
  Effect.flatMap(Store, body).pipe(Effect.provide(ThreadedStore.layer({ path: filename })))

/** The same, with threads that can be halted and killed. */
const withUnruly = <A, E>(
  body: (ports: {
    readonly store: Store["Service"]
    readonly journal: Journal["Service"]
    readonly unruly: Unruly
    readonly filename: string
  }) => Effect.Effect<A, E>
) =>
  Effect.gen(function* () {
    const filename = yield* temporaryFile
    const unruly = new Unruly()
    const ports = Effect.gen(function* () {
      return yield* body({ store: yield* Store, journal: yield* Journal, unruly, filename })
    })
    return yield* Effect.provide(
      ports,
      ThreadedStore.layer({ path: filename }).pipe(Layer.provide(Layer.succeed(Start, unruly.start)))
    )
  })

const oneTurn = Effect.fnUntraced(function* (store: Store["Service"]) {
  yield* store.createConversation(Given.conversation(1))
  yield* store.acceptTurn(Given.turn(1, 1))
})

/** One turn of the event loop, from an I/O or a timer to the next. */
const turnOfTheLoop = Effect.promise(() => new Promise<void>((resolve) => setTimeout(() => setImmediate(resolve), 1)))

const record = { name: "step/0/attempt/0", value: '{"n":1}' }

describe("a SQLite file on a thread of its own", () => {
  it.live("a slow disk holds up nobody but those who wait for it", () =>
    withUnruly(({ store, unruly }) =>
      Effect.gen(function* () {
        unruly.expect(Trouble.BEFORE_COMMIT)
        const write = yield* Effect.forkChild(store.createConversation(Given.conversation(1)))
        yield* unruly.halted
        // The disk stands still; timers fire, and other fibers have their turn.
        for (let i = 0; i < 10; i++) yield* turnOfTheLoop
        expect(yield* Stream.runCollect(Stream.range(1, 3))).toEqual([1, 2, 3])
        expect(Option.isNone(yield* store.conversation(Given.conversationId(1)))).toBe(true)
        expect(write.pollUnsafe()).toBeUndefined()
        unruly.release()
        yield* Fiber.join(write)
        expect(Option.isSome(yield* store.conversation(Given.conversationId(1)))).toBe(true)
      })
    )
  )

  it.live("H2: a thread that is killed fails what it was doing, with words, and another one takes over", () =>
    withUnruly(({ filename, journal, store, unruly }) =>
      Effect.gen(function* () {
        yield* oneTurn(store)
        unruly.expect(Trouble.BEFORE_COMMIT)
        const write = yield* Effect.forkChild(Effect.flip(journal.append(Given.turnId(1), 0, record)))
        yield* unruly.halted
        const read = yield* Effect.forkChild(Effect.flip(store.messages(Given.conversationId(1))))
        yield* turnOfTheLoop
        yield* unruly.kill
        for (const { message } of [yield* Fiber.join(write), yield* Fiber.join(read)]) {
          expect(message).toContain(`The thread that works on the database ${filename} has died: it ended with code 1`)
          expect(message).toContain("may be there or not; try again")
        }
        // Its transaction went with it, and its lock.
        expect(yield* journal.load(Given.turnId(1))).toEqual([])
        yield* journal.append(Given.turnId(1), 0, record)
        expect(yield* journal.load(Given.turnId(1))).toEqual([record])
        expect(unruly.threads).toHaveLength(2)
      })
    )
  )

  it.live("K3, J2: a record whose writer never heard of its commit is handed in again, and is there once", () =>
    withUnruly(({ journal, store, unruly }) =>
      Effect.gen(function* () {
        yield* oneTurn(store)
        unruly.expect(Trouble.AFTER_COMMIT)
        const lost = yield* Effect.forkChild(Effect.flip(journal.append(Given.turnId(1), 0, record)))
        yield* unruly.halted
        yield* unruly.kill
        expect((yield* Fiber.join(lost))._tag).toBe("StorageError")
        expect(yield* journal.load(Given.turnId(1))).toEqual([record])
        yield* journal.append(Given.turnId(1), 0, record)
        expect(yield* journal.load(Given.turnId(1))).toEqual([record])
        const other = yield* Effect.flip(journal.append(Given.turnId(1), 0, { ...record, value: "2" }))
        expect(other._tag).toBe("JournalConflict")
      })
    )
  )

  it.live("H2: whoever calls again at once is served by the next thread", () =>
    withUnruly(({ store, unruly }) =>
      Effect.gen(function* () {
        unruly.expect(Trouble.BEFORE_COMMIT)
        const write = store.createConversation(Given.conversation(1))
        const stubborn = yield* Effect.forkChild(Effect.retry(write, { times: 1 }))
        yield* unruly.halted
        yield* unruly.kill
        yield* Fiber.join(stubborn)
        expect(Option.isSome(yield* store.conversation(Given.conversationId(1)))).toBe(true)
      })
    )
  )

  it.live("a bug on the thread is one of the call that ran into it, and of no other", () =>
    withUnruly(({ store, unruly }) =>
      Effect.gen(function* () {
        yield* oneTurn(store)
        unruly.expect(Trouble.NO_ROWS)
        const outcome = yield* Effect.exit(store.unsealedTurnsOf(Given.conversationId(1)))
        expect(Exit.hasDies(outcome)).toBe(true)
        expect(yield* store.unsealedTurnsOf(Given.conversationId(1))).toHaveLength(1)
        expect(unruly.threads).toHaveLength(1)
      })
    )
  )

  it.live("F3: what an interrupted caller has asked for is done all the same", () =>
    withUnruly(({ journal, store, unruly }) =>
      Effect.gen(function* () {
        yield* oneTurn(store)
        unruly.expect(Trouble.BEFORE_COMMIT)
        const write = yield* Effect.forkChild(journal.append(Given.turnId(1), 0, record))
        yield* unruly.halted
        yield* Fiber.interrupt(write)
        unruly.release()
        yield* store.check // behind it in the same file
        expect(yield* journal.load(Given.turnId(1))).toEqual([record])
      })
    )
  )

  it.live("H3: what was handed in before closing is written, one file is left, and the thread is gone", () =>
    Effect.gen(function* () {
      const { filename, threads } = yield* withUnruly(({ filename, store, unruly }) =>
        Effect.gen(function* () {
          yield* store.createConversation(Given.conversation(1))
          unruly.expect(Trouble.BEFORE_COMMIT)
          yield* Effect.forkDetach(store.acceptTurn(Given.turn(1, 1)), { startImmediately: true })
          yield* unruly.halted
          yield* Effect.forkDetach(store.acceptTurn(Given.turn(2, 1)), { startImmediately: true })
          unruly.release()
          return { filename, threads: unruly.threads }
        })
      )
      expect(threads.map(({ threadId }) => threadId)).toEqual([-1])
      expect(fs.readdirSync(path.dirname(filename))).toEqual([path.basename(filename)])
      const database = new DatabaseSync(filename, { readOnly: true })
      const rows = database.prepare("SELECT turn_id FROM turns ORDER BY seq").all()
      database.close()
      expect(rows.map((row) => row["turn_id"])).toEqual([1, 2].map(Given.turnId))
    }).pipe(Effect.scoped)
  )

  it.live("a store that has been closed says so", () =>
    Effect.gen(function* () {
      const store = yield* withStore(yield* temporaryFile, Effect.succeed)
      const error = yield* Effect.flip(store.createConversation(Given.conversation(1)))
      expect(error.message).toContain("the database has been closed")
    })
  )

  it.live("a file that cannot be opened is refused in the words that it is refused in without a thread", () =>
    Effect.gen(function* () {
      const filename = yield* temporaryFile
      const refusal = (
        path: string,
        layer: (options: { readonly path: string }) => Layer.Layer<SqlStore.Storage, StorageError>
      ) => Effect.map(Effect.flip(Effect.provide(Store, layer({ path }))), ({ message }) => message)
      yield* withStore(filename, (store) => store.check)
      const newer = new DatabaseSync(filename)
      newer.exec(`INSERT INTO ${Migrations.TABLE} (migration_id, name) VALUES (99, 'later')`)
      newer.close()
      const diary = path.join(path.dirname(filename), "diary.txt")
      fs.writeFileSync(diary, "Dear diary, ".repeat(1000))
      for (const file of [filename, diary, path.dirname(filename), path.join(filename, "below")]) {
        const message = yield* refusal(file, ThreadedStore.layer)
        expect(message).toContain(file)
        expect(message).toBe(yield* refusal(file, SqlStore.layer))
      }
    })
  )
})
