/**
 * Reads the address of a call through the gateway: `/to/<provider>[@profile]/…`.
 *
 * What follows the first part stands for the provider's base URL, so it goes up as it came, with its query.
 */
import { RetrySettings } from "@holdfast/policy"
import * as Loopback from "../base/system/Loopback.ts"
import * as PercentText from "../base/text/PercentText.ts"

/** The first part of the path of every call through the gateway. */
const PREFIX = "/to/"

/** The address of a call. */
export interface CallAddress {
  readonly provider: string
  /** The retry profile that the address names; absent: the configured one. */
  readonly profile: RetrySettings.ProfileName | undefined
  /** The path below the provider's base URL, with its query; empty, or beginning with `/` or `?`. */
  readonly rest: string
}

/** An address that names nothing. `message` has the known names. */
interface Unknown {
  readonly unknown: string
}

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

/** Reads the address; `providers` are the names of those that have a base URL. */
export const read = (url: string, providers: ReadonlyArray<string>): CallAddress | Unknown => {
  const [, name = "", profile, rest = ""] = /^\/to\/([^/?@]*)(?:@([^/?]*))?([/?].*)?$/su.exec(url) ?? []
  const provider = PercentText.decodeOrKeep(name)
  if (!providers.includes(provider)) {
    return { unknown: `There is no provider ${quoted(provider)} with a base URL. There are: ${providers.join(", ")}.` }
  }
  if (profile === undefined) return { provider, profile, rest }
  const known = profiles.find((known) => known === PercentText.decodeOrKeep(profile))
  return known === undefined
    ? {
        unknown: `There is no retry profile ${quoted(PercentText.decodeOrKeep(profile))}. There are: ${profiles.join(", ")}.`
      }
    : { provider, profile: known, rest }
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
