/**
 * Reads the common proxy variables: `HTTPS_PROXY`, `HTTP_PROXY` and `NO_PROXY`.
 *
 * The lower-case name overrides the upper-case one, as in curl. An address may contain a user and a password. They are secrets.
 */
import type { Proxies } from "@holdfast/providers/proxy"
import { Redacted } from "effect"
import type { Values } from "./Config.ts"
import * as Environment from "./reading/Environment.ts"
import type { Problem } from "./reading/ConfigProblem.ts"

/** The proxies of the environment, with problems of their variables. */
export interface ProxyChoice {
  /** Absent: every server is reached directly. */
  readonly proxy: Values["proxy"]
  readonly problems: ReadonlyArray<Problem>
}

/** Reads the variables. A problem names the variable that was set. */
export const choose = (environment: Environment.Environment): ProxyChoice => {
  const problems: Array<Problem> = []
  const addressIn = (name: string): Redacted.Redacted | undefined => {
    const found = find(environment, name)
    if (found === undefined) return undefined
    const address = addressOf(found.value)
    if (address === undefined) problems.push({ place: found.name, message: `expected ${EXPECTED}.` })
    return address
  }
  const http = addressIn("HTTP_PROXY")
  const https = addressIn("HTTPS_PROXY")
  const exceptions = find(environment, "NO_PROXY")?.value ?? ""
  return { proxy: http === undefined && https === undefined ? undefined : { http, https, exceptions }, problems }
}

/** The proxies for the HTTP client, with their passwords. */
export const proxiesOf = ({ proxy }: Pick<Values, "proxy">): Proxies | undefined =>
  proxy && {
    http: proxy.http && Redacted.value(proxy.http),
    https: proxy.https && Redacted.value(proxy.https),
    exceptions: proxy.exceptions
  }

// --- internal

const EXPECTED = 'the address of an HTTP proxy, such as "http://proxy.example.org:3128"'

const find = (environment: Environment.Environment, name: string) => {
  for (const known of [name.toLowerCase(), name]) {
    const value = Environment.get(environment, known)
    if (value !== undefined) return { name: known, value }
  }
  return undefined
}

/** `host:port` alone is an http address, as in curl. */
const addressOf = (text: string): Redacted.Redacted | undefined => {
  const url = URL.parse(text.includes("://") ? text : `http://${text}`)
  return url !== null && /^https?:$/.test(url.protocol) && url.hostname !== "" ? Redacted.make(url.href) : undefined
}
