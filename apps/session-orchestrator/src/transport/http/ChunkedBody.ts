/**
 * Writes the body of a response in chunks of HTTP/1.1, each of them as one piece for the socket.
 *
 * Node hands the socket four pieces a chunk: its length, two line ends and the text. On the path of a token this is half of what a write
 * costs.
 *
 * ChunkedBody.C1. Only what `end` has closed is complete: a response that is cut lacks the last chunk, and its client notices.
 * ChunkedBody.C2. A client of HTTP/1.0 gets the text as it is; for it the end of the connection is the end of the body.
 */
import type { ServerResponse } from "node:http"
import type * as Encoding from "./Encoding.ts"

/** The body of a response whose head was flushed. Nothing else may write to it. */
export class ChunkedBody {
  private readonly response: ServerResponse
  private readonly isChunked: boolean

  constructor(response: ServerResponse) {
    this.response = response
    this.isChunked = response.chunkedEncoding
    response.chunkedEncoding = false
  }

  /** Whether the client takes more, as Node counts. `onWritten` is called when the text has left. */
  write(text: Encoding.Text, onWritten?: () => void): boolean {
    const { response } = this
    if (!this.isChunked || text.length === 0) return response.write(text, onWritten)
    if (typeof text === "string") {
      const bytes = Buffer.byteLength(text)
      const chunk = `${bytes.toString(16)}\r\n${text}\r\n`
      // What has one byte a character needs no encoder.
      return response.write(chunk, bytes === text.length ? "latin1" : "utf8", onWritten)
    }
    response.write(`${text.length.toString(16)}\r\n`, "latin1")
    response.write(text)
    return response.write("\r\n", "latin1", onWritten)
  }

  /** Ends the response behind a last text. */
  end(last: string, onEnded: () => void): void {
    if (last !== "") this.write(last)
    this.response.end(this.isChunked ? "0\r\n\r\n" : "", "latin1", onEnded)
  }
}
