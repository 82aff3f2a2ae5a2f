import { assert, it } from "@effect/vitest"
import { Effect, Exit, Fiber, Scope } from "effect"
import * as v8 from "node:v8"
import * as vm from "node:vm"
import * as Held from "../../src/system/Held.ts"

it.effect("Held.H1: a value is released when its scope closes, once", () =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    let released = 0
    const value = yield* Scope.provide(
      Held.inScope(() => ["value", () => released++]),
      scope
    )
    assert.deepStrictEqual([value, released], ["value", 0])
    yield* Scope.close(scope, Exit.void)
    assert.strictEqual(released, 1)
  })
)

it.effect("Held.H1: an interruption while the value is made releases it", () =>
  Effect.gen(function* () {
    let released = 0
    const fiber: Fiber.Fiber<unknown> = yield* Effect.forkChild(
      Effect.scoped(
        Held.inScope(() => {
          fiber.interruptUnsafe()
          return ["value", () => released++]
        })
      )
    )
    assert.isTrue(Exit.hasInterrupts(yield* Fiber.await(fiber)))
    assert.strictEqual(released, 1)
  })
)

it.effect("keeps the release alone while the scope is open", () =>
  Effect.gen(function* () {
    const scope = yield* Scope.make()
    let released = 0
    const made = yield* Scope.provide(
      Held.inScope(() => {
        const value = { large: "x".repeat(1_000) }
        return [new WeakRef(value), () => released++]
      }),
      scope
    )
    // A weak reference keeps its object alive until the end of the task that made it.
    yield* Effect.promise(() => new Promise((resolve) => setImmediate(resolve)))
    v8.setFlagsFromString("--expose-gc")
    vm.runInNewContext("gc")()
    assert.isUndefined(made.deref())
    yield* Scope.close(scope, Exit.void)
    assert.strictEqual(released, 1)
  })
)
