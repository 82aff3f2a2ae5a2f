/**
 * Keeps one tool server running: starts, lists, watches and restarts it.
 *
 * A call waits up to `PATIENCE` for a server that is down, and is then answered with the reason. A server that leaves a call unanswered
 * is pinged; if it does not answer the ping either, it is started again. Its tools are offered from its first start until a start fails:
 * the last list is kept, so that names stay the same.
 *
 * ToolServer.S1. Every call gets an answer: a server that is down, dies, hangs or answers too much costs the model a call and never the
 *     turn.
 * ToolServer.S2. A server that has ended is started again after 1 s, 2 s, 5 s, 10 s, 30 s, and then every minute. A successful run
 *     resets the count: it answered a call, or lasted `STEADY`.
 */
import { Backoff } from "@holdfast/policy"
import type { Toolbox } from "@holdfast/kernel"
import type { CallToolResult } from "@modelcontextprotocol/client"
import * as Clock from "effect/Clock"
import * as Duration from "effect/Duration"
import * as Effect from "effect/Effect"
import * as Latch from "effect/Latch"
import * as Queue from "effect/Queue"
import type * as Schema from "effect/Schema"
import type * as Scope from "effect/Scope"
import { identity } from "effect/Function"
import type { ToolServerConfig } from "./ToolServerConfig.ts"
import { CallError, type ServerConnection, StartError } from "./Connection.ts"
import * as Offers from "./Offers.ts"
import type { Offer } from "./Offers.ts"
import * as ToolOutput from "./ToolOutput.ts"
import * as ToolNames from "./ToolNames.ts"

/** ToolServer.S2. Short enough for a person who waits; long enough that a server that cannot start costs next to nothing. */
export const RESTARTS = Backoff.steps([1_000, 2_000, 5_000, 10_000, 30_000], 60_000)

/** The run time after which a server counts as started well (ToolServer.S2). */
export const STEADY = Duration.seconds(30)

/** Longer than the first restart takes, shorter than a person waits. */
export const PATIENCE = Duration.seconds(5)

/** Longer than a busy machine takes to answer a ping. */
export const PING = Duration.seconds(5)

/** The time between two lists or pings that the server causes: a server that reports changes all the time is not followed. */
const PAUSE = Duration.seconds(1)

/** A tool server that is kept running. */
export type ToolServer = Effect.Success<ReturnType<typeof make>>

/** Keeps a server running while the scope is open. Does not wait for its start. `conceal` redacts secrets in its texts. */
export const make = Effect.fnUntraced(function* (
  config: ToolServerConfig,
  connect: Effect.Effect<ServerConnection, StartError, Scope.Scope>,
  conceal: (text: string) => string = identity
) {
  const { name } = config
  const tried = Latch.makeUnsafe()
  const up = Latch.makeUnsafe()
  const tools = toolList(config, conceal)
  let connection: ServerConnection | undefined
  let isOffered = false
  let failures = 0
  /** Why there is no connection. */
  let because = "it is being started"

  /** Runs the server from a start to its end, and returns the reason of the end. */
  const life = Effect.gen(function* () {
    const started = yield* startOf(config, connect, tools)
    const since = yield* Clock.currentTimeMillis
    connection = started
    isOffered = true
    const log = failures === 0 ? Effect.logDebug : Effect.logInfo
    yield* log(`The tool server ${name} is up, with ${count(tools.known().length)}.`)
    yield* up.open
    yield* tried.open
    const why = yield* started.lost.pipe(
      Effect.raceFirst(follow(started, tools.read(started))),
      Effect.raceFirst(pingAfterDoubts(started))
    )
    if ((yield* Clock.currentTimeMillis) - since >= Duration.toMillis(STEADY)) failures = 0
    return why
  }).pipe(
    Effect.ensuring(
      Effect.suspend(() => {
        connection = undefined
        return up.close
      })
    ),
    Effect.scoped
  )

  const lives = life.pipe(
    Effect.catch(({ message }) =>
      Effect.sync(() => {
        isOffered = false
        return message
      })
    ),
    Effect.catchDefect((defect) => Effect.succeed(`Holdfast failed: ${String(defect)}`)),
    Effect.flatMap((why) => {
      because = why
      const delayMs = Backoff.delayAt(RESTARTS, failures++)
      return Effect.logWarning(
        `The tool server ${name} is down: ${why}. It is started again in ${Duration.format(Duration.millis(delayMs))}.`
      ).pipe(Effect.andThen(tried.open), Effect.andThen(Effect.sleep(delayMs)))
    }),
    Effect.forever
  )
  yield* Effect.forkScoped(lives)

  const connected: Effect.Effect<ServerConnection, CallError> = up.await.pipe(
    Effect.timeoutOption(PATIENCE),
    Effect.flatMap(() =>
      connection === undefined
        ? new CallError({
            message: `${subject(name)} is not running: ${because}. It is being started again.`,
            isRefusal: true
          })
        : Effect.succeed(connection)
    )
  )

  const call = Effect.fnUntraced(function* (tool: string, input: Readonly<Record<string, unknown>>) {
    const result = yield* answerOf(config, yield* connected, tool, input)
    failures = 0 // ToolServer.S2
    return ToolOutput.of(result, config.maxOutput, conceal)
  })

  return {
    config,
    /** The last list of its tools, filtered by `allow`, `deny` and the limits; empty before its first start. */
    known: tools.known,
    /** Whether the tools are offered. */
    isOffered: () => isOffered,
    /** Waits until the tools are offered. */
    offered: up.await,
    /** Why the tools are not offered. */
    because: () => because,
    /** Waits until the first start has succeeded or failed. */
    tried: tried.await,
    /** Calls a tool by the server's own name for it. */
    call: (tool: string, input: Schema.Json): Effect.Effect<Toolbox.ToolOutcome> =>
      isObject(input)
        ? Effect.catch(call(tool, input), ({ message }) =>
            Effect.succeed({ output: ToolOutput.cut(conceal(message), config.maxOutput), isError: true })
          )
        : Effect.succeed({ output: "The arguments of a call must be a JSON object.", isError: true })
  }
})

// Reads and keeps the list of a server's tools.
//
// Names and descriptions are kept without the server's secrets.
//
// Tools beyond the limits of a request (`Offers`) are left out, with a warning that names them. The same warning is logged once.

/** The tools of one server. */
type ToolList = ReturnType<typeof toolList>

/** An empty list. `conceal` redacts the server's secrets. */
const toolList = (config: ToolServerConfig, conceal: (text: string) => string) => {
  let known: ReadonlyArray<Offer> = []
  let warned: string | undefined
  const list = Effect.fnUntraced(function* (connection: ServerConnection) {
    const { isCut, tools } = yield* connection.list
    const selection = Offers.select(tools.filter(({ name }) => isAllowed(config, name)))
    known = selection.kept.map((tool) => concealed(tool, conceal))
    const warning = Offers.warningOf(config.name, selection, isCut)
    if (warning !== undefined && warning !== warned) yield* Effect.logWarning(conceal(warning))
    warned = warning
    return tools
  })
  return {
    /** The last list, filtered by `allow`, `deny` and the limits; empty before the first one. */
    known: () => known,
    /** Reads the list from the server. */
    read: (connection: ServerConnection) => Effect.asVoid(list(connection)),
    /** The same after a start: warns about configured names that match no tool. */
    readFirst: Effect.fnUntraced(function* (connection: ServerConnection) {
      for (const warning of unknownNames(config, yield* list(connection))) yield* Effect.logWarning(warning)
    })
  }
}

// --- internal

/** The model must know this before it repeats a call. */
const UNKNOWN = "Whether it took effect is unknown."

const subject = (name: string): string => `The tool server "${name}"`

const count = (tools: number): string => (tools === 1 ? "1 tool" : `${tools} tools`)

/** Connects and lists the tools, within the time limit of a start. */
const startOf = (
  { startTimeout }: ToolServerConfig,
  connect: Effect.Effect<ServerConnection, StartError, Scope.Scope>,
  tools: ToolList
): Effect.Effect<ServerConnection, StartError, Scope.Scope> =>
  Effect.gen(function* () {
    const connection = yield* connect
    yield* Effect.mapError(tools.readFirst(connection), ({ message }) => new StartError({ message }))
    return connection
  }).pipe(
    Effect.timeoutOrElse({
      duration: startTimeout,
      orElse: () => new StartError({ message: `it was not up within ${Duration.format(startTimeout)}` })
    })
  )

/** Calls a tool, within the time limit. A call that fails without a refusal casts doubt on the server. */
const answerOf = (
  { name, timeout }: ToolServerConfig,
  connection: ServerConnection,
  tool: string,
  input: Readonly<Record<string, unknown>>
): Effect.Effect<CallToolResult, CallError> =>
  connection.call(tool, input).pipe(
    Effect.timeoutOrElse({
      duration: timeout,
      orElse: () => new CallError({ message: `no answer within ${Duration.format(timeout)}`, isRefusal: false })
    }),
    Effect.tapError(({ isRefusal }) => (isRefusal ? Effect.void : Queue.offer(connection.doubts, undefined))),
    Effect.mapError(({ isRefusal, message }) =>
      isRefusal
        ? new CallError({ message: `${subject(name)} refused the call: ${message}`, isRefusal })
        : new CallError({ message: `${subject(name)} failed in this call: ${message}. ${UNKNOWN}`, isRefusal })
    )
  )

const isObject = (input: Schema.Json): input is { readonly [key: string]: Schema.Json } =>
  typeof input === "object" && input !== null && !Array.isArray(input)

/** Lists the tools again after each change. Ends when a list cannot be read. */
const follow = (connection: ServerConnection, list: Effect.Effect<unknown, CallError>): Effect.Effect<string> =>
  Queue.take(connection.changed).pipe(
    Effect.andThen(Effect.timeoutOption(list, PING)),
    Effect.andThen(Effect.sleep(PAUSE)),
    Effect.forever,
    Effect.catch(({ message }) => Effect.succeed(`its tools could not be listed again: ${message}`))
  )

/** Pings the server after each doubt. Ends when it does not answer. */
const pingAfterDoubts = (connection: ServerConnection): Effect.Effect<string> =>
  Queue.take(connection.doubts).pipe(
    Effect.andThen(
      Effect.timeoutOrElse(connection.ping, {
        duration: PING,
        orElse: () => new CallError({ message: "it does not answer", isRefusal: false })
      })
    ),
    Effect.catchIf(
      ({ isRefusal }) => isRefusal,
      () => Effect.void
    ), // a server without ping has answered
    Effect.andThen(Effect.sleep(PAUSE)),
    Effect.forever,
    Effect.catch(({ message }) => Effect.succeed(message))
  )

const isAllowed = ({ allow, deny }: ToolServerConfig, tool: string): boolean =>
  (allow === undefined || ToolNames.matches(allow, tool)) && !ToolNames.matches(deny, tool)

/** Warnings about names in the configuration that match no tool and are most likely misspelt. */
const unknownNames = (
  { allow = [], confirm, deny, idempotent, name }: ToolServerConfig,
  tools: ReadonlyArray<Offer>
): ReadonlyArray<string> =>
  Object.entries({ allow, confirm, deny, idempotent }).flatMap(([key, patterns]) =>
    patterns
      .filter((pattern) => !tools.some((tool) => ToolNames.matches([pattern], tool.name)))
      .map((pattern) => `tools.${name}.${key} has "${pattern}", and ${name} has no such tool.`)
  )

/** A model reads descriptions too, and many servers put their own address into them. */
const concealed = ({ description, inputSchema, name }: Offer, conceal: (text: string) => string): Offer => {
  const schema: Schema.Json = JSON.parse(conceal(JSON.stringify(inputSchema)))
  return { name, description: description === undefined ? undefined : conceal(description), inputSchema: schema }
}
