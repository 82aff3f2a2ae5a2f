/** The port through which a report reads the gates and limits of this process. */
import type { StorageError } from "@holdfast/journal"
import type { Route } from "@holdfast/kernel"
import type { News } from "@holdfast/policy"
import { Context, Effect, Layer } from "effect"
import type { GateView } from "./Gatekeeper.ts"
import type { Limiter } from "./Limiter.ts"

/** What is known of one endpoint. */
export interface KnownGate {
  /** Its gate in this process; absent: it has none. */
  readonly view: GateView | undefined
  /** What the runners on the database have found; absent: nothing, or there is one process. */
  readonly news: News.News | undefined
}

/** Reads gates and limits. */
export class KnownGates extends Context.Service<
  KnownGates,
  {
    /** The routes that have a gate since they were called, each with its credential. */
    readonly routes: () => ReadonlyArray<Route.Route>
    /** What is known of each of these routes, in their order. */
    readonly read: (routes: ReadonlyArray<Route.Route>) => Effect.Effect<ReadonlyArray<KnownGate>, StorageError>
    /** The limiters that have been used, by provider. */
    readonly limiters: ReadonlyMap<string, Limiter>
  }
>()("@holdfast/session-orchestrator/gate/KnownGates") {}

/** Neither gates nor limits. */
export const layerNoop: Layer.Layer<KnownGates> = Layer.succeed(KnownGates, {
  routes: () => [],
  read: (routes) => Effect.succeed(routes.map(() => ({ view: undefined, news: undefined }))),
  limiters: new Map()
})
