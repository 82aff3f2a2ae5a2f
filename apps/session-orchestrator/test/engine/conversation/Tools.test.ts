import { assert, describe } from "@effect/vitest"
import type { Toolbox } from "@holdfast/kernel"
import type { ConversationState } from "@holdfast/wire"
import { Effect } from "effect"
import * as Tools from "../../../src/engine/conversation/Tools.ts"
import * as It from "../../It.ts"

describe("Tools", () => {
  const ran: Array<readonly [string, boolean | undefined]> = []
  const toolbox: Toolbox.Toolbox["Service"] = {
    definitions: [
      { name: "read", inputSchema: {} },
      { name: "send", inputSchema: {}, confirmWithinMs: 1 },
      { name: "toString", inputSchema: {}, confirmWithinMs: 1 }
    ],
    run: ({ toolName }, isApproved) =>
      Effect.sync(() => {
        ran.push([toolName, isApproved])
        return { output: "done", isError: false }
      })
  }
  const over = (answers: ConversationState.ToolAnswers | undefined) => Tools.answeredBy(toolbox, () => answers)
  const confirmed = ({ definitions }: Toolbox.Toolbox["Service"]) =>
    definitions.flatMap(({ confirmWithinMs, name }) => (confirmWithinMs === undefined ? [] : [name]))
  const call = (toolName: string) => ({ type: "tool-call", toolCallId: "1", toolName, input: {} }) as const

  It.effect("a tool with an answer has no question, and its calls run as approved ones, or fail", function* () {
    assert.deepStrictEqual(confirmed(over(undefined)), ["send", "toString"])
    assert.deepStrictEqual(confirmed(over({ send: "approve" })), ["toString"])
    yield* over({ send: "approve" }).run(call("send"))
    yield* over({ send: "approve" }).run(call("toString"))
    const refused = yield* over({ send: "refuse" }).run(call("send"))
    assert.deepStrictEqual(refused, {
      output: "A person refused this call, and every call of send in this conversation.",
      isError: true
    })
    // A person has approved this call.
    yield* over({ send: "refuse" }).run(call("send"), true)
    assert.deepStrictEqual(ran, [
      ["send", true],
      ["toString", false],
      ["send", true]
    ])
  })
})
