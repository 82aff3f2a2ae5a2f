/**
 * Writes a response that may take hours: items as they come, and something harmless while there are none.
 *
 * It writes to Node's response directly. Through a stream body the signs of life would have to be merged with the items,
 * which costs a queue per item; measured with 32 responses at once, the direct way moved a fifth more. Items that are pushed (`Push`) are
 * written without a fiber.
 *
 * L1. The items of one chunk leave in one write.
 * L2. Signs of life are written between items, never inside one, and only after a quiet interval.
 * L3. Memory is bounded: nothing is pulled while the client has not taken what was written. One that takes nothing for
 *     `STALL_LIMIT` is let go of; until then its source may give up on it first.
 * L4. Only a response that is complete is ended. One that broke off is cut, unless it was endless anyway (`endless`).
 * L5. A client that goes away ends the pulling, and nothing else.
 * L6. Whoever is let go of before the end is told why, and that it has to come back, as far as its format can say so
 *     (`farewell`). It stands behind all that was written, so a client that has only slept finds it, for `FAREWELL_LIMIT`.
 * L7. All responses share a budget of writes in each turn of the event loop (`WriteBudget`).
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type { Sse } from "@holdfast/wire"
import { Push } from "@holdfast/kernel"
import { Cause, Channel, Duration, Effect, Option, Predicate, Pull, Schema, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { ServerResponse } from "node:http"
import { ChunkedBody } from "./ChunkedBody.ts"
import type { Drain } from "../../system/Drain.ts"
import type * as Encoding from "./Encoding.ts"
import * as ResponseHeaders from "./ResponseHeaders.ts"
import { WriteBudget } from "./WriteBudget.ts"

/** How long a response may be silent. Half of the shortest limit that proxies are commonly run with (30 s). */
export const KEEP_ALIVE_INTERVAL = Duration.seconds(15)

/** How long a client may take nothing of what was written for it. */
export const STALL_LIMIT = Duration.seconds(60)

/** How long a client has to take what it is told in the end. One that is gone holds a socket that much longer. */
export const FAREWELL_LIMIT = Duration.seconds(5)

/** A client stopped reading. */
export class ClientStalled extends Schema.TaggedError<ClientStalled>()("ClientStalled", {}) {
  override get message(): string {
    return `The client has read nothing for ${Duration.format(STALL_LIMIT)}.`
  }
}

export interface Options<A, E> {
  readonly contentType: string
  /** What is written while nothing happens. */
  readonly keepAlive: string
  readonly items: Stream.Stream<A, E>
  readonly encode: (items: ReadonlyArray<A>) => Encoding.Text
  /** The stream has no end of its own, so that ending it cannot be mistaken for completeness. */
  readonly endless: boolean
  /** What is written last where the response ends before its time (L6). */
  readonly farewell?: (why: Sse.Reconnect) => string
}

/** Answers a request with 200 and what the stream gives. Succeeds when the response is over, however it ended. */
export const send = Effect.fnUntraced(function* <A, E>(
  request: HttpServerRequest.HttpServerRequest,
  drain: Drain["Service"],
  options: Options<A, E>
) {
  const headers = { ...ResponseHeaders.live, "content-type": options.contentType }
  if (request.method === "HEAD") return HttpServerResponse.empty({ status: 200, headers })

  const response = nodeResponse(request)
  response.writeHead(200, headers)
  response.flushHeaders()
  const body = new ChunkedBody(response)

  let quiet = true
  /** Writes items; what has to run before the next, if anything. */
  const write = (items: ReadonlyArray<A>): Effect.Effect<void, ClientStalled> | undefined => {
    // Node raises what is written after a disconnect as an error of nobody's.
    if (response.destroyed) return Effect.interrupt
    quiet = false
    const text = options.encode(items)
    if (budget.allows(text.length)) return written(text)
    return Effect.flatMap(budget.turn(text.length), () => written(text) ?? Effect.void) // L7
  }
  const written = (text: Encoding.Text): Effect.Effect<void, ClientStalled> | undefined => {
    if (response.destroyed) return Effect.interrupt
    return body.write(text) ? undefined : untilRead(response) // L3
  }
  const signsOfLife = Effect.sync(() => {
    if (quiet && !response.destroyed && !response.writableNeedDrain) body.write(options.keepAlive) // L2
    quiet = true
  }).pipe(Effect.delay(KEEP_ALIVE_INTERVAL), Effect.forever)
  let isGoingDown = false
  // One fiber writes signs of life and waits for the end: a thousand responses have a thousand of them.
  const untilTheEnd = Effect.withFiber((fiber) => {
    const leave = drain.onEnded(() => {
      isGoingDown = true
      fiber.interruptUnsafe()
    })
    return Effect.onExit(signsOfLife, () => Effect.sync(leave))
  })

  const broken = yield* Effect.scopedWith((scope) =>
    Effect.flatMap(Channel.toPullScoped(Stream.toChannel(options.items), scope), (pull) => Push.forEach(pull, write))
  ).pipe(
    Pull.catchDone(() => Effect.undefined),
    Effect.raceFirst(untilTheEnd),
    Effect.catchCause((cause) =>
      isGoingDown
        ? Effect.succeed(GOING_DOWN)
        : Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.as(Effect.logDebug("A response broke off.", cause), whyOf(cause))
    ),
    Effect.onInterrupt(() => Effect.sync(() => response.destroy()))
  )
  if (broken === undefined) yield* end(response, body, "", STALL_LIMIT)
  else yield* leave(response, body, options.farewell?.(broken) ?? "", options.endless)
  // The response is written; this only tells those who count.
  return HttpServerResponse.empty({ status: 200 })
})

// --- internal

/** One event loop has one budget (L7). */
const budget = new WriteBudget()

const nodeResponse = (request: HttpServerRequest.HttpServerRequest): ServerResponse =>
  // The server below speaks HTTP/1.1 alone, so this is never a response of HTTP/2.
  NodeHttpServerRequest.toServerResponse(request) as ServerResponse

const GOING_DOWN: Sse.Reconnect = { code: "shutting-down", message: "Holdfast is going down; connect again soon." }

const UNEXPECTED: Sse.Reconnect = { code: "unexpected", message: "Something went wrong; connect again." }

/** By the tag of what a stream failed with. */
const CODES: Readonly<Record<string, Sse.Reconnect["code"]>> = {
  ClientStalled: "too-slow",
  SubscriberTooSlow: "too-slow",
  TurnStopped: "turn-stopped",
  StorageError: "storage-unavailable"
}

const whyOf = (cause: Cause.Cause<unknown>): Sse.Reconnect => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  const code = Predicate.hasProperty(error, "_tag") ? CODES[String(error._tag)] : undefined
  return code !== undefined && error instanceof Error ? { code, message: error.message } : UNEXPECTED
}

/** Waits until a client has taken what was written, for as long as it may take. */
const untilRead = (response: ServerResponse): Effect.Effect<void, ClientStalled> =>
  Effect.callback<void>((resume) => {
    const onDrain = () => resume(Effect.void)
    response.once("drain", onDrain)
    return Effect.sync(() => response.off("drain", onDrain))
  }).pipe(Effect.timeoutOrElse({ duration: STALL_LIMIT, orElse: () => Effect.fail(new ClientStalled()) }))

/** Ends a response behind a last text, and cuts it if the client does not take that in time. */
const end = (
  response: ServerResponse,
  body: ChunkedBody,
  last: string,
  limit: Duration.Duration
): Effect.Effect<void> =>
  response.destroyed
    ? Effect.void
    : Effect.callback<void>((resume) => {
        const onClose = () => resume(Effect.void)
        response.once("close", onClose)
        body.end(last, onClose)
        return Effect.sync(() => response.off("close", onClose))
      }).pipe(Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.sync(() => response.destroy()) }))

/** Lets go of a response before its end (L4, L6). */
const leave = (
  response: ServerResponse,
  body: ChunkedBody,
  farewell: string,
  endless: boolean
): Effect.Effect<void> => {
  if (endless) return end(response, body, farewell, FAREWELL_LIMIT)
  const cut = Effect.sync(() => response.destroy())
  if (farewell === "" || response.destroyed) return cut
  const told = Effect.callback<void>((resume) => void body.write(farewell, () => resume(Effect.void)))
  return Effect.andThen(Effect.timeoutOption(told, FAREWELL_LIMIT), cut)
}
