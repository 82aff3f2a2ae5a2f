/** Endpoints for people: their order, and states and pauses in words. Pure. */
import { Count, type Health } from "@holdfast/wire"

/** The words of a state; one of a later version is shown as it is. */
export const wordsOf = (state: string): string => (isKnown(state) ? WORDS[state] : state)

/** The endpoints, those that need a look first; alike ones stay in their order. */
export const ordered = (endpoints: ReadonlyArray<Health.EndpointReport>): ReadonlyArray<Health.EndpointReport> =>
  endpoints.toSorted((a, b) => rankOf(a.state) - rankOf(b.state))

/** One line about all endpoints: `1 failing, 2 answering`. */
export const summary = (endpoints: ReadonlyArray<Health.EndpointReport>): string =>
  Array.from(
    Map.groupBy(ordered(endpoints), ({ state }) => state),
    ([state, { length }]) => `${length} ${wordsOf(state)}`
  ).join(", ")

/** The subject of a pause, in words. */
export const pausedOf = ({
  credential,
  of,
  reason
}: Pick<Health.PauseReport, "credential" | "of" | "reason">): string => {
  const isQuota = reason === "quota-exhausted"
  switch (of) {
    case "target":
      return `The model cools down${credential === undefined ? "" : ` for ${credential}`}`
    case "model":
      return isQuota ? "The quota of this model is used up for this key" : "This model is limited for this key"
    case "credential":
      return "The quota of this key is used up"
    case "account":
      return isQuota ? "The quota of this key is used up for every model" : "This key is limited for every model"
    default:
      return of satisfies never
  }
}

/** How much of a pause has passed at `now`, from 0 to 1; `undefined`: its beginning is not known. */
export const passedOf = (
  { since, until }: Pick<Health.PauseReport, "since" | "until">,
  now: number
): number | undefined =>
  since === undefined || until <= since ? undefined : Math.min(1, Math.max(0, (now - since) / (until - since)))

/** The share of a limit that is used, from 0 to 1. */
export const usedOf = ({ limit, used }: { readonly used: number; readonly limit: number }): number =>
  limit <= 0 ? 1 : Math.min(1, used / limit)

/** The calls of a part of the hour as a bar: the heights of answered and failed calls, from 0 to 1 of the highest bar. */
interface Bar {
  readonly calls: number
  readonly failed: number
  readonly answeredHeight: number
  readonly failedHeight: number
}

/** The bars of the last hour, the oldest first. */
export const barsOf = ({ parts: { calls, failed } }: Pick<Health.HourlyCalls, "parts">): ReadonlyArray<Bar> => {
  const most = Math.max(1, ...calls)
  return calls.map((count, part) => {
    const bad = Math.min(count, failed[part] ?? 0)
    return { calls: count, failed: bad, answeredHeight: (count - bad) / most, failedHeight: bad / most }
  })
}

/** `41 calls, 38 failed`. */
export const callsInWords = ({ calls, failed }: Pick<Health.HourlyCalls, "calls" | "failed">): string =>
  `${Count.of(calls, "call")}${calls === 0 ? "" : `, ${failed} failed`}`

// --- internal

const WORDS = {
  failing: "failing",
  paused: "paused",
  recovering: "recovering",
  answering: "answering",
  idle: "not called lately"
} as const satisfies { readonly [State in Health.EndpointState]: string }

const isKnown = (state: string): state is Health.EndpointState => Object.hasOwn(WORDS, state)

const rankOf = (state: string): number => Object.keys(WORDS).indexOf(state)
