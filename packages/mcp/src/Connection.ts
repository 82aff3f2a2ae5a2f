/**
 * Connects to a running tool server: the part of MCP that tools need.
 *
 * An interrupted call is cancelled at the server.
 *
 * Of a server's unrequested messages only pings are answered, and none is kept. A list of tools is read up to `MAX_PAGES` pages and
 * `MAX_LISTED_BYTES`.
 *
 * Connection.C1. A connection ends once: `lost` has the reason, and from then on every call fails.
 *
 * The SDK implements the protocol and supports servers of every revision. `effect/ai/McpClient` supports the latest two only, does not
 * report that a list of tools has changed, and drops a server that prints a stray line.
 */
import manifest from "../package.json" with { type: "json" }
import {
  type CallToolResult,
  Client,
  type ListToolsResult,
  ProtocolError,
  type RequestOptions,
  type Tool,
  type Transport
} from "@modelcontextprotocol/client"
import * as Data from "effect/Data"
import * as Deferred from "effect/Deferred"
import * as Effect from "effect/Effect"
import * as Queue from "effect/Queue"
import type * as Scope from "effect/Scope"
import * as Offers from "./Offers.ts"

/** A call without a result. */
export class CallError extends Data.TaggedError("CallError")<{
  readonly message: string
  /** The server refused the call, and is up. Otherwise the call's outcome is unknown. */
  readonly isRefusal: boolean
}> {}

/** A server that could not be started or reached; `message` has the cause. */
export class StartError extends Data.TaggedError("StartError")<{ readonly message: string }> {}

/** The list of a server's tools. */
interface Listing {
  readonly tools: ReadonlyArray<Offers.Offer>
  /** The list was not read to its end. */
  readonly isCut: boolean
}

/** A running server. */
export interface ServerConnection {
  /** Lists all tools of the server. */
  readonly list: Effect.Effect<Listing, CallError>
  /** Calls a tool, without a time limit: the caller sets one. */
  readonly call: (name: string, input: Readonly<Record<string, unknown>>) => Effect.Effect<CallToolResult, CallError>
  /** Succeeds when the server answers, even with an error. */
  readonly ping: Effect.Effect<void, CallError>
  /** Has an item when the list of tools has changed; several changes are one item. */
  readonly changed: Queue.Dequeue<void>
  /** Has an item when an error occurred that belongs to no call. */
  readonly doubts: Queue.Queue<void>
  /** Waits for the end of the connection and returns the reason. */
  readonly lost: Effect.Effect<string>
}

/** A transport to a server, with the reason of its end. */
export interface ServerTransport {
  readonly transport: Transport
  /** Completed when the server has ended, with the reason, such as a process's exit code. The transport need not close itself then. */
  readonly lost: Deferred.Deferred<string>
}

/** The client's name and version, which servers receive. */
const CLIENT = { name: "holdfast", version: manifest.version }

/** Milliseconds: the longest time of a timer. It disables the SDK's own limits, because the caller sets one. */
const NO_LIMIT = 2_147_483_647

/** How long closing may take. */
const CLOSE_LIMIT = "2 seconds"

/** The SDK's own limit. */
const MAX_PAGES = 64

/** A hundred times the size that may be offered to models. */
const MAX_LISTED_BYTES = 32 * 1_048_576

/** The transport's own error code for an answer that broke off. No server sends it. */
export const BROKE_OFF = -32_799

/** Connects over a transport of the same scope, with MCP's handshake. */
export const make = Effect.fnUntraced(function* ({
  lost,
  transport
}: ServerTransport): Effect.fn.Return<ServerConnection, StartError, Scope.Scope> {
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
      CLOSE_LIMIT
    )
  )
  yield* Effect.tryPromise({
    try: (signal) => client.connect(transport, { signal, timeout: NO_LIMIT }),
    catch: (error) => new StartError({ message: messageOf(error) })
  }).pipe(Effect.raceFirst(Effect.flatMap(over, (message) => Effect.fail(new StartError({ message })))))

  const request = <A>(send: (options: RequestOptions) => Promise<A>) =>
    Effect.tryPromise({
      try: (signal) => send({ signal, timeout: NO_LIMIT }),
      catch: (error) =>
        new CallError({
          message: messageOf(error),
          isRefusal: error instanceof ProtocolError && error.code !== BROKE_OFF
        })
    }).pipe(Effect.raceFirst(Effect.flatMap(over, (message) => new CallError({ message, isRefusal: false })))) // Connection.C1

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
    // Not `callTool`, which drops an output that does not match the schema of its server.
    call: (name, input) =>
      request((options) => client.request({ method: "tools/call", params: { name, arguments: input } }, options)),
    ping: Effect.asVoid(request((options) => client.ping(options))),
    changed,
    doubts,
    lost: over
  }
})

// --- internal

/** All pages, up to the limits. */
const listed = Effect.fnUntraced(function* (
  page: (cursor: string | undefined) => Effect.Effect<ListToolsResult, CallError>
): Effect.fn.Return<Listing, CallError> {
  const all: Array<Offers.Offer> = []
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

const offerOf = ({ description, inputSchema, name, title }: Tool): Offers.Offer => ({
  name,
  description: description ?? title,
  inputSchema: inputSchema as Offers.Offer["inputSchema"] // it was JSON when it came
})

/** The message of an error, with its cause: `fetch` has the details there. */
const messageOf = (error: unknown): string => {
  if (!(error instanceof Error)) return String(error)
  return error.cause instanceof Error ? `${error.message}: ${error.cause.message}` : error.message
}
