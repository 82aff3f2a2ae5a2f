/**
 * Writes a response's body in chunks of HTTP/1.1, one piece for the socket each.
 *
 * Node hands the socket four pieces a chunk: its length, two line ends and the text. On the path of a token this is half of the cost of
 * a write.
 *
 * ChunkedBody.C1. A response is complete only after `end`: a response that is cut lacks the last chunk, and its client notices.
 * ChunkedBody.C2. A client of HTTP/1.0 gets the text as it is; for it the end of the connection is the end of the body.
 * ChunkedBody.C3. A text goes to the socket itself. A write of Node's response would hold the text back to the end of the turn of the event loop, in
 *     order to join it with other writes. Order, return value and `drain` are those of a write of the response.
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

  /** Writes a text. Returns `false` if the client has to drain first, as Node counts. `onWritten` is called when the text has left. */
  write(text: Encoding.Text, onWritten?: () => void): boolean {
    const { response } = this
    if (!this.isChunked || text.length === 0) return response.write(text, onWritten)
    if (typeof text === "string") {
      const bytes = Buffer.byteLength(text)
      // A text with one byte a character needs no encoder.
      return this.send(chunkOf(text, bytes), bytes === text.length ? "latin1" : "utf8", onWritten)
    }
    response.write(`${text.length.toString(16)}\r\n`, "latin1")
    response.write(text)
    return response.write("\r\n", "latin1", onWritten)
  }

  /** ChunkedBody.C3 */
  private send(piece: string, encoding: BufferEncoding, onWritten: (() => void) | undefined): boolean {
    const { response } = this
    const { socket } = response
    // A response without a socket waits behind an earlier one of its connection.
    if (socket === null || !socket.writable) return response.write(piece, encoding, onWritten)
    // A write by the response, even of nothing, makes it emit `drain`.
    return socket.write(piece, encoding, onWritten) || response.write("")
  }

  /** Writes a last text and ends the response. */
  end(last: string, onEnded: () => void): void {
    const { isChunked, response } = this
    response.end(isChunked ? `${last === "" ? "" : chunkOf(last, Buffer.byteLength(last))}${END}` : last, onEnded)
  }
}

// --- internal

/** The last chunk. */
const END = "0\r\n\r\n"

const chunkOf = (text: string, bytes: number): string => `${bytes.toString(16)}\r\n${text}\r\n`
