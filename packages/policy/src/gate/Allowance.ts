/**
 * Applies an operator's limits to one provider: concurrent calls, requests and tokens a minute.
 *
 * Plain values: an allowance, its use, and the earliest start of the next call. A caller that knows the use of other processes passes it
 * beside its own.
 *
 * - No more than `calls` are under way at once.
 * - In no span of 60 s do more than `requestsPerMinute` calls begin.
 * - In no span of 60 s are more than `tokensPerMinute` charged, by the amounts known at the beginning of a call. A call that is larger than
 *   the whole allowance begins once nothing is charged.
 * - The real usage of a call replaces the estimate: its input counts in the second when the call began, its output when it was reported.
 */

/** Limits of one provider; absent: no limit. */
export interface Allowance {
  readonly calls?: number | undefined
  readonly requestsPerMinute?: number | undefined
  readonly tokensPerMinute?: number | undefined
}

/** The calls begun and the tokens charged in one second. */
export interface Second {
  /** The start of the second, in epoch milliseconds. */
  readonly at: number
  readonly requests: number
  readonly tokens: number
}

/** The use of an allowance by one process. */
export interface Use {
  /** Calls that have begun and not ended. */
  readonly underway: number
  /** Oldest first; seconds that no longer count are dropped. */
  readonly seconds: ReadonlyArray<Second>
}

/** The use of a process without calls. */
export const unused: Use = { underway: 0, seconds: [] }

/** The facts of a call that an allowance needs. */
export interface Call {
  /** When it began, in epoch milliseconds. */
  readonly beganAt: number
  /** The estimated input tokens. */
  readonly estimate: number
}

/**
 * Returns when a call with this many tokens may begin, in epoch milliseconds: `now`, or the earliest moment at which there may be room;
 * infinity: only after a call has ended.
 */
export const nextAt = (
  { calls = Infinity, requestsPerMinute = Infinity, tokensPerMinute = Infinity }: Allowance,
  uses: ReadonlyArray<Use>,
  now: number,
  tokens: number
): number => {
  if (uses.reduce((sum, { underway }) => sum + underway, 0) >= calls) return Infinity
  const seconds = uses.flatMap((use) => recent(use, now)).toSorted((a, b) => a.at - b.at)
  let requests = 0
  let charged = 0
  for (const second of seconds) {
    requests += second.requests
    charged += second.tokens
  }
  const fits = () => requests < requestsPerMinute && (charged <= 0 || charged + tokens <= tokensPerMinute)
  if (fits()) return now
  for (const second of seconds) {
    requests -= second.requests
    charged -= second.tokens
    if (fits()) return second.at + SECOND_MS + MINUTE_MS
  }
  return Infinity
}

/** Counts a call that has begun. */
export const begun = (use: Use, { beganAt, estimate }: Call): Use => ({
  underway: use.underway + 1,
  seconds: charge(recent(use, beganAt), beganAt, { requests: 1, tokens: estimate })
})

/** Counts the reported usage of a call: the total until now, of which `known` was reported before. */
export const counted = (use: Use, now: number, call: Call, usage: CallTokens, known: CallTokens | undefined): Use => {
  const input = usage.inputTokens - (known?.inputTokens ?? call.estimate)
  const output = usage.outputTokens - (known?.outputTokens ?? 0)
  const seconds = recent(use, now).map((second) =>
    second.at === secondOf(call.beganAt) ? { ...second, tokens: second.tokens + input } : second
  )
  return { ...use, seconds: output === 0 ? seconds : charge(seconds, now, { requests: 0, tokens: output }) }
}

/** Tokens of one call. */
export interface CallTokens {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** Counts a call that has ended. */
export const ended = (use: Use): Use => ({ ...use, underway: Math.max(0, use.underway - 1) })

/**
 * Returns the seconds that still count. Seconds in the future come from a clock that was set back; if it was by more than a minute, they
 * are dropped.
 */
export const recent = ({ seconds }: Use, now: number): ReadonlyArray<Second> => {
  const counts = ({ at }: Second) => now < at + SECOND_MS + MINUTE_MS && at <= now + MINUTE_MS
  return seconds.every(counts) ? seconds : seconds.filter(counts)
}

// --- internal

const SECOND_MS = 1_000
const MINUTE_MS = 60_000

const secondOf = (now: number): number => Math.floor(now / SECOND_MS) * SECOND_MS

const charge = (
  seconds: ReadonlyArray<Second>,
  now: number,
  { requests, tokens }: Omit<Second, "at">
): ReadonlyArray<Second> => {
  const last = seconds.at(-1)
  // If the clock was set back a little, the newest second stays the last.
  const at = Math.max(secondOf(now), last?.at ?? 0)
  if (last?.at !== at) return [...seconds, { at, requests, tokens }]
  return [...seconds.slice(0, -1), { at, requests: last.requests + requests, tokens: last.tokens + tokens }]
}
