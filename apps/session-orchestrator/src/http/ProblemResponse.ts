/**
 * Turns every failure of a call into a problem detail.
 *
 * The expected failures of handlers are problems already. This file handles the others: requests that do not decode, unknown paths,
 * bodies that broke off, heads that are no HTTP, and bugs.
 *
 * A client receives nothing of a defect but an incident id; the log has the details under that id. An interruption is not an error: it is
 * passed on.
 */
import { Quote } from "@holdfast/wire"
import { Problem, Api } from "@holdfast/wire/api"
import { Cause, Effect, Predicate, Schema, SchemaIssue, Option } from "effect"
import {
  HttpServerError,
  type HttpServerRequest,
  HttpServerRespondable,
  HttpServerResponse,
  ProblemDetails,
  FindMyWay,
  HttpMethod
} from "effect/http"
import { HttpApiError, HttpApi } from "effect/http-api"
import { randomUUID } from "node:crypto"
import { type Server, type ServerResponse, STATUS_CODES } from "node:http"
import type { Duplex } from "node:stream"
import * as ResponseHeaders from "./body/ResponseHeaders.ts"
import * as Address from "../gateway/Address.ts"
import * as PercentText from "../base/text/PercentText.ts"
import * as DocsPage from "./docs/DocsPage.ts"
import * as PageRoutes from "./page/PageRoutes.ts"

/** A problem as a response, with its headers. */
export const toResponse = (problem: Problem.Problem, request: HttpServerRequest.HttpServerRequest) =>
  Effect.map(HttpServerRespondable.toResponse(problem), (response) => {
    switch (problem._tag) {
      case "UnauthorizedProblem":
        return HttpServerResponse.setHeader(response, "www-authenticate", "Bearer")
      case "MethodNotAllowedProblem":
        return HttpServerResponse.setHeader(response, "allow", methodsOf(request.url).join(", "))
      case "BusyProblem":
        return HttpServerResponse.setHeader(response, "connection", "close") // its descriptor is needed
      default:
        return response
    }
  })

/** Answers the failure of a call. */
export const fromCause = Effect.fnUntraced(function* <E>(
  cause: Cause.Cause<E>,
  request: HttpServerRequest.HttpServerRequest
) {
  if (Cause.hasInterruptsOnly(cause)) return yield* Effect.failCause(cause)
  for (const reason of cause.reasons) {
    const error = reason._tag === "Fail" ? reason.error : reason._tag === "Die" ? reason.defect : undefined
    const problem = problemOf(error, request)
    if (problem !== undefined) return yield* toResponse(problem, request)
  }

  const incident = randomUUID()
  yield* Effect.logError("A call failed unexpectedly.", cause).pipe(
    Effect.annotateLogs({ incident, method: request.method, path: request.url.split("?", 1)[0] })
  )
  return yield* toResponse(
    new Problem.Unexpected({ incident, detail: `This is a bug. The service's log has its details under ${incident}.` }),
    request
  )
})

/** Makes a server answer heads that are malformed, too large or too slow, which Node reports by socket, and close their connection. */
export const answerMalformed = (server: Server): void => {
  const answers = new WeakMap<Duplex, ServerResponse>()
  server.on("request", (request, response) => answers.set(request.socket, response))
  server.on("clientError", (error, socket) => {
    const answer = answers.get(socket)
    const isAnswering = answer !== undefined && answer.headersSent && !answer.writableFinished
    // If an answer has begun, nothing else may be written to the socket.
    if (isAnswering || !socket.writable) return void socket.destroy()
    socket.end(rawText(Predicate.hasProperty(error, "code") ? error.code : undefined))
  })
}

// Lists the API's paths and methods, to distinguish a wrong method from a wrong path.

const routes = FindMyWay.make<true>({ ignoreTrailingSlash: true })

/** The API's own paths are checked where they are declared. */
const add = (method: string, path: string): void => routes.on(method, path as FindMyWay.PathInput, true)

for (const path of [Api.OPENAPI_PATH, ...DocsPage.paths]) add("GET", path)
for (const [method, path] of PageRoutes.paths) add(method, path)
HttpApi.reflect(Api.Api, {
  onGroup: () => {},
  onEndpoint: ({ endpoint }) => add(endpoint.method, endpoint.path)
})

/** The first segment of a path with invalid percent-encoding: the router finds no call for such a path. */
const undecodableIn = (url: string): string | undefined =>
  Address.pathOf(url)
    .split("/")
    .find((segment) => Option.isNone(PercentText.decode(segment)))

/** The methods of a path, as an `Allow` header lists them; empty for an unknown path. */
export const methodsOf = (url: string): ReadonlyArray<string> => {
  const methods = Array.from(HttpMethod.all).filter((method) => routes.find(method, Address.pathOf(url)) !== undefined)
  return (methods.includes("GET") ? [...methods, "HEAD"] : methods).toSorted()
}

// --- internal

const problemOf = (error: unknown, request: HttpServerRequest.HttpServerRequest): Problem.Problem | undefined => {
  if (HttpApiError.HttpApiSchemaError.is(error)) return invalid(error)
  if (!HttpServerError.isHttpServerError(error)) return undefined
  switch (error.reason._tag) {
    case "RouteNotFound":
      return noRoute(request)
    case "RequestParseError":
      return new Problem.InvalidRequest({ detail: "The request broke off, or its body could not be read." })
    default:
      return undefined
  }
}

const noRoute = (request: HttpServerRequest.HttpServerRequest): Problem.Problem => {
  const undecodable = undecodableIn(request.url)
  if (undecodable !== undefined) {
    const detail = `The path has ${Quote.of(undecodable)}, which cannot be decoded: expected "%" and two hexadecimal digits, as UTF-8.`
    return new Problem.InvalidRequest({ detail })
  }
  const methods = methodsOf(request.url)
  return methods.length === 0
    ? new Problem.NotFound({ detail: "No call has this path. /docs lists all calls." })
    : new Problem.MethodNotAllowed({ detail: `This path takes ${methods.join(", ")}; not ${request.method}.` })
}

const formatIssues = SchemaIssue.makeFormatterStandardSchemaV1({
  leafHook: (issue) => (issue._tag === "UnexpectedKey" ? "Unknown key" : SchemaIssue.defaultLeafHook(issue))
})

/** A message with the name of a body's schema, or with its type as TypeScript has it: in JSON both are an object. */
const NAMED = /^Expected (?:[A-Z]\w*|\{ .* \})( \| null)?$/

/** More errors than a person corrects at once. */
const MOST_ERRORS = 50

const places = { Payload: "body", Params: "path", Query: "query", Headers: "header" } as const

const invalid = (error: HttpApiError.HttpApiSchemaError): Problem.InvalidRequest | undefined => {
  // A response that does not encode is a bug of the service.
  if (error.kind === "Body" || error.kind === "ResponseHeaders") return undefined
  const place = places[error.kind]
  const { issues } = formatIssues(error.cause.issue)
  const errors = issues.slice(0, MOST_ERRORS).map((issue) => ({
    in: place,
    path: (issue.path ?? [])
      .map((segment) => Quote.clip(String(typeof segment === "object" ? segment.key : segment)))
      .join("."),
    message: issue.message.replace(NAMED, (_, orNull = "") => `Expected object${orNull}`)
  }))
  const count = issues.length === 1 ? "One thing is" : `${issues.length} things are`
  const which = issues.length > MOST_ERRORS ? `, which has the first ${MOST_ERRORS}` : ""
  return new Problem.InvalidRequest({ errors, detail: `${count} wrong with the request; see errors${which}.` })
}

const rawText = (code: unknown): string => {
  const problem = malformed(code)
  const body = encodeMalformed(problem)
  const head = { ...ResponseHeaders.all, "content-type": ProblemDetails.contentType, connection: "close" }
  const lines = Object.entries(head).map(([name, value]) => `${name}: ${value}\r\n`)
  return `HTTP/1.1 ${problem.status} ${STATUS_CODES[problem.status]}\r\n${lines.join("")}content-length: ${Buffer.byteLength(body)}\r\n\r\n${body}`
}

const malformed = (code: unknown): Problem.RequestTimeout | Problem.HeadTooLarge | Problem.InvalidRequest => {
  switch (code) {
    case "ERR_HTTP_REQUEST_TIMEOUT":
      return new Problem.RequestTimeout({ detail: "Send the whole request sooner." })
    case "HPE_HEADER_OVERFLOW":
      return new Problem.HeadTooLarge({ detail: "Send a shorter address or fewer headers." })
    default:
      return new Problem.InvalidRequest({ detail: "This is not HTTP/1.1." })
  }
}

const encodeMalformed = Schema.encodeSync(
  Schema.fromJsonString(Schema.Union([Problem.RequestTimeout, Problem.HeadTooLarge, Problem.InvalidRequest]))
)
