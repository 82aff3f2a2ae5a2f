/**
 * What turns have found out about targets and credentials, for each other: which target cools down, which credential is
 * limited, and until when (P7, P8).
 *
 * A plain value that survives JSON. The shell keeps one for all turns and all runners; nobody owns it, so what two of them
 * know is put together by `merge`, in any order and as often as they like.
 *
 * S1. `merge` is idempotent, commutative and associative, and of two pauses of one thing the later end wins.
 * S2. A pause is over at its `until`; then it is as if it had never been. Clocks of runners that differ make a pause that much
 *     longer or shorter, and nothing worse.
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
  askedUntil: Schema.optionalKey(Schema.Finite)
})
export type Pause = typeof Pause.Type

export const Standing = Schema.Struct({
  /** Targets that cool down (P8), by `provider/model`. */
  targets: Schema.Record(Schema.String, Pause),
  /** Credentials that are limited (P7), by `provider/credential`. */
  credentials: Schema.Record(Schema.String, Pause)
})
export type Standing = typeof Standing.Type

/** Nothing is known against anybody. */
export const empty: Standing = { targets: {}, credentials: {} }

/** Whether it says nothing: there is nothing to store. */
export const isEmpty = ({ credentials, targets }: Standing): boolean =>
  Object.keys(targets).length === 0 && Object.keys(credentials).length === 0

/** The name of a credential among those of all providers. */
export const credentialKey = (provider: string, credential: string): string => `${provider}/${credential}`

/** One target cools down. */
export const coolDown = (target: Target.Target, pause: Pause): Standing => ({
  targets: { [Target.format(target)]: pause },
  credentials: {}
})

/** One credential of a provider is limited. */
export const limit = (provider: string, credential: string, pause: Pause): Standing => ({
  targets: {},
  credentials: { [credentialKey(provider, credential)]: pause }
})

/** What both know (S1). */
export const merge = (a: Standing, b: Standing): Standing => ({
  targets: union(a.targets, b.targets),
  credentials: union(a.credentials, b.credentials)
})

/** What is still in force at `now`, in epoch milliseconds (S2). */
export const expire = ({ credentials, targets }: Standing, now: number): Standing => ({
  targets: inForce(targets, now),
  credentials: inForce(credentials, now)
})

/** A target's cooldown, if it has one at `now`. */
export const ofTarget = ({ targets }: Standing, target: Target.Target, now: number): Pause | undefined =>
  current(targets[Target.format(target)], now)

/** A credential's limit, if it has one at `now`. */
export const ofCredential = (
  { credentials }: Standing,
  provider: string,
  credential: string,
  now: number
): Pause | undefined => current(credentials[credentialKey(provider, credential)], now)

// --- internal

type Pauses = Standing["targets"]

const current = (pause: Pause | undefined, now: number): Pause | undefined =>
  pause !== undefined && pause.until > now ? pause : undefined

const inForce = (pauses: Pauses, now: number): Pauses =>
  Object.fromEntries(Object.entries(pauses).filter(([, { until }]) => until > now))

const union = (a: Pauses, b: Pauses): Pauses => {
  const merged: Record<string, Pause> = { ...a }
  for (const [key, pause] of Object.entries(b)) {
    const known = merged[key]
    merged[key] = known === undefined ? pause : join(known, pause)
  }
  return merged
}

/** The later one; of two that end together any, as long as it is always the same (S1). What was asked for is kept. */
const join = (a: Pause, b: Pause): Pause => {
  const { askedUntil: _, ...later } = isBefore(a, b) ? b : a
  const asked = Math.max(a.askedUntil ?? -Infinity, b.askedUntil ?? -Infinity)
  return asked === -Infinity ? later : { ...later, askedUntil: asked }
}

const isBefore = (a: Pause, b: Pause): boolean => {
  if (a.until !== b.until) return a.until < b.until
  if (a.reason !== b.reason) return a.reason < b.reason
  return !a.retryable && b.retryable
}
