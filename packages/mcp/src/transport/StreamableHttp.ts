/**
 * Connects to a tool server over HTTP, by MCP's "streamable HTTP".
 *
 * A message is read up to `MAX_MESSAGE_BYTES`, as over standard output; a batch, which no request of Holdfast asks for, up to
 * `MAX_BATCH_BYTES`. The stream on which a server reports changed tools is opened again when it breaks. Calls are not repeated. A
 * session is ended with the scope, if the server supports that.
 *
 * A call ends when its answer breaks off; the SDK alone would wait without end.
 *
 * StreamableHttp.H5. A whole stream is read at the rate of unrequested messages, in pieces between turns of the event loop; text that is
 *     no message has a budget (`Intake`). Opening a stream counts as `OPENING` messages, because the server decides how often that happens.
 */
import {
  isJSONRPCRequest,
  type JSONRPCMessage,
  StreamableHTTPClientTransport,
  type Transport,
  type TransportSendOptions
} from "@modelcontextprotocol/client"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Record from "effect/Record"
import * as Redacted from "effect/Redacted"
import type * as Scope from "effect/Scope"
import type { ToolServerReach } from "../ToolServerConfig.ts"
import { BROKE_OFF, type ServerTransport } from "../Connection.ts"
import { costOf, Intake, TOO_MUCH_JUNK, type MessageCheck, WORK_PER_TURN } from "./Intake.ts"
import { MAX_MESSAGE_BYTES } from "./LineTransport.ts"

/** In milliseconds. */
const RECONNECTION = {
  initialReconnectionDelay: 1_000,
  reconnectionDelayGrowFactor: 2,
  maxReconnectionDelay: 30_000,
  maxRetries: Infinity
}

/** The messages of a batch are read in one turn of the event loop. */
const MAX_BATCH_BYTES = 65_536

/** StreamableHttp.H5. It allows ten streams a second in the long run. */
const OPENING = 500

/** The transport to an address. It sends nothing yet. */
export const make = ({
  headers,
  url
}: Extract<ToolServerReach, { readonly type: "http" }>): Effect.Effect<ServerTransport, never, Scope.Scope> =>
  Effect.clockWith((clock) => {
    const intake = new Intake(() => clock.currentTimeMillisUnsafe())
    const lost = Deferred.makeUnsafe<string>()
    const request: typeof fetch = async (address, init) => {
      if (init?.method === "GET") {
        intake.unrequested(OPENING) // StreamableHttp.H5
        await turn(intake)
      }
      return bounded(await fetch(address, init), intake)
    }
    return Effect.acquireRelease(
      Effect.sync(
        () =>
          new StreamableHTTPClientTransport(new URL(url), {
            requestInit: { headers: Record.map(headers, Redacted.value) },
            reconnectionOptions: RECONNECTION,
            fetch: request
          })
      ),
      // The client has closed the connection already, unless a server that does not answer prevented it.
      (transport) => Effect.promise(() => transport.close())
    ).pipe(Effect.map((transport) => ({ transport: new AnsweringTransport(transport, intake, lost), lost })))
  })

/** Limits a response: reading it fails at a message that is too long, and is slowed down to the rate (StreamableHttp.H5). */
export const bounded = (response: Response, intake: Intake, most: number = MAX_MESSAGE_BYTES): Response => {
  if (response.body === null) return response
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") === true
  const counter = isStream ? events(intake, most) : body(most)
  const { headers, status, statusText } = response
  return new Response(response.body.pipeThrough(counter), { headers, status, statusText })
}

// --- internal

const tooLong = (what: string, most: number): Error => new Error(`it sent ${what} of more than ${sizeOf(most)}`)

const sizeOf = (bytes: number): string => (bytes < 1_048_576 ? `${bytes / 1_024} KiB` : `${bytes / 1_048_576} MiB`)

/** Limits a body as a whole. */
const body = (most: number): TransformStream<Uint8Array, Uint8Array> => {
  let size = 0
  let isBatch: boolean | undefined
  return new TransformStream({
    transform: (chunk, controller) => {
      size += chunk.length
      isBatch ??= startsBatch(chunk)
      if (size > most) controller.error(tooLong("a message", most))
      else if (isBatch === true && size > MAX_BATCH_BYTES) controller.error(tooLong("a batch", MAX_BATCH_BYTES))
      else controller.enqueue(chunk)
    }
  })
}

/** Whether a batch begins here; `undefined` if there are only blanks. */
const startsBatch = (chunk: Uint8Array): boolean | undefined => {
  const first = chunk.find((byte) => byte > SPACE)
  return first === undefined ? undefined : first === OPENING_BRACKET
}

/** Limits a stream of events. */
const events = (intake: Intake, most: number): TransformStream<Uint8Array, Uint8Array> => {
  let size = 0
  return new TransformStream({
    transform: async (chunk, controller) => {
      for (let start = 0; start < chunk.length;) {
        const { end, lines } = pieceOf(chunk, start)
        const piece = chunk.subarray(start, end)
        start = end
        const behind = endOfEvent(piece)
        size = behind === -1 ? size + piece.length : piece.length - behind
        if (size > most) return controller.error(tooLong("a message", most))
        controller.enqueue(piece)
        const cost = lines + costOf(piece.length)
        intake.unrequested(cost)
        if (intake.isTurnOver(cost)) await turn(intake)
      }
    }
  })
}

/** The end of a piece with no more lines than one turn of the event loop may read, and the number of lines. */
const pieceOf = (chunk: Uint8Array, start: number): { readonly end: number; readonly lines: number } => {
  let lines = 0
  for (let i = start; i < chunk.length; i++) {
    if (chunk[i] !== LINE_FEED && chunk[i] !== CARRIAGE_RETURN) continue
    if (++lines === WORK_PER_TURN) return { end: i + 1, lines }
  }
  return { end: chunk.length, lines }
}

const turn = (intake: Intake): Promise<void> => {
  const ms = intake.nextTurn()
  return new Promise((resolve) => void (ms === 0 ? setImmediate(resolve) : setTimeout(resolve, ms)))
}

class AnsweringTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: Transport["onmessage"]
  private readonly inner: StreamableHTTPClientTransport
  /** The same object, with the type that the SDK's client uses. */
  private readonly transport: Transport
  private readonly intake: Intake
  private readonly lost: Deferred.Deferred<string>

  constructor(inner: StreamableHTTPClientTransport, intake: Intake, lost: Deferred.Deferred<string>) {
    this.inner = inner
    this.transport = inner
    this.intake = intake
    this.lost = lost
  }

  start(): Promise<void> {
    Object.assign(this.inner, {
      onclose: () => this.onclose?.(),
      onerror: (error) => {
        this.endIfSpent(this.intake.junk(0))
        this.onerror?.(error)
      },
      onmessage: (message) => {
        const check = this.intake.check(message, 0) // its size is counted with its stream's
        if (check === "pass") this.onmessage?.(message)
        else this.endIfSpent(check)
      }
    } satisfies Pick<Transport, "onclose" | "onerror" | "onmessage">)
    return this.inner.start()
  }

  send(message: JSONRPCMessage, options?: TransportSendOptions): Promise<void> {
    if (!isJSONRPCRequest(message)) return this.transport.send(message, options)
    const { id } = message
    this.intake.requested(id)
    const onRequestStreamEnd = (): void => {
      const error = { code: BROKE_OFF, message: "its answer broke off" }
      if (this.intake.answered(id)) this.onmessage?.({ jsonrpc: "2.0", id, error })
    }
    return this.transport.send(message, { ...options, onRequestStreamEnd }).catch((error: unknown) => {
      this.intake.answered(id)
      throw error
    })
  }

  close(): Promise<void> {
    return this.inner
      .terminateSession()
      .catch(() => {})
      .then(() => this.inner.close())
  }

  setProtocolVersion(version: string): void {
    this.inner.setProtocolVersion(version)
  }

  private endIfSpent(check: MessageCheck): void {
    if (check === "end") Deferred.doneUnsafe(this.lost, Effect.succeed(TOO_MUCH_JUNK))
  }
}

const LINE_FEED = 10
const SPACE = 32
const OPENING_BRACKET = 91
const CARRIAGE_RETURN = 13

/** The offset after the last blank line of a chunk, or -1. A blank line that is split between two chunks counts with the next event. */
const endOfEvent = (chunk: Uint8Array): number => {
  for (let i = chunk.lastIndexOf(LINE_FEED); i > 0; i = chunk.lastIndexOf(LINE_FEED, i - 1)) {
    const before = chunk[i - 1] === CARRIAGE_RETURN ? i - 2 : i - 1
    if (chunk[before] === LINE_FEED) return i + 1
  }
  return -1
}
