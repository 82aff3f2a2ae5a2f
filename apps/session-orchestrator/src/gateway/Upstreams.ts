/**
 * The providers that the gateway stands for, those with a base URL, and whose credential a call to them has: the client's own, or Holdfast's.
 *
 * A client's own credential, OAuth included, goes up as it came, and is never stored. Holdfast's token, or the word `holdfast` where no token is
 * configured, stands for the provider's key, which is put in its place. On an address that others can reach, the token is required: as the
 * credential, or in `x-holdfast-token`.
 */
import type { RawHeaders } from "@holdfast/providers/raw"
import { Redacted } from "effect"
import type { ProviderConfig, Values } from "../config/Config.ts"
import * as Headers from "./Headers.ts"
import * as Credentials from "../config/redaction/Credentials.ts"

/** A provider with a base URL. */
export type Upstream = Exclude<ProviderConfig, { readonly type: "simulated" }> & { readonly baseUrl: string }

/** By name. */
export type Upstreams = ReadonlyMap<string, Upstream>

/** The endpoints of a configuration. */
export const of = ({ providers }: Pick<Values, "providers">): Upstreams =>
  new Map(Array.from(providers).flatMap(([name, config]) => (isUpstream(config) ? [[name, config] as const] : [])))

/**
 * The headers with the provider's own key and headers, in the place of the client's credential `at`; `undefined` if the provider's key is missing.
 * `name` is that of a credential; absent: the first.
 */
export const keyed = (
  upstream: Upstream,
  at: KeyHeader | undefined,
  headers: RawHeaders,
  name: string | undefined
): RawHeaders | undefined => {
  const credential = upstream.credentials.find((each) => each.name === name) ?? upstream.credentials[0]
  if (credential === undefined && upstream.apiKeyEnv.length > 0) return undefined
  const given = Object.entries(upstream.headers)
  // Anthropic takes its keys in a header of its own; in `authorization` it expects OAuth.
  const header = upstream.type === "anthropic" ? "x-api-key" : (at ?? "authorization")
  const key = credential && Redacted.value(credential.value).trim()
  const withKey = [
    ...Headers.without(headers, KEY_HEADERS),
    ...(key === undefined ? [] : [header, header === "authorization" ? `Bearer ${key}` : key])
  ]
  return [
    ...Headers.without(
      withKey,
      given.map(([name]) => name.toLowerCase())
    ),
    ...given.flatMap(([name, value]) => [name, Redacted.value(value)])
  ]
}

/** The conditions of the service. */
interface Policy {
  /** The service can be reached from this machine alone. */
  readonly isLoopback: boolean
  readonly token: Redacted.Redacted | undefined
}

/** Whose credential a call has. */
export type CredentialOwner =
  | { readonly _tag: "Client" }
  /** The provider's key replaces the header `in`. */
  | { readonly _tag: "Holdfast"; readonly in: KeyHeader | undefined }
  | { readonly _tag: "Refused"; readonly message: string }

/** A header that carries a credential. */
type KeyHeader = "authorization" | "x-api-key" | "x-goog-api-key" | "api-key"

/** Makes the decision about credentials for a service. */
export const deciding = ({ isLoopback, token }: Policy): ((headers: RawHeaders) => CredentialOwner) => {
  const isExpected = Credentials.matching(token === undefined ? "holdfast" : Redacted.value(token))
  return (headers) => {
    const credentials = KEY_HEADERS.flatMap((name) => {
      const [value] = Headers.valuesOf(headers, name)
      if (value === undefined) return []
      return [{ name, value: name === "authorization" ? value.replace(/^Bearer +/iu, "") : value }]
    })
    const ours = credentials.find(({ value }) => isExpected(value))
    if (ours !== undefined) return { _tag: "Holdfast", in: ours.name }
    const [own] = Headers.valuesOf(headers, "x-holdfast-token")
    if (own !== undefined) {
      if (!isExpected(own)) return { _tag: "Refused", message: "x-holdfast-token is not the token of server.token." }
      return hasOwn(headers) ? { _tag: "Client" } : { _tag: "Holdfast", in: undefined }
    }
    if (isLoopback) return { _tag: "Client" }
    return {
      _tag: "Refused",
      message: "Send the token of server.token as the API key, or in x-holdfast-token beside the provider's own key."
    }
  }
}

/** The headers that carry credentials. */
export const KEY_HEADERS: ReadonlyArray<KeyHeader> = ["authorization", "x-api-key", "x-goog-api-key", "api-key"]

// --- internal

const isUpstream = (config: ProviderConfig): config is Upstream =>
  config.type !== "simulated" && config.baseUrl !== undefined

/** Whether a client has a credential of its own, of any provider. A cookie alone is none: clients keep what they were given before. */
const hasOwn = (headers: RawHeaders): boolean =>
  Credentials.pairsOf(headers).some(
    ([name]) => Credentials.isHeader(name) && !/^(?:x-holdfast-token|cookie)$/iu.test(name)
  )
