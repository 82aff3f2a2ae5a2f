/**
 * When a target can be called, and with which of its provider's credentials, as far as is known.
 *
 * Q1. A credential that is not limited is taken before one that is; the one in use before others, because a provider's prompt
 *     cache belongs to it. For the same reason a rate limit moves no call of a target to another credential than the one in use.
 * Q2. A route names a credential only where it is not the provider's first.
 * Q3. A credential whose quota is used up can be called with a model that has not said so itself: quotas of a model are often
 *     worded as if they were of all (C12). It is taken after those of which nothing is known.
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
  const used = usedOf(names, target, inUse)
  const chosen = best(
    (used === undefined ? names : [used, ...names.filter((name) => name !== used)]).map((name) =>
      choiceOf(standing, target, name, now)
    ),
    inUse !== undefined && isSame(target, inUse.target) ? used : undefined
  )
  const pauses = [Standing.of(standing, Standing.target(target), now), ...(chosen?.pauses ?? [])].filter(
    (pause) => pause !== undefined
  )
  const asked = Math.max(...pauses.map(({ askedUntil = -Infinity }) => askedUntil))
  return {
    target,
    ...(chosen === undefined || chosen.name === names[0] ? {} : { credential: chosen.name }), // Q2
    freeAt: Math.max(now, ...pauses.map(({ until }) => until)),
    ...(asked > now ? { askedUntil: asked } : {}),
    isHopeful: pauses.every(({ retryable }) => retryable)
  }
}

/**
 * Other credentials that a target can be called with at `now`, best first: those of which nothing is known, then those whose quota
 * another model has used up (Q3).
 */
export const spares = (
  { credentials, standing }: Pick<Known, "credentials" | "standing">,
  target: Target.Target,
  used: string,
  now: number
): ReadonlyArray<string> => {
  const free = (credentials[target.provider] ?? [])
    .filter((name) => name !== used)
    .map((name) => choiceOf(standing, target, name, now))
    .filter(({ pauses }) => pauses.length === 0)
  return [...free.filter(({ isDoubtful }) => !isDoubtful), ...free.filter(({ isDoubtful }) => isDoubtful)].map(
    ({ name }) => name
  )
}

/** The name of the credential that a route uses; `undefined` where its provider has none. */
export const credentialOf = (
  { credentials }: Pick<Known, "credentials">,
  { credential, target }: Route.Route
): string | undefined => credential ?? credentials[target.provider]?.[0]

/** What a success on a route says about what it used, when its call had begun at `began` (C12). */
export const cleared = (
  known: Pick<Known, "credentials" | "standing">,
  route: Route.Route,
  began: number
): Standing.Standing =>
  Standing.cleared(known.standing, Standing.usedBy(route.target, credentialOf(known, route)), began)

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
  /** What is in the way of the target's model with this credential. */
  readonly pauses: ReadonlyArray<Standing.Pause>
  /** Another model has used up its quota (Q3). */
  readonly isDoubtful: boolean
}

const choiceOf = (standing: Standing.Standing, target: Target.Target, name: string, now: number): Choice => {
  const { provider } = target
  return {
    name,
    pauses: [Standing.model(target, name), Standing.account(provider, name)].flatMap(
      (thing) => Standing.of(standing, thing, now) ?? []
    ),
    isDoubtful: Standing.of(standing, Standing.credential(provider, name), now) !== undefined
  }
}

/** The credential in use. One that somebody removed from the configuration is used no more. */
const usedOf = (
  names: ReadonlyArray<string>,
  target: Target.Target,
  inUse: Route.Route | undefined
): string | undefined => {
  const used = inUse?.target.provider === target.provider ? (inUse.credential ?? names[0]) : undefined
  return used !== undefined && names.includes(used) ? used : undefined
}

/** Q1, Q3. */
const best = (choices: ReadonlyArray<Choice>, kept: string | undefined): Choice | undefined => {
  const free = choices.filter(({ pauses }) => pauses.length === 0)
  return (
    choices.find((choice) => choice.name === kept && isRateLimited(choice)) ??
    free.find(({ isDoubtful }) => !isDoubtful) ??
    free[0] ??
    firstOver(choices.filter(({ pauses }) => pauses.every(({ retryable }) => retryable))) ??
    firstOver(choices)
  )
}

/** Whether nothing is in the way but a rate limit. */
const isRateLimited = ({ isDoubtful, pauses }: Choice): boolean =>
  !isDoubtful && pauses.length > 0 && pauses.every(({ reason }) => reason === "rate-limited")

const firstOver = (choices: ReadonlyArray<Choice>): Choice | undefined =>
  choices.toSorted((a, b) => freeAtOf(a) - freeAtOf(b))[0]

const freeAtOf = ({ pauses }: Choice): number => Math.max(...pauses.map(({ until }) => until))
