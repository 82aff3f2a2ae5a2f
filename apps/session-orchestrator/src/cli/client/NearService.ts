/**
 * The service for a command that runs turns: the named service, the owner of the database, or a service in this process.
 *
 * A file has one owner, and its lock names where the owner listens (`Tenancy`). A second command on a file works through the service of the
 * first. When the first command ends, the second owns the file, and its turn continues there.
 */
import { type ClientOptions, webSocket } from "@holdfast/client"
import { DatabaseFile } from "@holdfast/journal/sqlite"
import { DefaultAddress, defined } from "@holdfast/wire"
import { Context, Effect, Layer, Option, References, Schedule, type Scope } from "effect"
import { GlobalFlag } from "effect/cli"
import { HttpServer } from "effect/http"
import * as fs from "node:fs"
import * as http from "node:http"
import * as os from "node:os"
import { dirname, join, relative } from "node:path"
import { setTimeout } from "node:timers/promises"
import { Config, type Values } from "../../config/Config.ts"
import * as SafeLogger from "../../config/redaction/SafeLogger.ts"
import type { Secrets } from "../../config/redaction/Secrets.ts"
import * as Tenancy from "../../storage/sqlite/Tenancy.ts"
import * as Declaration from "../Declaration.ts"
import * as RunInput from "../RunInput.ts"
import * as Setup from "../Setup.ts"
import * as Signals from "../Signals.ts"
import { note, type Terminal } from "../terminal/Terminal.ts"
import * as RunningService from "./RunningService.ts"

/** A service that answers. */
interface Found {
  readonly address: RunningService.ServiceAddress
  /** It is in this process, and ends with the scope. */
  readonly isOwn: boolean
}

/** Calls that go to the service, wherever it is. */
interface Followed extends Found {
  readonly fetch?: Fetch
  readonly open?: OpenSocket
}

/** How a service in this process is started; `before` is the address of the one before it. */
type Start = (
  config: Values,
  before?: string
) => Effect.Effect<HttpServer.HttpServer["Service"], Declaration.CommandFailure, Needs>

type OpenSocket = NonNullable<Parameters<typeof webSocket>[0]>
type Fetch = NonNullable<ClientOptions["fetch"]>

type Needs = Config | Secrets | Scope.Scope

/**
 * Finds the service, or starts one.
 *
 * @param start the service in this process
 * @param isBeside whether a service at the configured address is meant, whatever its database is
 */
export const find = Effect.fnUntraced(function* (
  { environment }: Pick<Declaration.CommandParts, "environment">,
  url: string | undefined,
  config: Values,
  start: Start,
  isBeside: boolean
): Effect.fn.Return<Found, Declaration.CommandFailure, Needs> {
  if (RunningService.isNamed(url, environment)) {
    const address = yield* RunningService.addressOf(url, environment, config.server)
    const client = RunningService.connect(address, { retryForMs: 0 })
    yield* RunningService.inWords(Effect.flatMap(client, ({ health }) => health))
    return { address, isOwn: false }
  }
  const token = RunningService.tokenOf(config.server)
  const configured = isBeside
    ? yield* Effect.option(RunningService.addressOf(undefined, environment, config.server))
    : Option.none()
  const attempt = Effect.gen(function* (): Effect.fn.Return<Found, Declaration.CommandFailure, Needs> {
    const owner = yield* ownerOf(config)
    if (owner !== undefined) return { address: { url: owner, token }, isOwn: false }
    if (Option.isSome(configured) && (yield* answers(configured.value.url))) {
      return { address: configured.value, isOwn: false }
    }
    if (config.missing !== undefined) return yield* config.missing // its own service needs the secrets
    const { address } = yield* start(config)
    return { address: { url: HttpServer.formatAddress(address), token }, isOwn: true }
  })
  // Another command may have come first, be about to answer, or have ended since.
  const isShared = () => isBeside || fs.existsSync(config.database.path)
  return yield* Effect.retry(attempt, {
    times: TRIES,
    schedule: Schedule.spaced(PAUSE_MS),
    while: (error) => error !== config.missing && isShared()
  })
})

/**
 * Starts the service with errors alone in its log: the terminal has the turn. On the port of the service before, whose clients come back there,
 * or where that is taken, or there was none, on any free port.
 */
const quiet = ({ service }: Pick<Declaration.CommandParts, "service">): Start =>
  Effect.fnUntraced(function* (config, before) {
    const flag = Option.flatten(yield* Effect.serviceOption(GlobalFlag.LogLevel))
    const level = yield* References.MinimumLogLevel
    const on = (port: number) =>
      built(service).pipe(
        Effect.provideService(Config, alone(config, port)),
        Effect.provideService(References.MinimumLogLevel, Option.isNone(flag) && level === "Info" ? "Error" : level)
      )
    return yield* before === undefined ? on(0) : Effect.catch(on(Number(new URL(before).port)), () => on(0))
  })

/** Starts the service with its log in a file beside the database: the terminal is taken. */
export const logged = (parts: Declaration.CommandParts, terminal: Terminal["Service"], name: string): Start => {
  let isAgain = false
  return (config) => {
    const log = join(dirname(config.database.path), name)
    const short = relative(process.cwd(), log)
    const words = `No service is running: this terminal runs its own. Warnings go to ${short.startsWith("..") ? log : short}`
    // Later the terminal has other content.
    if (!isAgain) note(terminal, "dim", words)
    isAgain = true
    const logger = SafeLogger.layer({
      format: "json",
      colors: false,
      write: (line) => fs.appendFileSync(log, line, { mode: 0o600 })
    })
    return Effect.provideService(built(Layer.provide(parts.service, logger)), Config, config)
  }
}

const built = (service: Declaration.CommandParts["service"]) =>
  Effect.map(Layer.build(service), Context.get(HttpServer.HttpServer))

/** The service near a command. */
export interface Near {
  readonly parts: Declaration.CommandParts
  readonly config: Values
  /** The command line or the environment names the service. */
  readonly isNamed: boolean
  /** What a new conversation is opened with, as the command line gives it. */
  readonly opening: Declaration.Given<typeof RunInput.opening>
  /** A client of the service, which follows it. */
  readonly connect: (
    isSocket?: boolean
  ) => Effect.Effect<RunningService.ServiceClient, Declaration.CommandFailure, Needs>
}

/**
 * Declares a command that works through the service near it. Its flags choose the model and the profile of a service in this process, unless one is
 * named.
 */
export const command = <const Own extends Declaration.Options, R>(
  declaration: Declaration.Declaration<Own>,
  run: Declaration.CommandBody<Own, [near: Near], R>
) =>
  Declaration.command(
    declaration,
    (given, { config, url, ...opening }, parts) => {
      const isNamed = RunningService.isNamed(url, parts.environment)
      const { model, profile } = opening
      return Setup.withConfig(parts, { config, flags: isNamed ? {} : { model, profile } }, (config) =>
        run(given, {
          parts,
          config,
          isNamed,
          opening,
          connect: (isSocket = false) => {
            const isBeside = config.database.url !== undefined
            const followed = follow(parts, url, config, quiet(parts), isBeside)
            return Effect.flatMap(followed, ({ address, fetch, open }) =>
              RunningService.connect(address, {
                retryForMs: RETRY_FOR_MS,
                ...defined({ fetch, transport: isSocket ? webSocket(open) : undefined })
              })
            )
          }
        }).pipe(RunningService.inWords, Effect.scoped, Effect.provide(Signals.layer))
      )
    },
    { ...RunInput.opening, ...RunningService.flags }
  )

/**
 * Finds the service, and follows it: when its process ends, calls by `fetch` and `open` find the next owner of the database, or start the
 * service here. Both are absent if the service is in this process, or was named.
 */
export const follow = Effect.fnUntraced(function* (
  parts: Pick<Declaration.CommandParts, "environment">,
  url: string | undefined,
  config: Values,
  start: Start,
  isBeside: boolean
): Effect.fn.Return<Followed, Declaration.CommandFailure, Needs> {
  const search = (before?: string) => find(parts, url, config, (config) => start(config, before), isBeside)
  const first = yield* search()
  if (first.isOwn || RunningService.isNamed(url, parts.environment)) return first
  const run = Effect.runPromiseWith(yield* Effect.context<Needs>())
  let now = first.address.url
  let moving: Promise<void> | undefined
  const move = () =>
    // A failure is passing: the service may be restarted meanwhile.
    (moving ??= run(Effect.mapError(search(now), ({ message }) => new Error(message)))
      .then(({ address }) => {
        now = address.url
      })
      .finally(() => {
        moving = undefined
      }))
  const here = (given: string) => now + given.slice(new URL(given).origin.length)
  return {
    ...first,
    open: (given, protocols) => new WebSocket(here(given).replace(/^http/, "ws"), protocols),
    fetch: async (given, init) => {
      // The next one may have ended by the time that it is called, or be about to: it answers open connections, and takes no new one.
      for (let tried = 0; ; tried++)
        try {
          return await fetch(here(given), init)
        } catch (error) {
          if (init.signal?.aborted === true || tried === TRIES) throw error
          if (tried > 0) await setTimeout(PAUSE_MS)
          await move()
        }
    }
  }
})

/** Whether a Holdfast service is at an address, and takes new connections: a service that ends answers open connections alone. */
export const answers = (url: string): Effect.Effect<boolean> =>
  Effect.callback((resume) => {
    const options = { agent: false, signal: AbortSignal.timeout(PATIENCE_MS) }
    const request = http.get(`${url}/healthz`, options, ({ statusCode }) => {
      resume(Effect.succeed(statusCode === 200))
      request.destroy()
    })
    request.on("error", () => resume(Effect.succeed(false)))
  })

/** The configuration of such a service: for this machine. */
const alone = (config: Values, port: number): Values => ({
  ...config,
  server: { ...config.server, host: DefaultAddress.HOST, port },
  // Runners share the PostgreSQL database, and this process is none of them.
  ...(config.database.url === undefined
    ? {}
    : { database: { ...config.database, url: undefined, path: DatabaseFile.MEMORY } })
})

// --- internal

/** Commands that begin and end at once are some few. */
const TRIES = 5
const PAUSE_MS = 500

/** A service on this machine answers sooner, also while it is busy. */
const PATIENCE_MS = 2_000

/** The next service starts within this time, or the last one ends. */
const RETRY_FOR_MS = 60_000

/** Where the owner of the database listens. An owner that is about to end, or to answer, is waited for. */
const ownerOf = Effect.fnUntraced(
  function* ({ database }: Values) {
    if (database.url !== undefined || !fs.existsSync(database.path)) return undefined
    const owner = yield* Effect.orElseSucceed(Tenancy.ownerOf(database.path), () => undefined)
    if (owner === undefined || owner === "unnamed" || owner.url === undefined) return undefined
    if (yield* answers(owner.url)) return owner.url
    return owner.hostname === os.hostname() ? yield* Effect.fail("later") : undefined
  },
  Effect.retry(Schedule.spaced("200 millis").pipe(Schedule.upTo({ duration: "30 seconds" }))),
  Effect.orElseSucceed(() => undefined)
)
