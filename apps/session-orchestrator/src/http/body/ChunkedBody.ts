/**
 * Writes a response's body in chunks of HTTP/1.1, one piece for the socket each.
 *
 * Node hands the socket four pieces a chunk: its length, two line ends and the text. On the path of a token this is half of the cost of
 * a write.
 *
 * ChunkedBody.C1. A response is complete only after `end`: a response that is cut lacks the last chunk, and its client notices.
 * ChunkedBody.C2. A client of HTTP/1.0 gets the text as it is; for it the end of the connection is the end of the body.
 * ChunkedBody.C4. The head leaves with the first text, and the end with the last one: each write costs the server and the client a call of
 *     the system. `flush` sends a head that has no text yet.
 * ChunkedBody.C5. What was written, and the head, leaves before a cut: a client that gets no byte may repeat its request.
 */
import type { ServerResponse } from "node:http"
import type * as Encoding from "./Encoding.ts"

/** The body of a response whose head is made and has not left. Nothing else may write to it. */
export class ChunkedBody {
  private readonly response: ServerResponse
  private readonly isChunked: boolean
  private hasHeadLeft = false

  constructor(response: ServerResponse) {
    this.response = response
    this.isChunked = response.chunkedEncoding
    response.chunkedEncoding = false
  }

  /** Sends the head, if it has not left with a text (ChunkedBody.C4). */
  flush(): void {
    if (this.hasHeadLeft) return
    this.hasHeadLeft = true
    this.response.flushHeaders()
  }

  /** Writes a text. Returns `false` if the client has to drain first, as Node counts. `onWritten` is called when the text has left. */
  write(text: Encoding.Text, onWritten?: () => void): boolean {
    const { response } = this
    this.hasHeadLeft = true
    if (!this.isChunked || text.length === 0) return response.write(text, onWritten)
    if (typeof text === "string") {
      const bytes = Buffer.byteLength(text)
      // A text with one byte a character needs no encoder.
      return response.write(chunkOf(text, bytes), bytes === text.length ? "latin1" : "utf8", onWritten)
    }
    response.write(`${text.length.toString(16)}\r\n`, "latin1")
    response.write(text)
    return response.write("\r\n", "latin1", onWritten)
  }

  /** Writes a last text and ends the response. */
  end(last: Encoding.Text, onEnded?: () => void): void {
    const { isChunked, response } = this
    this.hasHeadLeft = true
    if (!isChunked) return void response.end(last, onEnded)
    if (typeof last !== "string") {
      this.write(last)
      return void response.end(END, "latin1", onEnded)
    }
    const bytes = Buffer.byteLength(last)
    const text = bytes === 0 ? END : `${chunkOf(last, bytes)}${END}`
    response.write(text, bytes === last.length ? "latin1" : "utf8")
    response.end(onEnded)
  }

  /** Closes the connection without the end (ChunkedBody.C1, ChunkedBody.C5). */
  cut(): void {
    const { response } = this
    if (!response.destroyed) {
      this.flush()
      // Node holds the first text, and the head with it, back to the end of the tick.
      response.socket?.uncork()
    }
    response.destroy()
  }
}

// --- internal

/** The last chunk. */
const END = "0\r\n\r\n"

const chunkOf = (text: string, bytes: number): string => `${bytes.toString(16)}\r\n${text}\r\n`
