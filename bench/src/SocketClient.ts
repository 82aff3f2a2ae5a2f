/** A WebSocket client that does little: it counts messages, or reads nothing. Thousands of it fit into one process. */
import { once } from "node:events"
import { connect, type Socket } from "node:net"

export class SocketClient {
  readonly socket: Socket
  /** Called with each message; its bytes are valid during the call. */
  onMessage: (message: Buffer) => void = () => {}
  private rest: Buffer = Buffer.alloc(0)
  private isOpen = false

  private constructor(socket: Socket) {
    this.socket = socket
    socket.on("data", (data) => this.read(data))
    socket.on("error", () => {})
  }

  static async open(port: number, path: string): Promise<SocketClient> {
    const socket = connect(port, "127.0.0.1")
    socket.setNoDelay()
    await once(socket, "connect")
    const client = new SocketClient(socket)
    socket.write(
      `GET ${path} HTTP/1.1\r\nHost: 127.0.0.1:${port}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n` +
        "Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: dGhlIHNhbXBsZSBub25jZQ==\r\n\r\n"
    )
    while (!client.isOpen) await once(socket, "data")
    return client
  }

  /** Sends a text, masked with zeros. */
  send(message: object): void {
    const text = Buffer.from(JSON.stringify(message))
    const head =
      text.length < 126
        ? Buffer.from([0x81, 0x80 | text.length])
        : text.length < 0x10000
          ? Buffer.from([0x81, 0xfe, text.length >> 8, text.length & 255])
          : Buffer.from([0x81, 0xff, 0, 0, 0, 0, ...bytesOf(text.length)])
    this.socket.write(Buffer.concat([head, Buffer.alloc(4), text]))
  }

  /** Sends a command; returns the data of its response. */
  async ask<Data>(command: object): Promise<Data> {
    const before = this.onMessage
    const id = Math.random()
    const data = new Promise<Data>((resolve) => {
      this.onMessage = (message) => {
        if (!message.includes(`"id":${id}`)) return before(message)
        this.onMessage = before
        resolve(JSON.parse(message.toString()).data)
      }
    })
    this.send({ id, ...command })
    return data
  }

  private read(data: Buffer): void {
    let bytes = this.rest.length === 0 ? data : Buffer.concat([this.rest, data])
    if (!this.isOpen) {
      const end = bytes.indexOf("\r\n\r\n")
      this.isOpen = end >= 0
      bytes = end < 0 ? bytes : bytes.subarray(end + 4)
    }
    while (this.isOpen && bytes.length >= 2) {
      const short = bytes[1] ?? 0
      const head = short < 126 ? 2 : short === 126 ? 4 : 10
      if (bytes.length < head) break
      const length = short < 126 ? short : short === 126 ? bytes.readUInt16BE(2) : bytes.readUInt32BE(6)
      if (bytes.length < head + length) break
      // A ping is answered; its data is empty.
      if (bytes[0] === 0x89) this.socket.write(Buffer.from([0x8a, 0x80, 0, 0, 0, 0]))
      else this.onMessage(bytes.subarray(head, head + length))
      bytes = bytes.subarray(head + length)
    }
    this.rest = bytes
  }
}

// --- internal

const bytesOf = (length: number): ReadonlyArray<number> => [
  length >>> 24,
  (length >>> 16) & 255,
  (length >>> 8) & 255,
  length & 255
]
