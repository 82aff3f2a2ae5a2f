/**
 * A tool server that is reached over HTTP: MCP's "streamable HTTP".
 *
 * H1. A message is read up to `MAX_MESSAGE_BYTES`, as over standard output: a body as a whole, a stream from one event to the next.
 * H2. The stream on which a server says that its tools have changed is opened again when it breaks. Calls are not made again.
 * H3. A session is ended with the scope, if the server lets us.
 */
import { StreamableHTTPClientTransport } from "@modelcontextprotocol/client"
import { Deferred, Effect, Record, Redacted, type Scope } from "effect"
import type { ToolServerReach } from "../config/Config.ts"
import type { Way } from "./Connection.ts"
import { MAX_MESSAGE_BYTES } from "./StdioTransport.ts"

/** How long the end of a session may take. */
const GOODBYE = "2 seconds"

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
    (transport) =>
      Effect.ignore(
        Effect.timeoutOption(
          Effect.tryPromise(() => transport.terminateSession()),
          GOODBYE
        )
      )
  ).pipe(Effect.map((transport) => ({ transport, lost: Deferred.makeUnsafe<string>() })))

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
