/**
 * Writes a response that may take hours: items as they come, and something harmless while there are none.
 *
 * It writes to Node's response directly. Through a stream body the signs of life would have to be merged with the items,
 * which costs a queue per item; measured with 32 responses at once, the direct way moved a fifth more.
 *
 * L1. The items of one chunk leave in one write.
 * L2. Signs of life are written between items, never inside one, and only after a quiet interval.
 * L3. Memory is bounded: nothing is pulled while the client has not taken what was written. One that takes nothing for
 *     `STALL_LIMIT` is cut off; until then its source may give up on it first.
 * L4. Only a response that is complete is ended. One that broke off is cut, unless it was endless anyway (`endless`).
 * L5. A client that goes away ends the pulling, and nothing else.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Cause, Duration, Effect, Schema, Stream } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import type { ServerResponse } from "node:http"
import type { Drain } from "./Drain.ts"
import * as ResponseHeaders from "./ResponseHeaders.ts"

/** How long a response may be silent. Half of the shortest limit that proxies are commonly run with (30 s). */
export const KEEP_ALIVE_INTERVAL = Duration.seconds(15)

/** How long a client may take nothing of what was written for it. */
export const STALL_LIMIT = Duration.seconds(60)

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
  readonly encode: (items: ReadonlyArray<A>) => string
  /** The stream has no end of its own, so that ending it cannot be mistaken for completeness. */
  readonly endless: boolean
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

  let quiet = true
  const write = (items: ReadonlyArray<A>): Effect.Effect<void, ClientStalled> => {
    // Node raises what is written after a disconnect as an error of nobody's.
    if (response.destroyed) return Effect.interrupt
    quiet = false
    return response.write(options.encode(items)) ? Effect.void : untilRead(response) // L3
  }
  const signsOfLife = Effect.sync(() => {
    if (quiet && !response.destroyed && !response.writableNeedDrain) response.write(options.keepAlive) // L2
    quiet = true
  }).pipe(Effect.delay(KEEP_ALIVE_INTERVAL), Effect.forever)

  const isComplete = yield* Stream.runForEachArray(options.items, write).pipe(
    Effect.as(true),
    Effect.raceFirst(signsOfLife),
    Effect.raceFirst(Effect.as(drain.ended, false)),
    Effect.catchCause((cause) =>
      Cause.hasInterruptsOnly(cause)
        ? Effect.interrupt
        : Effect.as(Effect.logDebug("A response broke off.", cause), false)
    ),
    Effect.onInterrupt(() => Effect.sync(() => response.destroy()))
  )
  if (isComplete || options.endless) yield* end(response)
  else response.destroy() // L4
  // The response is written; this only tells those who count.
  return HttpServerResponse.empty({ status: 200 })
})

// --- internal

const nodeResponse = (request: HttpServerRequest.HttpServerRequest): ServerResponse =>
  // The server below speaks HTTP/1.1 alone, so this is never a response of HTTP/2.
  NodeHttpServerRequest.toServerResponse(request) as ServerResponse

/** Gives a client `STALL_LIMIT` to take what was written, or else cuts it off. */
const orCut = (response: ServerResponse, taken: Effect.Effect<void>): Effect.Effect<void, ClientStalled> =>
  Effect.timeoutOrElse(taken, {
    duration: STALL_LIMIT,
    orElse: () => {
      response.destroy()
      return Effect.fail(new ClientStalled())
    }
  })

const untilRead = (response: ServerResponse): Effect.Effect<void, ClientStalled> =>
  orCut(
    response,
    Effect.callback<void>((resume) => {
      const onDrain = () => resume(Effect.void)
      response.once("drain", onDrain)
      return Effect.sync(() => response.off("drain", onDrain))
    })
  )

const end = (response: ServerResponse): Effect.Effect<void> =>
  response.destroyed
    ? Effect.void
    : Effect.ignore(
        orCut(
          response,
          Effect.callback<void>((resume) => {
            const onClose = () => resume(Effect.void)
            response.once("close", onClose)
            response.end(onClose)
            return Effect.sync(() => response.off("close", onClose))
          })
        )
      )
