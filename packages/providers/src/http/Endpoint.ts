/**
 * An endpoint: URL, credentials and headers of a provider.
 *
 * Providers with the same wire format differ in these.
 */
import * as Redacted from "effect/Redacted"
import type { Call, Http, Listener } from "./Http.ts"
import * as KeyRedaction from "../KeyRedaction.ts"

/** The endpoint's settings. */
export interface Options {
  /** The same as for the provider's own SDK. A query (Azure's `api-version`) is kept after the path. */
  readonly baseUrl: string
  readonly apiKey?: Redacted.Redacted<string> | undefined
  /** Sent with every request; they override the adapter's own. A secret value is given as `Redacted`. */
  readonly headers?: Readonly<Record<string, string | Redacted.Redacted<string>>> | undefined
  /**
   * Removes further secrets from the endpoint's text: those that the adapter does not have, and its own in another form (such as
   * encoded). It must keep JSON valid.
   */
  readonly conceal?: KeyRedaction.Conceal | undefined
}

/** A prepared endpoint. */
export interface Endpoint {
  /** Sends a body as JSON. */
  readonly post: (body: unknown, listener: Listener) => Call
  /** Removes all secrets from a text. */
  readonly conceal: KeyRedaction.Conceal
}

/** Prepares an endpoint. `authorize` returns the headers that carry the key. */
export const make = (
  http: Http["Service"],
  options: Options,
  path: string,
  authorize: (key: string) => Readonly<Record<string, string>>
): Endpoint => {
  const given = Object.entries(options.headers ?? {})
  const post = http.endpoint(join(options.baseUrl, path), {
    accept: "text/event-stream",
    // Some gateways reject requests without a user agent.
    "user-agent": "holdfast",
    ...(options.apiKey === undefined ? undefined : authorize(Redacted.value(options.apiKey).trim())),
    ...Object.fromEntries(
      given.map(([name, value]) => [name.toLowerCase(), typeof value === "string" ? value : Redacted.value(value)])
    )
  })
  return {
    post: (body, listener) => post(JSON.stringify(body), listener),
    conceal: KeyRedaction.conceal(
      [
        ...(options.apiKey === undefined ? [] : [options.apiKey]),
        ...given.flatMap(([, value]) => (typeof value === "string" ? [] : [value]))
      ],
      options.conceal
    )
  }
}

/** Appends a path to a base URL, before its query. */
export const join = (baseUrl: string, path: string): string => {
  const query = baseUrl.indexOf("?")
  const base = query === -1 ? baseUrl : baseUrl.slice(0, query)
  return base.replace(/\/+$/, "") + path + (query === -1 ? "" : baseUrl.slice(query))
}
