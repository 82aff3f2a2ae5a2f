/** Where a person is in the page: the address behind `#`, so that the service has one path for all of it. */
import { useSyncExternalStore } from "react"

/** A place in the page. */
export type PageRoute = OfConversations | { readonly page: "night" | "before" | "health" }

/** A place beside the list of conversations. */
export type OfConversations =
  | { readonly page: "conversations" | "new" }
  | { readonly page: "conversation"; readonly conversationId: string }

/** Whether the list of conversations is shown there. */
export const hasList = (route: PageRoute): route is OfConversations =>
  route.page === "conversations" || route.page === "new" || route.page === "conversation"

/** The place of an address; an unknown one is the list. */
export const parse = (hash: string): PageRoute => {
  const [name, id] = hash.replace(/^#\/?/, "").split("/")
  const page = NAMED.find((named) => named === name)
  if (page !== undefined) return { page }
  if (name === "c" && id !== undefined && id !== "") return { page: "conversation", conversationId: decode(id) }
  return { page: "conversations" }
}

/** The address of a place. */
export const format = (route: PageRoute): string => {
  if (route.page === "conversation") return `#/c/${encodeURIComponent(route.conversationId)}`
  return route.page === "conversations" ? "#/" : `#/${route.page}`
}

/** Goes to a place. */
export const go = (route: PageRoute): void => void (location.hash = format(route))

/** The place of the page's address. */
export const useRoute = (): PageRoute => parse(useSyncExternalStore(subscribe, () => location.hash))

// --- internal

/** The places whose address is their name. */
const NAMED = ["new", "night", "before", "health"] as const

const decode = (text: string): string => {
  try {
    return decodeURIComponent(text)
  } catch {
    return text
  }
}

const subscribe = (listener: () => void): (() => void) => {
  addEventListener("hashchange", listener)
  return () => removeEventListener("hashchange", listener)
}
