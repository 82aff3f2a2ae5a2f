/** Tests the claims of held calls without a database: a connection whose answers the test gives. */
import { describe, expect } from "@effect/vitest"
import { Ids } from "@holdfast/wire"
import { createHash } from "node:crypto"
import { Clock, Deferred, Effect, Fiber } from "effect"
import type { SqlClient } from "effect/sql"
import { TestClock } from "effect/testing"
import * as Claims from "../../src/cluster/Claims.ts"
import * as SharedWaits from "../../src/cluster/SharedWaits.ts"
import * as It from "../It.ts"

const idOf = (name: string) => Ids.ConversationId.make(name)
const [a, b, c, back] = [idOf("a"), idOf("b"), idOf("c"), idOf("back")]

const calls = (...ids: ReadonlyArray<Ids.ConversationId>) => ids.map((conversationId) => ({ conversationId }))

describe("the claims of held calls", () => {
  It.effect("Claims.C4: a client that leaves while its call is being claimed leaves no lock", function* () {
    const asked = yield* Deferred.make<void>()
    const answered = yield* Deferred.make<void>()
    let locks = 0
    const connection = {
      executeRaw: () => Effect.void,
      execute: (sql: string) => {
        if (sql.includes("pg_advisory_unlock")) return Effect.sync(() => (locks--, []))
        return Deferred.succeed(asked, undefined).pipe(
          Effect.andThen(Effect.sync(() => locks++)),
          Effect.andThen(Deferred.await(answered)),
          Effect.as([{ locked: true }])
        )
      }
    }
    const sql = { reserve: Effect.succeed(connection) } as unknown as SqlClient.SqlClient
    const claims = yield* Claims.make(sql)
    const taking = yield* Effect.forkChild(claims.take(a), { startImmediately: true })
    yield* Deferred.await(asked)
    const leaving = yield* Effect.forkChild(Fiber.interrupt(taking), { startImmediately: true })
    yield* Deferred.succeed(answered, undefined)
    yield* Fiber.join(leaving)
    yield* claims.release(a)
    expect(locks).toBe(0)
  })

  It.effect("a runner has each once, and so many at most", function* () {
    const connection = { executeRaw: () => Effect.void, execute: () => Effect.succeed([{ locked: true }]) }
    const claims = yield* Claims.make({ reserve: Effect.succeed(connection) } as unknown as SqlClient.SqlClient)
    const numbered = (n: number) => claims.take(Ids.ConversationId.make(`c${n}`))
    const taken = yield* Effect.forEach(Array.from({ length: Claims.MOST - 1 }), (_, n) => numbered(n))
    expect(taken).not.toContain(false)
    expect([yield* claims.take(a), yield* claims.take(a), yield* claims.take(b)]).toEqual([true, false, false])
    yield* claims.release(a)
    expect([yield* numbered(0), yield* claims.take(b), yield* claims.take(c)]).toEqual([false, true, false])
  })

  It.effect("SharedWaits.S2: the same call beside many that have their clients waits for a moment once", function* () {
    const took = { take: () => Effect.succeed(false), release: () => Effect.void }
    const begun = yield* Clock.currentTimeMillis
    const first = yield* Effect.forkChild(Claims.takeFirst(took, calls(a, b, c)), { startImmediately: true })
    yield* TestClock.adjust("300 millis")
    expect(yield* Fiber.join(first)).toBeUndefined()
    expect((yield* Clock.currentTimeMillis) - begun).toBe(300)
    expect(yield* Claims.takeFirst(took, [])).toBeUndefined()
  })

  It.effect("SharedWaits.S2: a call whose client leaves another runner is claimed, and no other one", function* () {
    const asked: Array<string> = []
    const take = (id: Ids.ConversationId) => Effect.sync(() => asked.push(id) > 4 && id === b)
    expect(
      yield* Effect.raceFirst(
        Claims.takeFirst({ take, release: () => Effect.void }, calls(a, b, c)),
        Effect.andThen(TestClock.adjust("60 millis"), Effect.never)
      )
    ).toEqual({ conversationId: b })
    expect(asked).toEqual(["a", "b", "c", "a", "b"])
  })

  It.effect("Claims.C4: a client that leaves once its call is claimed gives the claim back", function* () {
    const asked = yield* Deferred.make<void>()
    const answered = yield* Deferred.make<void>()
    const released: Array<string> = []
    const take = () =>
      Deferred.succeed(asked, undefined).pipe(Effect.andThen(Deferred.await(answered)), Effect.as(true))
    const release = (id: Ids.ConversationId) => Effect.sync(() => void released.push(id))
    const taking = yield* Effect.forkChild(Claims.takeFirst({ take, release }, calls(a)), { startImmediately: true })
    yield* Deferred.await(asked)
    const leaving = yield* Effect.forkChild(Fiber.interrupt(taking), { startImmediately: true })
    yield* Deferred.succeed(answered, undefined)
    yield* Fiber.join(leaving)
    expect(released).toEqual(["a"])
  })

  It.effect("SharedWaits.S3: a wait that has been seen without a client for 15 minutes is ended", function* () {
    const [here, there] = [b, c]
    const numberOf = (id: string) => createHash("sha256").update(id).digest().readUInt32BE(0) >>> 1
    let waits = [a, here, there, back]
    const clients = new Set([here])
    const done: Array<string> = []
    const execute = (sql: string, [, number]: ReadonlyArray<unknown>) =>
      Effect.sync(() => {
        if (sql.includes("pg_locks")) return [{ number: numberOf(there) }]
        done.push(`${sql.includes("unlock") ? "unlock" : "lock"} ${waits.find((id) => numberOf(id) === number)}`)
        return [{ locked: true }]
      })
    const connection = { executeRaw: () => Effect.void, execute }
    const rows = () => Effect.sync(() => waits.map((conversationId) => ({ conversationId })))
    const sql = Object.assign(rows, { reserve: Effect.succeed(connection) }) as unknown as SqlClient.SqlClient
    const abort = (id: Ids.ConversationId) => Effect.sync(() => done.push(`abort ${id}`) > 0)
    const conversations = { abort, result: () => Effect.die("not asked") }
    yield* SharedWaits.make({ sql, database: "db", turns: { conversations }, isHere: (id) => clients.has(id) })
    yield* TestClock.adjust("10 minutes")
    clients.add(back)
    yield* TestClock.adjust("1 minute")
    clients.delete(back)
    yield* TestClock.adjust("3 minutes")
    expect(done.splice(0)).toEqual([])
    yield* TestClock.adjust("1 minute")
    expect(done.splice(0)).toEqual(["lock a", "abort a", "unlock a"])
    // The 15 minutes of a wait that was gone begin anew; those of the wait whose client came and left are over.
    waits = [here, there, back]
    yield* TestClock.adjust("1 minute")
    waits = [a, here, there, back]
    yield* TestClock.adjust("10 minutes")
    expect(done.splice(0)).toEqual([])
    yield* TestClock.adjust("1 minute")
    expect(done.splice(0)).toEqual(["lock back", "abort back", "unlock back"])
  })
})
