/** Starts the page, and keeps the place of the keyboard in it. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
// First: the styles of the parts stand behind it.
import "./style/page.css"
import * as Conversations from "./list/useConversations.ts"
import { ACCESS, App, ErrorScreen } from "./shell/App.tsx"
import * as Parts from "./shell/Parts.ts"
import * as PageRoute from "./shell/PageRoute.ts"

const partsAround = (element: Element): ReadonlyArray<HTMLElement> => {
  const found: Array<HTMLElement> = []
  for (let part = element.parentElement; part !== null; part = part.parentElement)
    if (part.hasAttribute("tabindex")) found.push(part)
  return found
}

/**
 * Keeps the place of the keyboard when the element that has the focus goes away: a button of a wait that is over, a filter that is taken
 * off.
 *
 * The focus goes to the nearest part around it that is still there and can have it (`tabIndex`). Browsers would begin at the top of the
 * page. A part that puts the focus elsewhere itself, such as a form that gives it back to its button, has precedence.
 */
const keepFocus = (): void => {
  let focused: Element | undefined = undefined
  let around: ReadonlyArray<HTMLElement> = []
  addEventListener("focusin", ({ target }) => {
    if (!(target instanceof Element)) return
    focused = target
    around = partsAround(target)
  })
  // Its calls come after the changes of a render and the focus that the render has set.
  new MutationObserver(() => {
    if (focused === undefined || focused.isConnected) return
    focused = undefined
    if (document.activeElement !== null && document.activeElement !== document.body) return
    around.find(({ isConnected }) => isConnected)?.focus({ preventScroll: true })
  }).observe(document.body, { childList: true, subtree: true })
}

const place = document.querySelector("#page")
if (place === null) throw new Error("index.html has an element with the id page")

// The client makes calls again by itself. A browser without a network can still reach a service on its machine.
const queries = new QueryClient({
  defaultOptions: { queries: { retry: false, networkMode: "always" }, mutations: { networkMode: "always" } }
})

const route = PageRoute.parse(location.hash)
Parts.loadAhead(route)
// The list does not wait for the answer of the first call, nor either for React.
void queries.prefetchQuery(ACCESS)
if (PageRoute.hasList(route)) void queries.prefetchQuery(Conversations.list(Conversations.FIRST))

keepFocus()
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <ErrorScreen>
        <App />
      </ErrorScreen>
    </QueryClientProvider>
  </StrictMode>
)
