import { afterEach, assert, describe } from "@effect/vitest"
import { Effect, Fiber } from "effect"
import process from "node:process"
import { vi } from "vitest"
import * as Signals from "../../src/cli/Signals.ts"
import * as It from "../It.ts"

afterEach(() => vi.restoreAllMocks())

/** Tests the effect of signals on this process, without ending it. */
const arrives = (signal: NodeJS.Signals) => process.emit(signal, signal)

describe("signals", () => {
  for (const signal of ["SIGINT", "SIGTERM"] as const) {
    It.effect(`Signals.G1: the command receives the first, a ${signal}, and the second ends the process`, function* () {
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
  }
})
