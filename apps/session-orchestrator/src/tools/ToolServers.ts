/**
 * All tool servers of the configuration, as one toolbox.
 *
 * V1. The toolbox is there at once; servers come and go behind it. What it offers is read when a step begins.
 * V2. What a server says of the secrets that it was given does not reach a model, a history or a client. They are taken out
 *     before anything is cut: half a secret is not known again.
 * V3. Processes end with the scope. Should this process end without closing it, they are killed on its way out; after
 *     `kill -9` their standard input ends, which is what ends a server that keeps to the protocol.
 */
import { NodeChildProcessSpawner, NodeFileSystem, NodePath } from "@effect/platform-node"
import { Toolbox } from "@holdfast/kernel"
import { Duration, Effect, Fiber, Layer, Scope } from "effect"
import { ChildProcessSpawner } from "effect/process"
import type * as Config from "../config/Config.ts"
import * as Secrets from "../redaction/Secrets.ts"
import { Tools } from "../conversation/Tools.ts"
import * as Connection from "./Connection.ts"
import * as HttpTransport from "./HttpTransport.ts"
import * as StdioTransport from "./StdioTransport.ts"
import * as ToolNames from "./ToolNames.ts"
import * as ToolServer from "./ToolServer.ts"

/**
 * How long turns wait, right after a start, for servers that have not been up yet: longer than one takes that is installed. An
 * idempotent call that is taken up later than its server would be taken for one of a tool that is not there.
 */
export const FIRST_PATIENCE = Duration.seconds(10)

/** Keeps the servers up for as long as the layer is. */
export const layer = (configs: ReadonlyArray<Config.ToolServer>): Layer.Layer<Tools> =>
  Layer.effect(
    Tools,
    Effect.gen(function* () {
      const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
      const children = yield* killedOnExit
      return yield* make(configs, ({ reach, secrets }) =>
        Effect.flatMap(
          reach.type === "http"
            ? HttpTransport.make(reach)
            : Effect.provideService(
                StdioTransport.make(reach, children, Secrets.conceal(secrets)),
                ChildProcessSpawner.ChildProcessSpawner,
                spawner
              ),
          Connection.make
        )
      )
    })
  ).pipe(Layer.provide(NodeChildProcessSpawner.layer), Layer.provide([NodeFileSystem.layer, NodePath.layer]))

/** The same over any way to connect. */
export const make = Effect.fnUntraced(function* (
  configs: ReadonlyArray<Config.ToolServer>,
  connect: (config: Config.ToolServer) => Effect.Effect<Connection.Connection, Connection.StartError, Scope.Scope>
): Effect.fn.Return<Tools["Service"], never, Scope.Scope> {
  // On the way down they end together, and not each after the grace of the one before it.
  const together = yield* Scope.fork(yield* Scope.Scope, "parallel")
  const conceal = Secrets.conceal(configs.flatMap(({ secrets }) => secrets)) // V2
  const servers = yield* Effect.forEach(configs, (config) =>
    Scope.provide(ToolServer.make(config, connect(config), conceal), together)
  )
  const byName = new Map(servers.map((server) => [server.config.name, server]))
  const named = () => ToolNames.assign(servers.map(({ config, known }) => ({ server: config.name, tools: known() })))

  /** What was offered lately, the latest last: a step that has begun goes by the names that it was given, whatever comes up meanwhile. */
  const offered = new Map<string, Tool>()
  const remember = (named: ToolNames.Named<Connection.Offer>): void => {
    offered.delete(named.name)
    offered.set(named.name, { server: named.server, name: named.tool.name })
    for (const name of offered.keys()) {
      if (offered.size <= MOST_OFFERED) break
      offered.delete(name)
    }
  }
  const find = (toolName: string): Tool | undefined => {
    const found = named().find(({ name }) => name === toolName)
    return found === undefined ? offered.get(toolName) : { server: found.server, name: found.tool.name }
  }

  const toolbox: Toolbox.Toolbox["Service"] = {
    get definitions() {
      return named().flatMap((named) => {
        const owner = byName.get(named.server)
        if (owner?.isOffered() !== true) return []
        remember(named)
        return [definitionOf(named, owner.config)]
      })
    },
    run: ({ input, toolName }) =>
      Effect.suspend(() => {
        const tool = find(toolName)
        const server = byName.get(tool?.server ?? "")
        return tool === undefined || server === undefined
          ? Effect.succeed(Toolbox.unknownTool(toolName))
          : server.call(tool.name, input)
      })
  }

  // Counted from the start of the service, not of each turn.
  const tried = yield* Effect.forkScoped(
    Effect.timeoutOption(
      Effect.forEach(servers, (server) => server.tried, { discard: true }),
      FIRST_PATIENCE
    )
  )
  const required = servers.filter(({ config }) => config.isRequired)
  /** All at once: one that was up may be gone when the last one comes. */
  const isComplete: Effect.Effect<void> = Effect.suspend(() => {
    const missing = required.find((server) => !server.isOffered())
    return missing === undefined ? Effect.void : Effect.andThen(missing.offered, isComplete)
  })
  return {
    toolbox: Effect.as(Fiber.await(tried), toolbox),
    missing: () =>
      servers
        .filter((server) => !server.isOffered())
        .map(({ because, config }) => ({
          server: config.name,
          isRequired: config.isRequired,
          because: conceal(because())
        })),
    isComplete
  }
})

// --- internal

/** A tool as its server knows it. */
interface Tool {
  readonly server: string
  readonly name: string
}

/** So many names are known after they are gone: more than steps that are under way were given, and little enough for ever. */
const MOST_OFFERED = 1_000

const definitionOf = (
  { name, tool }: ToolNames.Named<Connection.Offer>,
  { idempotent }: Config.ToolServer
): Toolbox.ToolDefinition => ({
  name,
  inputSchema: tool.inputSchema,
  isIdempotent: ToolNames.matches(idempotent, tool.name),
  ...(tool.description === undefined ? undefined : { description: tool.description })
})

/** V3. One listener for all of them. */
const killedOnExit: Effect.Effect<StdioTransport.Children, never, Scope.Scope> = Effect.map(
  Effect.acquireRelease(
    Effect.sync(() => {
      const pids = new Set<number>()
      const kill = (): void => pids.forEach(killGroup)
      process.once("exit", kill)
      return { pids, kill }
    }),
    ({ kill }) => Effect.sync(() => process.off("exit", kill))
  ),
  ({ pids }) => ({ add: (pid) => void pids.add(pid), delete: (pid) => void pids.delete(pid) })
)

const killGroup = (pid: number): void => {
  try {
    process.kill(-pid, "SIGKILL")
  } catch {
    // It is gone.
  }
}
