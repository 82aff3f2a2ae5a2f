import { assert, it } from "@effect/vitest"
import { Effect, Layer } from "effect"
import process from "node:process"
import * as ToolServers from "../../src/tools/ToolServers.ts"

it.effect(
  "ToolServers.V3: any number of tool servers has one listener for the end of this process, and none afterwards",
  () =>
    Effect.gen(function* () {
      const before = process.listenerCount("exit")
      yield* Effect.scoped(
        Effect.andThen(
          Layer.build(Layer.fresh(ToolServers.layer([]))),
          Effect.sync(() => assert.strictEqual(process.listenerCount("exit"), before + 1))
        )
      )
      assert.strictEqual(process.listenerCount("exit"), before)
    })
)
