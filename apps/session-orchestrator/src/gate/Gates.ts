/**
 * Keeps the gates of this process: one per endpoint, credential and model (rule X5).
 *
 * Models behind one gateway address fail independently, and so do the models of the large providers. The sharing turn's own call would have met
 * the shared failure.
 */
import { RecordedWait, type StorageError, Timer } from "@holdfast/journal"
import { createHash } from "node:crypto"
import type { RetryStrategy, Route } from "@holdfast/kernel"
import { type Allowance, Gate, News } from "@holdfast/policy"
import { defined, Failure, type Ids, Target } from "@holdfast/wire"
import { Clock, Context, Effect, Layer } from "effect"
import { GateTable, type Posted } from "../storage/tables/GateTable.ts"
import { type GateWait, Gatekeeper } from "./Gatekeeper.ts"
import { type KnownGate, KnownGates } from "./KnownGates.ts"
import { Limiter } from "./Limiter.ts"
import * as SharedLimits from "./SharedLimits.ts"

/** Finds the gate and the limits for a route. */
export class Gates extends Context.Service<
  Gates,
  {
    /** The gatekeeper of a route; `undefined` if there are no gates. */
    readonly of: (route: Route.Route) => Gatekeeper | undefined
    /** The limiter of a provider, for all its models and credentials together; `undefined` if it has no limits. */
    readonly limiterOf: (provider: string) => Limiter | undefined
  }
>()("@holdfast/session-orchestrator/gate/Gates") {}

/** Finds a provider's endpoint. `undefined`: the provider has no gate. */
export type EndpointOf = (provider: string) => Endpoint | undefined
/** The address of a provider, and the credential that is used if a route names none. */
interface Endpoint {
  readonly baseUrl: string
  readonly credential: string | undefined
}

/** Finds a provider's limits. `undefined`: it has none. */
export type AllowanceOf = (provider: string) => Allowance.Allowance | undefined

/** Most gates that are kept although no turn waits at them. */
const MOST_IDLE = 1_000

/** Gates for every endpoint, of this process alone. */
export const layer = (
  endpointOf: EndpointOf,
  allowanceOf: AllowanceOf = none
): Layer.Layer<Gates | KnownGates, never, Timer.Timer> =>
  Layer.effectContext(Effect.map(make(endpointOf, allowanceOf), (made) => contextOf(made, () => Effect.succeed([]))))

/** Gates that exchange findings with the other runners on the database, once a second while a turn waits. */
export const layerShared = (
  endpointOf: EndpointOf,
  allowanceOf: AllowanceOf = none
): Layer.Layer<Gates | KnownGates, never, Timer.Timer | GateTable> =>
  Layer.effectContext(
    Effect.gen(function* () {
      const made = yield* make(endpointOf, allowanceOf)
      const { gatekeepers, limiters } = made
      const { exchange, share } = yield* GateTable
      const known = new Map<string, News.News>()
      const exchangeNews = Effect.suspend(() => {
        const own: Array<Posted> = []
        const waited: Array<string> = []
        for (const [endpoint, { isIdle, news }] of gatekeepers) {
          if (News.isNewer(news, known.get(endpoint) ?? NOTHING)) own.push({ endpoint, ...news })
          else if (isIdle) continue
          waited.push(endpoint)
        }
        return waited.length === 0 ? Effect.void : Effect.map(exchange(own, waited), apply)
      })
      const apply = (posted: ReadonlyArray<Posted>): void => {
        for (const { endpoint, ...news } of posted) {
          known.set(endpoint, news)
          gatekeepers.get(endpoint)?.hear(news)
        }
        for (const endpoint of known.keys()) if (!gatekeepers.has(endpoint)) known.delete(endpoint)
      }
      // Without the others' findings a gate works by its own. A database that is away is reported by the code that depends on it.
      const every = (exchange: Effect.Effect<void, StorageError>) =>
        Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(EXCHANGE), Effect.ignore(exchange))))
      yield* every(exchangeNews)
      yield* every(
        SharedLimits.make(limiters, share, (provider) => digest([provider, endpointOf(provider)?.baseUrl ?? ""]))
      )
      return contextOf(made, (endpoints) => exchange([], endpoints))
    })
  )

/** Limits alone: every turn keeps to its schedule, whatever other turns find. */
export const layerLimits = (allowanceOf: AllowanceOf): Layer.Layer<Gates | KnownGates, never, Timer.Timer> =>
  layer(none, allowanceOf)

/** Neither gates nor limits. */
export const layerNoop: Layer.Layer<Gates> = Layer.sync(Gates, () => ({ of: none, limiterOf: none }))

/** The key of an endpoint, its credential and model. A digest, as it is stored in a table and an address may contain secrets. */
export const keyOf = ({ credential, target }: Route.Route, endpoint: Endpoint): string =>
  digest([target.provider, endpoint.baseUrl, credential ?? endpoint.credential ?? "", target.model])

/** The wait of a sleeping turn at its gate; `undefined` if there is no gate. */
export const waitOf = (
  gates: Gates["Service"],
  turnId: Ids.TurnId,
  { basis, delayMs, failure, isMoved, retryAt, route, since }: RetryStrategy.PendingRetry
): GateWait | undefined => {
  const gatekeeper = Failure.isOfSpendLimit(failure) ? undefined : gates.of(route)
  if (gatekeeper === undefined) return undefined
  return gateWait(gatekeeper, turnId, {
    delayMs,
    isMoved,
    retryAt,
    since,
    hintMs: failure.hint?.retryAfterMs,
    ofEndpoint: Gate.concerns(failure),
    isLast: RecordedWait.isLast(basis),
    past: RecordedWait.pastOf(basis)
  })
}

/**
 * The wait of a turn by its records, in a process that has not run it. A turn that a person has sent elsewhere waits at its old gate until
 * its time; that costs one call.
 */
export const waitOfRecord = (
  gates: Gates["Service"],
  turnId: Ids.TurnId,
  wait: RecordedWait.CurrentWait,
  model: string
): GateWait | undefined => {
  if (wait.isOfTools === true) return undefined
  const target = Target.parse(model)
  const to = wait.route ?? (target && { target })
  const gatekeeper = to && gates.of(to)
  return gatekeeper && gateWait(gatekeeper, turnId, wait)
}

// --- internal

const gateWait = (
  gatekeeper: Gatekeeper,
  turnId: Ids.TurnId,
  { delayMs, hintMs = 0, isLast, isMoved, ofEndpoint, past, retryAt, since }: WaitAtGate
): GateWait => ({
  gatekeeper,
  turnId,
  since: retryAt - delayMs,
  waitMs: delayMs,
  notBefore: isMoved || ofEndpoint === false ? Infinity : since + hintMs,
  isWanted: isMoved,
  mayShare: isLast !== true,
  ...defined({ past })
})

/** The facts of a wait that its gate needs, of a live turn or by its records. */
interface WaitAtGate extends Pick<RecordedWait.CurrentWait, "delayMs" | "isMoved" | "retryAt" | "since"> {
  readonly hintMs?: number | undefined
  readonly ofEndpoint?: boolean | undefined
  readonly isLast?: boolean | undefined
  readonly past?: RecordedWait.GatePast | undefined
}

/** Time between two exchanges: short enough for a crowd, negligible for a database. */
const EXCHANGE = "1 second"

const NOTHING: News.News = { triedAt: 0, answeredAt: 0, failedAt: 0, failure: undefined, n: 0 }

const digest = (parts: ReadonlyArray<string>): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url")

const none = (): undefined => undefined

type Made = Effect.Success<ReturnType<typeof make>>

/** The services over the gates of this process; `newsOf` reads what runners on the database know of endpoints. */
const contextOf = (
  { endpointOf, gatekeepers, limiterOf, limiters, of, routes }: Made,
  newsOf: (endpoints: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Posted>, StorageError>
): Context.Context<Gates | KnownGates> =>
  Context.make(Gates, { limiterOf, of }).pipe(
    Context.add(KnownGates, {
      routes: () => Array.from(routes.values()),
      limiters,
      read: (asked) => {
        const keys = asked.map((route) => {
          const endpoint = endpointOf(route.target.provider)
          return endpoint === undefined ? undefined : keyOf(route, endpoint)
        })
        const known = keys.filter((key) => key !== undefined)
        return Effect.map(known.length === 0 ? Effect.succeed([]) : newsOf(known), (posted) => {
          const newsBy = new Map(posted.map(({ endpoint, ...news }) => [endpoint, news]))
          return keys.map((key): KnownGate =>
            key === undefined ? NO_GATE : { view: gatekeepers.get(key)?.view ?? UNUSED, news: newsBy.get(key) }
          )
        })
      }
    })
  )

const NO_GATE: KnownGate = { view: undefined, news: undefined }

/** A gate that no call has met. */
const UNUSED = new Gatekeeper({ now: () => 0, at: () => () => {} }).view

const make = Effect.fnUntraced(function* (endpointOf: EndpointOf, allowanceOf: AllowanceOf) {
  const clock = yield* Clock.Clock
  const { at } = yield* Timer.Timer
  const world = { at, now: () => clock.currentTimeMillisUnsafe() }
  const gatekeepers = new Map<string, Gatekeeper>()
  const routes = new Map<string, Route.Route>()
  const of = (route: Route.Route): Gatekeeper | undefined => {
    const endpoint = endpointOf(route.target.provider)
    if (endpoint === undefined) return undefined
    const key = keyOf(route, endpoint)
    const known = gatekeepers.get(key)
    if (known !== undefined) return known
    if (gatekeepers.size >= MOST_IDLE) {
      for (const [key, { isIdle }] of gatekeepers) {
        if (isIdle && gatekeepers.delete(key)) routes.delete(key)
      }
    }
    const gatekeeper = new Gatekeeper(world)
    gatekeepers.set(key, gatekeeper)
    routes.set(key, { target: route.target, ...defined({ credential: route.credential ?? endpoint.credential }) })
    return gatekeeper
  }
  const limiters = new Map<string, Limiter>()
  const limiterOf = (provider: string): Limiter | undefined => {
    const known = limiters.get(provider)
    if (known !== undefined) return known
    const allowance = allowanceOf(provider)
    if (allowance === undefined) return undefined
    const limiter = new Limiter(allowance, world)
    limiters.set(provider, limiter)
    return limiter
  }
  return { endpointOf, gatekeepers, limiters, limiterOf, of, routes }
})
