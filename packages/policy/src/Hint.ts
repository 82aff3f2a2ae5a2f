/**
 * When a provider wants to be asked again (P5).
 *
 * H1. A hint is finite, above 0 and at most `LONGEST_MS`. What is past, negative, no number or absurd is ignored, and
 *     the next source is asked.
 * H2. It is rounded up to a whole millisecond: a lower bound must not shrink.
 * H3. Time is an argument. Dates and epochs are compared with the response's own `date` header where it has one, so a
 *     clock of ours that is wrong makes no wait wrong.
 * H4. Words are looked for in the provider's error only (C4).
 *
 * Precedence, the first usable one wins:
 *
 *   1. `retry-after-ms`, `x-ms-retry-after-ms`, `retry-after`: an answer to this very request, the finer one first.
 *   2. Fields of the error: Google's RetryInfo, `retry_after*`, `resets_in_seconds`, `resets_at`.
 *   3. Words of the error: "Please try again in 6m0s".
 *   4. Reset headers of limits that are spent, the longest (`hint/Limits.ts`). Last, because they come with every
 *      response and tell when a limit is full again, which is later than when it has room for one more request.
 *
 * Headers that the error carries in itself (OpenRouter) stand in for 1 and 4 where the response has none.
 */
import type { Failure } from "@holdfast/wire"
import * as Body from "./classification/Body.ts"
import * as ErrorBody from "./hint/ErrorBody.ts"
import * as Instant from "./hint/Instant.ts"
import * as Limits from "./hint/Limits.ts"
import * as Span from "./hint/Span.ts"

/**
 * 31 days. The longest quota that providers count is a calendar month (OpenAI's and Anthropic's spend limits); waits of
 * 4.7 and of 7 days are on record. Whatever is longer is a unit misread or an epoch taken for a delay.
 */
export const LONGEST_MS = 31 * 86_400_000

/** What a response offers. `body` is its text, or the data of the error frame. */
export interface Source<Text = string> {
  /** By lower-case name. */
  readonly headers: Limits.Headers
  readonly body: Text
  /** Epoch milliseconds: the moment of the failure. */
  readonly now: number
}

/**
 * The hint of a failed response, if it has one. `source` is the header's name, or `body`. Never throws.
 *
 * **Gotchas**
 *
 * For an error inside a stream pass the headers of the response that it came in. Their `date` is then as old as the
 * stream, which makes the wait until a date longer by that, never shorter.
 *
 * **Example**
 *
 *     Hint.find({ headers: { "retry-after": "7" }, body: "", now }) // { retryAfterMs: 7000, source: "retry-after" }
 */
export const find = ({ headers, body, now }: Source): Failure.Hint | undefined =>
  findIn({ headers, body: Body.read(body), now })

/** The same of a response whose body has been read. */
export const findIn = ({ headers, body, now }: Source<Body.Body>): Failure.Hint | undefined => {
  const serverNow = Instant.parseHttpDate(headers["date"] ?? "", now) ?? now // H3
  const said = ErrorBody.saidIn(body)
  const inner = ErrorBody.headersOf(said)
  return (
    instruction(headers, serverNow) ??
    fromBody(instruction(inner, serverNow)?.retryAfterMs) ??
    fromBody(ErrorBody.fieldDelays(said, serverNow).find(isUsable)) ??
    fromBody(longestOf(ErrorBody.textDelays(said, serverNow))) ??
    spentLimit(headers, serverNow) ??
    fromBody(spentLimit(inner, serverNow)?.retryAfterMs)
  )
}

// --- internal

const isUsable = (ms: number): boolean => ms > 0 && ms <= LONGEST_MS // H1; NaN is neither

const hint = (ms: number | undefined, source: string): Failure.Hint | undefined =>
  // H2; the subtrahend takes back what binary fractions add: 34.07 s are 34070.00000000001 ms.
  ms !== undefined && isUsable(ms) ? { retryAfterMs: Math.max(1, Math.ceil(ms - 1e-6)), source } : undefined

const fromBody = (ms: number | undefined): Failure.Hint | undefined => hint(ms, "body")

const instruction = (headers: Limits.Headers, serverNow: number): Failure.Hint | undefined => {
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

/** Seconds or an HTTP date (RFC 9110, 10.2.3); fractions and spans with units, which some send, as well. */
const retryAfter = (value: string, serverNow: number): number | undefined => {
  const seconds = Span.parseNumber(value)
  return seconds === undefined ? (Span.parse(value) ?? Limits.untilDate(value, serverNow)) : seconds * 1000
}

/** Of several delays in one text the longest: it is the one that lets the request through. */
const longestOf = (delays: ReadonlyArray<number>): number | undefined => {
  const usable = delays.filter(isUsable)
  return usable.length === 0 ? undefined : Math.max(...usable)
}

const spentLimit = (headers: Limits.Headers, serverNow: number): Failure.Hint | undefined => {
  const reset = Limits.longestReset(headers, serverNow, isUsable)
  return reset === undefined ? undefined : hint(reset.ms, reset.header)
}
