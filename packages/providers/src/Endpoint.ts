/**
 * Where a provider is, and how it knows its caller: the part that differs between providers who speak one format.
 */
import type { Opening } from "@holdfast/kernel"
import { type Effect, Redacted, type Scope } from "effect"
import type { Answer, Broken, Heard, Http } from "./Http.ts"
import * as Secrets from "./Secrets.ts"

export interface Options {
  /** As the providers' own SDKs take it. A query (Azure's `api-version`) stays behind the path. */
  readonly baseUrl: string
  readonly apiKey?: Redacted.Redacted<string> | undefined
  /** Sent with every request, over the adapter's own. A secret among them is given as `Redacted`. */
  readonly headers?: Readonly<Record<string, string | Redacted.Redacted<string>>> | undefined
  /**
   * Takes out of the endpoint's words what the adapter would not: secrets that it is not given, and those that it is given in
   * other forms than their own (encoded, for one). Of JSON it must make JSON.
   */
  readonly conceal?: Secrets.Conceal | undefined
}

export interface Endpoint {
  /** Sends a body; `Http.Post`. */
  readonly post: (body: unknown, scope: Scope.Scope) => Effect.Effect<Answer, Broken>
  /** The same without a fiber; `Http.Begin`. */
  readonly begin: ((body: unknown, world: Opening.World, heard: Heard) => () => void) | undefined
  /** Takes out everything that must not be seen. */
  readonly conceal: Secrets.Conceal
}

/** `authorize` gives the headers that carry the key. */
export const make = (
  http: Http["Service"],
  options: Options,
  path: string,
  authorize: (key: string) => Readonly<Record<string, string>>
): Endpoint => {
  const given = Object.entries(options.headers ?? {})
  const post = http.endpoint(join(options.baseUrl, path), {
    accept: "text/event-stream",
    // Some gateways refuse a caller without a name.
    "user-agent": "holdfast",
    ...(options.apiKey === undefined ? undefined : authorize(Redacted.value(options.apiKey).trim())),
    ...Object.fromEntries(
      given.map(([name, value]) => [name.toLowerCase(), typeof value === "string" ? value : Redacted.value(value)])
    )
  })
  const { begin } = post
  return {
    post: (body, scope) => post(JSON.stringify(body), scope),
    begin: begin && ((body, world, heard) => begin(JSON.stringify(body), world, heard)),
    conceal: Secrets.conceal(
      [
        ...(options.apiKey === undefined ? [] : [options.apiKey]),
        ...given.flatMap(([, value]) => (typeof value === "string" ? [] : [value]))
      ],
      options.conceal
    )
  }
}

/** Puts a path behind a base URL, before its query. */
export const join = (baseUrl: string, path: string): string => {
  const query = baseUrl.indexOf("?")
  const base = query === -1 ? baseUrl : baseUrl.slice(0, query)
  return base.replace(/\/+$/, "") + path + (query === -1 ? "" : baseUrl.slice(query))
}
