import { afterEach, assert, describe, it } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import process from "node:process"
import { vi } from "vitest"
import * as Signals from "../../src/cli/Signals.ts"

afterEach(() => vi.restoreAllMocks())

/** What a signal does to this process, but for its end. */
const arrives = (signal: NodeJS.Signals) => process.emit(signal, signal)

describe("signals", () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    it.effect(`G1: the first, a ${signal}, is news, and the second ends the process`, () =>
      Effect.gen(function* () {
        const exit = vi.spyOn(process, "exit").mockReturnValue(undefined as never) // it would end the tests
        const before = process.listenerCount(signal)
        yield* Effect.gen(function* () {
          const { first } = yield* Signals.Signals
          const told = yield* Effect.forkChild(first, { startImmediately: true })
          yield* Effect.yieldNow
          assert.isUndefined(told.pollUnsafe())
          arrives(signal)
          assert.strictEqual(yield* Fiber.join(told), signal)
          assert.strictEqual(yield* first, signal)
          assert.deepStrictEqual(exit.mock.calls, [])
          arrives("SIGTERM")
          assert.deepStrictEqual(exit.mock.calls, [[130]])
        }).pipe(Effect.provide(Signals.layer))
        assert.strictEqual(process.listenerCount(signal), before)
      })
    )
  }
})
