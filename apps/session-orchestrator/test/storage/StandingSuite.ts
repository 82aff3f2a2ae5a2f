/** Tests the laws of every `Standings`, over any database. */
import { expect, it } from "@effect/vitest"
import type { StorageError } from "@holdfast/journal"
import { Standing } from "@holdfast/policy"
import type { Target } from "@holdfast/wire"
import { Effect, type Layer } from "effect"
import { Standings } from "../../src/storage/Standings.ts"

const pause = (until: number): Standing.Pause => ({ until, reason: "overloaded", retryable: true })

const main = { provider: "one", model: "a/b" }
const coolDown = (target: Target.Target, pause: Standing.Pause) => Standing.paused(Standing.target(target), pause)

const standIn = { provider: "two", model: "c" }

/** Runs the suite. Each test builds the layer again, and finds it empty. */
export const suite = (name: string, layer: Layer.Layer<Standings, StorageError>) => {
  const test = (title: string, body: (standings: Standings["Service"]) => Effect.Effect<void, StorageError>) =>
    it.effect(`${name}: ${title}`, () => Effect.flatMap(Standings, body).pipe(Effect.provide(layer)))

  test("rule P7, P8: every reader gets a noted pause until it ends", (standings) =>
    Effect.gen(function* () {
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
      expect(yield* standings.load(150)).toEqual({ ...limits, targets: { "one/a/b": { pauses: [pause(200)] } } })
      expect(yield* standings.load(200)).toEqual(limits)
      expect(yield* standings.load(300)).toEqual(Standing.empty)
    }))

  test("noting a pause again changes nothing, and of two ends the later one stays", (standings) =>
    Effect.gen(function* () {
      for (const until of [200, 500, 300, 500]) yield* standings.note(coolDown(main, pause(until)), 100)
      expect((yield* standings.load(100)).targets).toEqual({ "one/a/b": { pauses: [pause(500)] } })
    }))

  test("rule C12: a success ends the pauses from before its call, also for runners that note such a pause again", (standings) =>
    Effect.gen(function* () {
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
    }))

  test("rule C12: pauses and successes that are noted at once are all kept", (standings) =>
    Effect.gen(function* () {
      const names = Array.from({ length: 10 }, (_, n) => Standing.credential("one", `K${n % 5}`))
      for (const thing of names) yield* standings.note(Standing.paused(thing, { ...pause(900), since: 100 }), 100)
      const known = yield* standings.load(100)
      const changes = names.map((thing, n) =>
        n < 5 ? Standing.cleared(known, [thing], 100) : Standing.paused(thing, { ...pause(700), since: 200 + n })
      )
      yield* Effect.forEach(changes, (each) => standings.note(each, 200), { concurrency: "unbounded" })
      const after = yield* standings.load(300)
      expect(names.map((thing) => Standing.of(after, thing, 300)?.until)).toEqual(names.map(() => 700))
    }))

  test("notes by many turns at once are all kept", (standings) =>
    Effect.gen(function* () {
      const targets = Array.from({ length: 20 }, (_, n) => ({ ...standIn, model: `m${n % 5}` }))
      yield* Effect.forEach(targets, (target, n) => standings.note(coolDown(target, pause(200 + n)), 100), {
        concurrency: "unbounded"
      })
      const { targets: known } = yield* standings.load(100)
      expect(known).toEqual(Object.fromEntries([0, 1, 2, 3, 4].map((n) => [`two/m${n}`, { pauses: [pause(215 + n)] }])))
    }))
}
