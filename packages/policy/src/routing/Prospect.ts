/**
 * Determines when a target can be called, and with which credential.
 *
 * A free credential comes before a limited one, and the credential in use before others, because the provider's prompt cache belongs to
 * it. For the same reason a rate limit does not move a call to another credential. A route names a credential only if it is not the
 * provider's first.
 *
 * A credential whose quota is used up can be called with another model, because errors often name a model's quota as if it were for all
 * models (C12). It comes after credentials without known limits.
 */
import type { Route } from "@holdfast/kernel"
import type { Target } from "@holdfast/wire"
import type { CountTokens, Models } from "./Models.ts"
import * as Standing from "./Standing.ts"

/** The facts that the shell passes in. */
export interface Known {
  /** The findings of turns, of this runner and of others. */
  readonly standing: Standing.Standing
  /** The names of each provider's credentials, in order. A provider without any needs none. */
  readonly credentials: { readonly [provider: string]: ReadonlyArray<string> }
  readonly models: Models
  readonly countTokens: CountTokens
}

/** One target and its availability. */
export interface TargetProspect {
  readonly target: Target.Target
  /** Absent: the provider's first, or it needs none. */
  readonly credential?: string
  /** When it can be called, in epoch milliseconds; `now` if it has no pause. */
  readonly freeAt: number
  /** The end of the provider's hint, in epoch milliseconds. */
  readonly askedUntil?: number
  /** Whether time alone makes it free. */
  readonly isHopeful: boolean
}

/** Returns the availability of a target at `now`. `inUse` is the route of the last attempt. */
export const of = (
  { credentials, standing }: Pick<Known, "credentials" | "standing">,
  target: Target.Target,
  inUse: Route.Route | undefined,
  now: number
): TargetProspect => {
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
    ...(chosen === undefined || chosen.name === names[0] ? {} : { credential: chosen.name }),
    freeAt: Math.max(now, ...pauses.map(({ until }) => until)),
    ...(asked > now ? { askedUntil: asked } : {}),
    isHopeful: pauses.every(({ retryable }) => retryable)
  }
}

/**
 * Returns the other credentials with which a target can be called at `now`, best first: those without known limits, then those whose quota
 * another model has used up.
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

/** Returns the name of the credential that a route uses; `undefined`: its provider has none. */
export const credentialOf = (
  { credentials }: Pick<Known, "credentials">,
  { credential, target }: Route.Route
): string | undefined => credential ?? credentials[target.provider]?.[0]

/** Returns the pauses that a success on a route ends; its call had begun at `began`, in epoch milliseconds (C12). */
export const cleared = (
  known: Pick<Known, "credentials" | "standing">,
  route: Route.Route,
  began: number
): Standing.Standing =>
  Standing.cleared(known.standing, Standing.usedBy(route.target, credentialOf(known, route)), began)

/** Whether a route leads to this target with this credential. */
export const isRouteTo = (
  { credential, target }: TargetProspect,
  route: Route.Route,
  known: Pick<Known, "credentials">
): boolean => {
  const first = known.credentials[target.provider]?.[0]
  return isSame(target, route.target) && (credential ?? first) === (route.credential ?? first)
}

/** Returns the target that is free first; if several are, the first in order. */
export const soonest = (prospects: ReadonlyArray<TargetProspect>): TargetProspect | undefined =>
  prospects.reduce<TargetProspect | undefined>(
    (first, each) => (first !== undefined && first.freeAt <= each.freeAt ? first : each),
    undefined
  )

/** Whether two targets are the same. */
export const isSame = (a: Target.Target, b: Target.Target): boolean => a.provider === b.provider && a.model === b.model

// --- internal

interface Choice {
  readonly name: string
  /** The pauses of the target's model with this credential. */
  readonly pauses: ReadonlyArray<Standing.Pause>
  /** Another model has used up its quota. */
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

/** The credential in use; `undefined` if it was removed from the configuration. */
const usedOf = (
  names: ReadonlyArray<string>,
  target: Target.Target,
  inUse: Route.Route | undefined
): string | undefined => {
  const used = inUse?.target.provider === target.provider ? (inUse.credential ?? names[0]) : undefined
  return used !== undefined && names.includes(used) ? used : undefined
}

const best = (choices: ReadonlyArray<Choice>, kept: string | undefined): Choice | undefined => {
  if (choices.length === 0) return undefined
  const free = choices.filter(({ pauses }) => pauses.length === 0)
  return (
    choices.find((choice) => choice.name === kept && isRateLimited(choice)) ??
    free.find(({ isDoubtful }) => !isDoubtful) ??
    free[0] ??
    firstOver(choices.filter(({ pauses }) => pauses.every(({ retryable }) => retryable))) ??
    firstOver(choices)
  )
}

/** Whether a rate limit is its only pause. */
const isRateLimited = ({ isDoubtful, pauses }: Choice): boolean =>
  !isDoubtful && pauses.length > 0 && pauses.every(({ reason }) => reason === "rate-limited")

const firstOver = (choices: ReadonlyArray<Choice>): Choice | undefined =>
  choices.toSorted((a, b) => freeAtOf(a) - freeAtOf(b))[0]

const freeAtOf = ({ pauses }: Choice): number => Math.max(...pauses.map(({ until }) => until))
