/**
 * Takes the calls of `/to/<provider>[@profile]/…`, which stand for a provider's base URL (rule X13).
 *
 * A call goes up with its method, path, query, headers and body as they came, less the headers of the connection and Holdfast's own; its answer
 * comes down as it came. A call for a model's answer is held (`Holding`). Any other call passes once, and so does one whose body cannot be
 * read. A refusal is an error in the wire format of the path that was called.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Timer } from "@holdfast/journal"
import { RetrySettings } from "@holdfast/policy"
import { type Dialect, Dialects, ErrorAnswer } from "@holdfast/providers/dialects"
import type * as RawCall from "@holdfast/providers/raw"
import { defined, Quote } from "@holdfast/wire"
import { Clock, Context, Effect, Layer, Option, Result, type Schema } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { IncomingMessage, ServerResponse } from "node:http"
import { Config } from "../config/Config.ts"
import { Defaults } from "../engine/conversation/Defaults.ts"
import * as HeldCalls from "../engine/conversation/HeldCalls.ts"
import { HeldTurns } from "../engine/orchestrator/HeldTurns.ts"
import { KEPT_MS } from "../engine/orchestrator/HeldWaits.ts"
import * as Secrets from "../config/redaction/Secrets.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import { Lists } from "../storage/Lists.ts"
import * as BodyBudget from "../base/system/BodyBudget.ts"
import * as Descriptors from "../base/system/Descriptors.ts"
import { Drain } from "../base/system/Drain.ts"
import * as Loopback from "../base/system/Loopback.ts"
import * as Address from "./Address.ts"
import * as CallReader from "./CallReader.ts"
import { ClientAnswer } from "./ClientAnswer.ts"
import * as EndedCalls from "./EndedCalls.ts"
import * as Upstreams from "./Upstreams.ts"
import type { GatedCall } from "./GatedCall.ts"
import * as Headers from "./Headers.ts"
import * as Holding from "./Holding.ts"
import * as LimitGauges from "./LimitGauges.ts"
import * as LocalWaits from "./LocalWaits.ts"
import * as Passage from "./Passage.ts"

/** Answers calls through the gateway. */
export class Gateway extends Context.Service<Gateway, Effect.Success<ReturnType<typeof make>>>()(
  "@holdfast/session-orchestrator/gateway/Gateway"
) {}

const make = (send: RawCall.Send) =>
  Effect.map(partsOf(send), (parts) => ({
    /** Answers a call whose path `Address.isOurs`. The answer is on its way to the client when this succeeds. */
    answer: (request: HttpServerRequest.HttpServerRequest) => answer(parts, request)
  }))

/** The gateway over a way to send requests. */
export const layer = (send: RawCall.Send) => Layer.effect(Gateway, make(send))

// --- internal

type Parts = Effect.Success<ReturnType<typeof partsOf>>

const partsOf = Effect.fnUntraced(function* (send: RawCall.Send) {
  const { gateway, server, ...config } = yield* Config
  const clock = yield* Clock.Clock
  const endpoints = Upstreams.of(config)
  return {
    send,
    endpoints,
    keyOf: Upstreams.deciding({ isLoopback: Loopback.isLoopback(server.host), token: server.token }),
    maxBodyBytes: gateway.maxBodyBytes,
    bodies: yield* BodyBudget.Bodies,
    drain: yield* Drain,
    /** Whether a base URL leads back here. */
    isOwn: (baseUrl: string) => Address.isOwn(baseUrl, server),
    /** Of the clients that wait. */
    clock: { at: (yield* Timer.Timer).at, now: () => clock.currentTimeMillisUnsafe() },
    /** Absent in a process that runs no turns of held calls. */
    holding: yield* holdingOf(send, endpoints)
  }
})

/** The calls that this process holds. */
const holdingOf = Effect.fnUntraced(function* (send: RawCall.Send, endpoints: Upstreams.Upstreams) {
  const turns = Option.getOrUndefined(yield* Effect.serviceOption(HeldTurns))
  if (turns === undefined) return undefined
  const config = yield* Config
  const { redact } = Secrets.of(config)
  const defaults = yield* Defaults
  return Holding.make({
    send,
    endpoints,
    turns,
    waits: turns.shared ?? (yield* recalled(turns)),
    calls: yield* HeldCalls.HeldCalls,
    defaults,
    ended: yield* EndedCalls.make(config, redact),
    answered: yield* LimitGauges.make(config, redact),
    redact
  })
})

/** The waits that the last process left, and the calls that it gave up. */
const recalled = Effect.fnUntraced(function* (turns: HeldTurns["Service"]) {
  const waits = LocalWaits.make((id) => Effect.ignore(turns.conversations.abort(id)), yield* Effect.scope)
  for (const { conversationId, turnId } of yield* turns.unsealed) {
    const known = HeldCallIds.read(conversationId)
    if (known !== undefined) yield* waits.left({ key: known.key, conversationId, turnId })
  }
  const since = (yield* Clock.currentTimeMillis) - KEPT_MS
  const lists = yield* Lists
  const { rows } = yield* lists.turns({ status: "failed", since }, undefined, MOST_RECALLED)
  // The newest comes last, and stays.
  for (const { turn } of rows.toReversed()) {
    const { conversationId, end, turnId } = turn
    const known = HeldCallIds.read(conversationId)
    if (known !== undefined && end?.error !== undefined)
      waits.gaveUp({ key: known.key, turnId }, end.error, end.endedAt)
  }
  return waits
})

/** Calls that gave up, and are known again after a restart. */
const MOST_RECALLED = 1_000

type Response = HttpServerResponse.HttpServerResponse

const answer = (parts: Parts, request: HttpServerRequest.HttpServerRequest): Effect.Effect<Response> =>
  Effect.suspend(() => {
    const share = parts.bodies.open()
    // What was read to decide is not kept while the call is held: its body as a value would be larger than its bytes.
    const answered = Effect.flatMap(admitted(parts, request), (admitted) =>
      Effect.flatMap(read(parts, admitted, share), ({ body, call }) =>
        call === undefined || parts.holding === undefined
          ? passed(parts, admitted, body)
          : held(parts, parts.holding, admitted.client, call)
      )
    )
    return Effect.ensuring(Effect.catch(answered, Effect.succeed), Effect.sync(share.release))
  })

/** A call whose client may call. */
type Admitted = Effect.Success<ReturnType<typeof admitted>>

/** Fails with the response to a call that is refused. */
const admitted = Effect.fnUntraced(function* (
  { drain, endpoints, isOwn, keyOf, maxBodyBytes }: Parts,
  request: HttpServerRequest.HttpServerRequest
) {
  const address = Address.read(request.url, endpoints)
  const path = "unknown" in address ? request.url : address.rest
  const refuse = (status: number, message: string) => Effect.fail(refusal(path, status, message))
  if (Address.hasDotSegment(request.url))
    return yield* refuse(
      400,
      'The path has a segment "." or "..", which would leave the base URL. Send the path without it.'
    )
  if ("unknown" in address) return yield* refuse(404, address.unknown)
  const { endpoint, provider, rest } = address
  if (isOwn(endpoint.baseUrl)) {
    const advice =
      "Is the variable of its base URL set for the service, too? It belongs to the program that calls Holdfast."
    return yield* refuse(502, `The base URL of ${provider} is Holdfast itself, ${endpoint.baseUrl}. ${advice}`)
  }
  if (request.headers["upgrade"] !== undefined)
    return yield* refuse(426, "WebSockets do not pass here. Send the same call as an HTTP request.")
  const client = clientOf(request)
  const { rawHeaders } = client.request
  const key = keyOf(rawHeaders)
  if (key._tag === "Refused") return yield* refuse(401, key.message)
  if (yield* drain.hasBegun)
    return yield* refuse(503, "Holdfast is shutting down. Send the call again once it is back.")
  if (Descriptors.areFew()) return yield* refuse(503, Descriptors.FEW_LEFT)
  if (Number(request.headers["content-length"] ?? 0) > maxBodyBytes) return yield* refuse(413, tooLarge(maxBodyBytes))
  const passed = Headers.ofRequest(rawHeaders)
  /** That go up. */
  const headers = key._tag === "Client" ? passed : Upstreams.keyed(endpoint, key.in, passed, undefined)
  if (headers === undefined) {
    const names = endpoint.apiKeyEnv.join(", ")
    return yield* refuse(401, `Holdfast has no key of ${provider}: none of ${names} is set.`)
  }
  const retry = retryOf(address.profile, client.request)
  if (typeof retry === "string") return yield* refuse(400, retry)
  return { client, endpoint, headers, key, provider, rest, retry }
})

/** Reads the body of a call for a model's answer. Any other call passes, and so does one whose body cannot be read. */
const read = Effect.fnUntraced(function* (
  { holding, maxBodyBytes }: Parts,
  { client: { request, response }, key, provider, rest, retry }: Admitted,
  share: BodyBudget.BodyShare
): Effect.fn.Return<{ readonly body?: Buffer; readonly call?: GatedCall }, Response> {
  // RFC 9110, section 10.1.1: a client of HTTP/1.0 would take it for the answer.
  if (request.headers.expect !== undefined && request.httpVersion !== "1.0") response.writeContinue()
  const dialect = request.method === "POST" ? Dialects.of(rest) : undefined
  if (dialect === undefined || holding === undefined) return {}
  const read = yield* CallReader.read(request, maxBodyBytes, share)
  if (read === "too-large") return yield* Effect.fail(refusal(rest, 413, tooLarge(maxBodyBytes)))
  if (read === "no-room") return yield* Effect.fail(refusal(rest, 503, BodyBudget.NO_ROOM))
  if ("unread" in read) return { body: read.unread }
  const { bytes: body, coded } = read
  const outline = yield* CallReader.outline(read)
  if (outline === undefined) return { body: coded ?? body }
  const { digest, members } = outline
  const asked = named(dialect.call(rest, members))
  const headers = request.rawHeaders
  return { call: { provider, rest, headers, key, dialect, asked, body, coded, digest, retry } }
})

/** Holds a call. A shutdown cuts the calls that wait: their clients ask again. */
const held = (
  { clock, drain }: Parts,
  holding: Holding.Holding,
  client: Passage.ClientConnection,
  call: GatedCall
): Effect.Effect<Response> =>
  Effect.suspend(() => {
    const { request, response } = client
    const answer = new ClientAnswer(response, call.asked, request.headers["user-agent"])
    const release = answer.hold(clock)
    const forget = drain.onEnded(() => answer.cut())
    const over = Effect.sync(() => {
      release()
      forget()
    })
    return Effect.map(Effect.ensuring(holding.answer(call, answer), over), () => written(client))
  })

/** Passes a call through, once. */
const passed = (
  { drain, maxBodyBytes, send }: Parts,
  { client, endpoint, headers, provider, rest }: Admitted,
  body: Buffer | undefined
): Effect.Effect<Response> => {
  const upstream = { url: Address.below(endpoint.baseUrl, rest), method: client.request.method ?? "GET", headers }
  return Effect.map(
    Effect.raceFirst(Passage.through(send, client, upstream, maxBodyBytes, body), Effect.as(drain.ended, undefined)),
    (outcome) => {
      switch (outcome?._tag) {
        case "Broken":
          return refusal(rest, 502, `${provider} could not be reached: ${reasonOf(outcome.cause)}`)
        case "TooLarge":
          return refusal(rest, 413, tooLarge(maxBodyBytes))
        default:
          return written(client)
      }
    }
  )
}

const tooLarge = (mostBytes: number): string =>
  `A body may have ${mostBytes} bytes at most here (gateway.maxBodyBytes).`

const refusal = (path: string, status: number, message: string): Response => {
  const { body, headers, status: answered } = ErrorAnswer.ofProblem({ status, message }, formatOf(path))
  return HttpServerResponse.text(body, { status: answered, headers, contentType: "application/json" })
}

/** The format of a path: that of its call, or of the calls beside it. */
const formatOf = (path: string): Dialect.Format =>
  Dialects.of(path)?.format ??
  (/\/messages(?:[/?]|$)/u.test(path) ? "messages" : /\/v1(?:alpha|beta)\/models/u.test(path) ? "gemini" : "chat")

/** The response that was written to the socket. */
const written = ({ response }: Passage.ClientConnection): Response =>
  HttpServerResponse.empty({ status: response.statusCode })

/** The `retry` settings of a call; a text where they are not valid. */
const retryOf = (
  profile: RetrySettings.ProfileName | undefined,
  { headers }: IncomingMessage
): Schema.JsonObject | string | undefined => {
  const given = defined({
    profile: headers["x-holdfast-retry-profile"]?.toString() ?? profile,
    budget: headers["x-holdfast-retry-budget"]?.toString()
  })
  const wrong = Object.entries(given).filter(([key, value]) => Result.isFailure(RetrySettings.decode({ [key]: value })))
  if (wrong.length === 0) return Object.keys(given).length === 0 ? undefined : given
  return wrong
    .map(([key, value]) => `x-holdfast-retry-${key}: found ${Quote.of(value)}; expected ${EXPECTED[key]}.`)
    .join(" ")
}

/** The values of the headers `x-holdfast-retry-…`. */
const EXPECTED: Readonly<Record<string, string>> = {
  profile: `one of ${RetrySettings.ProfileName.literals.join(", ")}`,
  budget: 'a duration such as "8 hours"'
}

/** A call without a model where its name is none: names are kept and shown, and clients may send any text. Its bytes stay as they came. */
const named = (call: Dialect.Call): Dialect.Call =>
  call.model !== undefined &&
  (call.model.length > LONGEST_NAME || /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u.test(call.model))
    ? { ...call, model: undefined }
    : call

/** Twice the longest that is known. */
const LONGEST_NAME = 200

const clientOf = (request: HttpServerRequest.HttpServerRequest): Passage.ClientConnection => {
  const source = NodeHttpServerRequest.toIncomingMessage(request)
  const response = NodeHttpServerRequest.toServerResponse(request)
  // The service speaks HTTP/1.1 alone.
  if (source instanceof IncomingMessage && response instanceof ServerResponse) return { request: source, response }
  throw new Error("A call through the gateway is HTTP/1.1.")
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message || cause.name : String(cause))
