/**
 * Heartbeats: the bytes that hold a client's connection while its answer is held back.
 *
 * No heartbeat works for every client; the table has what was measured with real ones. A client's change is a line here.
 *
 * A heartbeat is a whole frame. It is sent only between whole frames of an answer, and before its first one. A heartbeat has nothing of an
 * answer: every dialect judges it as preamble. A JSON answer is held by white space, which may stand before any document.
 */
import type { Format, Framing } from "./Dialect.ts"

/** One line of the table. */
interface Line {
  readonly format: Format
  /** The clients, by their User-Agent. Absent: all others. */
  readonly userAgent?: RegExp
  readonly text: string
  /** Why this one. */
  readonly because: string
}

/** The heartbeats of streams of events; the first line that fits counts. */
export const table: ReadonlyArray<Line> = [
  {
    format: "messages",
    userAgent: /^claude-cli\b/i,
    text: 'event: message_delta\ndata: {"type":"message_delta","delta":{"stop_reason":null,"stop_sequence":null},"usage":{"output_tokens":0}}\n\n',
    because: "Claude Code counts a `ping` as silence and aborts after 10 minutes; this held it for 25 minutes"
  },
  {
    format: "messages",
    text: 'event: ping\ndata: {"type":"ping"}\n\n',
    because: "the API's own; held Anthropic's SDK, the AI SDK and LangChain"
  },
  {
    format: "responses",
    userAgent: /^(?:Async)?OpenAI\//i,
    text: ": ping\n\n",
    because: "the SDK's `responses.stream()` throws on any event before `response.created`"
  },
  {
    format: "responses",
    text: 'event: keepalive\ndata: {"type":"keepalive","sequence_number":0}\n\n',
    because: "Codex counts a comment as silence and fails after 30 minutes; any data event held it for 50 minutes"
  },
  {
    format: "chat",
    text: ": ping\n\n",
    because: "a comment held every client; an unknown chunk fails the SDKs' schemas"
  },
  {
    format: "gemini",
    text: "\n",
    because:
      "gemini-cli and Google's SDK before version 3 read a stream from its start, and allow nothing but white space before `data`"
  }
]

/** The heartbeat for a client. */
export const of = (format: Format, framing: Framing, userAgent: string = ""): Uint8Array => {
  if (framing !== "events") return BLANK
  const line = table.findIndex((line) => line.format === format && line.userAgent?.test(userAgent) !== false)
  return encoded[line] ?? BLANK
}

/** Whether a client asks again whenever its connection is cut, after a head too, as the agents do; SDKs do not, or only before one. */
export const asksAgain = (userAgent: string = ""): boolean => /^(?:claude-cli|codex|opencode)/i.test(userAgent)

// --- internal

const BLANK = new TextEncoder().encode("\n")

const encoded: ReadonlyArray<Uint8Array> = table.map(({ text }) => new TextEncoder().encode(text))
