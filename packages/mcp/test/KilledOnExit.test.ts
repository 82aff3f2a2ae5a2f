import { assert, it } from "@effect/vitest"
import { Effect } from "effect"
import process from "node:process"
import * as ToolServers from "../src/ToolServers.ts"
import { concealing } from "../testing/index.ts"

it.effect(
  "ToolServers.V3: any number of tool servers has one listener for the end of this process, and none afterwards",
  () =>
    Effect.gen(function* () {
      const before = process.listenerCount("exit")
      yield* Effect.scoped(
        Effect.andThen(
          ToolServers.start([], concealing),
          Effect.sync(() => assert.strictEqual(process.listenerCount("exit"), before + 1))
        )
      )
      assert.strictEqual(process.listenerCount("exit"), before)
    })
)
