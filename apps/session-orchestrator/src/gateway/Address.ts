/**
 * Reads the address of a call through the gateway: `/to/<provider>[@profile]/…`.
 *
 * What follows the first part stands for the provider's base URL, so it goes up as it came, with its query.
 */
import { RetrySettings } from "@holdfast/policy"
import * as Loopback from "../base/system/Loopback.ts"
import * as PercentText from "../base/text/PercentText.ts"
import type { Upstreams } from "./Upstreams.ts"

/** The first part of the path of every call through the gateway. */
const PREFIX = "/to/"

/** Whether a path is a call through the gateway. */
export const isOurs = (url: string): boolean => url.startsWith(PREFIX)

/** Whether a path leaves the provider's base URL for a reader of dot segments, also escaped ones. */
export const hasDotSegment = (url: string): boolean =>
  /(?:^|[/\\])\.{1,2}(?:[/\\;]|$)/u.test(
    pathOf(url)
      .replaceAll(/%2e/giu, ".")
      .replaceAll(/%2f|%5c/giu, "/")
  )

/** The path without its query. */
export const pathOf = (rest: string): string => rest.split("?", 1)[0] ?? rest

/**
 * Reads the address. `profile` is the retry profile that it names, `undefined` stands for the configured one; `rest` is the path below the
 * provider's base URL, with its query: empty, or beginning with `/` or `?`. An address that names nothing has the known names in `unknown`.
 */
export const read = (url: string, endpoints: Upstreams) => {
  const [, name = "", profile, rest = ""] = /^\/to\/([^/?@]*)(?:@([^/?]*))?([/?].*)?$/su.exec(url) ?? []
  const provider = PercentText.decodeOrKeep(name)
  const endpoint = endpoints.get(provider)
  if (endpoint === undefined) {
    const known = Array.from(endpoints.keys()).join(", ")
    return { unknown: `There is no provider ${quoted(provider)} with a base URL. There are: ${known}.` }
  }
  if (profile === undefined) return { endpoint, provider, profile, rest }
  const wanted = PercentText.decodeOrKeep(profile)
  const known = profiles.find((known) => known === wanted)
  return known === undefined
    ? { unknown: `There is no retry profile ${quoted(wanted)}. There are: ${profiles.join(", ")}.` }
    : { endpoint, provider, profile: known, rest }
}

/** The whole address below a base URL. A query of the base URL (Azure's `api-version`) comes last. */
export const below = (baseUrl: string, rest: string): string => {
  const [base = "", query] = baseUrl.split("?", 2)
  const address = base.replace(/\/+$/u, "") + rest
  return query === undefined ? address : `${address}${rest.includes("?") ? "&" : "?"}${query}`
}

/** Whether a base URL is that of this service's own gateway: a call would come back without end. */
export const isOwn = (baseUrl: string, { host, port }: { readonly host: string; readonly port: number }): boolean => {
  const url = URL.parse(baseUrl)
  if (url === null || !isOurs(`${url.pathname}/`)) return false
  const isHere = Loopback.isLoopback(url.hostname) || url.hostname === host
  return isHere && Number(url.port || (url.protocol === "https:" ? 443 : 80)) === port
}

// --- internal

const profiles = RetrySettings.ProfileName.literals

/** Text of a client, cut and escaped for a message. */
const quoted = (text: string): string => JSON.stringify(text.slice(0, 100))
