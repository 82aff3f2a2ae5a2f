/**
 * Settings of the WebSocket server: subprotocol, limits, and the reasons of its close codes.
 *
 * A connection is also closed while a message with too many values or levels still arrives (`MessageScan`). The library `ws` hands out a
 * message only once it is whole, so the frames are read beside it.
 */
import { WebSocket } from "@effect/platform-node/NodeWS"
import { JsonShape } from "@holdfast/wire"
import { SocketMessages } from "@holdfast/wire/rpc"
import { Duration } from "effect"
import type { IncomingMessage } from "node:http"
import type { Duplex } from "node:stream"
import * as Access from "../Access.ts"
import { FAREWELL_LIMIT } from "../body/LiveResponse.ts"

/** Whether a request is to be upgraded. Any other request with an `Upgrade` header is answered as if it had none (RFC 9110, section 7.8). */
export const isUpgrade = ({
  headers,
  method = "",
  url = ""
}: Pick<IncomingMessage, "headers" | "method" | "url">): boolean =>
  headers.upgrade?.toLowerCase() === "websocket" && Access.isSocket({ method, url })

/** The options of the server. A message may be as long as the body of a prompt, and is measured while it arrives. */
export const options = (maxBodyBytes: number) => ({
  maxPayload: maxBodyBytes,
  closeTimeout: Duration.toMillis(FAREWELL_LIMIT),
  // The token is offered as a subprotocol too, and is never sent back.
  handleProtocols: (offered: Set<string>) => offered.has(SocketMessages.SUBPROTOCOL) && SocketMessages.SUBPROTOCOL,
  WebSocket: class extends WebSocket {
    /** `ws` calls it with the connection. */
    setSocket(socket: Duplex, head: Buffer, options: object): void {
      const scan = new MessageScan()
      socket.on("data", (bytes: Buffer) => {
        const excess = scan.push(bytes)
        if (excess === undefined) return
        socket.removeAllListeners("data").resume() // the rest of the message is not kept
        super.close(TOO_LARGE, `A message has ${excess}.`)
        socket.end()
      })
      setSocket.call(this, socket, head, options)
    }

    override close(code?: number, reason?: string | Buffer): void {
      super.close(code, reason ?? (code === undefined ? undefined : reasonOf(code, maxBodyBytes)))
    }
  }
})

/**
 * Measures a client's messages while their frames arrive (RFC 6455, section 5.2).
 *
 * A message that arrives in one piece is left to the reader of messages, which answers it with its id.
 */
export class MessageScan {
  private head: Array<number> = []
  private mask: ReadonlyArray<number> = []
  /** The bytes of the frame that have come, and those that have not. */
  private done = 0
  private left = 0
  /** Of the message that has begun. */
  private scan: JsonShape.Scan | undefined
  private isControl = false
  private isLast = false

  /** Reads what has come; returns the limit that the message exceeds. */
  push(bytes: Buffer): string | undefined {
    let excess: string | undefined
    for (let at = 0; at < bytes.length && excess === undefined;) {
      if (this.left === 0) this.readHead(bytes, at++)
      else {
        const end = Math.min(bytes.length, at + this.left)
        if (!this.isControl) excess = this.scan?.push(this.unmasked(bytes.subarray(at, end)))
        this.done += end - at
        this.left -= end - at
        at = end
      }
      if (this.left === 0 && this.head.length === 0 && this.isLast) this.scan = undefined
    }
    return excess
  }

  /** Reads one byte of a head. */
  private readHead(bytes: Buffer, at: number): void {
    this.head.push(bytes[at] ?? 0)
    const [first = 0, second = 0, ...rest] = this.head
    const short = second & 0x7f
    const lengthBytes = short === 126 ? 2 : short === 127 ? 8 : 0
    if (this.head.length < 2 + lengthBytes + MASK_BYTES) return // a client masks every frame
    this.head = []
    this.mask = rest.slice(lengthBytes)
    this.done = 0
    this.left = lengthBytes === 0 ? short : rest.slice(0, lengthBytes).reduce((sum, byte) => sum * 256 + byte, 0)
    this.isControl = (first & 0x08) !== 0 // it may stand between the frames of a message
    if (this.isControl) return
    this.isLast = (first & 0x80) !== 0
    const isBegun = !this.isLast || this.left >= bytes.length - at
    if (isBegun && (first & 0x0f) === TEXT) this.scan = new JsonShape.Scan(JsonShape.MOST_VALUES, JsonShape.MOST_LEVELS)
  }

  private unmasked(bytes: Buffer): string {
    const { done, mask } = this
    const plain = Buffer.from(bytes)
    for (let n = 0; n < plain.length; n++) plain[n] = (plain[n] ?? 0) ^ (mask[(done + n) & 3] ?? 0)
    return plain.toString("latin1")
  }
}

// --- internal

const TOO_LARGE = 1009
const MASK_BYTES = 4

/** The opcode of a text. */
const TEXT = 1

/** Its types do not have it. */
const setSocket: (this: WebSocket, socket: Duplex, head: Buffer, options: object) => void = Reflect.get(
  WebSocket.prototype,
  "setSocket"
)

const reasonOf = (code: number, maxBodyBytes: number): string | undefined => {
  switch (code) {
    case 1002:
      return "A frame is not valid (RFC 6455)."
    case 1007:
      return "A message is not UTF-8."
    case TOO_LARGE:
      return `A message may have ${maxBodyBytes} bytes at most (server.maxBodyBytes).`
    default:
      return undefined
  }
}
