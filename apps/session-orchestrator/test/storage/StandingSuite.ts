/** What every `Standings` does, whatever it stores in. */
import { expect, it } from "@effect/vitest"
import { Standing } from "@holdfast/policy"
import { Effect, type Layer } from "effect"
import { Standings } from "../../src/storage/Standings.ts"
import type { StorageError } from "../../src/storage/Store.ts"

const pause = (until: number): Standing.Pause => ({ until, reason: "overloaded", retryable: true })

const main = { provider: "one", model: "a/b" }
const standIn = { provider: "two", model: "c" }

/** Runs the suite; each test builds the layer anew, and finds it empty. */
export const suite = (name: string, layer: Layer.Layer<Standings, StorageError>) => {
  const test = (title: string, body: (standings: Standings["Service"]) => Effect.Effect<void, StorageError>) =>
    it.effect(`${name}: ${title}`, () => Effect.flatMap(Standings, body).pipe(Effect.provide(layer)))

  test("P7, P8: what was found out is there for everybody, until it is over", (standings) =>
    Effect.gen(function* () {
      expect(yield* standings.load(0)).toEqual(Standing.empty)
      const limit: Standing.Pause = { until: 300, reason: "quota-exhausted", retryable: false, askedUntil: 300 }
      yield* standings.note(Standing.coolDown(main, pause(200)), 100)
      yield* standings.note(Standing.limit("one", "KEY", limit), 100)
      expect(yield* standings.load(150)).toEqual({
        targets: { "one/a/b": pause(200) },
        credentials: { "one/KEY": limit }
      })
      expect(yield* standings.load(200)).toEqual({ targets: {}, credentials: { "one/KEY": limit } })
      expect(yield* standings.load(300)).toEqual(Standing.empty)
    }))

  test("noting the same again changes nothing, and of two ends the later one stays", (standings) =>
    Effect.gen(function* () {
      for (const until of [200, 500, 300, 500]) yield* standings.note(Standing.coolDown(main, pause(until)), 100)
      expect((yield* standings.load(100)).targets).toEqual({ "one/a/b": pause(500) })
    }))

  test("of many that find something out at once, none is forgotten", (standings) =>
    Effect.gen(function* () {
      const targets = Array.from({ length: 20 }, (_, n) => ({ ...standIn, model: `m${n % 5}` }))
      yield* Effect.forEach(targets, (target, n) => standings.note(Standing.coolDown(target, pause(200 + n)), 100), {
        concurrency: "unbounded"
      })
      const { targets: known } = yield* standings.load(100)
      expect(known).toEqual(Object.fromEntries([0, 1, 2, 3, 4].map((n) => [`two/m${n}`, pause(215 + n)])))
    }))
}
