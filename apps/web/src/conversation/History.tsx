/**
 * The finished part of a conversation.
 *
 * The entries in sight are drawn, and a few around them: ten thousand messages scroll like a few. The others have an estimated height
 * until they are drawn once.
 *
 * Where the page follows the end, the list never moves it: a list that is loaded grows while its entries are measured, and a correction
 * from before would take the page back.
 */
import type { ConversationView } from "@holdfast/client"
import { useVirtualizer } from "@tanstack/react-virtual"
import { type RefObject, memo } from "react"
import * as Results from "./Results.ts"
import { Count, HeldCall } from "@holdfast/wire"
import * as Moments from "../text/Moments.ts"
import * as ReasonText from "../text/ReasonText.ts"
import { CopyButton } from "./CopyButton.tsx"
import { Markdown } from "./Markdown.tsx"
import { Reasoning } from "./Reasoning.tsx"
import { ToolCall } from "./ToolCall.tsx"
import { FileBox } from "./FileBox.tsx"

/** The height of an entry that has not been drawn, in pixels. */
const ESTIMATE_PX = 90

/** Entries beyond both edges, so that a quick scroll shows no gaps. */
const AROUND = 10

type Events = ConversationView.ConversationView["history"]

interface HistoryProps {
  readonly history: Events
  readonly results: Results.Results
  /** The element that scrolls. */
  readonly scroller: RefObject<HTMLDivElement | null>
  /** Whether the page follows the end. */
  readonly isAtEnd: RefObject<boolean>
}

/** The entries of a history. */
export const History = ({ history, isAtEnd, results, scroller }: HistoryProps) => {
  const rows = useVirtualizer({
    count: history.length,
    getScrollElement: () => scroller.current,
    estimateSize: () => ESTIMATE_PX,
    overscan: AROUND
  })

  rows.shouldAdjustScrollPositionOnItemSizeChange = isAtEnd.current ? never : undefined
  if (history.length === 0) return null
  const drawn = rows.getVirtualItems()
  return (
    <div className="history" style={{ height: rows.getTotalSize() }}>
      <div style={{ transform: `translateY(${drawn[0]?.start ?? 0}px)` }}>
        {drawn.map(({ index, key }) => {
          const event = history[index]
          return (
            event !== undefined && (
              <div key={key} className="history-row" data-index={index} ref={rows.measureElement}>
                <HistoryEntry event={event} results={results} />
              </div>
            )
          )
        })}
      </div>
    </div>
  )
}

/**
 * A history without the ends of questions about tool calls.
 *
 * A question is closed as a chain of retries is, but no attempt was repeated: its end is the `retry-end` behind the message with the calls.
 */
export const shownOf = (history: Events): Events =>
  history.filter((event, index) => event.type !== "retry-end" || !hasCalls(history[index - 1]))

// One entry of the history: a message, or a line about what happened.

interface HistoryEntryProps {
  readonly event: ConversationView.HistoryEvent
  readonly results: Results.Results
}

/** An entry. The same event is drawn once. */
const HistoryEntry = memo(({ event, results }: HistoryEntryProps) => {
  switch (event.type) {
    case "message":
      return <MessageEntry message={event.message} results={results} isHeld={HeldCall.isHeld(event.conversationId)} />
    case "turn-start":
      return event.retry === true ? <Line>The model runs again.</Line> : null
    case "step-discarded":
      return (
        <Line>
          <span className="taken-back">Text was taken back.</span> {event.message}
        </Line>
      )
    case "retry-end":
      return event.success ? <Line>Answered at retry {event.attempt + 1}.</Line> : null
    case "retry-fallback-applied":
      return (
        <Line>
          {event.to} takes over from {event.from}.
        </Line>
      )
    case "retry-fallback-succeeded":
      return null
    case "model-change":
      return (
        <Line>
          The turn goes on with {event.to} instead of {event.from}.
        </Line>
      )
    case "synthetic-retry":
      return <Line>The answer was not accepted; the model was asked again.</Line>
    case "compaction":
      return <Line>{event.messages} older messages were replaced by a summary.</Line>
    case "final-turn":
      return <Line>Last step: the model may only hand in its report.</Line>
    case "error":
      return (
        <div className="failure" role="group" aria-label="Error">
          <strong>{ReasonText.wordsOf(event.reason)}</strong>
          {event.code !== undefined && <code className="code-tag">{event.code}</code>}
          <p className="verbatim">{event.message}</p>
        </div>
      )
    case "turn-end":
      return <TurnEnd end={event} />
    default:
      event satisfies never
      return null
  }
})

// --- internal

const never = (): boolean => false

const hasCalls = (event: Events[number] | undefined): boolean =>
  event?.type === "message" &&
  event.message.role === "assistant" &&
  event.message.content.some(({ type }) => type === "tool-call")

const Line = ({ children }: { readonly children: React.ReactNode }) => <p className="quiet line">{children}</p>

type Of<Type> = Extract<ConversationView.HistoryEvent, { readonly type: Type }>

const TurnEnd = ({ end }: { readonly end: Of<"turn-end"> }) => {
  const waitedMs = end.waitedMs ?? end.sleptMs
  const parts = [
    end.status === "aborted" ? "Aborted" : undefined,
    end.attempts > Math.max(1, end.steps) ? Count.of(end.attempts, "call") : undefined,
    waitedMs > 0 ? `waited ${Moments.duration(waitedMs)}` : undefined,
    end.usage.outputTokens === undefined ? undefined : `${end.usage.outputTokens} tokens of output`
  ].filter((part) => part !== undefined)
  return parts.length === 0 ? null : <p className="quiet line turn-end">{parts.join(" · ")}</p>
}

type AnyMessage = Of<"message">["message"]

const textOf = ({ content }: AnyMessage): string =>
  content.map((part) => (part.type === "text" ? part.text : "")).join("")

interface MessageEntryProps {
  readonly message: AnyMessage
  readonly results: Results.Results
  /** It belongs to a call of another program. */
  readonly isHeld: boolean
}

const MessageEntry = ({ isHeld, message, results }: MessageEntryProps) => {
  switch (message.role) {
    case "user":
      if (message.summary !== undefined) return null
      return (
        <article className={message.synthetic === true ? "message synthetic" : "message user"}>
          <h2 className="hidden">
            {message.synthetic === true ? "Holdfast to the model" : isHeld ? "The program" : "You"}
          </h2>
          {message.content.map((part, index) =>
            part.type === "text" ? (
              <p key={index} className="verbatim">
                {part.text}
              </p>
            ) : (
              <FileBox key={index} file={part} />
            )
          )}
        </article>
      )
    case "assistant":
      // An attempt that failed without content; its error follows.
      if (message.error !== undefined && message.content.length === 0) return null
      return (
        <article className={message.error === undefined ? "message assistant" : "message assistant broken"}>
          <div className="from">
            <h2>
              {message.target.provider}/{message.target.model}
            </h2>
            {message.content.some(({ type }) => type === "text") && <CopyButton textOf={() => textOf(message)} />}
          </div>
          {message.content.map((part, index) => {
            switch (part.type) {
              case "text":
                return <Markdown key={index} text={part.text} />
              case "file":
                return <FileBox key={index} file={part} of="the model" />
              case "reasoning":
                return part.text === "" ? null : <Reasoning key={index} text={part.text} />
              case "tool-call":
                return (
                  <ToolCall
                    key={index}
                    toolName={part.toolName}
                    input={part.input}
                    malformed={part.malformed}
                    result={Results.find(results, message.turnId, part)}
                  />
                )
              default:
                part satisfies never
                return null
            }
          })}
          {isHeld && message.error === undefined && <p className="quiet">The answer went to the program.</p>}
          {message.error !== undefined && (
            <p className="quiet">This answer broke off. The model does not get it again.</p>
          )}
        </article>
      )
    case "tool":
      // Shown with its calls.
      return null
    default:
      message satisfies never
      return null
  }
}
