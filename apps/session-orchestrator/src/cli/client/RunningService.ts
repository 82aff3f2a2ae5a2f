/**
 * The running service, for commands that leave work to it and read it later: its address, its client, and the words of its refusals.
 *
 * The address: `--url`, then `HOLDFAST_URL`, then `server.host` and `server.port` of the configuration. The token is `server.token` of the
 * configuration (`HOLDFAST_TOKEN`); no message has it. A call that cannot reach the service is made again for some seconds.
 */
import { ClientError, type ClientOptions } from "@holdfast/client"
import * as HoldfastClient from "@holdfast/client/effect"
import { defined } from "@holdfast/wire"
import { Effect, Redacted } from "effect"
import type { Config, Values } from "../../config/Config.ts"
import * as Environment from "../../config/reading/Environment.ts"
import * as Loopback from "../../base/system/Loopback.ts"
import * as Declaration from "../Declaration.ts"
import { Refused } from "../Ended.ts"
import * as Setup from "../Setup.ts"

/** `--model`, the same for every command that sends prompts to a running service. */
export const modelFlag = Declaration.model("Model to ask instead of the service's own")

/** The flags of every command that needs a running service. */
export const flags = {
  url: Declaration.text(
    "url",
    "URL",
    "Address of the running service (default: HOLDFAST_URL, or server.host and server.port)"
  ),
  config: Declaration.config
}

/** The address of a service, with its token. */
export interface ServiceAddress {
  /** Without a slash at its end. */
  readonly url: string
  readonly token: string | undefined
}

/** The calls of a service. */
export type ServiceClient = HoldfastClient.Client["Service"]

/** Declares a command that calls the service which the flags, the environment and the configuration name. */
export const command = <const Own extends Declaration.Options, R>(
  declaration: Declaration.Declaration<Own>,
  run: Declaration.CommandBody<Own, [client: ServiceClient, server: Values["server"]], R>
) =>
  Declaration.command(
    declaration,
    (given, shared, parts) =>
      Setup.withConfig(parts, shared, ({ server }) =>
        addressOf(shared.url, parts.environment, server).pipe(
          Effect.flatMap(connect),
          Effect.flatMap((client) => run(given, client, server)),
          inWords,
          Effect.scoped
        )
      ),
    flags
  )

/** Reads from the service that is named, or from the database if none is. */
export type Read = <A, R>(
  remote: (client: ServiceClient, address: ServiceAddress) => Effect.Effect<A, ClientError>,
  stored: Effect.Effect<A, Declaration.CommandFailure, R | Declaration.Inspected>
) => Effect.Effect<A, Declaration.CommandFailure, Exclude<R, Declaration.Inspected> | Config>

/** Declares a command that reads a database, or a service. */
export const reading = <const Own extends Declaration.Options, R>(
  declaration: Declaration.Declaration<Own>,
  run: Declaration.CommandBody<Own, [read: Read], R>
) =>
  Declaration.command(
    declaration,
    (given, { config, url }, parts) =>
      Setup.withConfig(parts, { config }, ({ server }) =>
        run(given, (remote, stored) =>
          isNamed(url, parts.environment)
            ? Effect.flatMap(addressOf(url, parts.environment, server), (address) =>
                Effect.flatMap(connect(address), (client) => remote(client, address))
              ).pipe(inWords, Effect.scoped)
            : Effect.provide(stored, parts.inspection)
        )
      ),
    {
      config: Declaration.config,
      url: Declaration.text("url", "URL", "Read from this service instead of the database (default: HOLDFAST_URL)")
    }
  )

/** Whether the command line or the environment names a service. */
export const isNamed = (url: string | undefined, environment: Environment.Environment): boolean =>
  (url ?? Environment.get(environment, Environment.URL_VARIABLE)) !== undefined

/** Ends the command with the words of a refusal. */
export const inWords = <A, R>(
  effect: Effect.Effect<A, Declaration.CommandFailure, R>
): Effect.Effect<A, Declaration.CommandFailure, R> =>
  Effect.mapError(effect, (error) => (error instanceof ClientError ? Refused.failed(wordsOf(error)) : error))

/** A client of the service at an address; it is closed with its scope. */
export const connect = ({ token, url }: ServiceAddress, options: Partial<ClientOptions> = {}) =>
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
): Effect.Effect<ServiceAddress, Refused> => {
  const { host, port } = server
  const given = flag ?? Environment.get(environment, Environment.URL_VARIABLE)
  const token = tokenOf(server)
  if (given !== undefined) {
    const url = URL.canParse(given) ? new URL(given) : undefined
    if (url === undefined || !PROTOCOLS.has(url.protocol) || url.username !== "" || url.password !== "") {
      const where = flag === undefined ? Environment.URL_VARIABLE : "--url"
      return Refused.usage(`${where}: expected an address such as "http://127.0.0.1:4747", without a user name.`)
    }
    return Effect.succeed({ url: `${url.origin}${url.pathname.replace(/\/+$/, "")}`, token })
  }
  if (port === 0) {
    return Refused.usage("server.port is 0, so the service's port is not known here. Name the service with --url.")
  }
  return Effect.succeed({ url: Loopback.urlOf(host, port), token })
}

/** The service's token. */
export const tokenOf = ({ token }: Values["server"]): string | undefined =>
  token === undefined ? undefined : Redacted.value(token)

/** Whether the service was not reached: it may be back later. */
export const isAway = (error: ClientError): boolean => error.code === "unreachable" || error.status === 503

/** What is read; `undefined`: there is none. */
export const unlessMissing = <A>(read: Effect.Effect<A, ClientError>): Effect.Effect<A | undefined, ClientError> =>
  Effect.catchIf(
    read,
    ({ status }) => status === 404,
    () => Effect.undefined
  )

/** A refusal, or a service that does not answer, in words for a person. */
export const wordsOf = (error: ClientError): string => {
  if (error.code === "unreachable") {
    const where = /^The service at \S+/.exec(error.message)?.[0] ?? "The service"
    const reason = reasonOf(error)
    return `${where} does not answer${REASONS[reason] ?? ` (${reason}). Start it with \`holdfast serve\`, or name it with --url.`}`
  }
  if (error.status === 401) return NO_TOKEN
  return error.code === "invalid-response" || error.detail.startsWith("No call has this path")
    ? `What answers at this address is no Holdfast service, or is one at another path (${error.detail}). The address comes from --url or HOLDFAST_URL.`
    : error.detail
}

// --- internal

/** Some seconds: a service that restarts is back by then. */
const RETRY_FOR_MS = 5_000

const PROTOCOLS: ReadonlySet<string> = new Set(["http:", "https:"])

const PLAIN = ": it speaks no TLS. Write http:// in place of https:// in its address."

/** What a code of the system means for a person who has written an address. */
const REASONS: Readonly<Record<string, string>> = {
  ERR_SSL_WRONG_VERSION_NUMBER: PLAIN,
  EPROTO: PLAIN,
  ENOTFOUND: ": there is no host of this name. Look at --url or HOLDFAST_URL.",
  EAI_AGAIN: ": the name of its host could not be looked up. Is this machine connected?"
}

const NO_TOKEN = "The service needs its token. Export HOLDFAST_TOKEN, or the variable of server.tokenEnv, with it."

/** `ECONNREFUSED` and the like, which is the cause of the causes. */
const reasonOf = (error: unknown): string => {
  if (typeof error === "object" && error !== null && "code" in error && !(error instanceof ClientError)) {
    if (error.code !== undefined) return String(error.code)
  }
  if (!(error instanceof Error)) return String(error)
  return error.cause === undefined ? error.message : reasonOf(error.cause)
}
