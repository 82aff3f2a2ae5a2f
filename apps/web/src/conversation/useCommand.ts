/** Sends a command of a button; the button knows whether it is under way and why it failed. */
import { useMutation, useQueryClient } from "@tanstack/react-query"
import type { Conversation } from "@holdfast/client"
import * as Problems from "../service/Problems.ts"
import * as Service from "../service/Service.ts"

/** A command on a conversation. */
export type Command = (conversation: Conversation) => Promise<unknown>

/** Commands on one conversation. */
export const useCommand = (conversationId: string) => {
  const queries = useQueryClient()
  const { error, isPending, mutate } = useMutation({
    mutationFn: (command: Command) => command(Service.client.conversation(conversationId)),
    // No event shows that the budget was extended.
    onSuccess: () => queries.invalidateQueries({ queryKey: ["explain"] })
  })
  return {
    send: (command: Command) => mutate(command),
    isPending,
    failure: error === null ? undefined : Problems.wordsOf(error)
  }
}
