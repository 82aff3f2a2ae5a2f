/** Tests the laws of every `GateTable`, over any database. */
import { expect, it } from "@effect/vitest"
import type { Failure } from "@holdfast/wire"
import { Effect, type Layer } from "effect"
import { GateTable, type Posted } from "../../src/storage/tables/GateTable.ts"
import * as It from "../It.ts"

const overloaded: Failure.Failure = { reason: "overloaded", message: 'It\'s "busy"', retryable: true, status: 529 }
const limited: Failure.Failure = { reason: "rate-limited", message: "Slower", retryable: true }

const posted = (endpoint: string, news: Partial<Posted> = {}): Posted => {
  return { endpoint, triedAt: 0, answeredAt: 0, failedAt: 0, failure: undefined, n: 0, ...news }
}

/** Runs the suite. Each test builds the layer again, and finds it empty. */
export const suite = <E>(name: string, layer: Layer.Layer<GateTable, E>) => {
  const declare = It.suite(name, layer, it.live)
  const test = (title: string, body: It.Body<[table: GateTable["Service"]]>) =>
    declare(title, function* () {
      const table = yield* GateTable
      yield* Effect.gen(() => body(table))
    })

  test("rule X5: the other runners read a runner's news, and nothing else", function* ({ exchange }) {
    const now = Date.UTC(2031, 3, 1)
    const own = posted("a", { triedAt: now, failedAt: now + 0.25, failure: overloaded, n: 28.5 })
    expect(yield* exchange([own, posted("b")], ["a"])).toEqual([own])
    expect(yield* exchange([], ["b", "c"])).toEqual([posted("b")])
  })

  test("rule X5: the newest news of each kind stays", function* ({ exchange }) {
    yield* exchange([posted("a", { triedAt: 5, answeredAt: 1, failedAt: 5, failure: overloaded })], ["a"])
    const older = posted("a", { triedAt: 4, answeredAt: 9, failedAt: 3, failure: limited })
    const both = posted("a", { triedAt: 5, answeredAt: 9, failedAt: 5, failure: overloaded })
    expect(yield* exchange([older], ["a"])).toEqual([both])
    const newer = posted("a", { triedAt: 6, answeredAt: 2, failedAt: 6, failure: limited })
    expect(yield* exchange([newer], ["a"])).toEqual([{ ...newer, answeredAt: 9 }])
  })

  test("limits: the other runners read a runner's newest use, a dead one's without its calls", function* ({ share }) {
    const now = Date.UTC(2031, 3, 1)
    const one = { provider: "a", runner: "1", underway: 2, seconds: [{ at: now, requests: 3, tokens: 40 }] }
    const two = { provider: "a", runner: "2", underway: 1, seconds: [] }
    expect(yield* share([one, { ...one, provider: "b" }], ["a"], now)).toEqual([one])
    const both = yield* share([two], ["a"], now + 1_000)
    expect(both.toSorted((a, b) => a.runner.localeCompare(b.runner))).toEqual([one, two])
    const later = { ...one, underway: 0 }
    expect(yield* share([later], ["a"], now + 2_000)).toContainEqual(later)
    const dead = yield* share([], ["a"], now + 1_000 + 15_000)
    expect(dead.find(({ runner }) => runner === "2")).toEqual({ ...two, underway: 0 })
    yield* share([later], ["a"], now + 200_000)
    expect((yield* share([], ["a", "b"], now)).map(({ provider, runner }) => provider + runner)).toEqual(["a1"])
  })
}
