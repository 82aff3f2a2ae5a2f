/**
 * Reads how much of each limit is used, from the headers of an answer: a success has them, too.
 *
 * Sources: docs.anthropic.com/en/api/rate-limits (`-limit`, `-remaining`, RFC 3339), and the `unified` ones of its subscriptions (a fraction and
 * epoch seconds); platform.openai.com/docs/guides/rate-limits (`x-ratelimit-remaining-tokens`); Codex with a plan (`x-codex-primary-used-percent`).
 */
import { defined } from "@holdfast/wire"
import { type Headers, until } from "./LimitHeaders.ts"
import * as Span from "./Span.ts"

/** A limit and what is used of it. */
export interface Window {
  /** As the provider names it: `5h`, `7d`, `requests`. */
  readonly name: string
  /** From 0, nothing, to 1, all of it; above 1 the limit is exceeded. */
  readonly used: number
  /** When it begins anew, in epoch milliseconds; absent: the provider did not name it. */
  readonly resetAt?: number
}

/** The windows of an answer at a moment in epoch milliseconds. */
export const read = (headers: Headers, now: number): ReadonlyArray<Window> =>
  Object.keys(headers).flatMap((header) => {
    // A subscription of Anthropic.
    const [, unified] = /^anthropic-ratelimit-unified-([a-z0-9_-]{1,40})-utilization$/.exec(header) ?? []
    if (unified !== undefined) {
      return window(unified, number(headers, header), headers[`anthropic-ratelimit-unified-${unified}-reset`], now)
    }
    // Codex with a plan.
    const [, plan] = /^x-codex-(primary|secondary)-used-percent$/.exec(header) ?? []
    if (plan !== undefined) return codex(headers, `x-codex-${plan}-`, plan, now)
    // OpenAI and those that follow it: the limit at the end.
    const [, own = "", name] = /^((?:anthropic|x)-ratelimit-)remaining-([a-z0-9_-]{1,40})$/.exec(header) ?? []
    if (name !== undefined)
      return ofRemaining(headers, [`${own}limit-${name}`, header, `${own}reset-${name}`], name, now)
    // A key of Anthropic: the limit in the middle.
    const [, prefix = "", anthropic] = /^(anthropic-ratelimit-([a-z0-9_-]{1,40})-)remaining$/.exec(header) ?? []
    if (anthropic === undefined) return []
    return ofRemaining(headers, [`${prefix}limit`, header, `${prefix}reset`], anthropic, now)
  })

// --- internal

const number = (headers: Headers, name: string): number | undefined => Span.parseNumber(headers[name] ?? "")

const window = (
  name: string,
  used: number | undefined,
  reset: string | undefined,
  now: number
): ReadonlyArray<Window> => {
  if (used === undefined || used < 0 || used > MOST_USED) return []
  const ms = reset === undefined ? undefined : until(reset, now)
  return [{ name, used, ...defined({ resetAt: ms === undefined || ms < 0 ? undefined : now + ms }) }]
}

const ofRemaining = (
  headers: Headers,
  [limit, remaining, reset]: readonly [limit: string, remaining: string, reset: string],
  name: string,
  now: number
): ReadonlyArray<Window> => {
  const [most = 0, left] = [number(headers, limit), number(headers, remaining)]
  return most > 0 && left !== undefined ? window(name, 1 - left / most, headers[reset], now) : []
}

const codex = (headers: Headers, prefix: string, plan: string, now: number): ReadonlyArray<Window> => {
  const [percent, minutes] = [number(headers, `${prefix}used-percent`), number(headers, `${prefix}window-minutes`)]
  const reset = ["reset-at", "reset-after-seconds", "resets-in-seconds"].map((name) => headers[prefix + name])
  return window(
    minutes === undefined ? plan : minutes % DAY === 0 ? `${minutes / DAY}d` : `${Math.round(minutes / 6) / 10}h`,
    percent === undefined ? undefined : percent / 100,
    reset.find((value) => value !== undefined),
    now
  )
}

/** Minutes. */
const DAY = 1_440

/** A plan may be exceeded a little; ten times as much is no figure of a limit. */
const MOST_USED = 10
