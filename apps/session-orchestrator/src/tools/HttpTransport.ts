/**
 * A tool server that is reached over HTTP: MCP's "streamable HTTP".
 *
 * H1. A message is read up to `MAX_MESSAGE_BYTES`, as over standard output: a body as a whole, a stream from one event to the next.
 * H2. The stream on which a server says that its tools have changed is opened again when it breaks. Calls are not made again.
 * H3. A call whose answer breaks off is over then; the SDK alone would wait for what can no longer come.
 * H4. A session is ended with the scope, if the server lets us.
 */
import {
  isJSONRPCRequest,
  isJSONRPCResponse,
  type JSONRPCMessage,
  type RequestId,
  StreamableHTTPClientTransport,
  type Transport,
  type TransportSendOptions
} from "@modelcontextprotocol/client"
import { Deferred, Effect, Record, Redacted, type Scope } from "effect"
import type { ToolServerReach } from "../config/Config.ts"
import { BROKE_OFF, type Way } from "./Connection.ts"
import { MAX_MESSAGE_BYTES } from "./StdioTransport.ts"

/** H2, in milliseconds. */
const RECONNECTION = {
  initialReconnectionDelay: 1_000,
  reconnectionDelayGrowFactor: 2,
  maxReconnectionDelay: 30_000,
  maxRetries: Infinity
}

/** Nothing is sent yet. */
export const make = ({
  headers,
  url
}: Extract<ToolServerReach, { readonly type: "http" }>): Effect.Effect<Way, never, Scope.Scope> =>
  Effect.acquireRelease(
    Effect.sync(
      () =>
        new StreamableHTTPClientTransport(new URL(url), {
          requestInit: { headers: Record.map(headers, Redacted.value) },
          reconnectionOptions: RECONNECTION,
          fetch: async (address, init) => bounded(await fetch(address, init))
        })
    ),
    // The connection was closed before, and may have been kept from it by a server that does not answer.
    (transport) => Effect.promise(() => transport.close())
  ).pipe(
    Effect.map((transport) => ({ transport: new AnsweringTransport(transport), lost: Deferred.makeUnsafe<string>() }))
  )

/** The same response; reading it fails with a message that is too long (H1). */
export const bounded = (response: Response, most: number = MAX_MESSAGE_BYTES): Response => {
  if (response.body === null) return response
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true
  let size = 0
  const counter = new TransformStream<Uint8Array, Uint8Array>({
    transform: (chunk, controller) => {
      const end = isStream ? endOfEvent(chunk) : -1
      size = end === -1 ? size + chunk.length : chunk.length - end
      if (size > most) controller.error(new Error(`it sent a message of more than ${most / 1_048_576} MiB`))
      else controller.enqueue(chunk)
    }
  })
  const { headers, status, statusText } = response
  return new Response(response.body.pipeThrough(counter), { headers, status, statusText })
}

// --- internal

/** H3 */
class AnsweringTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport["onmessage"]
  private readonly inner: StreamableHTTPClientTransport
  /** The same, by the types that the SDK's own client knows it by. */
  private readonly way: Transport
  private readonly unanswered = new Set<RequestId>()

  constructor(inner: StreamableHTTPClientTransport) {
    this.inner = inner
    this.way = inner
  }

  start(): Promise<void> {
    Object.assign(this.inner, {
      onclose: () => this.onclose?.(),
      onerror: (error) => this.onerror?.(error),
      onmessage: (message) => {
        if (isJSONRPCResponse(message) && message.id !== undefined) this.unanswered.delete(message.id)
        this.onmessage?.(message)
      }
    } satisfies Pick<Transport, "onclose" | "onerror" | "onmessage">)
    return this.inner.start()
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!isJSONRPCRequest(message)) return this.way.send(message, options)
    const { id } = message
    this.unanswered.add(id)
    const onRequestStreamEnd = (): void => {
      const error = { code: BROKE_OFF, message: "its answer broke off" }
      if (this.unanswered.delete(id)) this.onmessage?.({ jsonrpc: "2.0", id, error })
    }
    return this.way.send(message, { ...options, onRequestStreamEnd }).catch((error: unknown) => {
      this.unanswered.delete(id)
      throw error
    })
  }

  /** H4 */
  close(): Promise<void> {
    return this.inner
      .terminateSession()
      .catch(() => {})
      .then(() => this.inner.close())
  }

  setProtocolVersion(version: string): void {
    this.inner.setProtocolVersion(version)
  }
}

const LINE_FEED = 10
const CARRIAGE_RETURN = 13

/** Behind the last blank line of a chunk, or -1. One that is split between two chunks counts with the next event. */
const endOfEvent = (chunk: Uint8Array): number => {
  for (let i = chunk.lastIndexOf(LINE_FEED); i > 0; i = chunk.lastIndexOf(LINE_FEED, i - 1)) {
    const before = chunk[i - 1] === CARRIAGE_RETURN ? i - 2 : i - 1
    if (chunk[before] === LINE_FEED) return i + 1
  }
  return -1
}
