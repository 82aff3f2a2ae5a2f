/** The providers that the gateway stands for: those with a base URL. */
import type { RawHeaders } from "@holdfast/providers/raw"
import { Redacted } from "effect"
import type { ProviderConfig, Values } from "../config/Config.ts"
import * as ClientKey from "./ClientKey.ts"
import * as Headers from "./Headers.ts"

/** A provider with a base URL. */
export interface Endpoint {
  readonly baseUrl: string
  readonly config: Exclude<ProviderConfig, { readonly type: "simulated" }>
}

/** By name. */
export type Endpoints = ReadonlyMap<string, Endpoint>

/** The endpoints of a configuration. */
export const of = ({ providers }: Pick<Values, "providers">): Endpoints =>
  new Map(
    Array.from(providers).flatMap(([name, config]): ReadonlyArray<readonly [string, Endpoint]> =>
      config.type === "simulated" || config.baseUrl === undefined ? [] : [[name, { baseUrl: config.baseUrl, config }]]
    )
  )

/**
 * The headers with the provider's own key and headers, in the place of the client's credential `at`; `undefined` if the provider's key is missing.
 * `name` is that of a credential; absent: the first.
 */
export const keyed = (
  { config }: Endpoint,
  at: ClientKey.KeyHeader | undefined,
  headers: RawHeaders,
  name: string | undefined
): RawHeaders | undefined => {
  const credential = config.credentials.find((each) => each.name === name) ?? config.credentials[0]
  if (credential === undefined && config.apiKeyEnv.length > 0) return undefined
  const given = Object.entries(config.headers)
  // Anthropic takes its keys in a header of its own; in `authorization` it expects OAuth.
  const header = config.type === "anthropic" ? "x-api-key" : (at ?? "authorization")
  const key = credential && Redacted.value(credential.value).trim()
  const withKey = [
    ...Headers.without(headers, ClientKey.KEY_HEADERS),
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
