/**
 * The running service, for commands that leave work to it and read it later: its address, its client, and the words of its refusals.
 *
 * The address: `--url`, then `HOLDFAST_URL`, then `server.host` and `server.port` of the configuration. The token is `server.token` of the
 * configuration (`HOLDFAST_TOKEN`); no message has it. A call that cannot reach the service is made again for some seconds.
 */
import { ClientError, type ClientOptions } from "@holdfast/client"
import * as HoldfastClient from "@holdfast/client/effect"
import { defined } from "@holdfast/wire"
import { Effect, Option, Redacted, Result } from "effect"
import { Flag } from "effect/cli"
import type { Values } from "../../config/Config.ts"
import * as Environment from "../../config/reading/Environment.ts"
import * as Loopback from "../../system/Loopback.ts"
import { type Ended, Refused } from "../Ended.ts"
import * as ExitCode from "../ExitCode.ts"
import type { Parts, StartFailure } from "../Parts.ts"
import * as Setup from "../Setup.ts"

/** `--url`, the same for every command that needs a running service. */
export const urlFlag = Flag.String("url").pipe(
  Flag.withMetavar("URL"),
  Flag.withDescription("Address of the running service (default: HOLDFAST_URL, or server.host and server.port)"),
  Flag.optional
)

/** `--model`, the same for every command that sends prompts to a running service. */
export const modelFlag = Flag.String("model").pipe(
  Flag.withAlias("m"),
  Flag.withMetavar("PROVIDER/MODEL"),
  Flag.withDescription("Model to ask instead of the service's own"),
  Flag.optional
)

/** The flags of every command that needs a running service. */
export const flags = { url: urlFlag, config: Setup.configFlag }

/** The address of a service, with its token. */
export interface Address {
  /** Without a slash at its end. */
  readonly url: string
  readonly token: string | undefined
}

/** The calls of a service. */
export type Client = HoldfastClient.Client["Service"]

/** Runs a command's body with the client of the service that the flags, the environment and the configuration name. */
export const use = <E extends StartFailure, A, E2 extends StartFailure | Ended, R>(
  parts: Parts<E>,
  given: { readonly url: Option.Option<string>; readonly config: Option.Option<string> },
  body: (client: Client, server: Values["server"]) => Effect.Effect<A, E2 | ClientError, R>
) =>
  Setup.withConfig(parts, { file: Option.getOrUndefined(given.config) }, ({ server }) =>
    Effect.gen(function* () {
      const address = yield* orRefused(addressOf(Option.getOrUndefined(given.url), parts.environment, server))
      return yield* body(yield* connect(address), server)
    }).pipe(inWords, Effect.scoped)
  )

/** Ends the command with the words of a refusal. */
export const inWords = <A, E, R>(
  effect: Effect.Effect<A, E | ClientError, R>
): Effect.Effect<A, Exclude<E, ClientError> | Refused, R> =>
  Effect.mapError(
    effect,
    (error) =>
      error instanceof ClientError
        ? new Refused({ message: wordsOf(error), exitCode: ExitCode.FAILED })
        : (error as Exclude<E, ClientError>) // the branch before has the other
  )

/** A client of the service at an address; it is closed with its scope. */
export const connect = ({ token, url }: Address, options: Partial<ClientOptions> = {}) =>
  HoldfastClient.make({
    retryForMs: RETRY_FOR_MS,
    backoff: { firstMs: 200, longestMs: 2_000 },
    url,
    ...defined({ token }),
    ...options
  })

/**
 * The address of the service.
 *
 * @param flag the value of `--url`
 */
export const addressOf = (
  flag: string | undefined,
  environment: Environment.Environment,
  server: Values["server"]
): Result.Result<Address, string> => {
  const { host, port } = server
  const given = flag ?? Environment.get(environment, Environment.URL_VARIABLE)
  const token = tokenOf(server)
  if (given !== undefined) {
    const url = URL.canParse(given) ? new URL(given) : undefined
    if (url === undefined || !PROTOCOLS.has(url.protocol) || url.username !== "" || url.password !== "") {
      const where = flag === undefined ? Environment.URL_VARIABLE : "--url"
      return Result.fail(`${where}: expected an address such as "http://127.0.0.1:4747", without a user name.`)
    }
    return Result.succeed({ url: `${url.origin}${url.pathname.replace(/\/+$/, "")}`, token })
  }
  if (port === 0) {
    return Result.fail("server.port is 0, so the service's port is not known here. Name the service with --url.")
  }
  return Result.succeed({ url: Loopback.urlOf(host, port), token })
}

/** The service's token. */
export const tokenOf = ({ token }: Values["server"]): string | undefined =>
  token === undefined ? undefined : Redacted.value(token)

/** The address, or the end of the command. */
export const orRefused = (address: Result.Result<Address, string>): Effect.Effect<Address, Refused> =>
  Effect.mapError(Effect.fromResult(address), (message) => new Refused({ message, exitCode: ExitCode.USAGE }))

/** Whether the service was not reached: it may be back later. */
export const isAway = (error: ClientError): boolean => error.code === "unreachable" || error.status === 503

/** A refusal, or a service that does not answer, in words for a person. */
export const wordsOf = (error: ClientError): string => {
  if (error.code === "unreachable") {
    const where = /^The service at \S+/.exec(error.message)?.[0] ?? "The service"
    return `${where} does not answer (${reasonOf(error)}). Start it with \`holdfast serve\`, or name it with --url.`
  }
  return error.status === 401 ? NO_TOKEN : error.detail
}

// --- internal

/** Some seconds: a service that restarts is back by then. */
const RETRY_FOR_MS = 5_000

const PROTOCOLS: ReadonlySet<string> = new Set(["http:", "https:"])

const NO_TOKEN = "The service needs its token. Export HOLDFAST_TOKEN, or the variable of server.tokenEnv, with it."

/** `ECONNREFUSED` and the like, which is the cause of the causes. */
const reasonOf = (error: unknown): string => {
  if (typeof error === "object" && error !== null && "code" in error && !(error instanceof ClientError)) {
    if (error.code !== undefined) return String(error.code)
  }
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : reasonOf(error.cause)
}
