/** Starts the page. */
import { QueryClient, QueryClientProvider } from "@tanstack/react-query"
import { StrictMode } from "react"
import { createRoot } from "react-dom/client"
// First: the styles of the parts stand behind it.
import "./style/page.css"
import * as Conversations from "./list/useConversations.ts"
import { ACCESS, App } from "./shell/App.tsx"
import { ErrorScreen } from "./shell/ErrorScreen.tsx"
import * as Parts from "./shell/Parts.ts"
import * as PageRoute from "./shell/PageRoute.ts"
import * as Focus from "./shell/Focus.ts"

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

Focus.keep()
createRoot(place).render(
  <StrictMode>
    <QueryClientProvider client={queries}>
      <ErrorScreen>
        <App />
      </ErrorScreen>
    </QueryClientProvider>
  </StrictMode>
)
