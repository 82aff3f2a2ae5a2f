/**
 * The service for a command that runs turns: the named service, the owner of the database, or a service in this process.
 *
 * A file has one owner, and its lock names where the owner listens (`Tenancy`). A second command on a file works through the service of the
 * first. When the first command ends, the second owns the file, and its turn continues there.
 */
import { webSocket } from "@holdfast/client"
import { DatabaseFile } from "@holdfast/journal/sqlite"
import { DefaultAddress } from "@holdfast/wire"
import { Context, Effect, Layer, Option, References, Result, Schedule, type Scope } from "effect"
import { GlobalFlag } from "effect/cli"
import { HttpServer } from "effect/http"
import * as fs from "node:fs"
import * as os from "node:os"
import { dirname, join, relative } from "node:path"
import { setTimeout } from "node:timers/promises"
import { Config, type Values } from "../../config/Config.ts"
import * as Environment from "../../config/reading/Environment.ts"
import * as SafeLogger from "../../redaction/SafeLogger.ts"
import type { Secrets } from "../../redaction/Secrets.ts"
import * as Tenancy from "../../storage/sqlite/Tenancy.ts"
import { Refused } from "../Ended.ts"
import * as ExitCode from "../ExitCode.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import { paint, type Terminal } from "../terminal/Terminal.ts"
import * as Service from "./Service.ts"

/** Whether the command line or the environment names a service. */
export const isNamed = (url: Option.Option<string>, environment: Environment.Environment): boolean =>
  Option.isSome(url) || Environment.get(environment, Environment.URL_VARIABLE) !== undefined

/** A service that answers. */
export interface Found {
  readonly address: Service.Address
  /** It is in this process, and ends with the scope. */
  readonly isOwn: boolean
}

/** How a service in this process is started. */
export type Start<E> = (config: Values) => Effect.Effect<HttpServer.HttpServer["Service"], E, Needs>

type OpenSocket = Parameters<typeof webSocket>[0]

type Needs = Config | Secrets | Scope.Scope

/**
 * Finds the service, or starts one.
 *
 * @param start the service in this process
 * @param isBeside whether a service at the configured address is meant, whatever its database is
 */
export const find = Effect.fnUntraced(function* <E extends StartFailure>(
  { environment }: Pick<Parts<E>, "environment">,
  url: Option.Option<string>,
  config: Values,
  start: Start<E>,
  isBeside: boolean
): Effect.fn.Return<Found, E | Refused | NonNullable<Values["missing"]>, Needs> {
  if (isNamed(url, environment)) {
    const address = yield* Service.orRefused(Service.addressOf(Option.getOrUndefined(url), environment, config.server))
    if (yield* answers(address.url)) return { address, isOwn: false }
    return yield* new Refused({
      message: `The service at ${address.url} does not answer. Start it with \`holdfast serve\`; without an address this terminal runs its own.`,
      exitCode: ExitCode.FAILED
    })
  }
  const token = Service.tokenOf(config.server)
  const configured = isBeside ? Service.addressOf(undefined, environment, config.server) : Result.fail("")
  const attempt = Effect.gen(function* (): Effect.fn.Return<Found, E | NonNullable<Values["missing"]>, Needs> {
    const owner = yield* ownerOf(config)
    if (owner !== undefined) return { address: { url: owner, token }, isOwn: false }
    if (Result.isSuccess(configured) && (yield* answers(configured.success.url))) {
      return { address: configured.success, isOwn: false }
    }
    if (config.missing !== undefined) return yield* config.missing // its own service needs the secrets (Resolve.V4)
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
export const quiet =
  <E extends StartFailure>(parts: Pick<Parts<E>, "service">, before?: string): Start<E> =>
  (config) =>
    Effect.gen(function* () {
      const flag = Option.flatten(yield* Effect.serviceOption(GlobalFlag.LogLevel))
      const level = yield* References.MinimumLogLevel
      const on = (port: number) =>
        Layer.build(parts.service).pipe(
          Effect.map((services) => Context.get(services, HttpServer.HttpServer)),
          Effect.provideService(Config, alone(config, port)),
          Effect.provideService(References.MinimumLogLevel, Option.isNone(flag) && level === "Info" ? "Error" : level)
        )
      return yield* before === undefined ? on(0) : Effect.catch(on(Number(new URL(before).port)), () => on(0))
    })

/** Starts the service with its log in a file beside the database: the terminal is taken. */
export const logged = <E extends StartFailure>(
  parts: Pick<Parts<E>, "service">,
  terminal: Terminal["Service"],
  name: string
): Start<E> => {
  let isAgain = false
  return (config) => {
    const log = join(dirname(config.database.path), name)
    const short = relative(process.cwd(), log)
    const words = `No service is running: this terminal runs its own. Log: ${short.startsWith("..") ? log : short}`
    // Later the terminal has other content.
    if (!isAgain) terminal.stderr(`${paint(terminal.colors.stderr, "dim", words)}\n`)
    isAgain = true
    const logger = SafeLogger.layer({
      format: "json",
      colors: false,
      write: (line) => fs.appendFileSync(log, line, { mode: 0o600 })
    })
    return Layer.build(Layer.provide(parts.service, logger)).pipe(
      Effect.map((services) => Context.get(services, HttpServer.HttpServer)),
      Effect.provideService(Config, config)
    )
  }
}

/**
 * A client of the service near this command. It follows the service: when that process ends, the client finds the next owner of the database,
 * or starts the service here.
 */
export const connect = Effect.fnUntraced(function* <E extends StartFailure>(
  parts: Pick<Parts<E>, "environment" | "service">,
  url: Option.Option<string>,
  config: Values,
  isSocket = false
) {
  const search = (before?: string) => find(parts, url, config, quiet(parts, before), config.database.url !== undefined)
  const first = yield* search()
  const carrying = (open?: OpenSocket) => ({
    retryForMs: RETRY_FOR_MS,
    ...(isSocket ? { transport: webSocket(open) } : {})
  })
  if (first.isOwn || isNamed(url, parts.environment)) return yield* Service.connect(first.address, carrying())
  const run = Effect.runPromiseWith(yield* Effect.context<Needs>())
  let now = first.address.url
  let moving: Promise<void> | undefined
  const move = () =>
    (moving ??= run(search(now))
      .then(
        ({ address }) => {
          now = address.url
        },
        (error: StartFailure) => {
          throw new Error(error.message) // passing: the service may be restarted meanwhile
        }
      )
      .finally(() => {
        moving = undefined
      }))
  const here = (given: string) => now + given.slice(new URL(given).origin.length)
  return yield* Service.connect(first.address, {
    ...carrying((given, protocols) => new WebSocket(here(given).replace(/^http/, "ws"), protocols)),
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
  })
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

/** Whether a Holdfast service is at an address. */
const answers = (url: string): Effect.Effect<boolean> =>
  Effect.promise(() =>
    fetch(`${url}/healthz`, { signal: AbortSignal.timeout(PATIENCE_MS) }).then(
      (response) => response.ok,
      () => false
    )
  )

/** A service on this machine answers sooner, also while it is busy. */
const PATIENCE_MS = 2_000

/** The next service starts within this time, or the last one ends. */
const RETRY_FOR_MS = 60_000

/** Where the owner of the database listens. An owner that is about to end, or to answer, is waited for. */
const ownerOf = ({ database }: Values): Effect.Effect<string | undefined> =>
  Effect.gen(function* () {
    if (database.url !== undefined || !fs.existsSync(database.path)) return undefined
    const owner = yield* Effect.orElseSucceed(Tenancy.ownerOf(database.path), () => undefined)
    if (owner === undefined || owner === "unnamed" || owner.url === undefined) return undefined
    if (yield* answers(owner.url)) return owner.url
    return owner.hostname === os.hostname() ? yield* Effect.fail("later") : undefined
  }).pipe(
    Effect.retry(Schedule.spaced("200 millis").pipe(Schedule.upTo({ duration: "30 seconds" }))),
    Effect.orElseSucceed(() => undefined)
  )
