/**
 * What an operator allows one provider: calls at once, requests a minute, tokens a minute.
 *
 * Plain values: an allowance, what has been used of it, and when the next call may begin. A caller that knows what other processes
 * use passes their use beside its own.
 *
 * Allowance.A1. No more than `calls` are under way at once.
 * Allowance.A2. In no span of 60 s do more than `requestsPerMinute` calls begin.
 * Allowance.A3. In no span of 60 s are more than `tokensPerMinute` charged, as they are known at the beginning of a call. A call that is
 *     larger than the whole allowance begins once nothing is charged.
 * Allowance.A4. What a call really used replaces the estimate: its input where the call began, its output when it was reported.
 */

/** Limits of one provider; absent: no limit. */
export interface Allowance {
  readonly calls?: number | undefined
  readonly requestsPerMinute?: number | undefined
  readonly tokensPerMinute?: number | undefined
}

/** What was begun and charged in one second. */
export interface Second {
  /** Its beginning, in epoch milliseconds. */
  readonly at: number
  readonly requests: number
  readonly tokens: number
}

/** What a process has used. */
export interface Use {
  /** Calls that have begun and not ended. */
  readonly underway: number
  /** Oldest first; those that no longer count are dropped as time passes. */
  readonly seconds: ReadonlyArray<Second>
}

/** A process that has called nobody. */
export const unused: Use = { underway: 0, seconds: [] }

/** A call, as far as an allowance is concerned. */
export interface Call {
  /** When it began, in epoch milliseconds. */
  readonly beganAt: number
  /** What it is expected to send. */
  readonly estimate: number
}

/**
 * When a call with this many tokens may begin, in epoch milliseconds: `now`, or the earliest moment at which there may be room;
 * infinity: when a call has ended.
 */
export const nextAt = (
  { calls = Infinity, requestsPerMinute = Infinity, tokensPerMinute = Infinity }: Allowance,
  uses: ReadonlyArray<Use>,
  now: number,
  tokens: number
): number => {
  if (uses.reduce((sum, { underway }) => sum + underway, 0) >= calls) return Infinity // A1
  const seconds = uses.flatMap((use) => recent(use, now)).toSorted((a, b) => a.at - b.at)
  let requests = 0
  let charged = 0
  for (const second of seconds) {
    requests += second.requests
    charged += second.tokens
  }
  const fits = () => requests < requestsPerMinute && (charged <= 0 || charged + tokens <= tokensPerMinute) // A2, A3
  if (fits()) return now
  for (const second of seconds) {
    requests -= second.requests
    charged -= second.tokens
    if (fits()) return second.at + SECOND_MS + MINUTE_MS
  }
  return Infinity
}

/** A call has begun. */
export const begun = (use: Use, { beganAt, estimate }: Call): Use => ({
  underway: use.underway + 1,
  seconds: charge(recent(use, beganAt), beganAt, { requests: 1, tokens: estimate })
})

/** A call's usage was reported: all of it until now, of which `known` was reported before (A4). */
export const counted = (use: Use, now: number, call: Call, usage: Usage, known: Usage | undefined): Use => {
  const input = usage.inputTokens - (known?.inputTokens ?? call.estimate)
  const output = usage.outputTokens - (known?.outputTokens ?? 0)
  const seconds = recent(use, now).map((second) =>
    second.at === secondOf(call.beganAt) ? { ...second, tokens: second.tokens + input } : second
  )
  return { ...use, seconds: output === 0 ? seconds : charge(seconds, now, { requests: 0, tokens: output }) }
}

/** Tokens of one call. */
export interface Usage {
  readonly inputTokens: number
  readonly outputTokens: number
}

/** A call has ended. */
export const ended = (use: Use): Use => ({ ...use, underway: Math.max(0, use.underway - 1) })

/** What still counts. Seconds that lie ahead are of a clock that was set back: by more than a minute, they are forgotten. */
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
  // Under a clock that was set back a little the last second that there is stays the last.
  const at = Math.max(secondOf(now), last?.at ?? 0)
  if (last?.at !== at) return [...seconds, { at, requests, tokens }]
  return [...seconds.slice(0, -1), { at, requests: last.requests + requests, tokens: last.tokens + tokens }]
}
