/** The frame of the page: it asks for the token if the service has one, then shows the list beside a conversation. */
import { queryOptions, useQuery } from "@tanstack/react-query"
import { Component, type ReactNode, Suspense } from "react"
import { TokenForm } from "../access/TokenForm.tsx"
import { NewConversation } from "../conversation/NewConversation.tsx"
import { ConversationList } from "../list/ConversationList.tsx"
import { DesktopNotices } from "../notices/DesktopNotices.tsx"
import * as Actions from "../palette/Actions.ts"
import { Palette } from "../palette/Palette.tsx"
import * as Service from "../service/Service.ts"
import { BeforePage, ConversationPage, HealthPage, NightPage } from "./Parts.ts"
import * as PageRoute from "./PageRoute.ts"
import * as PageVersion from "./PageVersion.ts"
import "./shell.css"

/** How often the page asks whether the service is there, while it is not. */
const ASK_AGAIN_MS = 2_000

/** The first call: it can be made before the page is drawn. */
export const ACCESS = queryOptions({
  queryKey: ["access"],
  queryFn: Service.readAccess,
  // An answer from before the page was drawn is not asked for again at once.
  staleTime: ASK_AGAIN_MS
})

/** The whole page. */
export const App = () => {
  const access = useQuery({
    ...ACCESS,
    refetchInterval: ({ state }) => (state.status === "error" ? ASK_AGAIN_MS : false),
    refetchIntervalInBackground: true
  })
  const route = PageRoute.useRoute()
  const isFirst = access.isPending && access.errorUpdateCount === 0
  if (access.data === "token-needed") return <TokenForm />
  // Most services have no token, or have given this browser a session: the list does not wait for the first answer. Other pages need its clock.
  if (access.data === "granted" || (isFirst && PageRoute.hasList(route))) return <Pages />
  return (
    <main className="alone">
      <h1>Holdfast</h1>
      <p role="status">{!isFirst && "The service does not answer. The page tries again every two seconds."}</p>
    </main>
  )
}

interface State {
  readonly error: Error | undefined
}

/** Shows its children, or the error that they failed with and a way on. The service and its turns are not touched. */
export class ErrorScreen extends Component<{ readonly children: ReactNode }, State> {
  override readonly state: State = { error: undefined }

  static getDerivedStateFromError(error: unknown): State {
    return { error: error instanceof Error ? error : new Error(String(error)) }
  }

  override render(): ReactNode {
    const { error } = this.state
    if (error === undefined) return this.props.children
    return (
      <main className="alone">
        <h1>The page has failed</h1>
        <p>Turns run on without it.</p>
        <p className="verbatim error-text">{error.message}</p>
        <button type="button" className="primary" onClick={() => location.reload()}>
          Load it again
        </button>
      </main>
    )
  }
}

// --- internal

const Pages = () => {
  const route = PageRoute.useRoute()
  Actions.useActions("Page", [
    { name: "New conversation", run: () => PageRoute.go({ page: "new" }) },
    { name: "Conversations", words: "list", run: () => PageRoute.go({ page: "conversations" }) },
    {
      name: "Dry runs",
      words: "before schedule dry run policy configuration",
      run: () => PageRoute.go({ page: "before" })
    },
    { name: "Report", words: "the night timeline turns", run: () => PageRoute.go({ page: "night" }) },
    { name: "Health", words: "endpoints gates quotas configuration", run: () => PageRoute.go({ page: "health" }) },
    { name: "API", words: "documentation", run: () => location.assign("/docs") }
  ])
  return (
    <div className="frame">
      <a className="skip" href="#detail" onClick={focusDetail}>
        Skip to the content
      </a>
      <header className="top">
        <a className="brand" href={PageRoute.format({ page: "conversations" })}>
          <svg viewBox="0 0 32 32" width="22" height="22" aria-hidden="true">
            <path d="M9 8v16M23 8v16M9 16h14" stroke="currentColor" strokeWidth="4" strokeLinecap="round" />
          </svg>
          Holdfast
        </a>
        <nav aria-label="Pages">
          <PageLink to="conversations" route={route} words="Conversations" />
          <PageLink to="before" route={route} words="Dry runs" />
          <PageLink to="night" route={route} words="Report" />
          <PageLink to="health" route={route} words="Health" />
          <a href="/docs">API</a>
        </nav>
        <div className="tools">
          <Palette />
          <DesktopNotices />
        </div>
        <UpdateNotice />
      </header>
      <Suspense fallback={<p className="quiet pad">Loading …</p>}>
        <Page route={route} />
      </Suspense>
    </div>
  )
}

const Page = ({ route }: { readonly route: PageRoute.PageRoute }) => {
  switch (route.page) {
    case "night":
      return <NightPage />
    case "before":
      return <BeforePage />
    case "health":
      return <HealthPage />
    default:
      return <Conversations route={route} />
  }
}

interface PageLinkProps {
  readonly to: "conversations" | Exclude<PageRoute.PageRoute, PageRoute.OfConversations>["page"]
  readonly route: PageRoute.PageRoute
  readonly words: string
}

const PageLink = ({ route, to, words }: PageLinkProps) => {
  const isShown = to === "conversations" ? PageRoute.hasList(route) : to === route.page
  return (
    <a href={PageRoute.format({ page: to })} aria-current={isShown ? "page" : undefined}>
      {words}
    </a>
  )
}

const Conversations = ({ route }: { readonly route: PageRoute.OfConversations }) => {
  const isAtList = route.page === "conversations"
  return (
    <main className={isAtList ? "columns at-list" : "columns at-detail"}>
      <ConversationList selected={route.page === "conversation" ? route.conversationId : undefined} />
      <div id="detail" className="detail" tabIndex={-1}>
        {route.page === "conversation" ? (
          <Suspense fallback={<p className="quiet pad">Reading …</p>}>
            <ConversationPage key={route.conversationId} conversationId={route.conversationId} />
          </Suspense>
        ) : (
          <NewConversation isFocused={route.page === "new"} />
        )}
      </div>
    </main>
  )
}

/** The address behind `#` is the route, so the link's own address is not used. */
const focusDetail = (event: { readonly preventDefault: () => void }): void => {
  event.preventDefault()
  document.querySelector<HTMLElement>("#detail")?.focus()
}

/** Offers a newer page, if there is one. The person chooses when it is loaded: a prompt may be half written. */
const UpdateNotice = () => (
  <div role="status">
    {PageVersion.useIsOutdated() && (
      <p className="notice">
        The service was updated, and has a newer page.{" "}
        <button type="button" className="small" onClick={() => location.reload()}>
          Load it
        </button>
      </p>
    )}
  </div>
)
