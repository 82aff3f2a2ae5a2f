/**
 * Extracts the provider's error envelope, the only text that patterns may read (C4).
 *
 * It has the message, the codes and the status of the error object, and of the errors that it wraps: an upstream's error in OpenRouter's
 * `metadata.raw`, a whole envelope written as JSON into a message (Gemini CLI, LiteLLM, SDK messages such as `429
 * {"type":"error",...}`), ErrorInfo and QuotaFailure in Google's `details`. The innermost message is the provider's own; the outer ones
 * are packaging.
 *
 * Never read: a model's output (Groq's `failed_generation`, `choices[].message`), a user's input (`param`, `input`, OpenRouter's
 * `flagged_input`), and anything that is not an error object.
 *
 * Bounded: a limited number of levels and of entries of a list, for any input.
 */
import { defined, type Failure, JsonShape } from "@holdfast/wire"
import * as Fields from "./Fields.ts"
import * as Status from "./Status.ts"

/** The provider's error in a body. */
export interface Envelope {
  readonly message?: string
  /** Unchanged: the error's own first, then those of wrapped errors. */
  readonly codes: ReadonlyArray<string>
  /** The provider's texts, for patterns. */
  readonly texts: ReadonlyArray<string>
  /** An HTTP status that the envelope names. */
  readonly status?: number
  /** The reason in details without a code: the kind of quota that was violated, or the result of a moderation. */
  readonly implied?: Failure.Reason
  /** The scope of a limit, as details name it (C12). */
  readonly scope?: Failure.Scope
}

/** The deepest level of wrapped errors that is read; real ones go three deep. */
const MAX_DEPTH = 6

/** The number of entries of a list (`errors`, `details`, `violations`) that are read. */
const MAX_ENTRIES = 10

/** The number of elements that are read of a body that is a list; Google's have one. */
const MAX_ELEMENTS = 3

/** OpenRouter's message when the upstream's own message is in `metadata.raw`. */
const PLACEHOLDER = "Provider returned error"

const MESSAGE_KEYS = ["message", "msg", "error_message", "errorMessage", "error_description", "status_msg", "Message"]
const CODE_KEYS = ["code", "type", "status", "reason", "error_code", "errorCode", "error_type", "error", "__type"]
const STATUS_KEYS = ["code", "status", "status_code", "statusCode", "http_status", "raw_status_code"]

/** A code is one word; xAI also puts whole sentences there. */
const CODE_PATTERN = /^[\w.:/-]{1,100}$/

/** Types that only mean "this is an error". */
const EMPTY_CODES = new Set(["error", "response.failed", "response.error", "none", "null"])

/** An envelope after a prefix that clients and proxies write: `429 {...}`, `SSE Error: {...}`, `XException - {...}`. */
const PREFIXED = /^(?:\d{3}\s+|[\w. ()-]{0,80}?(?:Error|Exception|error|provider)\b[^{[]{0,200})(?=[{[])/

/** The parts of a body. */
export interface Opened {
  /** `undefined`: there is no error in it. */
  readonly envelope: Envelope | undefined
  /** The objects that were read on the way, outermost first: providers put delays and headers there. */
  readonly objects: ReadonlyArray<object>
}

/** Reads the envelope in a parsed body, or in text. */
export const open = (value: unknown): Opened => {
  const objects: Array<object> = []
  return { envelope: read(value, { depth: 0, objects }), objects }
}

// --- internal

/** The position while reading: the depth, and the objects that were passed. */
interface Trail {
  readonly depth: number
  readonly objects: Array<object>
}

const deeper = ({ depth, objects }: Trail): Trail => ({ depth: depth + 1, objects })

const read = (value: unknown, trail: Trail): Envelope | undefined => {
  if (trail.depth > MAX_DEPTH) return undefined
  if (typeof value === "string") return readText(value, trail)
  if (Array.isArray(value)) {
    for (const entry of Fields.list(value, MAX_ELEMENTS)) {
      const envelope = Fields.isObject(entry) ? read(entry, deeper(trail)) : undefined
      if (envelope !== undefined) return envelope
    }
    return undefined
  }
  return Fields.isObject(value) ? readObject(value, trail) : undefined
}

const readText = (value: string, trail: Trail): Envelope | undefined => {
  const trimmed = value.trim()
  if (trimmed === "") return undefined
  return readNested(trimmed, trail) ?? { message: trimmed, codes: [], texts: [trimmed] }
}

/** An envelope that is written as JSON inside a string. */
const readNested = (value: string, trail: Trail): Envelope | undefined => {
  const trimmed = value.trim()
  const json = /^[{["]/.test(trimmed) ? trimmed : behindPrefix(trimmed)
  const parsed = json === undefined ? undefined : JsonShape.parse(json)
  if (typeof parsed === "string") return readText(parsed, deeper(trail))
  const envelope = parsed === undefined ? undefined : read(parsed, deeper(trail))
  return envelope?.message === undefined && envelope?.codes.length === 0 ? undefined : envelope
}

const behindPrefix = (value: string): string | undefined => {
  const prefix = PREFIXED.exec(value)?.[0]
  if (prefix === undefined) return undefined
  const end = Math.max(value.lastIndexOf("}"), value.lastIndexOf("]"))
  return value.slice(prefix.length, end + 1)
}

const readObject = (value: object, trail: Trail): Envelope | undefined => {
  trail.objects.push(value)
  const sentence = Fields.firstText(value, MESSAGE_KEYS)
  const inner = errorIn(value, sentence)
  const wrapped = inner === undefined ? undefined : read(inner, deeper(trail))
  const own = ownOf(value, sentence, trail)
  trail.objects.push(...Fields.list(Fields.get(value, "errors"), MAX_ENTRIES).filter(Fields.isObject))
  const envelope = wrapped === undefined ? own : own === undefined ? wrapped : merge(wrapped, own)
  if (envelope === undefined) return undefined
  // An object without an error is no envelope: a completion, an event of another kind.
  const speaks = envelope.message !== undefined || envelope.implied !== undefined
  return speaks || inner !== undefined || Fields.get(value, "type") === "error" ? envelope : undefined
}

/** The error object inside a body or a stream's chunk, whose own message is `sentence`. */
const errorIn = (value: object, sentence: string | undefined): unknown => {
  const isError = (candidate: unknown): boolean =>
    // OAuth and Copilot write a code into `error` and the sentence beside it.
    Fields.isObject(candidate) ||
    (typeof candidate === "string" && (sentence === undefined || !CODE_PATTERN.test(candidate)))
  const error = Fields.get(value, "error")
  if (isError(error)) return error
  const others = [
    Fields.get(Fields.get(value, "response"), "error"),
    ...Fields.list(Fields.get(value, "choices"), MAX_ENTRIES).map((choice) => Fields.get(choice, "error")),
    Fields.get(value, "base_resp")
  ]
  // Cloudflare's API; then FastAPI's validation errors, and ChatGPT's backend. Beside a message they only repeat it.
  if (sentence === undefined) others.push(Fields.list(Fields.get(value, "errors"), 1)[0], Fields.get(value, "detail"))
  return others.find(isError)
}

/** The object's own codes, status and texts, with `sentence` and its details. */
const ownOf = (value: object, sentence: string | undefined, trail: Trail): Envelope | undefined => {
  const nested = sentence === undefined ? undefined : readNested(sentence, trail)
  const upstream = upstreamOf(value, trail)
  const details = detailsOf(value)
  const inner = Fields.get(value, "innererror") ?? Fields.get(value, "inner_error")
  const code = Fields.text(value, "code")
  const message =
    nested?.message ?? (sentence === undefined || sentence === PLACEHOLDER ? (upstream?.message ?? sentence) : sentence)
  const own: Envelope = {
    codes: [...codesIn(value), ...codesIn(inner), ...details.codes],
    texts: nested === undefined && sentence !== undefined ? [sentence] : [],
    ...defined({
      message,
      status: statusIn(value),
      implied: details.implied ?? impliedBy(value),
      scope: details.scope
    })
  }
  const all = [nested, upstream].reduce<Envelope>((all, next) => (next === undefined ? all : merge(all, next)), own)
  if (message === undefined && all.codes.length === 0 && all.implied === undefined && all.status === undefined) {
    return undefined
  }
  return code === undefined || CODE_PATTERN.test(code) ? all : { ...all, texts: [...all.texts, code] }
}

/** Both envelopes; where they differ, the first one counts. */
const merge = (first: Envelope, second: Envelope): Envelope => ({
  ...second,
  ...first,
  codes: [...first.codes, ...second.codes],
  texts: [...first.texts, ...second.texts]
})

const codesIn = (value: unknown): ReadonlyArray<string> => {
  const codes: Array<string> = []
  for (const key of CODE_KEYS) {
    const field = Fields.get(value, key)
    const code = typeof field === "number" && Number.isSafeInteger(field) ? String(field) : field
    if (typeof code !== "string" || !CODE_PATTERN.test(code)) continue
    if (EMPTY_CODES.has(code.toLowerCase()) || Status.errorStatusOf(code) !== undefined) continue
    codes.push(code)
  }
  return codes
}

const statusIn = (value: object): number | undefined => {
  for (const key of STATUS_KEYS) {
    const status = Status.errorStatusOf(Fields.get(value, key))
    if (status !== undefined) return status
  }
  return undefined
}

/** OpenRouter's `metadata`: the upstream's own response, as a string or parsed. */
const upstreamOf = (value: object, trail: Trail): Envelope | undefined => {
  const metadata = Fields.get(value, "metadata")
  if (Fields.isObject(metadata)) trail.objects.push(metadata)
  const raw = Fields.get(metadata, "raw")
  const upstream = raw === undefined || raw === null ? undefined : read(raw, deeper(trail))
  const codes = ["error_type", "limit_source"]
    .map((key) => Fields.text(metadata, key))
    .filter((code) => code !== undefined)
  if (upstream === undefined) return codes.length === 0 ? undefined : { codes, texts: [] }
  return { ...upstream, codes: [...upstream.codes, ...codes] }
}

/** The reason of a moderation: OpenRouter lists it beside the flagged input. */
const impliedBy = (value: object): Failure.Reason | undefined => {
  const metadata = Fields.get(value, "metadata")
  return Fields.list(Fields.get(metadata, "reasons"), 1).length > 0 &&
    Fields.get(metadata, "flagged_input") !== undefined
    ? "refused"
    : undefined
}

/**
 * `details`: Google's typed ones in a list, Anthropic's in an object.
 *
 * RESOURCE_EXHAUSTED covers a throttle, a day's quota and a lack of capacity. ErrorInfo's reason decides, or the names of the quotas in
 * QuotaFailure; if a day's and a minute's quota are both violated, the day's counts.
 */
const detailsOf = (value: object): Pick<Envelope, "codes" | "implied" | "scope"> => {
  const details = Fields.get(value, "details")
  const codes: Array<string> = []
  const quotas: Array<string> = []
  let scope: Failure.Scope | undefined
  codes.push(...codesIn(details)) // a list has none
  for (const entry of [
    ...Fields.list(details, MAX_ENTRIES),
    ...Fields.list(Fields.get(value, "errors"), MAX_ENTRIES)
  ]) {
    const reason = Fields.text(entry, "reason")
    if (reason !== undefined && CODE_PATTERN.test(reason)) codes.push(reason)
    if (Fields.text(Fields.get(entry, "metadata"), "model") !== undefined) scope = "model"
    for (const violation of Fields.list(Fields.get(entry, "violations"), MAX_ENTRIES)) {
      const dimensions = Fields.get(violation, "quotaDimensions")
      const names = Fields.isObject(dimensions) ? Object.keys(dimensions).join(" ") : ""
      quotas.push(`${Fields.text(violation, "quotaId") ?? ""} ${Fields.text(violation, "quotaMetric") ?? ""} ${names}`)
    }
  }
  scope = scopeOfQuotas(quotas) ?? scope
  const implied: Failure.Reason | undefined = quotas.some((quota) => /per_?(?:day|month)/i.test(quota))
    ? "quota-exhausted"
    : quotas.some((quota) => /per_?(?:second|minute|hour)/i.test(quota))
      ? "rate-limited"
      : undefined
  return {
    codes,
    ...defined({ implied, scope })
  }
}

/** The scope in the names of violated quotas and their dimensions. */
const scopeOfQuotas = (quotas: ReadonlyArray<string>): Failure.Scope | undefined => {
  const known = quotas.filter((quota) => /model|project|per_?user/i.test(quota))
  if (known.length === 0 || known.length < quotas.length) return undefined
  return known.every((quota) => /model/i.test(quota)) ? "model" : "account"
}
