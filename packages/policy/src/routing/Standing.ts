/**
 * What turns have found out about targets, credentials and accounts, for each other: what is better left alone, and until when
 * (C12, P7, P8).
 *
 * A plain value that survives JSON. The shell keeps one for all turns and all runners; nobody owns it, so what two of them
 * know is put together by `merge`, in any order and as often as they like.
 *
 * S1. `merge` is idempotent, commutative and associative. Of the pauses of one thing the latest end counts.
 * S2. A pause is over at its `until`; then it is as if it had never been. Clocks of runners that differ make a pause that much
 *     longer or shorter, and nothing worse.
 * S3. A pause is also over once a call has succeeded that began when the pause was known, or later, and used the same thing. One
 *     that is found out after that call began stays, in whatever order the two are heard of.
 */
import { Failure, Target } from "@holdfast/wire"
import { Schema } from "effect"

/** Something is better left alone for a while. */
export const Pause = Schema.Struct({
  /** Epoch milliseconds. */
  until: Schema.Finite,
  /** What it failed with. */
  reason: Failure.Reason,
  /** Whether time alone can mend it: nobody waits for a wrong key. */
  retryable: Schema.Boolean,
  /** The provider itself asked to be left alone until then, in epoch milliseconds: no attempt is made before (P5). */
  askedUntil: Schema.optionalKey(Schema.Finite),
  /** When it was found out, in epoch milliseconds. Absent in what older versions have stored: before every success. */
  since: Schema.optionalKey(Schema.Finite)
})
export type Pause = typeof Pause.Type

/** What is known of one thing. */
export const Entry = Schema.Struct({
  /** Those of which no other says as much in every way: how late it was found out, how long it lasts, how long was asked for. */
  pauses: Schema.Array(Pause),
  /** The last call that succeeded with it and ended a pause. */
  cleared: Schema.optionalKey(
    Schema.Struct({
      /** When that call began, in epoch milliseconds (S3). */
      at: Schema.Finite,
      /** When the pauses that it ended would have been over: after that nobody needs to know of it. */
      until: Schema.Finite
    })
  )
})
export type Entry = typeof Entry.Type

export const Standing = Schema.Struct({
  /** Targets that cool down (P8), by `provider/model`. */
  targets: Schema.Record(Schema.String, Entry),
  /** Credentials whose quota is used up (P7), by `provider/credential`. Another model of it is still tried (C12). */
  credentials: Schema.Record(Schema.String, Entry),
  /** Credentials that are limited for all of their models, as the error has named (C12), by `provider/credential`. */
  accounts: Schema.Record(Schema.String, Entry),
  /** Models of a credential that are limited (C12), by `provider/credential/model`. */
  models: Schema.Record(Schema.String, Entry)
})
export type Standing = typeof Standing.Type

/** The kinds of what can be paused. */
export const KINDS = ["targets", "credentials", "accounts", "models"] as const
export type Kind = (typeof KINDS)[number]

/** What can be paused, and ended by a success. */
export interface Thing {
  readonly kind: Kind
  readonly name: string
}

/** Nothing is known against anybody. */
export const empty: Standing = { targets: {}, credentials: {}, accounts: {}, models: {} }

/** Whether it says nothing: there is nothing to store. */
export const isEmpty = (standing: Standing): boolean => KINDS.every((kind) => Object.keys(standing[kind]).length === 0)

/** A target, whatever credential it is called with. */
export const target = (target: Target.Target): Thing => ({ kind: "targets", name: Target.format(target) })

/** One credential of a provider. */
export const credential = (provider: string, credential: string): Thing => ({
  kind: "credentials",
  name: `${provider}/${credential}`
})

/** The account that a credential belongs to, as far as it is known: all that is called with it. */
export const account = (provider: string, credential: string): Thing => ({
  kind: "accounts",
  name: `${provider}/${credential}`
})

/** One model of a credential. */
export const model = ({ model, provider }: Target.Target, credential: string): Thing => ({
  kind: "models",
  name: `${provider}/${credential}/${model}`
})

/** All that a call uses: its target, and its credential where it has one. */
export const usedBy = (to: Target.Target, name: string | undefined): ReadonlyArray<Thing> =>
  name === undefined
    ? [target(to)]
    : [target(to), credential(to.provider, name), account(to.provider, name), model(to, name)]

/** Something is paused. */
export const paused = ({ kind, name }: Thing, pause: Pause): Standing => ({
  ...empty,
  [kind]: { [name]: { pauses: [pause] } }
})

/**
 * What a success says: the pauses of what it used are over that were known when its call began, at `began` (S3). Nothing where
 * there are none.
 */
export const cleared = (standing: Standing, things: ReadonlyArray<Thing>, began: number): Standing =>
  things.reduce((all, { kind, name }) => {
    const ended = (standing[kind][name]?.pauses ?? []).filter(isBy(began))
    if (ended.length === 0) return all
    const until = Math.max(...ended.map(({ until }) => until))
    return merge(all, { ...empty, [kind]: { [name]: { pauses: [], cleared: { at: began, until } } } })
  }, empty)

/** What both know (S1). */
export const merge = (a: Standing, b: Standing): Standing => ofKinds((kind) => union(a[kind], b[kind]))

/** What is still in force at `now`, in epoch milliseconds (S2). */
export const expire = (standing: Standing, now: number): Standing => ofKinds((kind) => inForce(standing[kind], now))

/** The end of all that an entry says, in epoch milliseconds. */
export const endOf = ({ cleared, pauses }: Entry): number =>
  Math.max(cleared?.until ?? -Infinity, ...pauses.map(({ until }) => until))

/** The pause of a thing, if it has one at `now`: of several the one that ends last, with the longest that was asked for. */
export const of = (standing: Standing, { kind, name }: Thing, now: number): Pause | undefined => {
  const pauses = (standing[kind][name]?.pauses ?? []).filter(({ until }) => until > now)
  if (pauses.length < 2) return pauses[0]
  const last = pauses.reduce((a, b) => (a.until !== b.until ? (a.until > b.until ? a : b) : compare(a, b) > 0 ? a : b))
  const asked = Math.max(...pauses.map(askedOf))
  return asked === -Infinity ? last : { ...last, askedUntil: asked }
}

// --- internal

type Entries = Standing["targets"]

const ofKinds = (make: (kind: Kind) => Entries): Standing => ({
  targets: make("targets"),
  credentials: make("credentials"),
  accounts: make("accounts"),
  models: make("models")
})

const isBy =
  (at: number) =>
  ({ since = -Infinity }: Pause): boolean =>
    since <= at

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
  const merged: Record<string, Entry> = { ...a }
  for (const [name, entry] of Object.entries(b)) {
    const known = merged[name]
    merged[name] = known === undefined ? entry : join(known, entry)
  }
  return merged
}

const join = (a: Entry, b: Entry): Entry => {
  const successes = [a.cleared, b.cleared].filter((cleared) => cleared !== undefined)
  const all = [...a.pauses, ...b.pauses]
  if (successes.length === 0) return { pauses: telling(all) }
  const at = Math.max(...successes.map(({ at }) => at))
  const until = Math.max(...successes.map(({ until }) => until))
  const isEnded = isBy(at)
  return { pauses: telling(all.filter((pause) => !isEnded(pause))), cleared: { at, until } } // S3
}

/** Those that say something that no other does, in an order that does not depend on theirs (S1). */
const telling = (pauses: ReadonlyArray<Pause>): ReadonlyArray<Pause> => {
  const sorted = pauses.toSorted(compare)
  // Of equal ones the last is kept; what covers another may stand on either side of it.
  return sorted.filter(
    (pause, i) => !sorted.some((other, j) => i !== j && (compare(pause, other) === 0 ? i < j : isCovered(pause, other)))
  )
}

/**
 * Whether a pause says nothing beside another one. What is covered is found out no later than what covers it, so a success that
 * ends the second has ended the first (S3).
 */
const isCovered = (pause: Pause, by: Pause): boolean => {
  const other = sizesOf(by)
  return compare(pause, by) < 0 && !sizesOf(pause).some((size, i) => size > (other[i] ?? size))
}

const sizesOf = (pause: Pause): ReadonlyArray<number> => [pause.since ?? -Infinity, pause.until, askedOf(pause)]

/** Any order, as long as it is always the same. */
const compare = (a: Pause, b: Pause): number => {
  const others = sizesOf(b)
  for (const [i, size] of sizesOf(a).entries()) {
    const other = others[i] ?? size
    if (size !== other) return size < other ? -1 : 1
  }
  if (a.reason !== b.reason) return a.reason < b.reason ? -1 : 1
  return Number(a.retryable) - Number(b.retryable)
}
