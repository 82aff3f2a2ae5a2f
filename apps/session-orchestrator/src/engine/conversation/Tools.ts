/**
 * The port for the service's tools, and a person's lasting answers about them.
 *
 * A conversation keeps an answer for every call of a tool by its name: `approve` or `refuse`. Such a tool has no question: its calls run as approved
 * ones, or fail with the refusal. A question that was asked before the answer stays, and takes an answer for each call.
 */
import { Toolbox } from "@holdfast/kernel"
import { Context, Effect, Layer, Struct } from "effect"
import type { ConversationState } from "@holdfast/wire"
import type { ToolServers } from "@holdfast/mcp"

/** The tools of the service: those of its tool servers. */
export class Tools extends Context.Service<Tools, ToolServers.ToolServers>()(
  "@holdfast/session-orchestrator/conversation/Tools"
) {}

/** No tools. */
export const layerNoop: Layer.Layer<Tools> = Layer.succeed(Tools, {
  toolbox: Effect.succeed(Toolbox.noop),
  missing: () => [],
  isComplete: Effect.void,
  names: [],
  only: (names) => ({
    toolbox: Effect.succeed(Toolbox.noop),
    missing: () => names.map((server) => ({ server, isRequired: false, because: "it is not configured" })),
    isComplete: Effect.void
  })
})

type Service = Toolbox.Toolbox["Service"]

/** The toolbox of a turn, with the answers of its conversation: `answers` is called at each step and call, because they change meanwhile. `undefined`: there are none. */
export const answeredBy = (toolbox: Service, answers: () => ConversationState.ToolAnswers | undefined): Service => {
  const answerOf = (toolName: string) => {
    const known = answers()
    return known !== undefined && Object.hasOwn(known, toolName) ? known[toolName] : undefined
  }
  return {
    // Other ones from one step to the next.
    get definitions() {
      const { definitions } = toolbox
      if (answers() === undefined) return definitions
      return definitions.map((tool) =>
        answerOf(tool.name) === undefined ? tool : Struct.omit(tool, ["confirmWithinMs"])
      )
    },
    run: (call, isApproved = false) => {
      const answer = isApproved ? "approve" : answerOf(call.toolName)
      return answer === "refuse" ? Effect.succeed(refused(call.toolName)) : toolbox.run(call, answer === "approve")
    }
  }
}

const refused = (toolName: string): Toolbox.ToolOutcome => ({
  output: `A person refused this call, and every call of ${toolName} in this conversation.`,
  isError: true
})
