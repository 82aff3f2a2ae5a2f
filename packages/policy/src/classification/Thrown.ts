/**
 * Lists the errors in a thrown value, with their codes, status and body (C5).
 *
 * Causes are followed five deep, AggregateErrors and AI SDK RetryErrors into their parts, Effect errors into their `reason`; cycles end.
 * Only data from the endpoint is read: status, response headers, response body. A request, its headers and the prompt in it (`request`,
 * `requestBodyValues`, `config`) are never touched.
 */
import * as Fields from "./Fields.ts"
import * as Status from "./Status.ts"

/** The deepest cause that is followed (C5). */
export const MAX_CAUSES = 5

const MAX_LINKS = 50

/** One error of a chain. */
export interface ThrownError {
  readonly error: unknown
  readonly message: string
  /** `name`, `_tag`, and the class's own name where it differs: openai's errors are all called "Error". */
  readonly names: ReadonlyArray<string>
  /** Its `code` and `type`, as set by Node, undici and the SDKs. */
  readonly codes: ReadonlyArray<string>
  readonly status: number | undefined
  /** The response's headers, by lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** The response's body, as text or as parsed by an SDK. */
  readonly body: unknown
  /** The SDK's own flag. */
  readonly isRetryable: boolean | undefined
}

/** Returns the thrown value and the errors that it wraps, outermost first, breadth first. */
export const links = (error: unknown): ReadonlyArray<ThrownError> => {
  const found: Array<ThrownError> = []
  const seen = new Set<unknown>()
  let level: ReadonlyArray<unknown> = [error]
  for (let depth = 0; depth <= MAX_CAUSES && level.length > 0; depth++) {
    const next: Array<unknown> = []
    for (const value of level) {
      if (found.length >= MAX_LINKS || seen.has(value)) continue
      seen.add(value)
      found.push(linkOf(value))
      next.push(...wrappedBy(value))
    }
    level = next
  }
  return found
}

/** Errors of the program itself: what JavaScript throws when code is wrong (C10). */
const PROGRAM_ERRORS = new Set(["TypeError", "RangeError", "ReferenceError", "SyntaxError", "EvalError", "URIError"])

/** The messages of fetch's TypeError when a connection fails: undici, Chrome, Firefox, Safari, Deno, React Native. */
const FETCH_FAILED =
  /^(?:fetch failed|terminated|failed to fetch|load failed|network error|networkerror when attempting|network request failed|error sending request|other side closed|error reading a body|error decoding response body|the network connection was lost)/i

/** Whether an error is a bug of the program itself (C10). A failed fetch is none, and neither is broken JSON, which the endpoint sent. */
export const isProgramError = (link: ThrownError): boolean =>
  PROGRAM_ERRORS.has(link.names[0] ?? "") && !isFailedFetch(link) && !isBrokenJson(link)

/** Whether it is a failed connection, by the message of a runtime's fetch. */
export const isFailedFetch = (link: ThrownError): boolean => FETCH_FAILED.test(link.message)

/** Whether it is JSON that did not parse. */
export const isBrokenJson = (link: ThrownError): boolean => link.names[0] === "SyntaxError" && /JSON/.test(link.message)

// --- internal

const wrappedBy = (value: unknown): ReadonlyArray<unknown> => {
  const reason = Fields.get(value, "reason")
  return [
    Fields.get(value, "cause"),
    Fields.get(value, "lastError"),
    // HttpClientError and AiError of Effect have a tagged `reason`.
    Fields.text(reason, "_tag") === undefined ? undefined : reason,
    ...Fields.list(Fields.get(value, "errors"), MAX_LINKS)
  ].filter((wrapped) => wrapped !== undefined && wrapped !== null)
}

const linkOf = (error: unknown): ThrownError => {
  const response = Fields.get(error, "response")
  const http = Fields.get(error, "http")
  const isRetryable = Fields.get(error, "isRetryable")
  const names = [
    Fields.text(error, "name"),
    Fields.text(error, "_tag"),
    Fields.text(Fields.get(error, "constructor"), "name")
  ].filter((name) => name !== undefined)
  return {
    error,
    names: [...new Set(names)],
    message: withoutHeaderValue(
      typeof error === "string" ? error : (Fields.firstText(error, ["message", "error"]) ?? "")
    ),
    codes: ["code", "type"].map((key) => Fields.text(error, key)).filter((code) => code !== undefined),
    status: statusOf(error, response, http),
    headers: headersOf(error, response, http),
    body: bodyOf(error, response, http),
    isRetryable: typeof isRetryable === "boolean" ? isRetryable : undefined
  }
}

const statusOf = (error: unknown, response: unknown, http: unknown): number | undefined => {
  for (const value of [
    Fields.get(error, "statusCode"),
    Fields.get(error, "status"),
    Fields.get(response, "status"),
    Fields.get(Fields.get(http, "response"), "status"),
    Fields.get(Fields.get(error, "$metadata"), "httpStatusCode")
  ]) {
    if (typeof value === "number" && Status.isStatus(value)) return value
  }
  return undefined
}

const headersOf = (error: unknown, response: unknown, http: unknown): Readonly<Record<string, string>> => {
  for (const headers of [
    Fields.get(error, "responseHeaders"),
    Fields.get(error, "headers"),
    Fields.get(response, "headers"),
    Fields.get(Fields.get(http, "response"), "headers")
  ]) {
    if (Fields.isObject(headers)) return plain(headers)
  }
  return {}
}

/** A Headers object or a record, as a record with lower-case names. */
const plain = (headers: object): Readonly<Record<string, string>> => {
  const record: Record<string, string> = {}
  try {
    const iterable = isIterable(headers) ? headers : Object.entries(headers)
    for (const [name, value] of iterable)
      if (typeof name === "string" && typeof value === "string") record[name.toLowerCase()] = value
  } catch {
    // A proxy that throws has no headers.
  }
  return record
}

/** A Headers object of any realm or library, or a Map. */
const isIterable = (headers: object): headers is Iterable<readonly [name: unknown, value: unknown]> =>
  Symbol.iterator in headers

const bodyOf = (error: unknown, response: unknown, http: unknown): unknown => {
  const chunk = Fields.get(error, "value")
  for (const body of [
    Fields.get(error, "responseBody"),
    Fields.get(error, "error"),
    Fields.get(error, "data"),
    Fields.get(error, "body"),
    Fields.get(response, "data"),
    Fields.get(http, "body"),
    // AI SDK's TypeValidationError: the chunk that did not fit, if that was an error.
    Fields.get(chunk, "error") === undefined ? undefined : chunk,
    // An error object that an SDK passes on unchanged.
    Fields.isError(error) ? undefined : error
  ]) {
    if ((typeof body === "string" && body !== "") || Fields.isObject(body)) return body
  }
  return undefined
}

/** undici quotes the header value that it rejects, which may be the key. */
const withoutHeaderValue = (message: string): string => {
  const end = message.search(/["'`] is an invalid (?:http )?header/i)
  const start = message.search(/["'`]/)
  return end === -1 || start === end ? message : `${message.slice(0, start + 1)}…${message.slice(end)}`
}
