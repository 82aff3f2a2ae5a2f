/**
 * Reads the headers with the reset times of rate limits.
 *
 * Providers send them with every response, also when that limit has room. A reset counts only if the limit's companion headers do not
 * show room: `-remaining` above 0, `-status` other than `rejected`, `-utilization` below 1. The last reset of several used-up limits
 * decides: before it the request would fail again.
 *
 * Sources: platform.openai.com/docs/guides/rate-limits (`x-ratelimit-reset-tokens: 6m0s`), console.groq.com/docs/rate-limits (`7.66s`),
 * openrouter.ai/docs/api-reference/limits (epoch ms), docs.anthropic.com/en/api/rate-limits (RFC 3339); the `unified` ones (epoch
 * seconds, a status and a spent fraction) come with Anthropic's subscriptions.
 */
import { Rfc3339 } from "@holdfast/wire"
import * as Instant from "./Instant.ts"
import * as Span from "./Span.ts"

/** Response headers by lower-case name. */
export type Headers = Readonly<Record<string, string>>

/** The wait for a limit, and its header. */
interface Reset {
  readonly ms: number
  readonly header: string
}

/** Returns the longest wait for a limit without room, if there is one; `accept` decides which waits are plausible. */
export const longestReset = (
  headers: Headers,
  serverNow: number,
  accept: (ms: number) => boolean
): Reset | undefined => {
  let longest: Reset | undefined
  for (const header of Object.keys(headers)) {
    const companions = companionsOf(header)
    if (companions === undefined || hasRoom(headers, companions)) continue
    const value = headers[header] ?? ""
    const ms = header.endsWith("reset-ms") ? untilMillis(value, serverNow) : until(value, serverNow)
    if (ms !== undefined && accept(ms) && (longest === undefined || ms > longest.ms)) longest = { ms, header }
  }
  return longest
}

/** Returns the wait in a value of unknown notation: a span, a timestamp, an epoch or seconds from now. Negative for a past time. */
export const until = (value: string, serverNow: number): number | undefined => {
  const number = Span.parseNumber(value)
  if (number !== undefined) {
    const at = Instant.fromNumber(number)
    return at === undefined ? number * 1000 : at - serverNow
  }
  return Span.parse(value) ?? untilDate(value, serverNow)
}

/** Returns the wait until a date, RFC 3339 or HTTP. */
export const untilDate = (value: string, serverNow: number): number | undefined => {
  const at = Rfc3339.parse(value) ?? Instant.parseHttpDate(value, serverNow)
  return at === undefined ? undefined : at - serverNow
}

// --- internal

/** The headers with the room of a limit. */
interface Companions {
  readonly remaining: string
  readonly status: string
  readonly utilization: string
}

/** `undefined` for a header that is no reset. */
const companionsOf = (header: string): Companions | undefined => {
  if (!header.includes("ratelimit")) return undefined
  const common = /^x-ratelimit-reset(?:-(?:ms|after))?(-[a-z0-9-]+)?$/.exec(header)
  if (common !== null) return companions("x-ratelimit-", common[1] ?? "")
  const anthropic = /^(anthropic-ratelimit-[a-z0-9_-]+)-reset$/.exec(header)
  return anthropic?.[1] === undefined ? undefined : companions(`${anthropic[1]}-`, "")
}

const companions = (prefix: string, suffix: string): Companions => ({
  remaining: `${prefix}remaining${suffix}`,
  status: `${prefix}status${suffix}`,
  utilization: `${prefix}utilization${suffix}`
})

/** An unreadable companion is ignored. */
const hasRoom = (headers: Headers, companions: Companions): boolean => {
  const remaining = Span.parseNumber(headers[companions.remaining] ?? "")
  if (remaining !== undefined && remaining > 0) return true
  const utilization = Span.parseNumber(headers[companions.utilization] ?? "")
  if (utilization !== undefined && utilization < 1) return true
  const status = headers[companions.status]?.trim().toLowerCase()
  return status !== undefined && status !== "" && status !== "rejected"
}

/** `x-ratelimit-reset-ms`: milliseconds from now, or an epoch in milliseconds. */
const untilMillis = (value: string, serverNow: number): number | undefined => {
  const number = Span.parseNumber(value)
  if (number === undefined) return undefined
  return number >= 1e12 ? number - serverNow : number
}
