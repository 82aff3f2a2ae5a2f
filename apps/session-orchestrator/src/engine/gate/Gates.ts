/**
 * Keeps the gates of this process: one per endpoint, credential and model (rule X5).
 *
 * Models behind one gateway address fail independently, and so do the models of the large providers. The sharing turn's own call would have met
 * the shared failure.
 */
import { type StorageError, Timer } from "@holdfast/journal"
import { createHash } from "node:crypto"
import type { RetryStrategy, Route } from "@holdfast/kernel"
import type { History } from "@holdfast/kernel/host"
import { type Allowance, Gate, News, type Sleepers } from "@holdfast/policy"
import { defined, Failure, type Ids, Target } from "@holdfast/wire"
import { Clock, Context, Effect, Layer, Predicate } from "effect"
import type { Values } from "../../config/Config.ts"
import * as ProviderTable from "../../config/ProviderTable.ts"
import { GateTable, type Posted } from "../../storage/tables/GateTable.ts"
import * as ProviderName from "../../base/text/ProviderName.ts"
import { Gatekeeper, type GateView, type GateWait } from "./Gatekeeper.ts"
import { Limiter, sharing } from "./Limiter.ts"

/** What is known of one endpoint. */
export interface KnownGate {
  /** Its gate in this process; absent: it has none. */
  readonly view: GateView | undefined
  /** What the runners on the database have found; absent: nothing, or there is one process. */
  readonly news: News.News | undefined
}

/** Finds the gate and the limits for a route, and what is known of both. */
export class Gates extends Context.Service<Gates, Omit<Effect.Success<ReturnType<typeof make>>, "gatekeepers">>()(
  "@holdfast/session-orchestrator/gate/Gates"
) {}

/** Finds a provider's endpoint. `undefined`: the provider has no gate. */
export type EndpointOf = (provider: string) => Endpoint | undefined
/** The address of a provider, and the credential that is used if a route names none. */
interface Endpoint {
  readonly baseUrl: string
  readonly credential: string | undefined
}

/** Finds a provider's limits. `undefined`: it has none. */
export type AllowanceOf = (provider: string) => Allowance.Allowance | undefined

/** The endpoints of configured providers that are reached over HTTP. */
export const endpointsOf =
  (providers: Values["providers"]): EndpointOf =>
  (name) => {
    const provider = ProviderTable.reached(providers, ProviderName.configured(name))
    const baseUrl = provider?.baseUrl ?? `ai-sdk:${provider?.name}`
    return provider && { baseUrl, credential: provider.credentials[0]?.name }
  }

/** The limits of configured providers. */
export const allowancesOf =
  (providers: Values["providers"]): AllowanceOf =>
  (name) =>
    ProviderTable.reached(providers, name)?.limits

/** Most gates that are kept although no turn waits at them. */
const MOST_IDLE = 1_000

/** Gates for every endpoint, of this process alone. */
export const layer = (
  endpointOf: EndpointOf,
  allowanceOf: AllowanceOf = none
): Layer.Layer<Gates, never, Timer.Timer> =>
  Layer.effect(
    Gates,
    make(endpointOf, allowanceOf, () => Effect.succeed([]))
  )

/** Gates that exchange findings with the other runners on the database, once a second while a turn waits. */
export const layerShared = (
  endpointOf: EndpointOf,
  allowanceOf: AllowanceOf = none
): Layer.Layer<Gates, never, Timer.Timer | GateTable> =>
  Layer.effect(
    Gates,
    Effect.gen(function* () {
      const { exchange, share } = yield* GateTable
      const made = yield* make(endpointOf, allowanceOf, (endpoints) => exchange([], endpoints))
      const { gatekeepers, limiters } = made
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
      const providerKey = (provider: string) => digest([provider, endpointOf(provider)?.baseUrl ?? ""])
      // Without the others' findings a gate works by its own. A database that is away is reported by the code that depends on it.
      for (const each of [exchangeNews, sharing(limiters, share, providerKey)])
        yield* Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(EXCHANGE), Effect.ignore(each))))
      return made
    })
  )

/** Neither gates nor limits. */
export const noop: Gates["Service"] = {
  of: () => undefined,
  limiterOf: () => undefined,
  routes: () => [],
  read: (routes) => Effect.succeed(routes.map(() => NO_GATE)),
  limiters: new Map()
}

/** The same as a layer. */
export const layerNoop: Layer.Layer<Gates> = Layer.succeed(Gates, noop)

/** The key of an endpoint, its credential and model. A digest, as it is stored in a table and an address may contain secrets. */
export const keyOf = ({ credential, target }: Route.Route, endpoint: Endpoint): string =>
  digest([target.provider, endpoint.baseUrl, credential ?? endpoint.credential ?? "", target.model])

/** The wait of a sleeping turn at its gate; `undefined` if there is no gate. */
export const waitOf = (
  gates: Gates["Service"],
  turnId: Ids.TurnId,
  wait: RetryStrategy.PendingRetry
): GateWait | undefined => {
  const { failure, route } = wait
  const gatekeeper = Failure.isOfSpendLimit(failure) ? undefined : gates.of(route)
  const hintMs = failure.hint?.retryAfterMs
  return gatekeeper && gateWait(gatekeeper, turnId, { ...wait, hintMs, ofEndpoint: Gate.concerns(failure) })
}

/**
 * The wait of a turn by its records, in a process that has not run it. A turn that a person has sent elsewhere waits at its old gate until
 * its time; that costs one call.
 */
export const waitOfRecord = (
  gates: Gates["Service"],
  turnId: Ids.TurnId,
  { decision, isMoved, retryAt, since, target: own }: RecordedWait,
  model: string
): GateWait | undefined => {
  if (decision === undefined) return undefined // it waits for answers about tool calls
  const { basis, delayMs } = decision
  const target = Target.parse(own ?? model)
  const to = decision.route ?? (target && { target })
  const gatekeeper = to && gates.of(to)
  const [hintMs, ofEndpoint] = [numberAt(basis, "hintMs"), valueAt(basis, "ofEndpoint") !== false]
  return gatekeeper && gateWait(gatekeeper, turnId, { basis, delayMs, hintMs, isMoved, ofEndpoint, retryAt, since })
}

// --- internal

const gateWait = (
  gatekeeper: Gatekeeper,
  turnId: Ids.TurnId,
  { basis, delayMs, hintMs = 0, isMoved, ofEndpoint, retryAt, since }: WaitAtGate
): GateWait => ({
  gatekeeper,
  turnId,
  since: retryAt - delayMs,
  waitMs: delayMs,
  notBefore: isMoved || !ofEndpoint ? Infinity : since + hintMs,
  isWanted: isMoved,
  mayShare: valueAt(basis, "isLast") !== true,
  ...defined({ past: pastOf(basis) })
})

/** The wait of a turn by its records. */
type RecordedWait = Pick<History.Wait, "decision" | "isMoved" | "retryAt" | "since" | "target">

/** The facts of a wait that its gate needs, of a live turn or by its records. */
interface WaitAtGate extends Pick<RetryStrategy.PendingRetry, "delayMs" | "isMoved" | "retryAt" | "since"> {
  /** That of its decision (`Basis`), of any version. */
  readonly basis?: unknown
  /** The provider's hint, in milliseconds. */
  readonly hintMs: number | undefined
  /** The failure is evidence about the endpoint. */
  readonly ofEndpoint: boolean
}

/** What the gate of a wait with this basis keeps of the turn. */
const pastOf = (basis: unknown): Sleepers.Remembered | undefined => {
  const past = valueAt(basis, "past")
  const [odd, restsUntil] = [numberAt(past, "odd"), numberAt(past, "restsUntil")]
  return odd === undefined || restsUntil === undefined ? undefined : { odd, restsUntil }
}

const valueAt = (value: unknown, key: string): unknown => (Predicate.hasProperty(value, key) ? value[key] : undefined)

const numberAt = (value: unknown, key: string): number | undefined => {
  const found = valueAt(value, key)
  return typeof found === "number" ? found : undefined
}

/** Time between two exchanges: short enough for a crowd, negligible for a database. */
const EXCHANGE = "1 second"

const NOTHING: News.News = { triedAt: 0, answeredAt: 0, failedAt: 0, failure: undefined, n: 0 }

const digest = (parts: ReadonlyArray<string>): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url")

const none = (): undefined => undefined

const NO_GATE: KnownGate = { view: undefined, news: undefined }

/** A gate that no call has met. */
const UNUSED = new Gatekeeper({ now: () => 0, at: () => () => {} }).view

/** The gates of this process; `newsOf` reads what runners on the database know of endpoints. */
const make = Effect.fnUntraced(function* (
  endpointOf: EndpointOf,
  allowanceOf: AllowanceOf,
  newsOf: (endpoints: ReadonlyArray<string>) => Effect.Effect<ReadonlyArray<Posted>, StorageError>
) {
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
  const read = (asked: ReadonlyArray<Route.Route>): Effect.Effect<ReadonlyArray<KnownGate>, StorageError> => {
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
  return {
    gatekeepers,
    /** The gatekeeper of a route; `undefined` if there are no gates. */
    of,
    /** The limiter of a provider, for all its models and credentials together; `undefined` if it has no limits. */
    limiterOf,
    /** The limiters that have been used, by provider. */
    limiters,
    /** The routes that have a gate since they were called, each with its credential. */
    routes: () => Array.from(routes.values()),
    /** What is known of each of these routes, in their order. */
    read
  }
})
