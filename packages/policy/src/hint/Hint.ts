/**
 * Finds a provider's retry hint in a failed response (P5).
 *
 * A hint is above 0 and at most `LONGEST_MS`, rounded up to a whole millisecond: a lower bound must not shrink. A value that is past,
 * not a number or absurd is ignored, and the next source is used (`find`). Dates and epochs are compared with the response's own `date`
 * header if it has one, so a wrong local clock does not affect the wait. Text is searched in the provider's error only (C4).
 */
import type { Failure } from "@holdfast/wire"
import * as ResponseBody from "../classification/ResponseBody.ts"
import * as BodyHint from "./BodyHint.ts"
import * as Instant from "./Instant.ts"
import * as LimitHeaders from "./LimitHeaders.ts"
import * as Span from "./Span.ts"

/**
 * 31 days. The longest quota that providers count is a calendar month (OpenAI's and Anthropic's spend limits); waits of 4.7 and of 7 days
 * are on record. A longer value is a unit misread or an epoch taken for a delay.
 */
export const LONGEST_MS = 31 * 86_400_000

/** The parts of a response that may have a hint. `body` is its text, or the data of the error frame. */
export interface Source<Text = string> {
  /** By lower-case name. */
  readonly headers: LimitHeaders.Headers
  readonly body: Text
  /** Epoch milliseconds: the moment of the failure. */
  readonly now: number
}

/**
 * Returns the hint of a failed response, if it has one. `source` is the header's name, or `body`. Never throws.
 *
 * Precedence, the first usable source wins:
 *
 * 1. `retry-after-ms`, `x-ms-retry-after-ms`, `retry-after`: an answer to this very request, the finer one first.
 * 2. Fields of the error: Google's RetryInfo, `retry_after*`, `resets_in_seconds`, `resets_at`.
 * 3. Text of the error: "Please try again in 6m0s".
 * 4. The longest reset header of a used-up limit (`LimitHeaders.ts`). Last, because these come with every response and give the time
 * when a limit is full again, which is later than when it has room for one more request.
 *
 * Headers inside the error (OpenRouter) replace 1 and 4 if the response has none.
 *
 * **Gotchas**
 *
 * For an error inside a stream pass the headers of the response that it came in. Their `date` is as old as the stream, which makes the wait
 * until a date longer, never shorter.
 *
 * **Example**
 *
 *     Hint.find({ headers: { "retry-after": "7" }, body: "", now }) // { retryAfterMs: 7000, source: "retry-after" }
 */
export const find = ({ headers, body, now }: Source): Failure.Hint | undefined =>
  findIn({ headers, body: ResponseBody.read(body), now })

/** `find` for a response whose body has been read. */
export const findIn = ({ headers, body, now }: Source<ResponseBody.ParsedBody>): Failure.Hint | undefined => {
  const serverNow = Instant.parseHttpDate(headers["date"] ?? "", now) ?? now
  const said = BodyHint.sourcesIn(body)
  const inner = BodyHint.headersOf(said)
  return (
    instruction(headers, serverNow) ??
    fromBody(instruction(inner, serverNow)?.retryAfterMs) ??
    fromBody(BodyHint.fieldDelays(said, serverNow).find(isUsable)) ??
    fromBody(longestOf(BodyHint.textDelays(said, serverNow))) ??
    spentLimit(headers, serverNow) ??
    fromBody(spentLimit(inner, serverNow)?.retryAfterMs)
  )
}

// --- internal

const isUsable = (ms: number): boolean => ms > 0 && ms <= LONGEST_MS // NaN is neither

const hint = (ms: number | undefined, source: string): Failure.Hint | undefined =>
  // The subtrahend removes the error of binary fractions: 34.07 s are 34070.00000000001 ms.
  ms !== undefined && isUsable(ms) ? { retryAfterMs: Math.max(1, Math.ceil(ms - 1e-6)), source } : undefined

const fromBody = (ms: number | undefined): Failure.Hint | undefined => hint(ms, "body")

const instruction = (headers: LimitHeaders.Headers, serverNow: number): Failure.Hint | undefined => {
  const read = (name: string, parse: (value: string) => number | undefined) => {
    const value = headers[name]
    return value === undefined ? undefined : hint(parse(value), name)
  }
  return (
    read("retry-after-ms", Span.parseNumber) ??
    read("x-ms-retry-after-ms", Span.parseNumber) ??
    read("retry-after", (value) => retryAfter(value, serverNow))
  )
}

/** Reads seconds or an HTTP date (RFC 9110, 10.2.3), and the fractions and spans with units that some endpoints send. */
const retryAfter = (value: string, serverNow: number): number | undefined => {
  const seconds = Span.parseNumber(value)
  return seconds === undefined ? (Span.parse(value) ?? LimitHeaders.untilDate(value, serverNow)) : seconds * 1000
}

/** The longest of several delays in one text: after it the request succeeds. */
const longestOf = (delays: ReadonlyArray<number>): number | undefined => {
  const usable = delays.filter(isUsable)
  return usable.length === 0 ? undefined : Math.max(...usable)
}

const spentLimit = (headers: LimitHeaders.Headers, serverNow: number): Failure.Hint | undefined => {
  const reset = LimitHeaders.longestReset(headers, serverNow, isUsable)
  return reset === undefined ? undefined : hint(reset.ms, reset.header)
}
