/**
 * Combines all configured tool servers into one toolbox.
 *
 * The toolbox is available at once; servers start and stop behind it. Each step reads the offered tools when it begins. A tool that
 * needs approval does not run without it, even if its server was down when the question would have been due.
 *
 * Secrets of a server do not reach a model, a history or a client through its texts. They are redacted before a text is cut: half a secret
 * is not recognised.
 *
 * ToolServers.V3. Processes end with the scope. If this process exits without closing the scope, it kills them; after `kill -9` their
 *     standard input ends, which ends a server that follows the protocol.
 */
import { NodeChildProcessSpawner, NodeFileSystem, NodePath } from "@effect/platform-node"
import { Toolbox } from "@holdfast/kernel"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Fiber from "effect/Fiber"
import * as Layer from "effect/Layer"
import type * as Redacted from "effect/Redacted"
import * as Scope from "effect/Scope"
import { ChildProcessSpawner } from "effect/process"
import type { ToolServerConfig } from "./ToolServerConfig.ts"
import * as Connection from "./Connection.ts"
import type { Offer } from "./Offers.ts"
import * as StreamableHttp from "./transport/StreamableHttp.ts"
import * as StdioTransport from "./transport/StdioTransport.ts"
import * as ToolNames from "./ToolNames.ts"
import * as ToolServer from "./ToolServer.ts"

/**
 * How long turns wait after the service's start for servers that have not started yet: longer than an installed server takes. Without
 * it an idempotent call that is resumed before its server has started would count as a call of an unknown tool.
 */
export const FIRST_PATIENCE = Duration.seconds(10)

/** Makes a function that removes these secrets from a text. */
type Conceal = (secrets: ReadonlyArray<Redacted.Redacted>) => (text: string) => string

/** A tool server that is not up. */
export interface MissingServer {
  readonly server: string
  /** Turns do not run without its tools. */
  readonly isRequired: boolean
  /** Why it is not up. */
  readonly because: string
}

/** Tools of servers, for turns. */
export interface OfferedTools {
  /**
   * The toolbox for a turn that begins to run. All turns share it.
   *
   * **Gotchas**
   *
   * Right after a start this waits up to `FIRST_PATIENCE` for servers that are starting: a turn that runs without their tools would answer its
   * user that it has none.
   */
  readonly toolbox: Effect.Effect<Toolbox.Toolbox["Service"]>
  /** Servers whose tools are unavailable at this moment. */
  readonly missing: () => ReadonlyArray<MissingServer>
  /** Waits until the tools of every required server are available. */
  readonly isComplete: Effect.Effect<void>
}

/** The tools of all servers. */
export interface ToolServers extends OfferedTools {
  /** The names of the servers, in their order. */
  readonly names: ReadonlyArray<string>
  /** The tools of these servers alone. A server that is not configured is missing. */
  readonly only: (names: ReadonlyArray<string>) => OfferedTools
}

/** Keeps the servers running while the scope is open. Does not wait for their start. */
export const start = (
  configs: ReadonlyArray<ToolServerConfig>,
  conceal: Conceal
): Effect.Effect<ToolServers, never, Scope.Scope> =>
  Effect.gen(function* () {
    const spawner = yield* ChildProcessSpawner.ChildProcessSpawner
    const children = yield* killedOnExit
    const connect = ({ reach, secrets }: ToolServerConfig) =>
      Effect.flatMap(
        reach.type === "http"
          ? StreamableHttp.make(reach)
          : Effect.provideService(
              StdioTransport.make(reach, children, conceal(secrets)),
              ChildProcessSpawner.ChildProcessSpawner,
              spawner
            ),
        Connection.make
      )
    return yield* make(configs, connect, conceal)
  }).pipe(Effect.provide(NodeChildProcessSpawner.layer.pipe(Layer.provide([NodeFileSystem.layer, NodePath.layer]))))

/** The same with any way to connect. */
export const make = Effect.fnUntraced(function* (
  configs: ReadonlyArray<ToolServerConfig>,
  connect: (config: ToolServerConfig) => Effect.Effect<Connection.ServerConnection, Connection.StartError, Scope.Scope>,
  concealing: Conceal
): Effect.fn.Return<ToolServers, never, Scope.Scope> {
  // At a shutdown the servers end in parallel, and not each after the grace period of the one before it.
  const together = yield* Scope.fork(yield* Scope.Scope, "parallel")
  const conceal = concealing(configs.flatMap(({ secrets }) => secrets))
  const servers = yield* Effect.forEach(configs, (config) =>
    Scope.provide(ToolServer.make(config, connect(config), conceal), together)
  )
  const byName = new Map(servers.map((server) => [server.config.name, server]))
  const named = () => ToolNames.assign(servers.map(({ config, known }) => ({ server: config.name, tools: known() })))

  /** Recently offered tools, the latest last: a step uses the names from its beginning, even if other servers start meanwhile. */
  const offered = new Map<string, Tool>()
  const remember = (named: ToolNames.NamedTool<Offer>): void => {
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

  const toolboxOf = (isChosen: (server: string) => boolean): Toolbox.Toolbox["Service"] => ({
    get definitions() {
      return named().flatMap((named) => {
        const owner = byName.get(named.server)
        if (owner?.isOffered() !== true || !isChosen(named.server)) return []
        remember(named)
        return [definitionOf(named, owner.config)]
      })
    },
    run: ({ input, toolName }, isApproved = false) =>
      Effect.suspend(() => {
        const tool = find(toolName)
        const server = byName.get(tool?.server ?? "")
        if (tool === undefined || server === undefined || !isChosen(tool.server))
          return Effect.succeed(Toolbox.unknownTool(toolName))
        return !isApproved && ToolNames.matches(server.config.confirm, tool.name)
          ? Effect.succeed(UNAPPROVED)
          : server.call(tool.name, input)
      })
  })

  // Counted from the start of the service, not of each turn.
  const tried = yield* Effect.forkScoped(
    Effect.timeoutOption(
      Effect.forEach(servers, (server) => server.tried, { discard: true }),
      FIRST_PATIENCE
    )
  )
  const offeredBy = (isChosen: (server: string) => boolean, unknown: ReadonlyArray<string>): OfferedTools => {
    const chosen = servers.filter(({ config }) => isChosen(config.name))
    const toolbox = toolboxOf(isChosen)
    /** Checks all servers at once: a server may go down while the last one starts. */
    const isComplete: Effect.Effect<void> = Effect.suspend(() => {
      const missing = chosen.find((server) => server.config.isRequired && !server.isOffered())
      return missing === undefined ? Effect.void : Effect.andThen(missing.offered, isComplete)
    })
    return {
      toolbox: Effect.as(Fiber.await(tried), toolbox),
      missing: () => [
        ...chosen
          .filter((server) => !server.isOffered())
          .map(({ because, config }) => ({
            server: config.name,
            isRequired: config.isRequired,
            because: conceal(because())
          })),
        ...unknown.map((server) => ({ server, isRequired: false, because: "it is not configured" }))
      ],
      isComplete
    }
  }
  return {
    ...offeredBy(() => true, []),
    names: configs.map(({ name }) => name),
    only: (names) =>
      offeredBy(
        (server) => names.includes(server),
        names.filter((name) => !byName.has(name))
      )
  }
})

// --- internal

/** A tool as its server knows it. */
interface Tool {
  readonly server: string
  readonly name: string
}

/** The most names that are kept: more than the running steps have, and a bounded amount of memory. */
const MOST_OFFERED = 1_000

const definitionOf = (
  { name, tool }: ToolNames.NamedTool<Offer>,
  { answerWithin, confirm, idempotent }: ToolServerConfig
): Toolbox.ToolDefinition => ({
  name,
  inputSchema: tool.inputSchema,
  isIdempotent: ToolNames.matches(idempotent, tool.name),
  ...(ToolNames.matches(confirm, tool.name) ? { confirmWithinMs: Duration.toMillis(answerWithin) } : undefined),
  ...(tool.description === undefined ? undefined : { description: tool.description })
})

const UNAPPROVED: Toolbox.ToolOutcome = {
  output:
    "This call needs the approval of a person, and its server was down when it would have been asked for. Make the call again.",
  isError: true
}

/** ToolServers.V3. One listener for all of them. */
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
    // The process has ended.
  }
}
