/** What every `GateTable` does, whatever it stores in. */
import { expect, it } from "@effect/vitest"
import type { Failure } from "@holdfast/wire"
import { Effect, type Layer } from "effect"
import { GateTable, type Posted } from "../../src/storage/GateTable.ts"

const overloaded: Failure.Failure = { reason: "overloaded", message: 'It\'s "busy"', retryable: true, status: 529 }
const limited: Failure.Failure = { reason: "rate-limited", message: "Slower", retryable: true }

const posted = (endpoint: string, news: Partial<Posted> = {}): Posted => ({
  endpoint,
  triedAt: 0,
  answeredAt: 0,
  failedAt: 0,
  failure: undefined,
  ...news
})

/** Runs the suite; each test builds the layer anew, and finds it empty. */
export const suite = <E>(name: string, layer: Layer.Layer<GateTable, E>) => {
  const test = (title: string, body: (table: GateTable["Service"]) => Effect.Effect<void, unknown>) =>
    it.live(`${name}: ${title}`, () => Effect.flatMap(GateTable, body).pipe(Effect.provide(layer)))

  test("X5: what a runner tells is there for the others, and nothing else", ({ exchange }) =>
    Effect.gen(function* () {
      const now = Date.UTC(2031, 3, 1)
      const own = posted("a", { triedAt: now, failedAt: now + 0.25, failure: overloaded })
      expect(yield* exchange([own, posted("b")], ["a"])).toEqual([own])
      expect(yield* exchange([], ["b", "c"])).toEqual([posted("b")])
    }))

  test("X5: of each kind of news the newest stays", ({ exchange }) =>
    Effect.gen(function* () {
      yield* exchange([posted("a", { triedAt: 5, answeredAt: 1, failedAt: 5, failure: overloaded })], ["a"])
      const older = posted("a", { triedAt: 4, answeredAt: 9, failedAt: 3, failure: limited })
      const both = posted("a", { triedAt: 5, answeredAt: 9, failedAt: 5, failure: overloaded })
      expect(yield* exchange([older], ["a"])).toEqual([both])
      const newer = posted("a", { triedAt: 6, answeredAt: 2, failedAt: 6, failure: limited })
      expect(yield* exchange([newer], ["a"])).toEqual([{ ...newer, answeredAt: 9 }])
    }))
}
