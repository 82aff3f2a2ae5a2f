/**
 * Applies a person's answers that hold for every call of a tool in a conversation.
 *
 * ToolAnswers.W1. A tool with such an answer has no question: its calls run as approved ones, or fail with the refusal. A question that was
 *     asked before the answer stays, and takes an answer for each call.
 */
import type { Toolbox } from "@holdfast/kernel"
import type { ConversationState } from "@holdfast/wire"
import { Effect, Struct } from "effect"

type Service = Toolbox.Toolbox["Service"]

/** A toolbox with the present answers. */
export const over = (toolbox: Service, answers: () => ConversationState.ToolAnswers | undefined): Service => {
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

// --- internal

const refused = (toolName: string): Toolbox.ToolOutcome => ({
  output: `A person refused this call, and every call of ${toolName} in this conversation.`,
  isError: true
})
