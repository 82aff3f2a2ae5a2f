/**
 * A dialect: what a gateway has to know about one wire format to hold an answer back until it has content.
 *
 * A dialect is a pure value. It decodes nothing for a reader: bytes pass as they came, and a judgement only decides when they may. A
 * judgement needs one frame alone. Errors are classified by `Classification` (C1).
 *
 * Content is text, reasoning, the arguments of a tool call, a refusal and a file. A name or an id alone, an empty delta, a status, a
 * ping, a comment and usage are preamble (C8): held a little longer they cost nothing, and an overload right after them can still be
 * retried. So is an event of an unknown type: passed too early it could not be taken back.
 */
import { Classification } from "@holdfast/policy"
import { defined, type Failure, type Message } from "@holdfast/wire"
import { isObject, type JsonObject, objectIn } from "../decoding/Json.ts"
import type { Conceal } from "../KeyRedaction.ts"
import * as AttemptFailures from "../transport/AttemptFailures.ts"
import type { AnswerFrame } from "./AnswerFrames.ts"

/** The wire formats: chat completions, Anthropic's messages, OpenAI's responses, Gemini. */
export type Format = "chat" | "messages" | "responses" | "gemini"

/** How an answer is framed: server-sent events, a JSON array of elements, or one JSON document. */
export type Framing = "events" | "array" | "document"

/** What a client asks for, as path, query and body have it. */
export interface Call {
  readonly format: Format
  /** The framing of a good answer. `events` and `array` are streams. */
  readonly framing: Framing
  /** The model that the call names. */
  readonly model: string | undefined
}

/** The head of an endpoint's response. */
export interface AnswerHead {
  readonly status: number
  /** By lower-case name. */
  readonly headers: Readonly<Record<string, string>>
  /** Epoch milliseconds. */
  readonly now: () => number
  /** Removes secrets from the endpoint's texts, as in `KeyRedaction`. Only failures are changed, never the bytes that pass. */
  readonly conceal: Conceal
}

/** A request as it goes up. */
export interface ForwardedRequest {
  /** Path and query. */
  readonly target: string
  readonly body: Uint8Array
}

/** A classified error without secrets; `body` as in `Failure.ProviderFailure`. */
export interface Failed {
  readonly failure: Failure.Failure
  readonly body?: string
}

/**
 * What a frame means.
 *
 * - `preamble`: nothing of the answer yet; it is held.
 * - `content`: from here on nothing is retried. `isEnd`: the frame ends the answer, too.
 * - `end`: the answer is complete, even if it has no content.
 * - `done`: the mark `[DONE]`, which ends only an answer that has content.
 * - `error`: the endpoint's error.
 *
 * `counts` is the provider's own object of token counts, where the frame has one.
 */
export type Judgement = {
  readonly counts?: JsonObject
} & (
  | { readonly kind: "preamble" | "end" | "done" }
  | { readonly kind: "content"; readonly isEnd: boolean }
  | ({ readonly kind: "error" } & Failed)
)

/** The meaning of parsed JSON, before an error is classified. `failure` is set where the format has one of its own. */
export type Meaning =
  | Exclude<Judgement, { readonly kind: "error" }>
  | { readonly kind: "error"; readonly failure?: Failure.Failure }

/** A wire format. */
export interface Dialect {
  readonly format: Format
  /** Reads a call. `target` is path and query; `body` the parsed body. */
  readonly call: (target: string, body: unknown) => Call
  /** The same request for another model: only the bytes of that field change. */
  readonly withModel: (request: ForwardedRequest, model: string) => ForwardedRequest
  /** Judges one frame of a stream. */
  readonly judge: (frame: AnswerFrame, head: AnswerHead) => Judgement
  /** Judges a whole JSON body of a success. */
  readonly judgeDocument: (text: string, head: AnswerHead) => Judgement
  /** The usage of an answer, from its token counts in the order in which they came. */
  readonly usage: (counts: ReadonlyArray<JsonObject>) => Message.Usage
}

/** What distinguishes a format. */
export interface Rules extends Pick<Dialect, "format" | "call" | "withModel" | "usage"> {
  /** The meaning of a frame. `event` is its name, where it has one. */
  readonly frame: (json: JsonObject, event: string | undefined) => Meaning
  /** The meaning of a whole document. `undefined`: it is no answer. */
  readonly document: (json: JsonObject) => Meaning | undefined
}

/** The mark at the end of OpenAI's streams, and of many others. */
export const DONE = "[DONE]"

/** Makes a dialect. */
export const make = (rules: Rules): Dialect => ({
  format: rules.format,
  call: rules.call,
  withModel: rules.withModel,
  usage: rules.usage,
  judge: ({ data, event }, head) => {
    if (data.trim() === DONE) return { kind: "done" }
    const json = objectIn(data)
    const meaning: Meaning = json === undefined || event === "error" ? { kind: "error" } : rules.frame(json, event)
    return meaning.kind === "error" ? errorOf(data, event, meaning.failure, head) : meaning
  },
  judgeDocument: (text, head) => {
    const json = objectIn(text)
    const meaning = json === undefined ? undefined : rules.document(json)
    if (meaning === undefined) return { kind: "error", ...ofBody(text, head) }
    if (meaning.kind !== "error") return meaning
    if (meaning.failure === undefined) return { kind: "error", ...ofBody(text, head) }
    return errorOf(text, undefined, meaning.failure, head)
  }
})

/** The failure of a body that is no answer. */
export const ofBody = (body: string, head: AnswerHead): Failed => failed(AttemptFailures.ofResponse(head, head, body))

/** The failure of a connection. */
export const ofBroken = (cause: unknown, head: Pick<AnswerHead, "now" | "conceal">): Failed => ({
  failure: AttemptFailures.ofBroken(head, cause).failure
})

/** A frame without anything of the answer. */
export const PREAMBLE: Judgement & { readonly kind: "preamble" } = { kind: "preamble" }

/** The meaning of a frame with these properties. */
export const meaningOf = (hasContent: boolean, isEnd: boolean, counts: unknown): Meaning => {
  const found = isObject(counts) ? { counts } : undefined
  if (hasContent) return { kind: "content", isEnd, ...found }
  return { kind: isEnd ? "end" : "preamble", ...found }
}

/** Whether a value has anything in it: a string, a list or an object that is not empty. */
export const isFilled = (value: unknown): boolean => {
  if (typeof value === "string") return value !== ""
  if (Array.isArray(value)) return value.length > 0
  return isObject(value) && Object.keys(value).length > 0
}

/** The path of a request's target, without query. */
export const pathOf = (target: string): string => target.split(/[?#]/, 1)[0] ?? ""

// --- internal

const errorOf = (
  data: string,
  event: string | undefined,
  known: Failure.Failure | undefined,
  head: AnswerHead
): Judgement & { readonly kind: "error" } => {
  const { headers } = head
  const { failure, text } = AttemptFailures.classified(
    head,
    data,
    (data) => known ?? Classification.ofStreamError({ data, ...defined({ event }), headers, now: head.now() })
  )
  return { kind: "error", ...failed(AttemptFailures.ofEvent(head, { type: "error", failure }, text)) }
}

const failed = ({ body, failure }: AttemptFailures.AttemptError): Failed => ({
  failure: { ...failure, retryable: failure.retryable === true },
  ...defined({ body })
})
