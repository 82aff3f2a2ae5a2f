import { assert } from "@effect/vitest"
import { Cause, Effect, Exit } from "effect"
import * as InScope from "../../../src/base/system/InScope.ts"
import * as It from "../../It.ts"

It.effect("a resource is held until its scope closes, and is released once", function* () {
  const seen: Array<string> = []
  const use = Effect.andThen(
    InScope.take(
      () => (seen.push("taken"), "it"),
      (held) => void seen.push(`${held} released`)
    ),
    (held) => Effect.sync(() => void seen.push(`${held} used`))
  )
  yield* Effect.scoped(use)
  assert.deepStrictEqual(seen, ["taken", "it used", "it released"])
})

It.effect("a resource is released when its fiber is interrupted", function* () {
  let isHeld = false
  const hold = InScope.take(
    () => void (isHeld = true),
    () => void (isHeld = false)
  )
  const exit = yield* Effect.exit(Effect.scoped(Effect.andThen(hold, Effect.interrupt)))
  assert.isTrue(Exit.isFailure(exit) && Cause.hasInterruptsOnly(exit.cause))
  assert.isFalse(isHeld)
})

It.effect("a release that throws is a defect", function* () {
  const hold = InScope.take(
    () => 1,
    () => {
      throw new Error("not released")
    }
  )
  const exit = yield* Effect.exit(Effect.scoped(hold))
  assert.isTrue(Exit.isFailure(exit) && Cause.hasDies(exit.cause))
})
