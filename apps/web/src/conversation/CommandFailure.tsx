/** The command of a button, and why it was refused or not sent. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import type { Conversation } from "@holdfast/client"
import * as Problems from "../service/Problems.ts"
import * as Service from "../service/Service.ts"

/** The sentence; nothing without a failure. */
export const CommandFailure = ({ failure }: { readonly failure: string | undefined }) =>
  failure === undefined ? null : (
    <p className="error-text" role="alert">
      {failure}
    </p>
  )

// Sends a command of a button; the button knows whether it is under way and why it failed.

/** A command on a conversation. */
type Command = (conversation: Conversation) => Promise<unknown>

/** Commands on one conversation. */
export const useCommand = (conversationId: string) => {
  const queries = useQueryClient()
  const { error, isPending, mutate } = useMutation({
    mutationFn: (command: Command) => command(Service.client.conversation(conversationId)),
    // No event shows that the budget was extended, or that an answer holds for good.
    onSuccess: () => {
      void Service.readAgain(queries, "explain")
      void Service.readAgain(queries, "state", conversationId)
    }
  })
  return {
    /** Does nothing while a command is under way: its button keeps the focus, and so is not disabled. */
    send: (command: Command): void => {
      if (!isPending) mutate(command)
    },
    isPending,
    failure: error === null ? undefined : Problems.wordsOf(error)
  }
}
