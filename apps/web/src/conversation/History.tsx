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
import type { RefObject } from "react"
import { HistoryEntry } from "./HistoryEntry.tsx"
import type { Results } from "./Results.ts"

/** The height of an entry that has not been drawn, in pixels. */
const ESTIMATE_PX = 90

/** Entries beyond both edges, so that a quick scroll shows no gaps. */
const AROUND = 10

type Events = ConversationView.ConversationView["history"]

interface HistoryProps {
  readonly history: Events
  readonly results: Results
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

// --- internal

const never = (): boolean => false

const hasCalls = (event: Events[number] | undefined): boolean =>
  event?.type === "message" &&
  event.message.role === "assistant" &&
  event.message.content.some(({ type }) => type === "tool-call")
