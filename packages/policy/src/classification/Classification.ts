/**
 * Classifies a failure once, at the edge (C1): no other code reads error texts.
 *
 * Every function is pure and total: for any input it returns a `Failure`, and the same one every time. `Reasons.ts` decides, from the
 * provider's error envelope alone (C4, `Envelope.ts`). `message` is the provider's own, verbatim, and no part of a request gets into it.
 * A 2xx status is not reported: it has no information about the failure, and a person would read it as the error's code.
 */
import { defined, Failure, Millis, Redaction } from "@holdfast/wire"
import * as Option from "effect/Option"
import * as Schema from "effect/Schema"
import * as ResponseBody from "./ResponseBody.ts"
import type * as Envelope from "./Envelope.ts"
import * as Fields from "./Fields.ts"
import * as Network from "./Network.ts"
import * as Scope from "./Scope.ts"
import * as Status from "./Status.ts"
import * as Thrown from "./Thrown.ts"
import * as Reasons from "./Reasons.ts"
import * as Hint from "../hint/Hint.ts"
import type { Headers } from "../hint/LimitHeaders.ts"

/** The longest message of a failure, in characters. */
export const MESSAGE_LIMIT = ResponseBody.MESSAGE_LIMIT

/** A response that is no stream. */
interface Response extends Hint.Source {
  readonly status: number
}

/** An error frame in a stream that had begun with success. */
export interface StreamError {
  readonly data: string
  /** The frame's `event:` name, where it has one. */
  readonly event?: string
  /** The headers of the stream's response. */
  readonly headers: Headers
  /** Epoch milliseconds: the moment of the failure. */
  readonly now: number
}

/**
 * Classifies a response whose status is not 2xx, or a 2xx whose body is no stream: a proxy's page, an empty body, a JSON error (C2, C3).
 *
 * **Gotchas**
 *
 * A 404 that names no model is a wrong address and is not retried. A quota is waited for only when a reset is named.
 */
export const ofResponse = ({ status, headers, body, now }: Response): Failure.Failure =>
  ofBody({ status, headers, text: body, body: ResponseBody.read(body), now, fallbackReason: "invalid-response" })

/**
 * Classifies an error frame inside a 200 stream (C3): Anthropic's `event: error`, an error object as a chunk, plain text.
 *
 * **Details**
 *
 * The request had been accepted, so an unreadable frame is a fault of the endpoint and is retried. Broken JSON is not searched for a
 * reason: it may be part of a model's output.
 */
export const ofStreamError = ({ data, event, headers, now }: StreamError): Failure.Failure => {
  const name = event !== undefined && event !== "error" && event !== "message" ? [event] : []
  return ofBody({ headers, text: data, body: ResponseBody.read(data), now, fallbackReason: "unknown", codes: name })
}

/**
 * Classifies a thrown error, by its causes up to five deep (C5).
 *
 * **Details**
 *
 * The first of its errors with typed information decides: a network code, a status, a provider's body or code. Then a bug of the program
 * itself (C10), then the class of an error, then an abort that the user did not request (M3), then text (P1). Any other error is unknown,
 * and retryable (D3), unless the library that threw it marks it as not retryable.
 *
 * **Gotchas**
 *
 * An abort by the user looks the same: code that aborts must not classify the error that it causes.
 */
export const ofThrown = (error: unknown, now: number): Failure.Failure => {
  const links = Thrown.links(error)
  const messageOf = (link: Thrown.ThrownError): string =>
    [link, ...links].find(({ message }) => message !== "")?.message ?? describe(error)

  for (const link of links) {
    const classified = failureIn(Fields.get(link.error, "failure"))
    if (Option.isSome(classified)) return classified.value
    const code = link.codes.find((code) => Network.ofCode(code) !== undefined) ?? ""
    const known = Network.ofCode(code)
    if (known !== undefined) return ofEntry(known, messageOf(link), code)
    const typed = ofTyped(link, messageOf(link), now)
    if (typed !== undefined) return typed
  }
  const bug = links.find(Thrown.isProgramError)
  if (bug !== undefined) {
    const message = ResponseBody.cut(`${bug.names[0]}: ${bug.message}`)
    return { reason: "unknown", message, retryable: true, defect: true } // C10
  }
  for (const link of links) {
    const known = byClass(link)
    if (known !== undefined && known.reason !== "aborted") return ofEntry(known, messageOf(link))
  }
  const aborted = links.find((link) => byClass(link)?.reason === "aborted")
  if (aborted !== undefined) return ofEntry({ reason: "aborted" }, messageOf(aborted)) // M3
  for (const link of links) {
    const { message } = link
    const classified = Reasons.decide({ status: undefined, codes: [], texts: [message] })
    if (classified === undefined) continue
    const context: Context = {
      headers: {},
      text: message,
      body: ResponseBody.read(message),
      now,
      fallbackReason: "unknown"
    }
    return build(classified, message, context)
  }
  const opinion = links.find(({ isRetryable }) => isRetryable !== undefined)?.isRetryable
  const [outermost] = links
  return {
    reason: "unknown",
    message: ResponseBody.cut(outermost === undefined ? describe(error) : messageOf(outermost)),
    retryable: opinion ?? true
  }
}

/** The default message of `incomplete`. */
const INCOMPLETE = "The stream ended before its terminal event"

/** The failure of a stream that ended without its terminal event (C6). */
export const incomplete = (message: string = INCOMPLETE): Failure.Failure => ({
  reason: "network",
  message: ResponseBody.cut(message),
  retryable: true
})

/** The failure of an attempt without content within a limit (C8): from the request on, or since the last content. `ms` is that limit. */
export const timedOut = (which: "first-content" | "idle", ms: number): Failure.Failure => {
  const limit = Millis.format(ms)
  return {
    reason: "timeout",
    message:
      which === "first-content" ? `No content within ${limit} of the request` : `No further content for ${limit}`,
    retryable: true
  }
}

// --- internal

const failureIn = Schema.decodeUnknownOption(Failure.Failure)

/** A body with its status, headers and codes. It is read once, for the reason and for the hint. */
interface Context {
  readonly status?: number
  readonly headers: Headers
  /** The body, unchanged. */
  readonly text: string
  readonly body: ResponseBody.ParsedBody
  readonly now: number
  /** Codes from outside the body. */
  readonly codes?: ReadonlyArray<string>
  /** The reason if nothing in the body decides. */
  readonly fallbackReason: Failure.Reason
}

const ofBody = (context: Context): Failure.Failure => {
  const { body, codes = [] } = context
  const told = (texts: ReadonlyArray<string>): Reasons.Classified | undefined =>
    Reasons.decide({ status: context.status, codes, texts })
  const { location } = context.headers
  if (location !== undefined && context.status !== undefined && Status.isRedirect(context.status)) {
    return build(told([]) ?? unread(context), redirected(context.status, location), context)
  }
  switch (body.kind) {
    case "envelope": {
      const { envelope } = body
      const succeeded = context.status === undefined || Status.isSuccess(context.status)
      const status = succeeded ? (envelope.status ?? context.status) : context.status
      const classified = Reasons.decide({
        status,
        codes: [...envelope.codes, ...codes],
        texts: envelope.texts,
        implied: envelope.implied
      })
      const message = envelope.message ?? context.text.trim()
      return build({ reason: "unknown", code: undefined, ...classified }, message, context, status)
    }
    case "text":
      return build(told([body.text]) ?? unread(context), body.text, context)
    case "page": {
      const title = body.title ?? "An HTML page"
      return build(
        told([]) ?? { reason: "invalid-response", code: undefined },
        `${title} (${where(context, "an HTML page")})`,
        context
      )
    }
    case "empty":
      return build(told([]) ?? unread(context), `No error message (${where(context, "an empty body")})`, context)
    case "answer":
    case "broken": {
      const classified = told([]) ?? { reason: "invalid-response", code: undefined }
      return build(classified, context.text.trim(), context)
    }
    default:
      return body satisfies never
  }
}

const unread = (context: Context): Reasons.Classified => ({ reason: context.fallbackReason, code: undefined })

const where = ({ status }: Context, what: string): string =>
  status === undefined ? `${what} in the stream` : `HTTP ${status}, ${what}`

/** The longest address that is shown. */
const LOCATION_LIMIT = 500

/** The message of a redirect. The address is shown without user, fragment and values of parameters: they may be secrets. */
const redirected = (status: number, location: string): string => {
  const [address = ""] = location.slice(0, LOCATION_LIMIT).split("#", 1)
  const [path = "", ...query] = address.replace(/^([a-z][a-z0-9+.-]*:)?([/\\]{2})[^/?\\]*@/i, "$1$2").split("?")
  const secretless = (parameter: string): string =>
    parameter.includes("=") ? parameter.replace(/=.*$/s, `=${Redaction.PLACEHOLDER}`) : Redaction.PLACEHOLDER
  const parameters = query.join("?").split("&").map(secretless)
  const to =
    path.replaceAll(/=[^&;/]*/g, `=${Redaction.PLACEHOLDER}`) + (query.length === 0 ? "" : `?${parameters.join("&")}`)
  return `Redirected to ${to} (HTTP ${status}). A redirect is not followed: set the provider's base URL to the address that answers.`
}

/** Resets of the limits per minute: they come with every response and do not concern a used-up quota. */
const THROTTLE_RESET = /^(?:x-ratelimit-reset|anthropic-ratelimit)-.*(?:requests|tokens)/

const build = (
  classified: Reasons.Classified,
  message: string,
  { status: responseStatus, headers, body, now, codes }: Context,
  status: number | undefined = responseStatus
): Failure.Failure => {
  const { code, mayPass = false, reason } = classified
  const found = Hint.findIn({ headers, body, now })
  const hint = reason === "quota-exhausted" && THROTTLE_RESET.test(found?.source ?? "") ? undefined : found
  const evidence = evidenceOf(headers, hint)
  const scope = Scope.of(reason, body, codes)
  return {
    reason,
    message: ResponseBody.cut(message),
    retryable: isRetryable(reason, hint !== undefined || mayPass, headers["x-should-retry"]),
    ...(status !== undefined && Status.isStatus(status) && !Status.isSuccess(status) ? { status } : {}),
    ...defined({ code, hint, scope, evidence })
  }
}

/** `passes`: a used-up quota has a reset. */
const isRetryable = (reason: Failure.Reason, passes: boolean, told: string | undefined): boolean => {
  if (reason === "context-overflow") return false
  if (told === "true" || told === "false") return told === "true"
  return reason === "quota-exhausted" ? passes : Reasons.isRetryable(reason)
}

/** Classifies a link by its status, body or provider's code; `undefined`: none of them decides. */
const ofTyped = (link: Thrown.ThrownError, message: string, now: number): Failure.Failure | undefined => {
  const text = typeof link.body === "string" ? link.body : link.body === undefined ? "" : Fields.stringify(link.body)
  // SDKs put the status before the provider's message, and the body there when they could not parse it.
  const spoken = link.status === undefined ? message : message.replace(new RegExp(`^${link.status}\\s+`), "")
  const source = text === "" ? spoken : text
  const body = ResponseBody.read(source)
  const { codes } = link
  const isTyped =
    (link.status !== undefined && !Status.isSuccess(link.status)) ||
    (body.kind === "envelope" && hasError(body.envelope)) ||
    codes.some((code) => Reasons.decide({ status: undefined, codes: [code], texts: [] }) !== undefined)
  if (!isTyped) return undefined
  const context: Context = {
    headers: link.headers,
    text: source,
    body,
    now,
    codes,
    fallbackReason: "unknown",
    ...defined({ status: link.status })
  }
  const failure = ofBody(context)
  return body.kind === "answer" || body.kind === "broken" ? { ...failure, message: ResponseBody.cut(spoken) } : failure
}

/** Whether an envelope has a code, a status or a text: then it comes from the provider, and outweighs a library's message. */
const hasError = (envelope: Envelope.Envelope): boolean =>
  Reasons.decide({ status: undefined, ...envelope }) !== undefined

const byClass = (link: Thrown.ThrownError): Network.Entry | undefined => {
  if (Thrown.isBrokenJson(link)) return { reason: "invalid-response" }
  if (Thrown.isFailedFetch(link)) return { reason: "network" }
  return link.names.map(Network.ofName).find((entry) => entry !== undefined)
}

const ofEntry = (entry: Network.Entry, message: string, code?: string): Failure.Failure => ({
  reason: entry.reason,
  message: ResponseBody.cut(message),
  retryable: entry.retryable ?? Reasons.isRetryable(entry.reason),
  ...defined({ code, defect: entry.defect })
})

/** The description of a thrown value without a message. An object is not printed: it may contain a request. */
const describe = (error: unknown): string =>
  Fields.isObject(error) || typeof error === "function" ? "An error without a message" : `Thrown: ${String(error)}`

/**
 * The headers with a request's id, for the provider's support: Anthropic; OpenAI, Groq, xAI, Mistral and most others; Azure; Bedrock;
 * endpoints behind Cloudflare.
 */
const REQUEST_IDS = ["request-id", "x-request-id", "apim-request-id", "x-amzn-requestid", "cf-ray"]

/** The longest value that is kept: three times the longest request id that is known. */
const LONGEST_EVIDENCE = 128

/**
 * Returns the response headers that are kept as evidence, by lower-case name; `undefined`: there is none.
 *
 * They are the header of the hint, the header that overrides whether a retry is allowed, and the request's id. Others may have cookies,
 * accounts and addresses. A long value is not kept, and not cut either: half of a quoted key would not be recognised as a key.
 */
const evidenceOf = (
  headers: Readonly<Record<string, string>>,
  hint: Failure.Hint | undefined
): Failure.Failure["evidence"] => {
  let kept: Record<string, string> | undefined
  const keep = (name: string) => {
    const value = headers[name]
    if (value !== undefined && value !== "" && value.length <= LONGEST_EVIDENCE) (kept ??= {})[name] = value
  }
  if (hint !== undefined && hint.source !== "body") keep(hint.source)
  keep("x-should-retry")
  REQUEST_IDS.forEach(keep)
  return kept
}
