import { assert } from "@effect/vitest"
import type { Toolbox } from "@holdfast/kernel"
import { Effect, Fiber, Latch } from "effect"
import * as Ownership from "../../../src/engine/turn/Ownership.ts"
import * as NumberedData from "../../storage/NumberedData.ts"
import * as It from "../../It.ts"

const id = NumberedData.conversationId(1)
const call = { type: "tool-call", toolCallId: "1", toolName: "look", input: {} } as const

It.effect("rule X8: a tool runs once the ownership is sure; its definitions are those of the moment", function* () {
  const sure = Latch.makeUnsafe()
  const approved: Array<boolean | undefined> = []
  let definitions: Toolbox.Toolbox["Service"]["definitions"] = []
  const toolbox: Toolbox.Toolbox["Service"] = {
    get definitions() {
      return definitions
    },
    run: (_call, isApproved) =>
      Effect.sync(() => {
        approved.push(isApproved)
        return { output: "seen", isError: false }
      })
  }
  const owned = Ownership.toolsOf({ isOurs: () => true, sure: () => Effect.asVoid(sure.await) }, id, toolbox)
  const running = yield* Effect.forkChild(owned.run(call, true), { startImmediately: true })
  assert.deepStrictEqual(approved, [])
  sure.openUnsafe()
  assert.deepStrictEqual([(yield* Fiber.join(running)).output, approved], ["seen", [true]])
  definitions = [{ name: "look", inputSchema: { type: "object" } }]
  assert.strictEqual(owned.definitions, definitions)
  assert.strictEqual(Ownership.toolsOf(Ownership.Ownership.defaultValue(), id, toolbox), toolbox)
})
