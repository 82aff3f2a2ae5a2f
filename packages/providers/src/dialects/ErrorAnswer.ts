/**
 * Writes a failure, or a problem of the gateway itself, in a wire format: as a JSON answer, and as the last frame of a stream.
 *
 * Sources: OpenAI, "Error codes"; Claude API documentation, "Errors"; Google, `google.rpc.Status`. A frame in a stream has the shape in which
 * each provider's own SDK looks for an error.
 */
import { defined, type Failure } from "@holdfast/wire"
import { isObject, type JsonObject, objectIn } from "../decoding/Json.ts"
import type { Format, Framing } from "./Dialect.ts"

/** A JSON answer. */
export interface ErrorAnswer {
  readonly status: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
}

/** A problem of the gateway itself: an unknown provider, a wrong token, a body that is too large. */
interface Problem {
  /** 400 or above. */
  readonly status: number
  readonly message: string
  readonly code?: string
}

/** The status of a failure: the endpoint's own, or a status that a client reads as the same reason. */
export const statusOf = ({ reason, status }: Pick<Failure.Failure, "reason" | "status">, format: Format): number => {
  if (status !== undefined && status >= 400) return status
  return reason === "overloaded" && format === "messages" ? 529 : STATUS[reason]
}

/** The answer to a call that failed for good, before any byte of it went down. The client is asked not to repeat it. */
export const ofFailure = (failure: Failure.Failure, format: Format): ErrorAnswer =>
  answer(format, problemOf(failure, format))

/** The answer to a call that the gateway refuses. */
export const ofProblem = (problem: Problem, format: Format): ErrorAnswer => answer(format, problem)

/**
 * The frames that end a stream with a failure, after its head went down; `undefined`: the format has none, and the connection is cut.
 *
 * **Details**
 *
 * Responses has two: OpenAI sends `error`, which its SDK throws, and then `response.failed`, which Codex reads. `came` is the body by which the
 * endpoint refused the call: its error is written in the place of ours, and frames as they came.
 */
export const framesOf = (
  failure: Failure.Failure,
  format: Format,
  framing: Framing,
  came: string = ""
): string | undefined => {
  const problem = problemOf(failure, format)
  const own = errorOf(came)
  const body = JSON.stringify(own ?? bodyOf(format, problem))
  if (framing === "document") return undefined
  if (framing === "events" && /^(?:event|data|id|:)/u.test(came)) return `${came.trimEnd()}\n\n`
  if (framing === "array") return `[${body}]`
  switch (format) {
    case "chat":
    case "gemini":
      return `data: ${body}\n\n`
    case "messages":
      return `event: error\ndata: ${body}\n\n`
    case "responses": {
      const error = { ...openAiError(problem), ...(isObject(own?.["error"]) ? own["error"] : {}) }
      const { code, message, param } = error
      const response = { id: "", object: "response", status: "failed", output: [], error: { code, message } }
      return (
        event("error", { type: "error", sequence_number: 0, code, message, param, error }) +
        event("response.failed", { type: "response.failed", sequence_number: 1, response })
      )
    }
    default:
      return format satisfies never
  }
}

// --- internal

const STATUS: Readonly<Record<Failure.Reason, number>> = {
  "rate-limited": 429,
  "quota-exhausted": 429,
  overloaded: 503,
  "server-error": 500,
  network: 502,
  timeout: 504,
  "invalid-response": 502,
  auth: 401,
  "context-overflow": 400,
  refused: 400,
  "model-unavailable": 404,
  "bad-request": 400,
  aborted: 502,
  unknown: 502
}

const problemOf = (failure: Failure.Failure, format: Format): Problem => ({
  status: statusOf(failure, format),
  message: failure.message,
  ...defined({ code: failure.code })
})

/** The endpoint's own error, if a body is one. */
const errorOf = (body: string): JsonObject | undefined => {
  const json = objectIn(body)
  return json?.["error"] === undefined ? undefined : json
}

const answer = (format: Format, problem: Problem): ErrorAnswer => ({
  status: problem.status,
  // Anthropic's and OpenAI's SDKs repeat a call after 408, 409, 429 and 5xx, unless this header is false.
  headers: { "content-type": "application/json", "x-should-retry": "false" },
  body: JSON.stringify(bodyOf(format, problem))
})

const event = (name: string, data: object): string => `event: ${name}\ndata: ${JSON.stringify(data)}\n\n`

const bodyOf = (format: Format, problem: Problem): object => {
  const { message, status } = problem
  switch (format) {
    case "chat":
    case "responses":
      return { error: openAiError(problem) }
    case "messages":
      return { type: "error", error: { type: anthropicType(status), message } }
    case "gemini":
      return { error: { code: status, message, status: googleStatus(status) } }
    default:
      return format satisfies never
  }
}

const openAiError = ({ code, message, status }: Problem) => ({
  message,
  type: OPENAI.get(status) ?? (status >= 500 ? "server_error" : "invalid_request_error"),
  param: null,
  code: code ?? (status === 429 ? "rate_limit_exceeded" : status === 503 ? "server_is_overloaded" : null)
})

const OPENAI: ReadonlyMap<number, string> = new Map([
  [401, "authentication_error"],
  [429, "rate_limit_error"]
])

const anthropicType = (status: number): string =>
  ANTHROPIC.get(status) ?? (status >= 500 ? "api_error" : "invalid_request_error")

const ANTHROPIC: ReadonlyMap<number, string> = new Map([
  [401, "authentication_error"],
  [402, "billing_error"],
  [403, "permission_error"],
  [404, "not_found_error"],
  [413, "request_too_large"],
  [429, "rate_limit_error"],
  [503, "overloaded_error"],
  [504, "timeout_error"],
  [529, "overloaded_error"]
])

const googleStatus = (status: number): string => GOOGLE.get(status) ?? (status >= 500 ? "INTERNAL" : "INVALID_ARGUMENT")

const GOOGLE: ReadonlyMap<number, string> = new Map([
  [401, "UNAUTHENTICATED"],
  [403, "PERMISSION_DENIED"],
  [404, "NOT_FOUND"],
  [409, "ABORTED"],
  [426, "FAILED_PRECONDITION"],
  [429, "RESOURCE_EXHAUSTED"],
  [499, "CANCELLED"],
  [502, "UNAVAILABLE"],
  [503, "UNAVAILABLE"],
  [504, "DEADLINE_EXCEEDED"],
  [529, "UNAVAILABLE"]
])
