/**
 * Writes a response that may take hours: items as they arrive, keep-alives in between. Only a complete response is ended.
 *
 * It writes to Node's response directly. With a stream body the keep-alives would have to be merged with the items, which costs a
 * queue per item; measured with 32 responses at once, direct writes moved a fifth more. Pushed items (`Push`) are written without a fiber.
 *
 * LiveResponse.L1. The items of one chunk leave in one write: the first with the head, the last of a turn (`isLast`) with the end.
 *     Nothing is pulled after that.
 * LiveResponse.L3. No item is pulled while the client has not taken the data that was written (`Outlet`). A client that takes nothing is
 *     dropped; the source of the items may drop it earlier.
 * LiveResponse.L5. A client that disconnects ends the pulling, and nothing else.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Push } from "@holdfast/kernel/host"
import type { Sse } from "@holdfast/wire"
import { Cause, Channel, Clock, Duration, Effect, Option, Predicate, Pull, Schema, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { ServerResponse } from "node:http"
import { LoopBudget } from "../../engine/pacing/LoopBudget.ts"
import type { At } from "../../base/system/Alarm.ts"
import type { Drain } from "../../base/system/Drain.ts"
import { Outlet, STALL_LIMIT, type Text } from "../../rpc/Outlet.ts"
import * as ResponseHeaders from "./ResponseHeaders.ts"

/** How long a response may be silent. Half of the shortest common limit of proxies (30 s). */
export const KEEP_ALIVE_INTERVAL = Duration.seconds(15)

/** How long a client has to read the farewell. A client that is gone holds its socket that much longer. */
export const FAREWELL_LIMIT = Duration.seconds(5)

/** The farewell of a shutdown. */
export const GOING_DOWN: Sse.Reconnect = {
  code: "shutting-down",
  message: "Holdfast is shutting down; connect again soon."
}

/** A client has stopped reading (LiveResponse.L3). */
export class ClientStalled extends Schema.TaggedError<ClientStalled>()("ClientStalled", {}) {
  override get message(): string {
    return `The client has read nothing for ${Duration.format(STALL_LIMIT)}.`
  }
}

/** The items of a response, and its format. */
interface Options<A, E> {
  readonly contentType: string
  readonly headers?: Readonly<Record<string, string>>
  /** The text that is written between items, never inside one, and only after quiet since the last tick, which all responses share. */
  readonly keepAlive: string
  readonly items: Stream.Stream<A, E>
  readonly encode: (items: ReadonlyArray<A>) => Text
  /** Whether no item follows in a stream that is not endless: its end need not be awaited then. */
  readonly isLast?: (item: A) => boolean
  /** The stream never ends by itself, so its end cannot be mistaken for completeness. Any other response that broke off is cut. */
  readonly endless: boolean
  /**
   * The last frame of a response that the server closes early: it has the reason and asks the client to reconnect. It comes after all data that
   * was written, so a client that was only suspended can still read it, for `FAREWELL_LIMIT`. Absent: the format has no such frame.
   */
  readonly farewell?: (why: Sse.Reconnect) => string
}

/** What responses share. */
export interface Shared {
  readonly drain: Drain["Service"]
  readonly at: At
}

/** Answers a request with 200 and the items of the stream. Succeeds when the response is over, even if it broke off. */
export const send = Effect.fnUntraced(function* <A, E>(
  request: HttpServerRequest.HttpServerRequest,
  { at, drain }: Shared,
  options: Options<A, E>
) {
  const headers = { ...ResponseHeaders.live, ...options.headers, "content-type": options.contentType }
  if (request.method === "HEAD") return HttpServerResponse.empty({ status: 200, headers })

  const response = nodeResponse(request)
  response.writeHead(200, headers)
  const stalled = Effect.suspend(() => Effect.fail(new ClientStalled()))
  const outlet = new Outlet(response, { budget, stalled })
  let isFlushed = false
  const flush = (): void => {
    if (!isFlushed && !outlet.hasBegun) response.flushHeaders()
    isFlushed = true
  }
  // Items that are there already take the head along.
  process.nextTick(() => response.destroyed || flush())
  /** What was written, and the head, leaves before: a client that gets no byte may repeat its request. */
  const cut = Effect.sync(() => {
    if (!response.destroyed) {
      flush()
      // Node holds the first text, and the head with it, back to the end of the tick.
      response.socket?.uncork()
    }
    response.destroy()
  })

  let quiet = true
  /** Writes items. Returns an effect that has to run before the next items, if there is one. */
  const write = (items: ReadonlyArray<A>): Writing | undefined => {
    // A write after a disconnect makes Node emit an error, which without a listener would end the process.
    if (response.destroyed) return Effect.interrupt
    quiet = false
    const last = options.endless ? undefined : items.at(-1)
    const isLast = last !== undefined && options.isLast?.(last) === true
    const later = outlet.write(options.encode(items), isLast)
    if (!isLast) return later
    return later === undefined ? Cause.done() : Effect.andThen(later, Cause.done()) // LiveResponse.L1
  }
  const clock = yield* Clock.Clock
  let quieten: (() => void) | undefined
  /** Without a fiber, which would cost more memory than its response. */
  const tick = (): void => {
    const next = Math.floor(clock.currentTimeMillisUnsafe() / TICK_MS + 1) * TICK_MS
    quieten = at(next, () => {
      if (quiet && isOpen(response) && !response.writableNeedDrain) response.write(options.keepAlive)
      quiet = true
      tick()
    })
  }
  let isGoingDown = false
  const registered = Effect.withFiber((fiber) =>
    Effect.sync(() => {
      tick()
      return drain.onEnded(() => {
        isGoingDown = true
        fiber.interruptUnsafe()
      })
    })
  )
  const pulling = Effect.acquireUseRelease(
    registered,
    () =>
      Effect.scopedWith((scope) =>
        Effect.flatMap(
          // Suspended: the fiber keeps this effect, and would keep what only the beginning of the stream needs.
          Effect.suspend(() => Channel.toPullScoped(Stream.toChannel(options.items), scope)),
          (pull) => Push.forEach(pull, write)
        )
      ).pipe(Pull.catchDone(() => Effect.undefined)),
    (leave) =>
      Effect.sync(() => {
        leave()
        quieten?.()
      })
  )

  // A fiber of its own, so that the end of the service interrupts it alone.
  const broken = yield* Effect.raceAllFirst([pulling]).pipe(
    Effect.catchCause((cause) =>
      isGoingDown
        ? Effect.succeed(GOING_DOWN)
        : Cause.hasInterruptsOnly(cause)
          ? Effect.interrupt
          : Effect.as(Effect.logDebug("A response broke off.", cause), whyOf(cause))
    ),
    Effect.onInterrupt(() => cut)
  )
  if (broken === undefined || response.writableEnded) yield* end(response, "", STALL_LIMIT)
  else if (options.endless) yield* end(response, options.farewell?.(broken) ?? "", FAREWELL_LIMIT)
  else {
    const farewell = options.farewell?.(broken) ?? ""
    if (farewell !== "" && !response.destroyed) yield* outlet.flushed(farewell, FAREWELL_LIMIT)
    yield* cut
  }
  // The response is already written; this one is for the metrics.
  return HttpServerResponse.empty({ status: 200 })
})

/** The bytes of one turn of the event loop: some milliseconds of copying into sockets. */
export const MOST_AT_ONCE = 1024 * 1024

/** The cost of a write besides its bytes, in bytes: a call of the operating system. */
const PER_WRITE = 4 * 1024

/** One event loop has one budget, for all clients on the network. */
export const budget = new LoopBudget(MOST_AT_ONCE, PER_WRITE)

// --- internal

/** All responses tick together. */
const TICK_MS = Duration.toMillis(KEEP_ALIVE_INTERVAL)

/** What has to run before the next items; done after the last ones. */
type Writing = Effect.Effect<void, ClientStalled | Cause.Done>

const nodeResponse = (request: HttpServerRequest.HttpServerRequest): ServerResponse =>
  // The server underneath supports HTTP/1.1 alone, so this is never a response of HTTP/2.
  NodeHttpServerRequest.toServerResponse(request) as ServerResponse

const UNEXPECTED: Sse.Reconnect = { code: "unexpected", message: "Something went wrong; connect again." }

/** The codes of a farewell, by the tag of the stream's failure. */
const CODES: Readonly<Record<string, Sse.Reconnect["code"]>> = {
  ClientStalled: "too-slow",
  SubscriberTooSlow: "too-slow",
  TurnStopped: "turn-stopped",
  StorageError: "storage-unavailable",
  ConversationNotFound: "conversation-deleted"
}

const whyOf = (cause: Cause.Cause<unknown>): Sse.Reconnect => {
  const error = Option.getOrUndefined(Cause.findErrorOption(cause))
  const code = Predicate.hasProperty(error, "_tag") ? CODES[String(error._tag)] : undefined
  return code !== undefined && error instanceof Error ? { code, message: error.message } : UNEXPECTED
}

const isOpen = ({ destroyed, writableEnded }: ServerResponse): boolean => !destroyed && !writableEnded

/** Writes a last text and ends the response, unless it is ended. Cuts it if the client does not take the text in time. */
const end = (response: ServerResponse, last: string, limit: Duration.Duration): Effect.Effect<void> =>
  Effect.suspend(() => {
    if (isOpen(response)) response.end(last)
    if (response.destroyed || response.writableLength === 0) return Effect.void
    return Effect.callback<void>((resume) => {
      const onEnded = () => resume(Effect.void)
      response.once("finish", onEnded).once("close", onEnded)
      return Effect.sync(() => response.off("finish", onEnded).off("close", onEnded))
    }).pipe(Effect.timeoutOrElse({ duration: limit, orElse: () => Effect.sync(() => response.destroy()) }))
  })
