/** One conversation: its history, the answer that is arriving, the wait, and the next prompt. */
import { ConversationView } from "@holdfast/client"
import { HeldCall, type Prompt } from "@holdfast/wire"
import { useQuery } from "@tanstack/react-query"
import { useEffect, useMemo, useRef, useState } from "react"
import { useTokenCheck } from "../access/TokenForm.tsx"
import * as Service from "../service/Service.ts"
import * as PageRoute from "../shell/PageRoute.ts"
import { Announcement } from "./Announcement.tsx"
import { Composer } from "./Composer.tsx"
import { History, shownOf } from "./History.tsx"
import { Progress } from "./Progress.tsx"
import { Queued } from "./Queued.tsx"
import * as Results from "./Results.ts"
import { Title } from "./Title.tsx"
import { ToolQuestion } from "./ToolQuestion.tsx"
import { TurnButtons } from "./TurnButtons.tsx"
import * as ConversationStore from "./ConversationStore.ts"
import { WaitNotice } from "./WaitNotice.tsx"
import * as Moments from "../text/Moments.ts"
import { useNow } from "../time/Now.ts"
import { Explanation } from "../explain/Explanation.tsx"
import * as Actions from "../palette/Actions.ts"
import "./conversation.css"

/** Characters of a prompt that stands for a title. */
const MOST_TITLE = 100

/** Nearer to the end than this, the page follows the text. */
const NEAR_END_PX = 120

/** The page of one conversation. */
export const ConversationPage = ({ conversationId }: { readonly conversationId: string }) => {
  const { isLoaded, link, view } = ConversationStore.useConversation(conversationId)
  useTokenCheck(link.state === "refused" ? link.code : undefined)
  const state = useQuery({
    queryKey: ["state", conversationId, view.turn?.turnId, view.status],
    queryFn: ({ signal }) => Service.client.conversation(conversationId).getState({ signal })
  })
  const { isAtEnd, isAway, scroller, toEnd } = useFollowing()
  /** Puts a prompt into the composer. */
  const composer = useRef<(prompt: Prompt.Prompt) => void>(null)
  const history = useMemo(() => shownOf(view.history), [view.history])

  if (link.state === "refused") {
    return (
      <div className="pad">
        <h1>{link.code === "conversation-not-found" ? "There is no such conversation" : "It cannot be shown"}</h1>
        <p role="alert">{link.message}</p>
        <a href={PageRoute.format({ page: "conversations" })}>All conversations</a>
      </div>
    )
  }
  const results = Results.of(view)
  const isHeld = HeldCall.isHeld(conversationId)
  const queued = state.data?.queued ?? []
  const running =
    view.turn?.status === "running"
      ? { turnId: view.turn.turnId, prompt: promptOf(view.history.toReversed()), queued: queued.length }
      : undefined
  return (
    <>
      <Title
        conversationId={conversationId}
        // That of the next prompt, or of the turn that runs.
        model={view.status === "idle" ? (state.data?.model ?? view.model) : (view.model ?? state.data?.model)}
        prompt={promptOf(view.history)}
        retry={view.retry}
        toolAnswers={state.data?.toolAnswers}
      />
      <div className="scroller" ref={scroller} tabIndex={0} role="region" aria-label="Messages">
        <div className="messages">
          {!isLoaded && link.state !== "lost" && state.data?.turnId === undefined && !state.isSuccess && (
            <p className="quiet">Reading …</p>
          )}
          {isHeld && <HeldCallNote model={view.model} />}
          <History history={history} results={results} scroller={scroller} isAtEnd={isAtEnd} />
          <Progress view={view} />
          {/* What has the focus in it goes away with its state, and the next one comes to the same place. */}
          <div className="now" tabIndex={-1}>
            <TurnButtons conversationId={conversationId} canRetry={!isHeld && ConversationView.canRetry(view)} />
            {view.retry?.asks?.calls !== undefined && (
              <ToolQuestion conversationId={conversationId} calls={view.retry.asks.calls} retry={view.retry} />
            )}
            {view.retry !== undefined && view.retry.asks?.calls === undefined && (
              <WaitNotice
                key={`${view.retry.turnId} ${view.retry.attempt}`}
                conversationId={conversationId}
                retry={view.retry}
              />
            )}
          </div>
          {view.turn !== undefined && <Why conversationId={conversationId} turn={view.turn} />}
          <Queued conversationId={conversationId} turnIds={queued} onEdit={(prompt) => composer.current?.(prompt)} />
        </div>
        {isAway && (
          <button type="button" className="small to-end" onClick={toEnd}>
            To the newest ↓
          </button>
        )}
      </div>
      <Announcement view={view} link={link} />
      <LinkNotice link={link} />
      {isHeld ? (
        <div className="composer" tabIndex={-1}>
          <TurnButtons conversationId={conversationId} running={running} canRetry={false} />
        </div>
      ) : (
        <Composer conversationId={conversationId} isBusy={view.status !== "idle"} ref={composer}>
          <TurnButtons conversationId={conversationId} running={running} canRetry={false} />
        </Composer>
      )}
    </>
  )
}

// --- internal

/** What is different about a call of another program (X13). */
const HeldCallNote = ({ model }: { readonly model: string | undefined }) => (
  <p className="quiet line">
    A call of another program through the gateway. Its answer goes to that program and is not kept here; only the
    program can ask again.
    {model?.includes(CLIENT_KEY) === true && (
      <>
        {" "}
        <code>{CLIENT_KEY}</code> in the name of the model: the call has the program’s own key.
      </>
    )}
  </p>
)

/** Behind the name of the provider. */
const CLIENT_KEY = "~client"

/** The beginning of the first prompt of a history. */
const promptOf = (history: ConversationView.ConversationView["history"]): string | undefined => {
  for (const event of history) {
    if (event.type !== "message" || event.message.role !== "user") continue
    const text = event.message.content.find((part) => part.type === "text")?.text
    return text?.slice(0, MOST_TITLE)
  }
  return undefined
}

/**
 * Keeps the end of the messages in sight while a person is there, whatever grows.
 *
 * Home and End jump: the browser's own way to them is slow, and ends where an entry on it is measured.
 */
const useFollowing = () => {
  const scroller = useRef<HTMLDivElement>(null)
  const isAtEnd = useRef(true)
  const [isAway, setIsAway] = useState(false)
  useEffect(() => {
    const element = scroller.current
    if (element === null) return undefined
    let top = 0
    const look = (): void => {
      // Entries that are measured move the end away from a page that is there: only a scroll upwards leaves it.
      const isNear = element.scrollHeight - element.scrollTop - element.clientHeight < NEAR_END_PX
      isAtEnd.current = isNear || (isAtEnd.current && element.scrollTop >= top)
      top = element.scrollTop
      setIsAway(!isAtEnd.current)
    }
    const growth = new ResizeObserver(() => {
      if (!isAtEnd.current) return
      element.scrollTop = element.scrollHeight
      top = element.scrollTop
    })
    for (const each of [element, ...element.children]) growth.observe(each)
    const jump = (event: KeyboardEvent): void => {
      if ((event.key !== "Home" && event.key !== "End") || event.target !== element) return
      event.preventDefault()
      // Known before the scroll event, which comes a frame later: what grows or is measured until then would take the page back.
      isAtEnd.current = event.key === "End"
      element.scrollTop = isAtEnd.current ? element.scrollHeight : 0
    }
    element.addEventListener("scroll", look, { passive: true })
    element.addEventListener("keydown", jump)
    return () => {
      growth.disconnect()
      element.removeEventListener("scroll", look)
      element.removeEventListener("keydown", jump)
    }
  }, [])
  const toEnd = (): void => {
    isAtEnd.current = true
    if (scroller.current !== null) scroller.current.scrollTop = scroller.current.scrollHeight
    // The button goes away, and the keyboard goes on from here.
    scroller.current?.focus()
  }
  return { isAtEnd, isAway, scroller, toEnd }
}

/** A bar while the connection is lost. */
const LinkNotice = ({ link }: { readonly link: ConversationStore.Link }) =>
  link.state === "lost" ? <Lost link={link} /> : null

const Lost = ({ link }: { readonly link: Extract<ConversationStore.Link, { readonly state: "lost" }> }) => {
  const now = useNow()
  const left = link.retryAt.getTime() - now
  return (
    <div className="link-lost">
      The connection to the service is lost. The turn runs on without this page.{" "}
      {left > 0 ? `Connecting again in ${Moments.countdown(left)} …` : "Connecting …"}
    </div>
  )
}

interface WhyProps {
  readonly conversationId: string
  readonly turn: ConversationView.LatestTurn
}

/** Why the newest turn waited, retried or gave up: the button, and in its place the explanation. */
const Why = ({ conversationId, turn: { status, turnId } }: WhyProps) => {
  const [shown, setShown] = useState<string>()
  Actions.useActions("This conversation", [
    { name: "Why?", words: "explain attempts waits decisions", run: () => setShown(turnId) }
  ])
  return shown === turnId ? (
    <Explanation isHere turn={{ conversationId, turnId, status }} onClose={() => setShown(undefined)} />
  ) : (
    <p>
      <button type="button" className="small" onClick={() => setShown(turnId)}>
        Why?
      </button>
    </p>
  )
}
