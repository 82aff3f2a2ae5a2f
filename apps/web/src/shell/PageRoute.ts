/** Where a person is in the page: the address behind `#`, so that the service has one path for all of it. */
import { useSyncExternalStore } from "react"

/** A place in the page. */
export type PageRoute =
  | { readonly page: "conversations" }
  | { readonly page: "new" }
  | { readonly page: "night" }
  | { readonly page: "before" }
  | { readonly page: "health" }
  | { readonly page: "conversation"; readonly conversationId: string }

/** A place beside the list of conversations. */
export type OfConversations = Extract<PageRoute, { readonly page: "conversations" | "new" | "conversation" }>

/** Whether the list of conversations is shown there. */
export const hasList = (route: PageRoute): route is OfConversations =>
  route.page === "conversations" || route.page === "new" || route.page === "conversation"

/** The place of an address; an unknown one is the list. */
export const parse = (hash: string): PageRoute => {
  const [page, id] = hash.replace(/^#\/?/, "").split("/")
  if (page === "new" || page === "night" || page === "before" || page === "health") return { page }
  if (page === "c" && id !== undefined && id !== "") return { page: "conversation", conversationId: decode(id) }
  return { page: "conversations" }
}

/** The address of a place. */
export const format = (route: PageRoute): string => {
  switch (route.page) {
    case "conversations":
      return "#/"
    case "new":
      return "#/new"
    case "night":
      return "#/night"
    case "before":
      return "#/before"
    case "health":
      return "#/health"
    case "conversation":
      return `#/c/${encodeURIComponent(route.conversationId)}`
    default:
      return route satisfies never
  }
}

/** Goes to a place. */
export const go = (route: PageRoute): void => void (location.hash = format(route))

/** The place of the page's address. */
export const useRoute = (): PageRoute => parse(useSyncExternalStore(subscribe, () => location.hash))

// --- internal

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
