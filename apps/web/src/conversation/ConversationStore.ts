/**
 * Keeps what a screen shows of one conversation up to date: the view of its events, and how the page is connected.
 *
 * Listeners are called once a frame of the display at most, however many deltas arrive. While a long history is read they are called ten
 * times a second: what is drawn then is gone at once. The stream is connected again for as long as the store is open. Only a refusal of
 * the service ends it.
 */
import { type Connection, ConversationView } from "@holdfast/client"
import { useMemo, useSyncExternalStore } from "react"
import * as Problems from "../service/Problems.ts"
import * as Service from "../service/Service.ts"

/** How the page is connected. `refused` is final. */
export type Link =
  | { readonly state: "connecting" }
  | Connection
  | { readonly state: "refused"; readonly code: string | undefined; readonly message: string }

/** What the page knows of a conversation. */
export interface ConversationSnapshot {
  readonly view: ConversationView.ConversationView
  readonly link: Link
  /** An event has been received: what the view has is the conversation's beginning, or all of it. */
  readonly isLoaded: boolean
}

/** The state of one conversation, for `useSyncExternalStore`. */
export interface ConversationStore {
  readonly read: () => ConversationSnapshot
  /** The first listener opens the stream; without listeners it is closed. */
  readonly subscribe: (listener: () => void) => () => void
}

/** Makes the store of a conversation. */
export const make = (conversationId: string): ConversationStore => {
  let shown: ConversationSnapshot = { view: ConversationView.empty, link: { state: "connecting" }, isLoaded: false }
  let latest = shown
  let closing: AbortController | undefined = undefined
  let isDue = false
  const listeners = new Set<() => void>()

  const show = (): void => {
    isDue = false
    shown = latest
    for (const listener of listeners) listener()
  }
  const change = (changed: Partial<ConversationSnapshot>): void => {
    latest = { ...latest, ...changed }
    if (isDue) return
    isDue = true
    const added = latest.view.history.length - shown.view.history.length
    // A hidden page draws no frames.
    if (document.hidden) setTimeout(show, HIDDEN_MS)
    else if (shown.isLoaded && added > LOADED_AT_ONCE) setTimeout(show, LOADING_MS)
    else requestAnimationFrame(show)
  }
  const run = async (signal: AbortSignal): Promise<void> => {
    try {
      const events = Service.streams.conversation(conversationId).events({
        signal,
        onConnection: (link) => change({ link })
      })
      for await (const view of events.views()) change({ view, isLoaded: true })
    } catch (error) {
      if (signal.aborted) return
      // The service runs on an earlier copy of its data: the conversation is read from its beginning.
      if (Problems.codeOf(error) === "restored") return run(signal)
      change({ link: { state: "refused", code: Problems.codeOf(error), message: Problems.wordsOf(error) } })
    }
  }
  return {
    read: () => shown,
    subscribe: (listener) => {
      listeners.add(listener)
      if (closing === undefined) {
        closing = new AbortController()
        void run(closing.signal)
      }
      return () => {
        listeners.delete(listener)
        if (listeners.size > 0) return
        closing?.abort()
        closing = undefined
      }
    }
  }
}

/** The snapshot of a conversation, which is open while a component shows it. */
export const useConversation = (conversationId: string): ConversationSnapshot => {
  const store = useMemo(() => make(conversationId), [conversationId])
  return useSyncExternalStore(store.subscribe, store.read)
}

// --- internal

const HIDDEN_MS = 250

/** More new entries than these in one read are of a history that is being loaded. */
const LOADED_AT_ONCE = 50

const LOADING_MS = 100
