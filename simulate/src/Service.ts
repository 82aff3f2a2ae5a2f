/**
 * Starts, stops and kills the service: the layers of `Composition.ts`, over a simulated network and disk.
 *
 * A process that is killed loses its memory: its tasks and timers are dropped, and none of its finalizers runs.
 */
import { ProcessName } from "@holdfast/journal"
import { Profile, type RetryPolicy } from "@holdfast/policy"
import * as RawCall from "@holdfast/providers/raw"
import * as Undici from "@holdfast/providers/undici"
import { Http } from "@holdfast/providers"
import { Simulated } from "@holdfast/simulated"
import { Context, Effect, Exit, Layer, Result, Scope } from "effect"
import { HttpServer } from "effect/http"
import { NetAddress } from "effect/net"
import * as Composition from "../../apps/session-orchestrator/src/Composition.ts"
import { Config } from "../../apps/session-orchestrator/src/config/Config.ts"
import * as Resolve from "../../apps/session-orchestrator/src/config/Resolve.ts"
import * as Tools from "../../apps/session-orchestrator/src/engine/conversation/Tools.ts"
import { Conversations } from "../../apps/session-orchestrator/src/engine/conversation/Conversations.ts"
import { Gateway } from "../../apps/session-orchestrator/src/gateway/Gateway.ts"
import { BulkRun } from "../../apps/session-orchestrator/src/http/BulkRun.ts"
import * as SafeLogger from "../../apps/session-orchestrator/src/config/redaction/SafeLogger.ts"
import * as Secrets from "../../apps/session-orchestrator/src/config/redaction/Secrets.ts"
import * as Drain from "../../apps/session-orchestrator/src/base/system/Drain.ts"
import type { SpendLimit } from "./Laws.ts"
import type { Network } from "./Network.ts"
import * as Runner from "./Runner.ts"
import type { Process, World } from "./World.ts"

/** The keys of the providers. None of them may be in a row or in a log line. */
export const KEYS: Readonly<Record<string, string>> = {
  ONE_KEY: "sk-one-3f9a7c51e2d84b06",
  ONE_KEY_2: "sk-one-b81d40e97a6c2f35",
  TWO_KEY: "sk-two-6e05c4d9183fab72"
}

/** What clients call, behind the transports. */
export interface Service {
  readonly conversations: Conversations["Service"]
  readonly bulk: BulkRun["Service"]
  readonly gateway: Gateway["Service"]
}

/** A process with its service, from when it takes calls until it stops. */
export interface Life extends Process {
  readonly scope: Scope.Closeable
  service: Service | undefined
  /** Releases all clients. */
  drain: Effect.Effect<void>
}

export interface Options {
  readonly world: World
  readonly network: Pick<Network, "dispatch">
  readonly tools: Tools.Tools["Service"]
  readonly logged: (line: string) => void
  /** What it shares with other runners, and where it listens for them; absent: it has the disk alone. */
  readonly cluster?: { readonly shared: Runner.Shared; readonly port: number } | undefined
}

/** A configuration file, as far as the laws read it. */
export interface Settings extends Readonly<Record<string, unknown>> {
  readonly providers: Readonly<
    Record<string, { readonly [key: string]: unknown; readonly limits?: { readonly calls: number } }>
  >
  readonly spend?: ReadonlyArray<SpendLimit>
  readonly retry: Readonly<Record<string, unknown>>
}

/** Starts a process; `ready` is called when it takes calls, `failed` when its start fails. */
export const start = (
  { cluster, logged, network, tools, world }: Options,
  name: string,
  settings: Settings,
  ready: (life: Life) => void,
  failed: (why: unknown) => void
): Life => {
  const life: Life = { name, isAlive: true, scope: Scope.makeUnsafe(), service: undefined, drain: Effect.void }
  const held = cluster === undefined ? undefined : Runner.layer(cluster.shared, life, cluster.port)
  const layer = layerOf(name, settings, { network, tools, logged }, held)
  world.within(life, () => {
    Effect.runFork(Layer.buildWithScope(layer, life.scope)).addObserver((exit) => {
      if (!Exit.isSuccess(exit)) return failed(exit.cause)
      life.service = {
        conversations: Context.get(exit.value, Conversations),
        bulk: Context.get(exit.value, BulkRun),
        gateway: Context.get(exit.value, Gateway)
      }
      life.drain = Context.get(exit.value, Drain.Drain).end
      ready(life)
    })
  })
  return life
}

/** Kills a process where it stands. */
export const kill = (life: Life): void => {
  life.isAlive = false
}

/** Stops a process in order. */
export const stop = (world: World, life: Life, stopped: () => void): void => {
  life.service = undefined
  world.within(life, () => {
    Effect.runFork(Effect.andThen(life.drain, Scope.close(life.scope, Exit.void))).addObserver(() => {
      if (!life.isAlive) return
      life.isAlive = false
      stopped()
    })
  })
}

/** Starts and stops the service once in the real world: what it loads when it is needed is there then (World.W1). */
export const load = (settings: Settings, tools: Options["tools"]): Promise<void> => {
  const layer = layerOf("load", settings, { network: { dispatch: () => true }, tools, logged: () => {} })
  return Effect.runPromise(Effect.scoped(Effect.asVoid(Layer.build(layer))))
}

/** The retry policy of a configuration. */
export const policyOf = (settings: Settings): RetryPolicy.RetryPolicy =>
  Profile.resolve(Result.getOrThrow(resolve(settings, false)).retry)

// --- internal

const layerOf = (
  name: string,
  settings: Settings,
  { logged, network, tools }: Omit<Options, "world" | "cluster">,
  runner?: ReturnType<typeof Runner.layer>
) => {
  const config = Layer.sync(Config, () => Result.getOrThrow(resolve(settings, runner !== undefined)))
  const server = HttpServer.make({
    address: NetAddress.inetAddressFromStringUnsafe("127.0.0.1:4747"),
    serve: () => Effect.void
  })
  const logger = SafeLogger.layer({ format: "pretty", colors: false, write: logged }).pipe(Layer.provide(Secrets.layer))
  const served = Layer.mergeAll(Composition.gatewayOver(RawCall.sendOver(network)), Composition.manyTurns)
  return served.pipe(
    Layer.provide(Secrets.layer),
    Layer.provideMerge(Drain.layer),
    Layer.provideMerge(runner === undefined ? Composition.heldOver : Composition.observed(runner)),
    Layer.provide(Layer.succeed(HttpServer.HttpServer, server)),
    Layer.provide([Layer.succeed(Http.Http, Undici.make(network)), Layer.succeed(Tools.Tools, tools)]),
    Layer.provideMerge(logger),
    Layer.provide([config, Layer.succeed(ProcessName.ProcessName, name)])
  )
}

/** The values of a configuration: read once for all processes and laws of its night. */
const resolve = (settings: Settings, isShared: boolean): ReturnType<typeof Resolve.resolve> => {
  const resolved = isShared ? resolvedShared : resolvedAlone
  const known = resolved.get(settings)
  if (known !== undefined) return known
  const values = Resolve.resolve({
    file: {
      name: "holdfast.config.json",
      path: "/holdfast.config.json",
      // Runners read from their configuration that others spend, too.
      content: isShared ? { ...settings, database: { url: Runner.DATABASE_URL } } : settings
    },
    environment: KEYS,
    flags: {},
    absolute: (path) => path,
    simulated: Simulated,
    isService: true
  })
  resolved.set(settings, values)
  return values
}

const resolvedAlone = new WeakMap<Settings, ReturnType<typeof Resolve.resolve>>()
const resolvedShared = new WeakMap<Settings, ReturnType<typeof Resolve.resolve>>()
