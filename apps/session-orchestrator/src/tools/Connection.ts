/**
 * A connection to a tool server that is up: MCP, as far as tools need it.
 *
 * C1. It is over once: `lost` says why, and from then on every call fails.
 * C2. A call that is interrupted is cancelled at the server.
 * C3. Nothing that a server sends unasked is answered but pings, and nothing of it is kept.
 * C4. A list of tools is read up to `MAX_PAGES` pages and `MAX_LISTED_BYTES`.
 *
 * The protocol is the SDK's: it speaks with servers of every revision. `effect/ai/McpClient` takes those of the latest two alone, does
 * not say when a list of tools has changed, and gives up a server that prints a stray line.
 */
import manifest from "../../package.json" with { type: "json" }
import {
  type CallToolResult,
  Client,
  type ListToolsResult,
  ProtocolError,
  type RequestOptions,
  type Tool,
  type Transport
} from "@modelcontextprotocol/client"
import { Data, Deferred, Effect, Queue, type Schema, type Scope } from "effect"
import * as Offers from "./Offers.ts"

/** A call that came to nothing. */
export class CallError extends Data.TaggedError("CallError")<{
  readonly message: string
  /** The server itself said so, and is well. Otherwise nobody knows what became of the call. */
  readonly isRefusal: boolean
}> {}

/** A server that could not be started, or reached; `message` says why. */
export class StartError extends Data.TaggedError("StartError")<{ readonly message: string }> {}

/** A tool as its server describes it. */
export interface Offer {
  readonly name: string
  readonly description: string | undefined
  /** JSON Schema of the arguments. */
  readonly inputSchema: Schema.Json
}

/** A server's tools. */
export interface Listing {
  readonly tools: ReadonlyArray<Offer>
  /** There are more than is read (C4). */
  readonly isCut: boolean
}

export interface Connection {
  /** All of its tools. */
  readonly list: Effect.Effect<Listing, CallError>
  /** Calls a tool. There is no limit of time but the caller's. */
  readonly call: (name: string, input: Readonly<Record<string, unknown>>) => Effect.Effect<CallToolResult, CallError>
  /** Succeeds when the server answers at all. */
  readonly ping: Effect.Effect<void, CallError>
  /** Has an item when the list of tools has changed; several changes are one item. */
  readonly changed: Queue.Dequeue<void>
  /** Has an item when something went wrong that no call has to do with. */
  readonly doubts: Queue.Queue<void>
  /** Ends when the connection has, with the reason. */
  readonly lost: Effect.Effect<string>
}

/** A way to a server, and what is known of its end. */
export interface Way {
  readonly transport: Transport
  /** Is done when the way has ended, with the reason: what a process died of. The transport need not close itself then. */
  readonly lost: Deferred.Deferred<string>
}

/** Who we are, to servers. */
const CLIENT = { name: "holdfast", version: manifest.version }

/** The SDK has timers of its own; limits are the caller's. The longest that a timer can be set to. */
const NO_LIMIT = 2_147_483_647

/** How long the end may take. */
const GOODBYE = "2 seconds"

/** C4. The SDK's own limit. */
const MAX_PAGES = 64

/** C4. A hundred times what is offered of it. */
const MAX_LISTED_BYTES = 32 * 1_048_576

/** The code of an error that no server sends: the transport's own, for an answer that broke off. */
export const BROKE_OFF = -32_799

/** Shakes hands, over a way that ends with the same scope. */
export const make = Effect.fnUntraced(function* ({
  lost,
  transport
}: Way): Effect.fn.Return<Connection, StartError, Scope.Scope> {
  const changed = yield* Queue.sliding<void>(1)
  const doubts = yield* Queue.sliding<void>(1)
  const over = Deferred.await(lost)
  const client = new Client(CLIENT, { capabilities: {} })
  client.setNotificationHandler("notifications/tools/list_changed", () => void Queue.offerUnsafe(changed, undefined))
  Object.assign(client, {
    onerror: () => void Queue.offerUnsafe(doubts, undefined),
    onclose: () => void Deferred.doneUnsafe(lost, Effect.succeed("it closed the connection"))
  } satisfies Pick<Client, "onerror" | "onclose">)

  yield* Effect.addFinalizer(() =>
    Effect.timeoutOption(
      Effect.promise(() => client.close().catch(() => {})),
      GOODBYE
    )
  )
  yield* Effect.tryPromise({
    try: (signal) => client.connect(transport, { signal, timeout: NO_LIMIT }),
    catch: (error) => new StartError({ message: messageOf(error) })
  }).pipe(Effect.raceFirst(Effect.flatMap(over, (message) => Effect.fail(new StartError({ message })))))

  const request = <A>(send: (options: RequestOptions) => Promise<A>) =>
    Effect.tryPromise({
      try: (signal) => send({ signal, timeout: NO_LIMIT }), // C2
      catch: (error) =>
        new CallError({
          message: messageOf(error),
          isRefusal: error instanceof ProtocolError && error.code !== BROKE_OFF
        })
    }).pipe(Effect.raceFirst(Effect.flatMap(over, (message) => new CallError({ message, isRefusal: false })))) // C1

  return {
    list: Effect.suspend(() =>
      client.getServerCapabilities()?.tools === undefined
        ? Effect.succeed({ tools: [], isCut: false })
        : listed((cursor) =>
            request((options) =>
              client.request({ method: "tools/list", params: cursor === undefined ? {} : { cursor } }, options)
            )
          )
    ),
    // Not `callTool`, which throws an output away that does not fit the schema that its server gave it.
    call: (name, input) =>
      request((options) => client.request({ method: "tools/call", params: { name, arguments: input } }, options)),
    ping: Effect.asVoid(request((options) => client.ping(options))),
    changed,
    doubts,
    lost: over
  }
})

// --- internal

/** All pages, up to the limits (C4). */
const listed = Effect.fnUntraced(function* (
  page: (cursor: string | undefined) => Effect.Effect<ListToolsResult, CallError>
): Effect.fn.Return<Listing, CallError> {
  const all: Array<Offer> = []
  let bytes = 0
  let cursor: string | undefined
  for (let n = 0; n < MAX_PAGES; n++) {
    const { nextCursor, tools } = yield* page(cursor)
    for (const tool of tools) {
      const offer = offerOf(tool)
      const size = Offers.sizeOf(offer)
      if (size < Infinity) bytes += size
      if (bytes > MAX_LISTED_BYTES) return { tools: all, isCut: true }
      all.push(offer)
    }
    if (nextCursor === undefined || nextCursor === "") return { tools: all, isCut: false }
    cursor = nextCursor
  }
  return { tools: all, isCut: true }
})

const offerOf = ({ description, inputSchema, name, title }: Tool): Offer => ({
  name,
  description: description ?? title,
  inputSchema: inputSchema as Schema.Json // it was JSON when it came
})

/** What `fetch` says is in its cause. */
const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
