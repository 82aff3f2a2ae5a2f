/**
 * Finds a delay in an error's body, in its fields or in its text.
 *
 * Fields come before text: a field is meant for programs. A delay in text must follow a verb of waiting ("try again in", "resets after"),
 * so that "timed out after 60 seconds" and "limit of 50 requests per 1 minute" are no delays.
 */
import { Rfc3339 } from "@holdfast/wire"
import type * as ResponseBody from "../classification/ResponseBody.ts"
import * as Fields from "../classification/Fields.ts"
import * as Instant from "./Instant.ts"
import { type Headers, until, untilDate } from "./LimitHeaders.ts"
import * as Span from "./Span.ts"

/** The parts of a body that may have a delay: the objects of an error, and its texts (C4). */
export interface HintSources {
  readonly objects: ReadonlyArray<object>
  readonly texts: ReadonlyArray<string>
}

/** Returns the parts of a body that may have a delay. */
export const sourcesIn = (body: ResponseBody.ParsedBody): HintSources => {
  switch (body.kind) {
    case "envelope":
      return { objects: body.objects, texts: body.envelope.texts }
    case "answer":
      return { objects: body.objects, texts: [] }
    case "page":
      return { objects: [], texts: [body.head] }
    case "text":
      return { objects: body.objects, texts: [body.text] }
    case "broken":
    case "empty":
      return { objects: [], texts: [] }
    default:
      return body satisfies never
  }
}

/** Returns the delays in an error's fields, most reliable first, in milliseconds; past ones are negative. */
export const fieldDelays = ({ objects }: HintSources, serverNow: number): ReadonlyArray<number> => {
  const delays: Array<number | undefined> = objects.map(retryInfo)
  for (const object of objects) {
    const inSeconds = (key: string) => seconds(Fields.get(object, key), serverNow)
    delays.push(
      millis(Fields.get(object, "retry_after_ms")),
      inSeconds("retry_after_seconds"),
      inSeconds("retry_after"),
      // OpenAI's usage_limit_reached: {"resets_at": 1777936568, "resets_in_seconds": 13872}
      inSeconds("resets_in_seconds"),
      inSeconds("resets_at"),
      inSeconds("reset_at")
    )
  }
  return delays.filter((delay) => delay !== undefined)
}

/** Returns the delays in an error's texts, in milliseconds; past ones are negative. */
export const textDelays = ({ texts }: HintSources, serverNow: number): ReadonlyArray<number> =>
  texts.flatMap((text) => {
    const searched = text.slice(0, SEARCHED)
    if (!/\d/.test(searched)) return [] // most texts: all patterns need a digit
    const delays: Array<number | undefined> = []
    for (const [, span] of searched.matchAll(WAIT)) delays.push(Span.parse(span ?? ""))
    for (const [, day, time, zone] of searched.matchAll(WAIT_UNTIL))
      delays.push(untilWritten(day, time, zone, serverNow))
    for (const [, day, time] of searched.matchAll(CHINESE_RESET))
      delays.push(untilWritten(day, time, "+08:00", serverNow))
    for (const [, span] of searched.matchAll(IN_PARTS))
      if (/\sand\s/.test(span ?? "")) delays.push(Span.parse(span ?? ""))
    for (const [, clock] of searched.matchAll(WAIT_CLOCK)) delays.push(Span.parseClock(clock ?? ""))
    for (const [, date] of searched.matchAll(WAIT_HTTP_DATE)) delays.push(untilDate(date ?? "", serverNow))
    for (const [, epoch] of searched.matchAll(BEHIND_BAR)) delays.push(until(epoch ?? "", serverNow))
    for (const time of Instant.timesIn(searched, serverNow)) delays.push(time - serverNow)
    return delays.filter((delay) => delay !== undefined)
  })

/**
 * Returns the headers inside an error, with lower-case names: `error.metadata.headers` (OpenRouter), `headers` beside the error (OpenAI's
 * stream of a subscription).
 */
export const headersOf = ({ objects }: HintSources): Headers => {
  const headers: Record<string, string> = {}
  for (const object of objects) {
    const found = Fields.get(object, "headers")
    if (!Fields.isObject(found) || Array.isArray(found)) continue
    for (const [name, value] of Object.entries(found)) {
      if (typeof value === "string" || typeof value === "number") headers[name.toLowerCase()] ??= String(value)
    }
  }
  return headers
}

// --- internal

/** Characters that are searched for a delay: errors have it in their first sentences. */
const SEARCHED = 2_048

const VERB =
  "try(?:ing)? again|retry(?:ing)?(?: (?:your|the|this) request)?|retry[ _-]?(?:delay|after)|wait(?:ing)?|back(?:ing)? off|reset(?:s|ting)?|available(?: again)?"

/** "Please try again in 6m0s", "Please retry after 86400 seconds", "resets in 1.5 seconds", "wait for 20s". */
const WAIT = new RegExp(
  String.raw`\b(?:${VERB})(?:\s{1,4}(?:in|after|for|about|approximately|at least)){0,2}[:=]?\s{0,4}(${Span.PATTERN})`,
  "gi"
)

/** "in 5 hours and 10 minutes", after any verb: rates and limits have a single unit. */
const IN_PARTS = new RegExp(String.raw`\bin\s{1,4}(${Span.PATTERN})`, "gi")

/** "resets in 00:04:10". */
const WAIT_CLOCK = new RegExp(String.raw`\b(?:${VERB})\s{1,4}in:?\s{1,4}(${Span.CLOCK})`, "gi")

/** "Retry after Sun, 01 Mar 2026 12:05:00 GMT". */
const WAIT_HTTP_DATE = new RegExp(
  String.raw`\b(?:${VERB})(?:\s{1,4}(?:at|on|after|until))?[:=]?\s{0,4}(${Instant.HTTP_DATE})`,
  "gi"
)

/** "Claude AI usage limit reached|1772370000": an epoch in seconds or milliseconds. */
const BEHIND_BAR = /\blimit\b[^|\d]{0,80}\|\s{0,2}(\d{10}(?:\d{3})?)(?!\d)/gi

/** "You will regain access on 2026-03-01 at 00:00 UTC" (Anthropic), "try again at 2026-03-01T00:00:00Z". */
const WAIT_UNTIL =
  /\b(?:try again|retry|resets?|access|available(?: again)?)\s{1,4}(?:at|on|after|until):?\s{1,4}(\d{4}-\d{2}-\d{2})(?:T| at | )(\d{2}:\d{2}(?::\d{2}(?:\.\d{1,9})?)?) ?(Z|UTC|GMT|[+-]\d{2}:\d{2})/gi

/**
 * Z.ai writes no zone; its times are in China Standard Time: "Your limit will reset at 2026-11-22 07:01:25", "您的限额将在 2026-08-25 07:41:44
 * 重置".
 */
const CHINESE_RESET =
  /(?:your limit will reset at|您的限额将在)\s{0,4}(\d{4}-\d{2}-\d{2}) (\d{2}:\d{2}:\d{2})(?! ?(?:Z|UTC|GMT|[+-]\d))/gi

const untilWritten = (
  day: string | undefined,
  time: string | undefined,
  zone: string | undefined,
  serverNow: number
): number | undefined => {
  if (day === undefined || time === undefined || zone === undefined) return undefined
  const offset = /^[+-]/.test(zone) ? zone : "Z"
  const at = Rfc3339.parse(`${day}T${time.length === "00:00".length ? `${time}:00` : time}${offset}`)
  return at === undefined ? undefined : at - serverNow
}

/**
 * Google's RetryInfo among the `details`: `{"@type": "type.googleapis.com/google.rpc.RetryInfo", "retryDelay": "34.07s"}`
 * (cloud.google.com/apis/design/errors). A protobuf duration as JSON: seconds with up to nine decimals.
 */
const retryInfo = (object: object): number | undefined => {
  for (const detail of Fields.list(Fields.get(object, "details"), MOST_DETAILS)) {
    const delay = Fields.text(detail, "retryDelay")
    if (delay !== undefined && Fields.text(detail, "@type")?.endsWith("google.rpc.RetryInfo")) return Span.parse(delay)
  }
  return undefined
}

/** Google sends three or four. */
const MOST_DETAILS = 50

/** A number, or the same as text. Seconds from now, unless it is so large that it is an epoch. */
const seconds = (value: unknown, serverNow: number): number | undefined =>
  typeof value === "string" || typeof value === "number" ? until(String(value), serverNow) : undefined

const millis = (value: unknown): number | undefined =>
  typeof value === "string" || typeof value === "number" ? Span.parseNumber(String(value)) : undefined
