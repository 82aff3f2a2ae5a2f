/** The tools whose calls a person has answered for good, and the buttons that take that back. */
import type { ConversationState } from "@holdfast/wire"
import * as Actions from "../palette/Actions.ts"
import { CommandFailure } from "./CommandFailure.tsx"
import { useCommand } from "./useCommand.ts"

interface ToolAnswersProps {
  readonly conversationId: string
  readonly answers: ConversationState.ToolAnswers
}

/** A line for each tool; nothing where every call is asked about. */
export const ToolAnswers = ({ answers, conversationId }: ToolAnswersProps) => {
  const { failure, isPending, send } = useCommand(conversationId)
  const names = Object.keys(answers)
  const ask = (tool: string): void => {
    const { [tool]: _, ...others } = answers
    send((conversation) => conversation.setToolAnswers(others))
  }
  Actions.useActions(
    "This conversation",
    names.map((tool) => ({
      name: `Ask again about ${tool}`,
      words: "tool always approve refuse forget",
      run: () => ask(tool)
    }))
  )
  if (names.length === 0 && failure === undefined) return null
  return (
    <>
      <ul className="tool-answers" aria-label="Tools without a question">
        {names.map((tool) => (
          <li key={tool}>
            <code>{tool}</code> <span className="quiet">{WORDS[answers[tool] ?? "approve"]}</span>{" "}
            <button
              type="button"
              className="small"
              aria-label={`Ask again about ${tool}`}
              aria-disabled={isPending}
              onClick={() => ask(tool)}
            >
              Ask again
            </button>
          </li>
        ))}
      </ul>
      <CommandFailure failure={failure} />
    </>
  )
}

// --- internal

const WORDS = { approve: "always runs", refuse: "is always refused" } as const
