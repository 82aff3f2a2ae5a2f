/**
 * Where a client command reaches the service, and with which token: a plain function.
 *
 * Precedence: `--url`, then `HOLDFAST_URL`, then `server.host` and `server.port` of the configuration. The token is `server.token` of the
 * configuration (`HOLDFAST_TOKEN`).
 */
import { Redacted, Result } from "effect"
import type { Values } from "../../config/Config.ts"
import * as Environment from "../../config/reading/Environment.ts"
import * as Loopback from "../../system/Loopback.ts"

/** The address of a service, with its token. */
export interface Address {
  /** Without a slash at its end. */
  readonly url: string
  readonly token: string | undefined
}

/** @param flag the value of `--url` */
export const of = (
  flag: string | undefined,
  environment: Environment.Environment,
  { host, port, token }: Values["server"]
): Result.Result<Address, string> => {
  const given = flag ?? Environment.get(environment, Environment.URL_VARIABLE)
  const secret = token === undefined ? undefined : Redacted.value(token)
  if (given !== undefined) {
    const url = URL.canParse(given) ? new URL(given) : undefined
    if (url === undefined || !PROTOCOLS.has(url.protocol) || url.username !== "" || url.password !== "") {
      const where = flag === undefined ? Environment.URL_VARIABLE : "--url"
      return Result.fail(`${where}: expected an address such as "http://127.0.0.1:4747", without a user name.`)
    }
    return Result.succeed({ url: `${url.origin}${url.pathname.replace(/\/+$/, "")}`, token: secret })
  }
  if (port === 0) {
    return Result.fail("server.port is 0, so the service's port is not known here. Name the service with --url.")
  }
  return Result.succeed({ url: `http://${Loopback.inUrl(reachable(host))}:${port}`, token: secret })
}

// --- internal

const PROTOCOLS: ReadonlySet<string> = new Set(["http:", "https:"])

/** A service that is bound to every address of this machine is reached at the loopback address. */
const reachable = (host: string): string => (host === "0.0.0.0" ? "127.0.0.1" : host === "::" ? "::1" : host)
