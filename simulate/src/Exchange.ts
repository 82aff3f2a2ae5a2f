/**
 * One HTTP exchange of a client with the service, between Node's request and response objects and no socket.
 *
 * The service reads and writes as it does on a socket. What it writes is buffered until the client reads it: beyond `MOST_BUFFERED` a write returns
 * `false`, and `drain` follows when the client has read.
 */
import type { HttpServerRequest } from "effect/http"
import { IncomingMessage, ServerResponse } from "node:http"
import { Socket } from "node:net"

/** Characters that the connection takes before a slow client has read them. */
export const MOST_BUFFERED = 64

/** What a client sees. */
export interface Client {
  readonly head: (status: number, headers: Readonly<Record<string, string>>) => void
  readonly bytes: (text: string) => void
  /** The whole answer was written, or the connection was cut. */
  readonly ended: (isWhole: boolean) => void
}

/** The service's side. */
export class Answer extends ServerResponse {
  /** Characters that the client has not read. */
  buffered = 0
  /** Characters that were written although the buffer was full. */
  excess = 0
  private readonly client: Client
  private isOver = false

  constructor(request: IncomingMessage, client: Client) {
    super(request)
    this.client = client
  }

  override writeHead(status: number, ...more: ReadonlyArray<unknown>): this {
    const given = more.at(-1)
    const headers = Array.isArray(given)
      ? Object.fromEntries(
          given.flatMap((name, i) => (i % 2 === 0 ? [[String(name).toLowerCase(), String(given[i + 1])]] : []))
        )
      : (given as Readonly<Record<string, string>>) // the one other form in which headers are given
    this.statusCode = status
    this.client.head(status, headers)
    return this
  }

  override write(chunk: unknown): boolean {
    if (this.isOver) return true
    const text = Buffer.from(chunk as Uint8Array).toString() // bytes, or a text
    if (this.buffered > MOST_BUFFERED) this.excess += text.length
    this.buffered += text.length
    this.client.bytes(text)
    return this.buffered <= MOST_BUFFERED
  }

  override end(): this {
    this.over(true)
    return this
  }

  override destroy(): this {
    this.destroyed = true
    this.over(false)
    return this
  }

  override writeProcessing(): void {}
  override flushHeaders(): void {}

  /** The client has read everything. */
  read(): void {
    const wasFull = this.buffered > MOST_BUFFERED
    this.buffered = 0
    this.excess = 0
    if (wasFull && !this.isOver) this.emit("drain")
  }

  private over(isWhole: boolean): void {
    if (this.isOver) return
    this.isOver = true
    this.client.ended(isWhole)
  }
}

/** A request as the service's transport gives it to the gateway, and its answer. */
export const open = (
  url: string,
  headers: Readonly<Record<string, string>>,
  body: string,
  client: Client
): { readonly request: HttpServerRequest.HttpServerRequest; readonly response: Answer } => {
  const source = new IncomingMessage(new Socket())
  source.url = url
  source.method = "POST"
  const sized: Readonly<Record<string, string>> = { ...headers, "content-length": String(Buffer.byteLength(body)) }
  source.rawHeaders = Object.entries(sized).flat()
  source.push(body)
  source.push(null)
  const response = new Answer(source, client)
  // The gateway takes these four of it.
  const request = { source, response, url, headers: sized }
  return { request: request as object as HttpServerRequest.HttpServerRequest, response }
}
