/**
 * Takes the calls of `/to/<provider>[@profile]/…`, which stand for a provider's base URL (rule X13).
 *
 * Gateway.G1. A call goes up with its method, path, query, headers and body as they came, less the headers of the connection and Holdfast's
 *     own; its answer comes down as it came.
 * Gateway.G2. A refusal is an error in the wire format of the path that was called.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import type * as RawCall from "@holdfast/providers/raw"
import { Context, Effect, Layer, Redacted } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { IncomingMessage, ServerResponse } from "node:http"
import { Config, type ProviderConfig, type Values } from "../config/Config.ts"
import { Drain } from "../system/Drain.ts"
import * as Loopback from "../system/Loopback.ts"
import * as Address from "./Address.ts"
import * as ClientKey from "./ClientKey.ts"
import * as Headers from "./Headers.ts"
import * as Passage from "./Passage.ts"
import * as WireErrors from "./WireErrors.ts"

/** Answers calls through the gateway. */
export class Gateway extends Context.Service<
  Gateway,
  {
    /** Answers a call whose path `Address.isOurs`. The answer is on its way to the client when this succeeds. */
    readonly answer: (
      request: HttpServerRequest.HttpServerRequest
    ) => Effect.Effect<HttpServerResponse.HttpServerResponse>
  }
>()("@holdfast/session-orchestrator/gateway/Gateway") {}

/** The gateway over a way to send requests. */
export const layer = (send: RawCall.Send): Layer.Layer<Gateway, never, Config | Drain> =>
  Layer.effect(
    Gateway,
    Effect.gen(function* () {
      const parts = { ...partsOf(yield* Config), send, drain: yield* Drain }
      return { answer: (request) => answer(parts, request) }
    })
  )

// --- internal

interface Endpoint {
  readonly baseUrl: string
  readonly config: Exclude<ProviderConfig, { readonly type: "simulated" }>
}

interface Parts {
  readonly send: RawCall.Send
  readonly drain: Drain["Service"]
  readonly endpoints: ReadonlyMap<string, Endpoint>
  readonly keyOf: ReturnType<typeof ClientKey.make>
  readonly maxBodyBytes: number
}

const partsOf = ({ gateway, providers, server }: Values): Omit<Parts, "send" | "drain"> => ({
  endpoints: new Map(
    Array.from(providers).flatMap(([name, config]): ReadonlyArray<readonly [string, Endpoint]> =>
      config.type === "simulated" || config.baseUrl === undefined ? [] : [[name, { baseUrl: config.baseUrl, config }]]
    )
  ),
  keyOf: ClientKey.make({ isLoopback: Loopback.isLoopback(server.host), token: server.token }),
  maxBodyBytes: gateway.maxBodyBytes
})

const answer = Effect.fnUntraced(function* (parts: Parts, request: HttpServerRequest.HttpServerRequest) {
  const read = Address.read(request.url, Array.from(parts.endpoints.keys()))
  const path = Address.pathOf("unknown" in read ? request.url : read.rest)
  const refuse = (status: number, message: string) => refusal(path, status, message)
  if ("unknown" in read) return refuse(404, read.unknown)
  const endpoint = parts.endpoints.get(read.provider)
  if (endpoint === undefined) return refuse(404, `There is no provider ${read.provider}.`)
  if (request.headers["upgrade"] !== undefined) {
    return refuse(426, "WebSockets do not pass here. Send the same call as an HTTP request.")
  }
  const source = NodeHttpServerRequest.toIncomingMessage(request)
  const key = parts.keyOf(source.rawHeaders)
  if (key._tag === "Refused") return refuse(401, key.message)
  if (yield* parts.drain.hasBegun) return refuse(503, "Holdfast is shutting down. Send the call again once it is back.")
  const { maxBodyBytes } = parts
  const tooLarge = () => refuse(413, `A body may have ${maxBodyBytes} bytes at most here (gateway.maxBodyBytes).`)
  if (Number(request.headers["content-length"] ?? 0) > maxBodyBytes) return tooLarge()
  const headers = headersFor(endpoint, key, Headers.ofRequest(source.rawHeaders))
  if (headers === undefined) {
    return refuse(
      401,
      `Holdfast has no key of ${read.provider}: none of ${endpoint.config.apiKeyEnv.join(", ")} is set.`
    )
  }
  const client = clientOf(request)
  if (request.headers["expect"] !== undefined) client.response.writeContinue()
  const upstream = { url: Address.below(endpoint.baseUrl, read.rest), method: request.method, headers }
  const outcome = yield* Effect.raceFirst(
    Passage.through(parts.send, client, upstream, maxBodyBytes),
    Effect.as(parts.drain.ended, CUT)
  )
  switch (outcome?._tag) {
    case "Broken":
      return refuse(502, `${read.provider} could not be reached: ${reasonOf(outcome.cause)}`)
    case "TooLarge":
      return tooLarge()
    default:
      return written(client)
  }
})

const CUT = undefined

/** Gateway.G2 */
const refusal = (path: string, status: number, message: string): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.text(WireErrors.body(WireErrors.formatOf(path), status, message), {
    status,
    contentType: "application/json"
  })

/** Stands for the response that was written to the socket. */
const written = ({ response }: Passage.Client): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({ status: response.statusCode })

/** The headers of the request that goes up; `undefined` if the provider's key is to be sent, and there is none. */
const headersFor = (
  { config }: Endpoint,
  key: Exclude<ClientKey.Decision, { readonly _tag: "Refused" }>,
  headers: RawCall.RawHeaders
): RawCall.RawHeaders | undefined => {
  if (key._tag === "Client") return headers
  const [credential] = config.credentials
  if (credential === undefined && config.apiKeyEnv.length > 0) return undefined
  const given = Object.entries(config.headers)
  const names = given.map(([name]) => name.toLowerCase())
  const keyed =
    credential === undefined
      ? Headers.without(headers, key.in === undefined ? [] : [key.in])
      : ClientKey.replaced(headers, key.in, Redacted.value(credential.value).trim(), config.type === "anthropic")
  return [...Headers.without(keyed, names), ...given.flatMap(([name, value]) => [name, Redacted.value(value)])]
}

const clientOf = (request: HttpServerRequest.HttpServerRequest): Passage.Client => {
  const source = NodeHttpServerRequest.toIncomingMessage(request)
  const response = NodeHttpServerRequest.toServerResponse(request)
  // The service speaks HTTP/1.1 alone.
  if (source instanceof IncomingMessage && response instanceof ServerResponse) return { request: source, response }
  throw new Error("A call through the gateway is HTTP/1.1.")
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message || cause.name : String(cause))
