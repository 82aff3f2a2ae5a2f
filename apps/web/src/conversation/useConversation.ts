/** The state of a conversation, in a component. */
import { useMemo, useSyncExternalStore } from "react"
import * as ConversationStore from "./ConversationStore.ts"

/** The snapshot of a conversation, which is open while a component shows it. */
export const useConversation = (conversationId: string): ConversationStore.ConversationSnapshot => {
  const store = useMemo(() => ConversationStore.make(conversationId), [conversationId])
  return useSyncExternalStore(store.subscribe, store.read)
}
