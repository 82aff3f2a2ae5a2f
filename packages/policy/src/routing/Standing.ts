/**
 * Holds the pauses of targets, credentials and accounts that turns share (C12, P7, P8).
 *
 * A plain value that survives JSON. The shell keeps one for all turns and all runners. It has no single owner: runners combine their copies
 * by `merge`, in any order and any number of times.
 *
 * A pause is over at its `until`; then it has no effect any more. If the clocks of runners differ, a pause is longer or shorter by the
 * difference.
 *
 * Standing.S1. `merge` is idempotent, commutative and associative. If one thing has several pauses, the latest end counts.
 * Standing.S3. A pause is also over once a call that used the same thing has succeeded, if the call began when the pause was known or
 *     later. A pause that was found after the call began stays, in whichever order the two are reported.
 */
import { Failure, Target } from "@holdfast/wire"
import * as Schema from "effect/Schema"

/** A time in which a target, credential or account is not called. */
export const Pause = Schema.Struct({
  /** Epoch milliseconds. */
  until: Schema.Finite,
  /** The reason of the failure. */
  reason: Failure.Reason,
  /** Whether it may pass with time: there is no wait for a wrong key. */
  retryable: Schema.Boolean,
  /** The end of the provider's hint, in epoch milliseconds: no attempt is made before (P5). */
  askedUntil: Schema.optionalKey(Schema.Finite),
  /** When it was found, in epoch milliseconds. Absent: it counts as older than every success. */
  since: Schema.optionalKey(Schema.Finite)
})
export type Pause = typeof Pause.Type

/** The known pauses of one thing. */
export const Entry = Schema.Struct({
  /** The pauses that no other pause covers in every respect: when it was found, when it ends, and the end of its hint. */
  pauses: Schema.Array(Pause),
  /** The last successful call that ended a pause. */
  cleared: Schema.optionalKey(
    Schema.Struct({
      /** When that call began, in epoch milliseconds (Standing.S3). */
      at: Schema.Finite,
      /** When the pauses that it ended would have been over: after that this entry is not needed. */
      until: Schema.Finite
    })
  )
})
export type Entry = typeof Entry.Type

/** The pauses of all things, by kind and name. */
export const Standing = Schema.Struct({
  /** Targets that cool down (P8), by `provider/model`. */
  targets: Schema.Record(Schema.String, Entry),
  /** Credentials with a used-up quota (P7), by `provider/credential`. Their other models are still tried (C12). */
  credentials: Schema.Record(Schema.String, Entry),
  /** Credentials that are limited for all their models, because the error named the account (C12), by `provider/credential`. */
  accounts: Schema.Record(Schema.String, Entry),
  /** Models of a credential that are limited (C12), by `provider/credential/model`. */
  models: Schema.Record(Schema.String, Entry)
})
export type Standing = typeof Standing.Type

/** The kinds of things that can be paused. */
export const KINDS = ["targets", "credentials", "accounts", "models"] as const
/** The kind of a thing. */
type Kind = (typeof KINDS)[number]

/** A thing that can be paused. */
export interface Thing {
  readonly kind: Kind
  readonly name: string
}

/** A standing without pauses. */
export const empty: Standing = { targets: {}, credentials: {}, accounts: {}, models: {} }

/** A standing, made for each kind of things. */
export const ofKinds = (make: (kind: Kind) => Standing[Kind]): Standing => ({
  targets: make("targets"),
  credentials: make("credentials"),
  accounts: make("accounts"),
  models: make("models")
})

/** Whether there is nothing to store. */
export const isEmpty = (standing: Standing): boolean => KINDS.every((kind) => Object.keys(standing[kind]).length === 0)

/** A target, with any credential. */
export const target = (target: Target.Target): Thing => ({ kind: "targets", name: Target.format(target) })

/** One credential of a provider. */
export const credential = (provider: string, credential: string): Thing => ({
  kind: "credentials",
  name: `${provider}/${credential}`
})

/** The account of a credential: all models that are called with it. */
export const account = (provider: string, credential: string): Thing => ({
  kind: "accounts",
  name: `${provider}/${credential}`
})

/** One model of a credential. */
export const model = ({ model, provider }: Target.Target, credential: string): Thing => ({
  kind: "models",
  name: `${provider}/${credential}/${model}`
})

/** Returns all things that a call uses: its target, and its credential if it has one. */
export const usedBy = (to: Target.Target, name: string | undefined): ReadonlyArray<Thing> =>
  name === undefined
    ? [target(to)]
    : [target(to), credential(to.provider, name), account(to.provider, name), model(to, name)]

/** Makes a standing with one pause. */
export const paused = ({ kind, name }: Thing, pause: Pause): Standing => ({
  ...empty,
  [kind]: { [name]: { pauses: [pause] } }
})

/**
 * Returns the change after a success: it ends the pauses of the things it used that were known when its call began, at `began`
 * (Standing.S3). Empty if there are none.
 */
export const cleared = (standing: Standing, things: ReadonlyArray<Thing>, began: number): Standing =>
  things.reduce((all, { kind, name }) => {
    const ended = (standing[kind][name]?.pauses ?? []).filter(isBy(began))
    if (ended.length === 0) return all
    const until = Math.max(...ended.map(({ until }) => until))
    return merge(all, { ...empty, [kind]: { [name]: { pauses: [], cleared: { at: began, until } } } })
  }, empty)

/** Combines two standings (Standing.S1). */
export const merge = (a: Standing, b: Standing): Standing => ofKinds((kind) => union(a[kind], b[kind]))

/** Returns the pauses in force at `now`, in epoch milliseconds. */
export const expire = (standing: Standing, now: number): Standing => ofKinds((kind) => inForce(standing[kind], now))

/** Returns when an entry is no longer needed, in epoch milliseconds. */
export const endOf = ({ cleared, pauses }: Entry): number =>
  Math.max(cleared?.until ?? -Infinity, ...pauses.map(({ until }) => until))

/** Returns the pause of a thing at `now`, if it has one: the pause that ends last, with the latest end of a hint. */
export const of = (standing: Standing, { kind, name }: Thing, now: number): Pause | undefined => {
  const pauses = (standing[kind][name]?.pauses ?? []).filter(({ until }) => until > now)
  if (pauses.length < 2) return pauses[0]
  const last = pauses.reduce((a, b) => (a.until !== b.until ? (a.until > b.until ? a : b) : compare(a, b) > 0 ? a : b))
  const asked = Math.max(...pauses.map(askedOf))
  return asked === -Infinity ? last : { ...last, askedUntil: asked }
}

// --- internal

type Entries = Standing["targets"]

const isBy =
  (at: number) =>
  (pause: Pause): boolean =>
    sinceOf(pause) <= at

const sinceOf = ({ since = -Infinity }: Pause): number => since

const askedOf = ({ askedUntil = -Infinity }: Pause): number => askedUntil

const inForce = (entries: Entries, now: number): Entries => {
  const left: Record<string, Entry> = {}
  for (const [name, { cleared, pauses }] of Object.entries(entries)) {
    const own = pauses.filter(({ until }) => until > now)
    const success = cleared !== undefined && cleared.until > now ? { cleared } : {}
    if (own.length > 0 || "cleared" in success) left[name] = { pauses: own, ...success }
  }
  return left
}

const union = (a: Entries, b: Entries): Entries => {
  const news = Object.entries(b)
  if (news.length === 0) return a
  const merged: Record<string, Entry> = { ...a }
  for (const [name, entry] of news) {
    const known = merged[name]
    merged[name] = known === undefined ? entry : join(known, entry)
  }
  return merged
}

const join = (a: Entry, b: Entry): Entry => {
  const successes = [a.cleared, b.cleared].filter((cleared) => cleared !== undefined)
  const all = [...a.pauses, ...b.pauses]
  if (successes.length === 0) return { pauses: uncovered(all) }
  const at = Math.max(...successes.map(({ at }) => at))
  const until = Math.max(...successes.map(({ until }) => until))
  const isEnded = isBy(at)
  return { pauses: uncovered(all.filter((pause) => !isEnded(pause))), cleared: { at, until } } // Standing.S3
}

/** The pauses that no other covers, in an order that does not depend on the given one (Standing.S1). */
const uncovered = (pauses: ReadonlyArray<Pause>): ReadonlyArray<Pause> => {
  // Of equal pauses the last is kept; a covering pause may come before or after the covered one.
  const left = pauses.filter(
    (pause, i) => !pauses.some((other, j) => i !== j && (compare(pause, other) === 0 ? i < j : isCovered(pause, other)))
  )
  return left.length < 2 ? left : left.toSorted(compare)
}

/**
 * Whether another pause covers a pause. The covered pause was found no later, so a success that ends the covering pause has ended both
 * (Standing.S3).
 */
const isCovered = (pause: Pause, by: Pause): boolean =>
  compare(pause, by) < 0 && sinceOf(pause) <= sinceOf(by) && pause.until <= by.until && askedOf(pause) <= askedOf(by)

/** Any total order that is always the same. The difference of two times that are absent is no number. */
const compare = (a: Pause, b: Pause): number =>
  sinceOf(a) - sinceOf(b) ||
  a.until - b.until ||
  askedOf(a) - askedOf(b) ||
  Number(a.reason > b.reason) - Number(a.reason < b.reason) ||
  Number(a.retryable) - Number(b.retryable)
