/**
 * Where a provider is, and how it knows its caller: the part that differs between providers who speak one format.
 */
import { Redacted } from "effect"
import { Headers, HttpBody, HttpClientRequest } from "effect/http"

export interface Options {
  /** As the providers' own SDKs take it. A query (Azure's `api-version`) stays behind the path. */
  readonly baseUrl: string
  readonly apiKey?: Redacted.Redacted<string> | undefined
  /** Sent with every request, over the adapter's own. A secret among them is given as `Redacted`. */
  readonly headers?: Readonly<Record<string, string | Redacted.Redacted<string>>> | undefined
}

export interface Endpoint {
  readonly request: (body: unknown) => HttpClientRequest.HttpClientRequest
  /** Everything that must not be seen. */
  readonly secrets: ReadonlyArray<Redacted.Redacted<string>>
}

/** `authorize` gives the headers that carry the key. */
export const make = (
  options: Options,
  path: string,
  authorize: (key: string) => Readonly<Record<string, string>>
): Endpoint => {
  const url = join(options.baseUrl, path)
  const given = Object.entries(options.headers ?? {})
  const headers = Headers.fromInput({
    accept: "text/event-stream",
    // Some gateways refuse a caller without a name.
    "user-agent": "holdfast",
    ...(options.apiKey === undefined ? undefined : authorize(Redacted.value(options.apiKey).trim())),
    ...Object.fromEntries(
      given.map(([name, value]) => [name.toLowerCase(), typeof value === "string" ? value : Redacted.value(value)])
    )
  })
  return {
    request: (body) =>
      HttpClientRequest.post(url, { headers, body: HttpBody.text(JSON.stringify(body), "application/json") }),
    secrets: [
      ...(options.apiKey === undefined ? [] : [options.apiKey]),
      ...given.flatMap(([, value]) => (typeof value === "string" ? [] : [value]))
    ]
  }
}

/** Puts a path behind a base URL, before its query. */
export const join = (baseUrl: string, path: string): string => {
  const query = baseUrl.indexOf("?")
  const base = query === -1 ? baseUrl : baseUrl.slice(0, query)
  return base.replace(/\/+$/, "") + path + (query === -1 ? "" : baseUrl.slice(query))
}
