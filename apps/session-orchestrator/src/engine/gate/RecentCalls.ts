/**
 * Counts this process's calls of each endpoint in the last hour, for a report.
 *
 * - An endpoint costs a fixed amount of memory. Of more than `MOST` endpoints the first is forgotten.
 * - A minute counts as a whole: the last hour is this minute and the 59 before it.
 */
import { type Failure, Health, Target } from "@holdfast/wire"
import { Context } from "effect"
import { BoundedMap } from "../../base/system/BoundedMap.ts"
import { UsedLimits } from "./UsedLimits.ts"

/** A call of a provider that has ended. */
export interface EndedCall {
  readonly target: Target.Target
  /** Absent: the provider's first, or it needs none. */
  readonly credential?: string | undefined
  /** Epoch milliseconds. */
  readonly endedAt: number
  /** Absent: it was answered, or a person ended it. */
  readonly failure?: Failure.Failure | undefined
  readonly isAnswered: boolean
}

/** The calls of one endpoint. */
export type Counted = ReturnType<CallCounts["read"]>[number]

/** The counts of this process. */
export class RecentCalls extends Context.Service<RecentCalls, CallCounts>()(
  "@holdfast/session-orchestrator/gate/RecentCalls"
) {}

/** Counts calls by endpoint. */
export class CallCounts {
  /** When it began to count, in epoch milliseconds. */
  readonly since: number
  /** Of the credentials that were called with. */
  readonly used: UsedLimits = new UsedLimits()
  private readonly endpoints = new BoundedMap<Endpoint>(MOST)

  constructor(since: number) {
    this.since = since
  }

  readonly count = ({ credential, endedAt, failure, isAnswered, target }: EndedCall): void => {
    const key = JSON.stringify([Target.format(target), credential])
    let endpoint = this.endpoints.get(key)
    if (endpoint === undefined) {
      endpoint = { target, credential, minutes: [], lastAnswerAt: undefined, lastFailure: undefined }
      this.endpoints.set(key, endpoint)
    }
    if (isAnswered) endpoint.lastAnswerAt = endedAt
    if (failure !== undefined) endpoint.lastFailure = { failure, at: endedAt }
    const at = Math.floor(endedAt / MINUTE_MS)
    const known = endpoint.minutes[at % MINUTES]
    const minute = known?.at === at ? known : { at, calls: 0, failed: 0 }
    minute.calls++
    if (failure !== undefined) minute.failed++
    endpoint.minutes[at % MINUTES] = minute
  }

  /** Every endpoint that was called, with its calls of the hour before `now`, in epoch milliseconds. */
  readonly read = (now: number) =>
    Array.from(this.endpoints.values(), ({ minutes, ...rest }) => ({ ...rest, lastHour: lastHour(minutes, now) }))
}

const zeros: ReadonlyArray<number> = Array.from({ length: Health.PARTS }, () => 0)

/** The counts of an endpoint without calls. */
export const noCalls: Health.HourlyCalls = {
  calls: 0,
  failed: 0,
  parts: { calls: zeros, failed: zeros }
}

// --- internal

/** More endpoints than a person looks through. */
const MOST = 1_000

const MINUTE_MS = 60_000
const MINUTES = 60
const MINUTES_A_PART = Health.PART_MS / MINUTE_MS

interface Minute {
  /** In minutes since the epoch. */
  readonly at: number
  calls: number
  failed: number
}

interface Endpoint extends Pick<EndedCall, "target" | "credential"> {
  /** By the rest of their number: an older minute makes room for a new one. */
  readonly minutes: Array<Minute | undefined>
  /** Epoch milliseconds; absent: it has not answered since this process began. */
  lastAnswerAt: number | undefined
  lastFailure: { readonly failure: Failure.Failure; readonly at: number } | undefined
}

/** This minute counts as a whole, and so do the 59 before it. */
const lastHour = (minutes: ReadonlyArray<Minute | undefined>, now: number): Health.HourlyCalls => {
  const calls = [...zeros]
  const failed = [...zeros]
  const first = Math.floor(now / MINUTE_MS) - MINUTES + 1
  for (const minute of minutes) {
    const part = minute === undefined ? -1 : Math.floor((minute.at - first) / MINUTES_A_PART)
    // A clock that was set back leaves minutes of the future.
    if (minute === undefined || part < 0 || part >= Health.PARTS) continue
    calls[part] = (calls[part] ?? 0) + minute.calls
    failed[part] = (failed[part] ?? 0) + minute.failed
  }
  const sum = (counts: ReadonlyArray<number>) => counts.reduce((a, b) => a + b, 0)
  return { calls: sum(calls), failed: sum(failed), parts: { calls, failed } }
}
