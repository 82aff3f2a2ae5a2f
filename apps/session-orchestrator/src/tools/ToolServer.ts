/**
 * A tool server that is kept up: started, listed, watched, and started again when it is gone.
 *
 * S1. Whatever becomes of a call, it is answered: a server that is down, dies, hangs or answers too much costs the model a call and
 *     never the turn.
 * S2. One that is gone is started again after 1 s, 2 s, 5 s, 10 s, 30 s, and then every minute. A life that came to something
 *     begins the count anew: it answered a call, or lasted `STEADY`.
 * S3. A call waits up to `PATIENCE` for a server that is down, and is then answered with why that is.
 * S4. One that leaves a call unanswered is asked whether it is there at all; one that does not answer that either is started again.
 * S5. Its tools are on offer from its first start until a start fails; what is known of them by then is kept for their names.
 * S6. What it offers beyond the limits of a request (`Offers`) is left out, with a warning that names it.
 */
import { Backoff } from "@holdfast/policy"
import type { Toolbox } from "@holdfast/kernel"
import { Clock, Duration, Effect, identity, Latch, Queue, type Schema, type Scope } from "effect"
import type * as Config from "../config/Config.ts"
import { CallError, type Connection, type Offer, StartError } from "./Connection.ts"
import * as Offers from "./Offers.ts"
import * as ToolNames from "./ToolNames.ts"
import * as ToolOutput from "./ToolOutput.ts"

/** S2. Short enough for a person who waits, long enough for a server that cannot start to cost nothing. */
export const RESTARTS = Backoff.steps([1_000, 2_000, 5_000, 10_000, 30_000], 60_000)

/** S2 */
export const STEADY = Duration.seconds(30)

/** S3. Longer than the first restart takes, shorter than anybody gives up. */
export const PATIENCE = Duration.seconds(5)

/** S4. Longer than a busy machine takes to answer nothing. */
export const PING = Duration.seconds(5)

/** Between two times that it is listed or pinged because it says so: one that says so all the time is not followed. */
const PAUSE = Duration.seconds(1)

export interface ToolServer {
  readonly config: Config.ToolServer
  /** Its tools as they were listed last, without those that are not to be offered; empty before its first start. */
  readonly known: () => ReadonlyArray<Offer>
  /** Whether they are on offer (S5). */
  readonly isOffered: () => boolean
  /** Waits until they are. */
  readonly offered: Effect.Effect<void>
  /** Why they are not. */
  readonly because: () => string
  /** Waits until the first start has ended, well or not. */
  readonly tried: Effect.Effect<void>
  /** Calls a tool by the server's own name for it. */
  readonly call: (tool: string, input: Schema.Json) => Effect.Effect<Toolbox.ToolOutcome>
}

/** Keeps a server up for as long as the scope is open. Does not wait for it. `conceal` takes secrets out of what it says. */
export const make = Effect.fnUntraced(function* (
  config: Config.ToolServer,
  connect: Effect.Effect<Connection, StartError, Scope.Scope>,
  conceal: (text: string) => string = identity
): Effect.fn.Return<ToolServer, never, Scope.Scope> {
  const { name } = config
  const tried = Latch.makeUnsafe()
  const up = Latch.makeUnsafe()
  let connection: Connection | undefined
  let known: ReadonlyArray<Offer> = []
  let isOffered = false
  let failures = 0
  /** Why there is no connection. */
  let because = "it is being started"

  let warned: string | undefined

  const list = Effect.fnUntraced(function* (connection: Connection) {
    const { isCut, tools } = yield* connection.list
    const selection = Offers.select(tools.filter(({ name }) => isAllowed(config, name)))
    known = selection.kept.map((tool) => concealed(tool, conceal))
    const warning = Offers.warningOf(name, selection, isCut)
    if (warning !== undefined && warning !== warned) yield* Effect.logWarning(conceal(warning)) // S6
    warned = warning
    return tools
  })

  const start = Effect.gen(function* () {
    const connection = yield* connect
    const tools = yield* Effect.mapError(list(connection), ({ message }) => new StartError({ message }))
    for (const warning of unknownNames(config, tools)) yield* Effect.logWarning(warning)
    return connection
  }).pipe(
    Effect.timeoutOrElse({
      duration: config.startTimeout,
      orElse: () => new StartError({ message: `it was not up within ${Duration.format(config.startTimeout)}` })
    })
  )

  /** From a start to the end, which is why it ended. */
  const life = Effect.gen(function* () {
    const started = yield* start
    const since = yield* Clock.currentTimeMillis
    connection = started
    isOffered = true
    const log = failures === 0 ? Effect.logDebug : Effect.logInfo
    yield* log(`The tool server ${name} is up, with ${count(known.length)}.`)
    yield* up.open
    yield* tried.open
    const why = yield* started.lost.pipe(
      Effect.raceFirst(follow(started, list(started))),
      Effect.raceFirst(distrust(started))
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
        isOffered = false // S5
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

  /** S3 */
  const connected: Effect.Effect<Connection, CallError> = up.await.pipe(
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
    const connection = yield* connected
    const result = yield* connection.call(tool, input).pipe(
      Effect.timeoutOrElse({
        duration: config.timeout,
        orElse: () =>
          new CallError({ message: `no answer within ${Duration.format(config.timeout)}`, isRefusal: false })
      }),
      Effect.tapError(({ isRefusal }) => (isRefusal ? Effect.void : Queue.offer(connection.doubts, undefined))), // S4
      Effect.mapError(({ isRefusal, message }) =>
        isRefusal
          ? new CallError({ message: `${subject(name)} refused the call: ${message}`, isRefusal })
          : new CallError({ message: `${subject(name)} failed in this call: ${message}. ${UNKNOWN}`, isRefusal })
      )
    )
    failures = 0 // S2
    return ToolOutput.of(result, config.maxOutput, conceal)
  })

  return {
    config,
    known: () => known,
    isOffered: () => isOffered,
    offered: up.await,
    because: () => because,
    tried: tried.await,
    call: (tool, input) =>
      isObject(input)
        ? Effect.catch(call(tool, input), ({ message }) =>
            Effect.succeed({ output: ToolOutput.cut(conceal(message), config.maxOutput), isError: true })
          )
        : Effect.succeed({ output: "The arguments of a call must be a JSON object.", isError: true })
  }
})

// --- internal

/** What a model must know before it calls again. */
const UNKNOWN = "Whether it took effect is unknown."

const subject = (name: string): string => `The tool server "${name}"`

const count = (tools: number): string => (tools === 1 ? "1 tool" : `${tools} tools`)

const isAllowed = ({ allow, deny }: Config.ToolServer, tool: string): boolean =>
  (allow === undefined || ToolNames.matches(allow, tool)) && !ToolNames.matches(deny, tool)

/** Names in the configuration that stand for no tool: most likely misspelt. */
const unknownNames = (
  { allow = [], deny, idempotent, name }: Config.ToolServer,
  tools: ReadonlyArray<Offer>
): ReadonlyArray<string> =>
  Object.entries({ allow, deny, idempotent }).flatMap(([key, patterns]) =>
    patterns
      .filter((pattern) => !tools.some((tool) => ToolNames.matches([pattern], tool.name)))
      .map((pattern) => `tools.${name}.${key} has "${pattern}", and ${name} has no such tool.`)
  )

/** A model reads descriptions too, and many a server puts the address that it was given into its own. */
const concealed = ({ description, inputSchema, name }: Offer, conceal: (text: string) => string): Offer => {
  const schema: Schema.Json = JSON.parse(conceal(JSON.stringify(inputSchema)))
  return { name, description: description === undefined ? undefined : conceal(description), inputSchema: schema }
}

const isObject = (input: Schema.Json): input is { readonly [key: string]: Schema.Json } =>
  typeof input === "object" && input !== null && !Array.isArray(input)

/** Lists the tools again whenever they have changed; ends with a list that cannot be read. */
const follow = (connection: Connection, list: Effect.Effect<unknown, CallError>): Effect.Effect<string> =>
  Queue.take(connection.changed).pipe(
    Effect.andThen(Effect.timeoutOption(list, PING)),
    Effect.andThen(Effect.sleep(PAUSE)),
    Effect.forever,
    Effect.catch(({ message }) => Effect.succeed(`its tools could not be listed again: ${message}`))
  )

/** S4: ends when it does not answer. */
const distrust = (connection: Connection): Effect.Effect<string> =>
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
