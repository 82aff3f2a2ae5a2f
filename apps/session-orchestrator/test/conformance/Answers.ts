/** The responses to a call, of providers and of proxies, in either wire format. */
import * as ScriptedServer from "@holdfast/simulated/testing"
import type { Schema } from "effect"
import { toolCalls } from "../service/ToolFrames.ts"

const { ErrorBody, answerFrames, toolCallFrames } = ScriptedServer

/** The surroundings of a response. */
export interface Wire {
  readonly format: ScriptedServer.ErrorBody.ErrorFormat
  /** Shortens a duration in milliseconds as the runner does. */
  readonly ms: (ms: number) => number
}

/** A response that takes its time. */
export interface Late {
  readonly takesMs: number
  readonly response: ScriptedServer.ScriptedResponse
}

export type Answer = (wire: Wire) => ScriptedServer.ScriptedResponse | Late

export const isLate = (response: ReturnType<Answer>): response is Late =>
  typeof response === "object" && "takesMs" in response

/** The tool for the final report. */
export const REPORT = "final_report"

// --- answers

/** The whole answer. */
export const says =
  (text: string): Answer =>
  ({ format }) => ({ frames: answerFrames(format, text) })

/** A whole response that calls a tool, to a request of so many tokens. */
export const callsTool =
  (name: string, input: Schema.Json = {}, inputTokens = 1): Answer =>
  ({ format }) => ({ frames: toolCallFrames(format, name, input, inputTokens) })

/** Several of them at once, by their names and arguments, in the first format. */
export const callsTools =
  (...calls: ReadonlyArray<readonly [name: string, input: Schema.Json]>): Answer =>
  () => ({ frames: toolCalls(...calls.map(([name, input]) => ({ name, input }))) })

/** A report, by its tool. */
export const reports = (report: Schema.Json): Answer => callsTool(REPORT, report)

/** A tool call with arguments that are no JSON. */
export const callsBadly =
  (name: string): Answer =>
  ({ format }) => ({
    // The two halves of the arguments `"~"` lose their quotes: the rest is no JSON.
    frames: toolCallFrames(format, name, "~").map((frame) => frame.replaceAll('\\"', ""))
  })

/** Some words, and then the connection is cut. */
export const breaksOff =
  (words: string): Answer =>
  ({ format }) => {
    const frames = answerFrames(format, words).slice(0, -1)
    return { frames, cutAfter: frames.length }
  }

/** Some words, and then the stream ends without its terminal event. */
export const justEnds =
  (words: string): Answer =>
  ({ format }) => ({ frames: answerFrames(format, words).slice(0, -1) })

/** The events that a provider sends before its output, and then an error in the stream. */
export const failsInStream =
  (error: ScriptedServer.ErrorBody.ErrorName, words = ""): Answer =>
  ({ format }) => ({ frames: [...begun(format, words), ScriptedServer.errorFrame(format, error)] })

/** The same with an error in the provider's own words, and no code. */
export const failsInWords =
  (message: string): Answer =>
  ({ format }) => ({
    frames: [
      format === "anthropic"
        ? `event: error\ndata: ${JSON.stringify({ type: "error", error: { message } })}\n\n`
        : `data: ${JSON.stringify({ error: { message } })}\n\n`
    ]
  })

/** Half a tool call, and then the connection is cut. */
export const halfACall =
  (name: string): Answer =>
  ({ format }) => {
    const [preamble = "", call = ""] = toolCallFrames(format, name, { query: "what was never asked" })
    return { frames: [preamble, call.slice(0, call.indexOf("what was"))], cutAfter: 2 }
  }

/** Some words; the end of the answer waits for the test. */
export const holds =
  (words: string): Answer =>
  ({ format }) => {
    const frames = answerFrames(format, words)
    return { frames: [...frames.slice(0, -1), ScriptedServer.gate(), ...frames.slice(-1)] }
  }

/** Some words, and then keep-alives and nothing else. */
export const fallsSilent =
  (words = ""): Answer =>
  ({ format }) => {
    const frames = [...begun(format, words), ": keep-alive\n\n"]
    return { frames, stallAfter: frames.length }
  }

// --- failures

/** The overload of the outage that the default profile was designed for: HTTP 429 with this body. */
export const OVERLOADED = "The service is temporarily overloaded. Please retry."

/** An error in a provider's words, with any status. */
export const status =
  (status: number, name: ScriptedServer.ErrorBody.ErrorName): Answer =>
  ({ format }) => ({ status, body: ErrorBody.envelope(name, format) })

/** An error with the given words; its type has no information. */
export const words =
  (status: number, message: string): Answer =>
  () => ({ status, body: { error: { message } } })

/** That overload. */
export const overloaded: Answer = () => ({
  status: 429,
  body: { error: { type: "overloaded_error", message: OVERLOADED } }
})

/** The overload of a gateway in front of a provider. */
export const badGateway: Answer = page(502)

/** An HTML page instead of a provider's answer. */
export function page(status: number): Answer {
  return () => ({ status, headers: { "content-type": "text/html" }, body: ErrorBody.page(status) })
}

/** An empty body instead of a provider's answer. */
export const empty: Answer = () => ({ status: 200, body: "" })

/** The connection is reset before there is a response. */
export const reset: Answer = () => "reset"

/** A response never arrives. */
export const silence: Answer = () => "never"

/** A response that asks for a delay: in one of the headers for it, in Google's RetryInfo, or in words. */
export const asks =
  (
    delayMs: number,
    how: "retry-after" | "retry-after-ms" | "x-ratelimit-reset-tokens" | "RetryInfo" | "words"
  ): Answer =>
  ({ ms }) => {
    const seconds = `${ms(delayMs) / 1_000}s`
    const failure = { code: "rate_limit_exceeded", message: "Rate limit reached." }
    const limit = (given: Partial<ScriptedServer.PreparedResponse>) => ({
      status: 429,
      body: { error: failure },
      ...given
    })
    switch (how) {
      case "retry-after":
        return limit({ headers: { "retry-after": String(ms(delayMs) / 1_000) } })
      case "retry-after-ms":
        return limit({ headers: { "retry-after-ms": String(ms(delayMs)) } })
      case "x-ratelimit-reset-tokens":
        return limit({ headers: { "x-ratelimit-remaining-tokens": "0", "x-ratelimit-reset-tokens": seconds } })
      case "RetryInfo": {
        const message = "Resource has been exhausted."
        const details = [{ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay: seconds }]
        return limit({ body: { error: { code: 429, status: "RESOURCE_EXHAUSTED", message, details } } })
      }
      case "words":
        return limit({ body: { error: { ...failure, message: `${failure.message} Please try again in ${seconds}.` } } })
      default:
        return how satisfies never
    }
  }

/** A used-up quota, with its reset. */
export const exhausted =
  (resetMs: number): Answer =>
  ({ ms }) => ({
    status: 429,
    headers: { "retry-after": String(ms(resetMs) / 1_000) },
    body: { error: { type: "usage_limit_reached", message: "The usage limit has been reached" } }
  })

/** A raw header. */
export const header =
  (status: number, name: string, value: string): Answer =>
  () => ({ status, headers: { [name]: value }, body: { error: { message: "Please wait." } } })

/** The response takes its time. */
export const takes =
  (takesMs: number, answer: Answer): Answer =>
  (wire) => {
    const response = answer(wire)
    return isLate(response) ? response : { takesMs, response }
  }

// --- internal

/** The frames of a stream up to the end of these words. */
const begun = (format: ScriptedServer.ErrorBody.ErrorFormat, words: string): ReadonlyArray<string> =>
  answerFrames(format, words).slice(0, -1)
