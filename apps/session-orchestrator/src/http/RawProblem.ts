/** Answers request heads that are malformed, too large or too slow. Node reports them by socket. */
import { Problem } from "@holdfast/wire/api"
import { Predicate, Schema } from "effect"
import { ProblemDetails } from "effect/http"
import { type Server, type ServerResponse, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import * as ResponseHeaders from "./body/ResponseHeaders.ts"

/** Makes a server answer such requests with a problem and close their connection. */
export const install = (server: Server): void => {
  const answers = new WeakMap<Duplex, ServerResponse>()
  server.on("request", (request, response) => answers.set(request.socket, response))
  server.on("clientError", (error, socket) => {
    const answer = answers.get(socket)
    const isAnswering = answer !== undefined && answer.headersSent && !answer.writableFinished
    // If an answer has begun, nothing else may be written to the socket.
    if (isAnswering || !socket.writable) return void socket.destroy()
    socket.end(toText(Predicate.hasProperty(error, "code") ? error.code : undefined))
  })
}

// --- internal

const toText = (code: unknown): string => {
  const { body, status } = encoded(code)
  const head = { ...ResponseHeaders.all, "content-type": ProblemDetails.contentType, connection: "close" }
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${status} ${STATUS_CODES[status]}\r\n${lines.join("")}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

const encoded = (code: unknown): { readonly status: number; readonly body: string } => {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return { status: 408, body: timeout(new Problem.RequestTimeout({ detail: "Send the whole request sooner." })) }
    case "HPE_HEADER_OVERFLOW":
      return {
        status: 431,
        body: overflow(new Problem.HeadTooLarge({ detail: "Send a shorter address or fewer headers." }))
      }
    default:
      return { status: 400, body: invalid(new Problem.InvalidRequest({ detail: "This is not HTTP/1.1." })) }
  }
}

const timeout = Schema.encodeSync(Schema.fromJsonString(Problem.RequestTimeout))
const overflow = Schema.encodeSync(Schema.fromJsonString(Problem.HeadTooLarge))
const invalid = Schema.encodeSync(Schema.fromJsonString(Problem.InvalidRequest))
