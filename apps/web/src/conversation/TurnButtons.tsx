/** Ends a turn that runs, and runs the model again after an error or an abort (M2). */
import type { ConversationView } from "@holdfast/client"
import * as Actions from "../palette/Actions.ts"
import { CommandFailure } from "./CommandFailure.tsx"
import { useCommand } from "./useCommand.ts"

interface TurnButtonsProps {
  readonly conversationId: string
  readonly status: ConversationView.ConversationView["status"]
  readonly canRetry: boolean
}

/** The buttons of a running turn, and of a turn that has failed or was aborted. */
export const TurnButtons = ({ canRetry, conversationId, status }: TurnButtonsProps) => {
  const { failure, isPending, send } = useCommand(conversationId)
  Actions.useActions("This conversation", [
    ...(status === "idle"
      ? []
      : [{ name: "Stop", words: "abort end the turn", run: () => send((conversation) => conversation.abort()) }]),
    ...(canRetry
      ? [{ name: "Retry", words: "run the model again", run: () => send((conversation) => conversation.retry()) }]
      : [])
  ])
  if (status === "idle" && !canRetry && failure === undefined) return null
  return (
    <div className="turn-buttons">
      {status !== "idle" && (
        <button type="button" aria-disabled={isPending} onClick={() => send((conversation) => conversation.abort())}>
          Stop
        </button>
      )}
      {canRetry && (
        <button
          type="button"
          className="primary"
          aria-disabled={isPending}
          onClick={() => send((conversation) => conversation.retry())}
        >
          Retry
        </button>
      )}
      <CommandFailure failure={failure} />
    </div>
  )
}
