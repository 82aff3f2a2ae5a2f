/**
 * When a target can be called, and with which of its provider's credentials, as far as is known.
 *
 * Q1. A credential that is not limited is taken before one that is; the one in use before others, because a provider's prompt
 *     cache belongs to it.
 * Q2. A route names a credential only where it is not the provider's first.
 */
import type { Route } from "@holdfast/kernel"
import { Target } from "@holdfast/wire"
import type { CountTokens, Models } from "./Models.ts"
import * as Standing from "./Standing.ts"

/** What the shell knows when it asks. */
export interface Known {
  /** What turns have found out, of this runner and of others. */
  readonly standing: Standing.Standing
  /** The names of each provider's credentials, in order. A provider without any needs none. */
  readonly credentials: { readonly [provider: string]: ReadonlyArray<string> }
  readonly models: Models
  readonly countTokens: CountTokens
}

/** One target, as it stands. */
export interface Prospect {
  readonly target: Target.Target
  /** Absent: the provider's first, or it needs none. */
  readonly credential?: string
  /** Epoch milliseconds: when it can be called; `now` where nothing is against it. */
  readonly freeAt: number
  /** Epoch milliseconds: until when the provider asked to be left alone. */
  readonly askedUntil?: number
  /** Whether time alone makes it free. */
  readonly isHopeful: boolean
}

/** How a target stands at `now`. `inUse` is the route of the last attempt. */
export const of = (
  { credentials, standing }: Pick<Known, "credentials" | "standing">,
  target: Target.Target,
  inUse: Route.Route | undefined,
  now: number
): Prospect => {
  const names = credentials[target.provider] ?? []
  const chosen = best(
    inUseFirst(names, target, inUse).map((name) => ({
      name,
      pause: Standing.ofCredential(standing, target.provider, name, now)
    }))
  )
  const pauses = [Standing.ofTarget(standing, target, now), chosen?.pause].filter((pause) => pause !== undefined)
  const asked = Math.max(...pauses.map(({ askedUntil = -Infinity }) => askedUntil))
  return {
    target,
    ...(chosen === undefined || chosen.name === names[0] ? {} : { credential: chosen.name }), // Q2
    freeAt: Math.max(now, ...pauses.map(({ until }) => until)),
    ...(asked > now ? { askedUntil: asked } : {}),
    isHopeful: pauses.every(({ retryable }) => retryable)
  }
}

/** The name of the credential that a route uses; `undefined` where its provider has none. */
export const credentialOf = (
  { credentials }: Pick<Known, "credentials">,
  { credential, target }: Route.Route
): string | undefined => credential ?? credentials[target.provider]?.[0]

/** Whether a route leads to this target with this credential. */
export const isRouteTo = (
  { credential, target }: Prospect,
  route: Route.Route,
  known: Pick<Known, "credentials">
): boolean => {
  const first = known.credentials[target.provider]?.[0]
  return isSame(target, route.target) && (credential ?? first) === (route.credential ?? first)
}

/** Of several the one that is free first; of those that are free together the first in order. */
export const soonest = (prospects: ReadonlyArray<Prospect>): Prospect | undefined =>
  prospects.toSorted((a, b) => a.freeAt - b.freeAt)[0]

/** Whether two targets are one. */
export const isSame = (a: Target.Target, b: Target.Target): boolean => Target.format(a) === Target.format(b)

// --- internal

interface Choice {
  readonly name: string
  readonly pause: Standing.Pause | undefined
}

/** Q1. One that somebody removed from the configuration is used no more. */
const inUseFirst = (
  names: ReadonlyArray<string>,
  target: Target.Target,
  inUse: Route.Route | undefined
): ReadonlyArray<string> => {
  const used = inUse?.target.provider === target.provider ? (inUse.credential ?? names[0]) : undefined
  return used !== undefined && names.includes(used) ? [used, ...names.filter((name) => name !== used)] : names
}

const best = (choices: ReadonlyArray<Choice>): Choice | undefined =>
  choices.find(({ pause }) => pause === undefined) ??
  firstOver(choices.filter(({ pause }) => pause?.retryable === true)) ??
  firstOver(choices)

const firstOver = (choices: ReadonlyArray<Choice>): Choice | undefined =>
  choices.toSorted((a, b) => (a.pause?.until ?? 0) - (b.pause?.until ?? 0))[0]
