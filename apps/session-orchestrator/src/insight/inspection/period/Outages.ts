/**
 * Finds the outages of endpoints in their answers and failures. Pure.
 *
 * An outage is the time from an endpoint's first failure after an answer to its next answer. The order in which facts are added changes
 * nothing. Of calls that were answered at once the hour alone is known: one without a failure ended the outage before it.
 */
import { defined, type Failure, type PeriodReport } from "@holdfast/wire"
import { HOUR_MS } from "../../../storage/AnsweredCalls.ts"

/** An answer or a failure of an endpoint. */
export interface EndpointFact {
  /** `provider/model`. */
  readonly target: string
  readonly at: number
  /** Why it failed; absent: it answered. */
  readonly why?: Why | undefined
}

/** The reason of a failure, and the provider's code. */
export interface Why {
  readonly reason: Failure.Reason
  readonly code: string | undefined
}

/** The answers and failures of endpoints so far. */
export class EndpointOutages {
  private readonly endpoints = new Map<string, Endpoint>()
  /** One object for all failures that are alike: there may be a million. */
  private readonly whys = new Map<string, Why>()

  /** Adds an answer or a failure. */
  add({ at, target, why }: EndpointFact): void {
    const endpoint = this.endpointOf(target)
    if (why === undefined) endpoint.answers.push(at)
    else endpoint.failures.push({ at, why: this.same(why) })
  }

  /** Adds an hour, by its beginning, in which calls were answered at once. */
  addHour(target: string, hour: number): void {
    this.endpointOf(target).hours.push(hour)
  }

  /**
   * The outages, earliest first.
   *
   * @param isAwaited whether a turn waits for an endpoint at the end: its outage lasts until then
   */
  find(isAwaited: (target: string) => boolean): ReadonlyArray<PeriodReport.Outage> {
    return Array.from(this.endpoints, ([target, endpoint]) =>
      outagesOf(target, endpoint).map((outage) =>
        outage.endedAt === undefined && !isAwaited(target) ? { ...outage, hasUnknownEnd: true } : outage
      )
    )
      .flat()
      .toSorted((a, b) => a.beganAt - b.beganAt || (a.target < b.target ? -1 : 1))
  }

  private endpointOf(target: string): Endpoint {
    const endpoint = this.endpoints.get(target) ?? { answers: [], failures: [], hours: [] }
    this.endpoints.set(target, endpoint)
    return endpoint
  }

  private same(why: Why): Why {
    const key = keyOf(why)
    const known = this.whys.get(key) ?? why
    this.whys.set(key, known)
    return known
  }
}

/** Until when an outage is known to have lasted; `until` is the end of the period. */
export const knownUntil = ({ endedAt, hasUnknownEnd, lastFailureAt }: PeriodReport.Outage, until: number): number =>
  endedAt ?? (hasUnknownEnd === true ? lastFailureAt : until)

/** The longest outages, in their order. */
export const longest = (
  outages: ReadonlyArray<PeriodReport.Outage>,
  until: number,
  most: number
): ReadonlyArray<PeriodReport.Outage> => {
  if (outages.length <= most) return outages
  const lengthOf = (outage: PeriodReport.Outage): number => knownUntil(outage, until) - outage.beganAt
  const kept = new Set(outages.toSorted((a, b) => lengthOf(b) - lengthOf(a)).slice(0, most))
  return outages.filter((outage) => kept.has(outage))
}

// --- internal

interface Endpoint {
  readonly answers: Array<number>
  readonly failures: Array<{ readonly at: number; readonly why: Why }>
  /** Begins of hours. */
  readonly hours: Array<number>
}

const keyOf = ({ code = "", reason }: Why): string => `${reason} ${code}`

const outagesOf = (target: string, { answers, failures, hours }: Endpoint): ReadonlyArray<PeriodReport.Outage> => {
  const failedHours = new Set(failures.map(({ at }) => at - (at % HOUR_MS)))
  const answered = [...answers, ...hours.filter((hour) => !failedHours.has(hour))].toSorted((a, b) => a - b)
  // Of failures at the same moment the order of their words decides, so that the order of rows does not.
  const failed = failures.toSorted((a, b) => a.at - b.at || (keyOf(a.why) < keyOf(b.why) ? -1 : 1))
  const outages: Array<PeriodReport.Outage> = []
  let next = 0
  for (let i = 0; i < failed.length;) {
    const first = failed[i]
    if (first === undefined) break
    while (next < answered.length && (answered[next] ?? 0) < first.at) next++
    const endedAt = answered[next]
    let last = first
    const begin = i
    for (let failure = failed[i]; failure !== undefined; failure = failed[++i]) {
      if (endedAt !== undefined && failure.at > endedAt) break
      last = failure
    }
    const { code, reason } = last.why
    outages.push({
      target,
      beganAt: first.at,
      ...defined({ endedAt }),
      lastFailureAt: last.at,
      failures: i - begin,
      reason,
      ...defined({ code })
    })
  }
  return outages
}
