/** The two sides of a connection in memory: what the client asks for, and what a test answers. */
import { type ClientOptions, webSocket } from "../../src/index.ts"

/** A command as a client sends it. */
export interface Sent {
  readonly id: number
  readonly type: string
  readonly [key: string]: unknown
}

/** A socket whose service is the test. */
export class FakeSocket {
  readonly url: string
  readonly protocols: ReadonlyArray<string>
  isClosed = false
  private readonly sent: Array<Sent> = []
  private readonly listeners = new Map<string, Array<(event: object) => void>>()
  private wake = () => {}

  constructor(url: string, protocols: ReadonlyArray<string>) {
    this.url = url
    this.protocols = protocols
  }

  addEventListener(type: string, listener: (event: object) => void): void {
    this.listeners.set(type, [...(this.listeners.get(type) ?? []), listener])
  }

  send(text: string): void {
    this.sent.push(JSON.parse(text))
    this.wake()
  }

  close(): void {
    this.isClosed = true
  }

  emit(type: string, event: object = {}): void {
    for (const listener of this.listeners.get(type) ?? []) listener(event)
  }

  message(value: object): void {
    this.emit("message", { data: JSON.stringify(value) })
  }

  /** The next command of a type, once it was sent. */
  async command(type: string): Promise<Sent> {
    for (;;) {
      const at = this.sent.findIndex((command) => command.type === type)
      const [command] = at < 0 ? [] : this.sent.splice(at, 1)
      if (command !== undefined) return command
      await new Promise<void>((resolve) => (this.wake = resolve))
    }
  }

  /** Accepts the next command of a type. */
  async accept(type: string, data: object = {}): Promise<Sent> {
    const command = await this.command(type)
    this.message({ type: "response", id: command.id, command: type, success: true, data })
    return command
  }
}

/** A client whose sockets are in memory. `answer` answers its calls over HTTP. */
export const fake = (answer: () => { readonly status: number; readonly body: unknown }) => {
  const sockets: Array<FakeSocket> = []
  let wake = () => {}
  const options: ClientOptions = {
    url: "https://service.test/",
    token: "t",
    retryForMs: 1_000,
    backoff: { firstMs: 1, longestMs: 1 },
    transport: webSocket((url, protocols) => {
      const socket = new FakeSocket(url, protocols)
      sockets.push(socket)
      wake()
      return socket
    }),
    fetch: async () => {
      const { body, status } = answer()
      return {
        ok: status < 400,
        status,
        headers: { get: () => null },
        text: async () => JSON.stringify(body),
        body: null
      }
    }
  }
  /** The nth socket, once it was asked for. */
  const socket = async (number: number): Promise<FakeSocket> => {
    for (;;) {
      const found = sockets[number]
      if (found !== undefined) return found
      await new Promise<void>((resolve) => (wake = resolve))
    }
  }
  return { options, socket, sockets }
}
