/**
 * Passes one call through, once and without a look at its content.
 *
 * Bodies are equal in both directions, byte for byte. A slow client slows the endpoint down, and a slow endpoint the client. A client that disconnects frees the
 * endpoint's connection. An answer that breaks off at the endpoint breaks off at the client.
 */
import type * as RawCall from "@holdfast/providers/raw"
import { Effect } from "effect"
import type { IncomingMessage, ServerResponse } from "node:http"
import { Transform } from "node:stream"
import * as Headers from "./Headers.ts"

/** The connection to the client. */
export interface ClientConnection {
  readonly request: IncomingMessage
  readonly response: ServerResponse
}

/** How a passage ended, if the client has no answer yet. */
type Unanswered =
  /** The endpoint could not be reached. */
  | { readonly _tag: "Broken"; readonly cause: unknown }
  /** The body is larger than the limit. */
  | { readonly _tag: "TooLarge" }

/** Sends the client's request to the endpoint, and the endpoint's answer to the client. Interruption ends both. */
export const through = (
  send: RawCall.Send,
  { request, response }: ClientConnection,
  upstream: Omit<RawCall.Request, "body">,
  maxBodyBytes: number,
  /** The body, if it was read before. */
  whole?: Buffer
): Effect.Effect<Unanswered | undefined> =>
  Effect.callback((resume) => {
    let call: RawCall.Call | undefined
    let body: RawCall.Request["body"] = null
    const done = (outcome?: Unanswered): void => {
      call?.close()
      resume(Effect.succeed(outcome))
    }
    if (whole !== undefined) body = whole
    else if (hasBody(request)) {
      body = request
      // `Gateway` has measured a body of a known length by its header.
      if (request.headers["content-length"] === undefined) {
        const counted = limited(maxBodyBytes, () => done({ _tag: "TooLarge" }))
        request.on("error", (cause) => counted.destroy(cause)).pipe(counted)
        body = counted
      }
    }
    call = send(
      { ...upstream, body },
      {
        head: ({ headers, status, statusText }) => {
          response.sendDate = false // the endpoint's own counts
          response.writeHead(status, statusText, Headers.ofResponse(headers, true)) // with its length
          response.flushHeaders()
        },
        data: (bytes) => {
          if (response.write(bytes)) return true
          response.once("drain", () => call?.resume())
          return false
        },
        end: () => {
          response.end()
          done()
        },
        broken: (cause) => {
          if (!response.headersSent) return done({ _tag: "Broken", cause })
          response.destroy()
          done()
        }
      }
    )
    return Effect.sync(() => {
      call?.close()
      response.destroy()
    })
  })

/** Whether a request has a body (RFC 9112, section 6). */
export const hasBody = ({ headers }: { readonly headers: Readonly<Record<string, unknown>> }): boolean =>
  Number(headers["content-length"] ?? 0) > 0 || headers["transfer-encoding"] !== undefined

// --- internal

const limited = (mostBytes: number, exceeded: () => void): Transform => {
  let bytes = 0
  return new Transform({
    transform(chunk: Buffer, _encoding, next) {
      bytes += chunk.length
      if (bytes > mostBytes) return exceeded()
      next(null, chunk)
    }
  })
}
