/**
 * Orders the targets of a fallback chain, from the turn's present target.
 *
 * The primary comes first; under "never" the order begins at the turn's present target (P9). A fallback must fit the request. The primary
 * is skipped only if it does not take a file of the prompt, and a fallback does.
 */
import type { Route, Router } from "@holdfast/kernel"
import { defined, Target } from "@holdfast/wire"
import type { ConsideredTarget } from "../decision/Basis.ts"
import * as Models from "./Models.ts"
import * as Prospect from "./Prospect.ts"
import * as Routing from "./Routing.ts"

/** The targets of a chain, in order, for one request. */
export interface RoutePlan {
  readonly primary: Target.Target
  /** The key of the chain; absent: there is none. */
  readonly role: string | undefined
  readonly order: ReadonlyArray<Target.Target>
  /** The targets that the request does not fit. */
  readonly unfit: ReadonlyArray<ConsideredTarget>
}

/** Makes the plan for a request of a turn. */
export const of = (chain: Routing.FallbackChain, question: Router.Question, known: Prospect.Known): RoutePlan => {
  const { current, primary, request } = question
  const role = [Target.format(primary), Routing.ANY_PRIMARY].find((key) => Object.hasOwn(chain.chains, key))
  const standIns = (role === undefined ? undefined : chain.chains[role])?.filter(
    (target) => !Prospect.isSame(target, primary)
  )
  const judged = (standIns ?? []).map((target) => ({
    target,
    unfit: Models.unfit(known.models, request, target, known.countTokens)
  }))
  const fit = judged.filter(({ unfit }) => unfit === undefined).map(({ target }) => target)
  const isSkipped = fit.length > 0 && Models.isUnfitForFiles(known.models, request, primary)
  const order = isSkipped ? fit : [primary, ...fit]
  const at = chain.revert === "never" ? order.findIndex((target) => isAt(current, target)) : 0
  return {
    primary,
    role,
    order: at > 0 ? [...order.slice(at), ...order.slice(0, at)] : order,
    unfit: [
      ...(isSkipped ? [{ target: Target.format(primary), unfit: "files" as const }] : []),
      ...judged.flatMap(({ target, unfit }) => (unfit === undefined ? [] : [{ target: Target.format(target), unfit }]))
    ]
  }
}

/** Whether a route leads to a target. */
export const isAt = (route: Route.Route | undefined, target: Target.Target): boolean =>
  route !== undefined && Prospect.isSame(route.target, target)

/** Makes the route to a target of the plan, with its role (P8). */
export const routeTo = (
  { primary, role }: RoutePlan,
  { credential, target }: Prospect.TargetProspect
): Route.Route => ({
  target,
  ...defined({ credential }),
  ...(role === undefined || Prospect.isSame(target, primary) ? {} : { role })
})
