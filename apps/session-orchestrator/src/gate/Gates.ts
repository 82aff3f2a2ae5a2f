/**
 * The gates of this process: one for each endpoint, credential and model (X5).
 *
 * Behind one address a gateway has models that fail on their own, and so have the large providers: a failure that is shared
 * must be one that the sharing turn's own call would have met.
 */
import { type RecordedWait, type StorageError, Timer } from "@holdfast/journal"
import { createHash } from "node:crypto"
import type { RetryStrategy, Route } from "@holdfast/kernel"
import { type Allowance, Gate, News } from "@holdfast/policy"
import { Target } from "@holdfast/wire"
import { Clock, Context, Effect, Layer } from "effect"
import { GateTable, type Posted } from "../storage/tables/GateTable.ts"
import { type Awaited, Gatekeeper } from "./Gatekeeper.ts"
import { Limiter } from "./Limiter.ts"
import * as SharedLimits from "./SharedLimits.ts"

export class Gates extends Context.Service<
  Gates,
  {
    /** Who keeps the gate of where an attempt goes; `undefined` where there are no gates. */
    readonly of: (route: Route.Route) => Gatekeeper | undefined
    /** What keeps the limits of a provider, all its models and credentials together; `undefined` where it has none. */
    readonly limiterOf: (provider: string) => Limiter | undefined
  }
>()("@holdfast/session-orchestrator/conversation/Gates") {}

/** Where a provider is, and the credential that is used where a route names none; `undefined`: it has no gate. */
export type EndpointOf = (provider: string) => Endpoint | undefined
export interface Endpoint {
  readonly baseUrl: string
  readonly credential: string | undefined
}

/** The limits of a provider; `undefined`: it has none. */
export type AllowanceOf = (provider: string) => Allowance.Allowance | undefined

/** So many gates are kept although nobody waits at them. */
const MOST_IDLE = 1_000

/** Gates for every endpoint, of this process alone. */
export const layer = (
  endpointOf: EndpointOf,
  allowanceOf: AllowanceOf = none
): Layer.Layer<Gates, never, Timer.Timer> =>
  Layer.effect(
    Gates,
    Effect.map(make(endpointOf, allowanceOf), ({ limiterOf, of }) => ({ limiterOf, of }))
  )

/** The same, told to the other runners on the database, and told by them, once a second while somebody waits. */
export const layerShared = (
  endpointOf: EndpointOf,
  allowanceOf: AllowanceOf = none
): Layer.Layer<Gates, never, Timer.Timer | GateTable> =>
  Layer.effect(
    Gates,
    Effect.gen(function* () {
      const { gatekeepers, limiterOf, limiters, of } = yield* make(endpointOf, allowanceOf)
      const { exchange, share } = yield* GateTable
      const known = new Map<string, News.News>()
      const tell = Effect.suspend(() => {
        const own: Array<Posted> = []
        const waited: Array<string> = []
        for (const [endpoint, { isIdle, news }] of gatekeepers) {
          if (News.isNewer(news, known.get(endpoint) ?? NOTHING)) own.push({ endpoint, ...news })
          else if (isIdle) continue
          waited.push(endpoint)
        }
        return waited.length === 0 ? Effect.void : Effect.map(exchange(own, waited), hear)
      })
      const hear = (told: ReadonlyArray<Posted>): void => {
        for (const { endpoint, ...news } of told) {
          known.set(endpoint, news)
          gatekeepers.get(endpoint)?.hear((gate) => News.heard(gate, news))
        }
        for (const endpoint of known.keys()) if (!gatekeepers.has(endpoint)) known.delete(endpoint)
      }
      // Without the others' news a gate works by its own; a database that is away is told of by those who need it.
      const every = (told: Effect.Effect<void, StorageError>) =>
        Effect.forkScoped(Effect.forever(Effect.andThen(Effect.sleep(EXCHANGE), Effect.ignore(told))))
      yield* every(tell)
      yield* every(
        SharedLimits.make(limiters, share, (provider) => digest([provider, endpointOf(provider)?.baseUrl ?? ""]))
      )
      return { limiterOf, of }
    })
  )

/** Limits alone: every turn keeps to its schedule, whatever the others find. */
export const layerLimits = (allowanceOf: AllowanceOf): Layer.Layer<Gates, never, Timer.Timer> =>
  layer(none, allowanceOf)

/** Neither gates nor limits. */
export const layerNoop: Layer.Layer<Gates> = Layer.sync(Gates, () => ({ of: none, limiterOf: none }))

/** What stands for an endpoint, its credential and model, in a table too: an address may have secrets in its query. */
export const keyOf = ({ credential, target }: Route.Route, endpoint: Endpoint): string =>
  digest([target.provider, endpoint.baseUrl, credential ?? endpoint.credential ?? "", target.model])

/** What a turn waits for that sleeps now. */
export const awaited = (
  gates: Gates["Service"],
  { failure, isMoved, retryAt, route, since }: RetryStrategy.Awaited
): Awaited | undefined => {
  const gatekeeper = gates.of(route)
  if (gatekeeper === undefined) return undefined
  const isEarly = !isMoved && Gate.concerns(failure)
  const notBefore = isEarly ? since + (failure.hint?.retryAfterMs ?? 0) : Infinity
  return { gatekeeper, since, waitMs: retryAt - since, notBefore, isWanted: isMoved }
}

/**
 * What a turn waits for by its records, in a process that has not run it. Whoever a person has sent
 * elsewhere waits at the wrong gate until its time: that costs a call.
 */
export const remembered = (
  gates: Gates["Service"],
  { delayMs, hintMs = 0, isMoved, ofEndpoint, retryAt, route }: RecordedWait.Begun,
  model: string
): Awaited | undefined => {
  const target = Target.parse(model)
  const to = route ?? (target && { target })
  const gatekeeper = to && gates.of(to)
  if (gatekeeper === undefined) return undefined
  const since = retryAt - delayMs
  const isEarly = !isMoved && ofEndpoint !== false
  return { gatekeeper, since, waitMs: delayMs, notBefore: isEarly ? since + hintMs : Infinity, isWanted: isMoved }
}

// --- internal

/** Often enough for a crowd, and nothing to a database. */
const EXCHANGE = "1 second"

const NOTHING: News.News = { triedAt: 0, answeredAt: 0, failedAt: 0, failure: undefined }

const digest = (parts: ReadonlyArray<string>): string =>
  createHash("sha256").update(JSON.stringify(parts)).digest("base64url")

const none = (): undefined => undefined

const make = Effect.fnUntraced(function* (endpointOf: EndpointOf, allowanceOf: AllowanceOf) {
  const clock = yield* Clock.Clock
  const { at } = yield* Timer.Timer
  const world = { at, now: () => clock.currentTimeMillisUnsafe() }
  const gatekeepers = new Map<string, Gatekeeper>()
  const of = (route: Route.Route): Gatekeeper | undefined => {
    const endpoint = endpointOf(route.target.provider)
    if (endpoint === undefined) return undefined
    const key = keyOf(route, endpoint)
    const known = gatekeepers.get(key)
    if (known !== undefined) return known
    if (gatekeepers.size >= MOST_IDLE) {
      for (const [key, { isIdle }] of gatekeepers) if (isIdle) gatekeepers.delete(key)
    }
    const gatekeeper = new Gatekeeper(world)
    gatekeepers.set(key, gatekeeper)
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
  return { gatekeepers, limiters, limiterOf, of }
})
