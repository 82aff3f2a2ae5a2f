/**
 * Determines the kind of a body, and the message for a person (D5).
 *
 * Providers send errors as JSON; intermediaries (a CDN, a load balancer, a corporate proxy) send pages, plain text, or an empty body. A
 * page is represented by its title, because HTML is unreadable in a terminal.
 *
 * The last body is kept, unless it is long: in an outage thousands of calls get the same one, and it is parsed once.
 */
import { JsonShape } from "@holdfast/wire"
import * as Envelope from "./Envelope.ts"

/** A body by its kind. */
export type ParsedBody =
  | { readonly kind: "empty" }
  /** HTML or XML of an intermediary; it gives no reason. */
  | { readonly kind: "page"; readonly title: string | undefined; readonly head: string }
  | { readonly kind: "envelope"; readonly envelope: Envelope.Envelope; readonly objects: Envelope.Opened["objects"] }
  /** JSON without an error: a response of the wrong kind. */
  | { readonly kind: "answer"; readonly objects: Envelope.Opened["objects"] }
  /** The beginning of JSON that was cut off. It may contain a model's output, so it is not read (C4). */
  | { readonly kind: "broken" }
  /** Text, and the objects of JSON after it that has no error. */
  | { readonly kind: "text"; readonly text: string; readonly objects: Envelope.Opened["objects"] }

/** The longest message that is shown and kept, in characters: enough for every real message, and a bound for a proxy's page. */
export const MESSAGE_LIMIT = 2_000

/** Characters of a page that are searched for its title. */
const PAGE_LIMIT = 20_000

/** Characters of a page's head: its first text, before the markup begins to repeat. Only the head is searched for a delay. */
const HEAD_LIMIT = 2_048

/** Characters of the longest body that is kept: several times the length of real errors. */
const KEPT_LIMIT = 4_096

let last: { readonly text: string; readonly body: ParsedBody } | undefined

/** Reads a body, or one frame's data. */
export const read = (text: string): ParsedBody => {
  if (text.length > KEPT_LIMIT) return parse(text)
  if (text !== last?.text) last = { text, body: parse(text) }
  return last.body
}

/** Cuts a message to the shown length. */
export const cut = (message: string): string =>
  message.length <= MESSAGE_LIMIT ? message : `${message.slice(0, MESSAGE_LIMIT - 1)}…`

// --- internal

const parse = (text: string): ParsedBody => {
  const trimmed = unframed(text).trim()
  if (trimmed === "") return { kind: "empty" }
  if (/^<(?:!doctype|!--|html|head|body|\?xml|title|h1|center)/i.test(trimmed)) {
    return { kind: "page", title: titleOf(trimmed.slice(0, PAGE_LIMIT)), head: trimmed.slice(0, HEAD_LIMIT) }
  }
  if (/^[{["]/.test(trimmed)) {
    const value = JsonShape.parse(trimmed)
    if (value === undefined) return { kind: "broken" }
    if (typeof value === "string") return read(value)
    const { envelope, objects } = Envelope.open(value)
    return envelope === undefined ? { kind: "answer", objects } : { kind: "envelope", envelope, objects }
  }
  const { envelope, objects } = Envelope.open(trimmed)
  return envelope === undefined || envelope.message === trimmed
    ? { kind: "text", text: trimmed, objects }
    : { kind: "envelope", envelope, objects }
}

/** The data of a body that is a server-sent event: Groq and Anthropic also send errors in this form. */
const unframed = (text: string): string =>
  /^\s*(?:event|data|id):/.test(text)
    ? text
        .split(/\r?\n/)
        .filter((line) => line.startsWith("data:"))
        .map((line) => line.slice("data:".length))
        .join("\n")
    : text

const titleOf = (page: string): string | undefined => {
  for (const pattern of [/<title[^>]*>([^<]{1,500})/i, /<h1[^>]*>([^<]{1,500})/i, /<message[^>]*>([^<]{1,500})/i]) {
    const title = pattern.exec(page)?.[1]?.replaceAll(/\s+/g, " ").trim()
    if (title !== undefined && title !== "") return unescape(title)
  }
  return undefined
}

const ENTITIES: Readonly<Record<string, string>> = {
  "&amp;": "&",
  "&lt;": "<",
  "&gt;": ">",
  "&quot;": '"',
  "&#39;": "'",
  "&#x27;": "'",
  "&nbsp;": " "
}

const unescape = (text: string): string => text.replaceAll(/&#?\w+;/g, (entity) => ENTITIES[entity] ?? entity)
