/** Tests the laws of every `Standings`, over any database. */
import { expect } from "@effect/vitest"
import type { StorageError } from "@holdfast/journal"
import { SqlDatabase } from "@holdfast/journal/sql"
import { Standing } from "@holdfast/policy"
import type { Target } from "@holdfast/wire"
import { Deferred, Effect, Fiber, type Layer } from "effect"
import type { SqlClient, SqlError } from "effect/sql"
import { make, remembering, Standings } from "../../src/storage/Standings.ts"
import * as It from "../It.ts"

const pause = (until: number): Standing.Pause => ({ until, reason: "overloaded", retryable: true })

const main = { provider: "one", model: "a/b" }
const coolDown = (target: Target.Target, pause: Standing.Pause) => Standing.paused(Standing.target(target), pause)

const standIn = { provider: "two", model: "c" }

/** Runs the suite. Each test builds the layer again, and finds it empty. */
export const suite = (
  name: string,
  layer: Layer.Layer<Standings | SqlClient.SqlClient, StorageError | SqlError.SqlError>
) => {
  const declare = It.suite(name, layer)
  const test = (title: string, body: It.Body<[standings: Standings["Service"], other: ReturnType<typeof make>]>) =>
    declare(title, function* () {
      const standings = yield* Standings
      const database = yield* SqlDatabase.make({ database: name })
      yield* Effect.gen(() => body(standings, make(database)))
    })

  test("rule P7, P8: every reader gets a noted pause until it ends", function* (standings, other) {
    expect(yield* standings.load(0)).toEqual(Standing.empty)
    const limit: Standing.Pause = { until: 300, reason: "quota-exhausted", retryable: false, askedUntil: 300 }
    yield* standings.note(coolDown(main, pause(200)), 100)
    yield* standings.note(Standing.paused(Standing.credential("one", "KEY"), limit), 100)
    yield* standings.note(Standing.paused(Standing.account("one", "KEY"), limit), 100)
    yield* standings.note(Standing.paused(Standing.model(main, "KEY"), limit), 100)
    const limits = {
      ...Standing.empty,
      credentials: { "one/KEY": { pauses: [limit] } },
      accounts: { "one/KEY": { pauses: [limit] } },
      models: { "one/KEY/a/b": { pauses: [limit] } }
    }
    expect(yield* standings.load(150)).toEqual(yield* (yield* other).load(150))
    expect(yield* standings.load(150)).toEqual({ ...limits, targets: { "one/a/b": { pauses: [pause(200)] } } })
    expect(yield* standings.load(200)).toEqual(limits)
    expect(yield* standings.load(300)).toEqual(Standing.empty)
    // What has ended is deleted.
    yield* standings.note(coolDown(standIn, pause(900)), 300)
    const left = { ...Standing.empty, targets: { "two/c": { pauses: [pause(900)] } } }
    expect(yield* (yield* other).load(0)).toEqual(left)
  })

  test("noting a pause again changes nothing, and of two ends the later one stays", function* (standings, other) {
    for (const until of [200, 5_000, 3_000, 5_000]) yield* standings.note(coolDown(main, pause(until)), 100)
    expect((yield* standings.load(100)).targets).toEqual({ "one/a/b": { pauses: [pause(5_000)] } })
    // Another process adds to what is on the disk, though it has not read that.
    const found = { ...pause(3_000), since: 50 }
    yield* (yield* other).note(coolDown(main, found), 100)
    expect((yield* (yield* other).load(100)).targets).toEqual({ "one/a/b": { pauses: [pause(5_000), found] } })
  })

  test("rule C12: a success ends the pauses from before its call, also for runners that note such a pause again", function* (standings) {
    const thing = Standing.target(main)
    const known = Standing.paused(thing, { ...pause(900), since: 100 })
    yield* standings.note(known, 100)
    yield* standings.note(Standing.cleared(yield* standings.load(200), [thing], 150), 200)
    expect(Standing.of(yield* standings.load(300), thing, 300)).toBeUndefined()
    yield* standings.note(known, 300)
    expect(Standing.of(yield* standings.load(400), thing, 400)).toBeUndefined()
    yield* standings.note(Standing.paused(thing, { ...pause(500), since: 151 }), 400)
    expect(Standing.of(yield* standings.load(400), thing, 400)?.until).toBe(500)
    expect(yield* standings.load(900)).toEqual(Standing.empty)
  })

  test("rule C12: pauses and successes that are noted at once are all kept", function* (standings) {
    const names = Array.from({ length: 10 }, (_, n) => Standing.credential("one", `K${n % 5}`))
    for (const thing of names) yield* standings.note(Standing.paused(thing, { ...pause(900), since: 100 }), 100)
    const known = yield* standings.load(100)
    const changes = names.map((thing, n) =>
      n < 5 ? Standing.cleared(known, [thing], 100) : Standing.paused(thing, { ...pause(700), since: 200 + n })
    )
    yield* Effect.forEach(changes, (each) => standings.note(each, 200), { concurrency: "unbounded" })
    const after = yield* standings.load(300)
    expect(names.map((thing) => Standing.of(after, thing, 300)?.until)).toEqual(names.map(() => 700))
  })

  test("a pause that is noted while another turn reads is there for the next", function* (standings) {
    const hasRead = Deferred.makeUnsafe<void>()
    const isNoted = Deferred.makeUnsafe<void>()
    const kept = remembering({
      ...standings,
      load: (now) =>
        Effect.tap(standings.load(now), () =>
          Effect.andThen(Deferred.succeed(hasRead, undefined), Deferred.await(isNoted))
        )
    })
    const reading = yield* Effect.forkChild(kept.load(100))
    yield* Deferred.await(hasRead)
    yield* kept.note(coolDown(main, pause(500)), 100)
    yield* Deferred.succeed(isNoted, undefined)
    const targets = { "one/a/b": { pauses: [pause(500)] } }
    expect((yield* Fiber.join(reading)).targets).toEqual(targets)
    for (const now of [200, 300]) expect((yield* kept.load(now)).targets).toEqual(targets)
  })

  test("rule X6: a pause that another process has noted is known within a second", function* (standings) {
    const mine = remembering(standings)
    expect(yield* mine.load(100)).toEqual(Standing.empty)
    yield* remembering(standings).note(coolDown(main, pause(5_000)), 100)
    expect((yield* mine.load(1_100)).targets).toEqual({ "one/a/b": { pauses: [pause(5_000)] } })
  })

  test("rule P8: of like pauses one a second is written, and every one is known", function* (standings) {
    let writes = 0
    const kept = remembering({ ...standings, note: (...noted) => (writes++, standings.note(...noted)) })
    const found = (since: number): Standing.Pause => ({ ...pause(since + 60_000), since })
    for (let since = 1_000; since < 4_000; since += 10) {
      yield* kept.note(coolDown(main, found(since)), since)
      expect((yield* kept.load(since)).targets).toEqual({ "one/a/b": { pauses: [found(since)] } })
    }
    expect(writes).toBe(3)
    // By what another process reads, a pause ends less than a second too early.
    const until = Standing.of(yield* remembering(standings).load(4_000), Standing.target(main), 4_000)?.until ?? 0
    expect(until).toBeGreaterThan(62_990)
  })

  test("Standings.N2: a pause like a stored one is not written, and those of others are read once a second", function* () {
    const stored = { ...pause(60_000), since: 1_000 }
    let [reads, writes] = [0, 0]
    const isWritten = Effect.fnUntraced(function* (changed: Partial<Standing.Pause>, given: Standing.Pause = stored) {
      const kept = remembering({
        load: () => Effect.sync(() => (reads++, coolDown(main, given))),
        note: () => Effect.sync(() => void writes++)
      })
      for (const now of [500, 1_499]) yield* kept.load(now)
      const before = writes
      yield* kept.note(coolDown(main, { ...given, ...changed }), 1_499)
      return writes > before
    })
    const like = [{}, { until: 60_999 }, { since: 1_999 }, { since: 1 }, { askedUntil: 999 }, { until: 1_500 }]
    const other = [{ until: 61_000 }, { since: 2_000 }, { askedUntil: 1_000 }, { retryable: false }, { since: 0 }]
    expect(yield* Effect.forEach(like, (changed) => isWritten(changed))).toEqual(like.map(() => false))
    expect(yield* Effect.forEach(other, (changed) => isWritten(changed))).toEqual(other.map(() => true))
    const others = [yield* isWritten({ reason: "auth" }), yield* isWritten({ since: 1_000 }, pause(60_000))]
    expect([...others, reads]).toEqual([true, true, 13])
  })

  test("rule C12: a success leaves a pause that was found after its call began, also one that was not written", function* (standings) {
    const kept = remembering(standings)
    const thing = Standing.target(main)
    yield* kept.note(coolDown(main, { ...pause(9_000), since: 1_000 }), 1_000)
    yield* kept.note(coolDown(main, { ...pause(8_500), since: 1_500 }), 1_500)
    yield* kept.note(Standing.cleared(yield* kept.load(1_600), [thing], 1_200), 1_600)
    for (const reader of [kept, remembering(standings)])
      expect(Standing.of(yield* reader.load(1_700), thing, 1_700)?.since).toBe(1_500)
  })

  test("a pause whose turn is aborted while it is written is there for the others", function* (standings) {
    const isWritten = Deferred.makeUnsafe<void>()
    const isAnswered = Deferred.makeUnsafe<void>()
    const kept = remembering({
      ...standings,
      note: (...noted) =>
        Effect.andThen(standings.note(...noted), Deferred.succeed(isWritten, undefined)).pipe(
          Effect.andThen(Deferred.await(isAnswered))
        )
    })
    expect(yield* kept.load(100)).toEqual(Standing.empty)
    const noting = yield* Effect.forkChild(kept.note(coolDown(main, pause(500)), 100))
    yield* Deferred.await(isWritten)
    noting.interruptUnsafe()
    yield* Deferred.succeed(isAnswered, undefined)
    yield* Fiber.await(noting)
    expect((yield* kept.load(200)).targets).toEqual({ "one/a/b": { pauses: [pause(500)] } })
  })

  test("notes by many turns at once are all kept", function* (standings) {
    const targets = Array.from({ length: 20 }, (_, n) => ({ ...standIn, model: `m${n % 5}` }))
    yield* Effect.forEach(targets, (target, n) => standings.note(coolDown(target, pause(200 + n)), 100), {
      concurrency: "unbounded"
    })
    const { targets: known } = yield* standings.load(100)
    expect(known).toEqual(Object.fromEntries([0, 1, 2, 3, 4].map((n) => [`two/m${n}`, { pauses: [pause(215 + n)] }])))
  })
}
