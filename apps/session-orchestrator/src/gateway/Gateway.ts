/**
 * Takes the calls of `/to/<provider>[@profile]/…`, which stand for a provider's base URL (rule X13).
 *
 * Gateway.G1. A call goes up with its method, path, query, headers and body as they came, less the headers of the connection and Holdfast's
 *     own; its answer comes down as it came.
 * Gateway.G2. A refusal is an error in the wire format of the path that was called.
 * Gateway.G3. A call for a model's answer is held (`Holding`). Any other call passes once, and so does one whose body cannot be read.
 */
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Timer } from "@holdfast/journal"
import { RetrySettings } from "@holdfast/policy"
import { type Dialect, Dialects, ErrorAnswer } from "@holdfast/providers/dialects"
import type * as RawCall from "@holdfast/providers/raw"
import { defined } from "@holdfast/wire"
import { Clock, Context, Effect, Layer, Option, Result, type Schema } from "effect"
import { type HttpServerRequest, HttpServerResponse } from "effect/http"
import { IncomingMessage, ServerResponse } from "node:http"
import { Config } from "../config/Config.ts"
import { Defaults } from "../conversation/Defaults.ts"
import * as HeldCalls from "../conversation/HeldCalls.ts"
import { Providers } from "../conversation/Providers.ts"
import { Gates } from "../gate/Gates.ts"
import { RecentCalls } from "../gate/RecentCalls.ts"
import { HeldTurns } from "../orchestrator/HeldTurns.ts"
import { KEPT_MS } from "../orchestrator/HeldWaits.ts"
import * as Secrets from "../redaction/Secrets.ts"
import { AnsweredCalls } from "../storage/AnsweredCalls.ts"
import * as HeldCallIds from "../storage/HeldCallIds.ts"
import { Lists } from "../storage/Lists.ts"
import * as BodyBudget from "../system/BodyBudget.ts"
import * as Descriptors from "../system/Descriptors.ts"
import { Drain } from "../system/Drain.ts"
import * as Loopback from "../system/Loopback.ts"
import * as GatewayMetrics from "../telemetry/metrics/GatewayMetrics.ts"
import * as KnownLabels from "../telemetry/metrics/KnownLabels.ts"
import * as MetricLabels from "../telemetry/metrics/MetricLabels.ts"
import * as Address from "./Address.ts"
import * as AnsweredCounts from "./AnsweredCounts.ts"
import * as CallBody from "./CallBody.ts"
import * as CallReader from "./CallReader.ts"
import { ClientAnswer, type HoldClock } from "./ClientAnswer.ts"
import * as ClientKey from "./ClientKey.ts"
import * as Endpoints from "./Endpoints.ts"
import type { GatedCall } from "./GatedCall.ts"
import * as Headers from "./Headers.ts"
import { Holding } from "./Holding.ts"
import { LocalWaits } from "./LocalWaits.ts"
import * as Passage from "./Passage.ts"

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
export const layer = (send: RawCall.Send) =>
  Layer.effect(
    Gateway,
    Effect.gen(function* () {
      const { gateway, server, ...config } = yield* Config
      const clock = yield* Clock.Clock
      const endpoints = Endpoints.of(config)
      const parts: Parts = {
        send,
        endpoints,
        keyOf: ClientKey.make({ isLoopback: Loopback.isLoopback(server.host), token: server.token }),
        maxBodyBytes: gateway.maxBodyBytes,
        bodies: yield* BodyBudget.Bodies,
        drain: yield* Drain,
        isOwn: (baseUrl) => Address.isOwn(baseUrl, server),
        clock: { at: (yield* Timer.Timer).at, now: () => clock.currentTimeMillisUnsafe() },
        holding: yield* holdingOf(send, endpoints)
      }
      return { answer: (request) => answer(parts, request) }
    })
  )

// --- internal

interface Parts {
  readonly send: RawCall.Send
  readonly endpoints: Endpoints.Endpoints
  readonly keyOf: ReturnType<typeof ClientKey.make>
  readonly maxBodyBytes: number
  readonly bodies: BodyBudget.BodyBudget
  readonly drain: Drain["Service"]
  /** Whether a base URL leads back here. */
  readonly isOwn: (baseUrl: string) => boolean
  /** Of the clients that wait. */
  readonly clock: HoldClock
  /** Absent in a process that runs no turns of held calls. */
  readonly holding: Holding | undefined
}

/** The calls that this process holds. */
const holdingOf = Effect.fnUntraced(function* (send: RawCall.Send, endpoints: Endpoints.Endpoints) {
  const turns = Option.getOrUndefined(yield* Effect.serviceOption(HeldTurns))
  if (turns === undefined) return undefined
  const config = yield* Config
  return new Holding({
    send,
    endpoints,
    turns,
    waits: turns.shared ?? (yield* recalled(turns)),
    calls: yield* HeldCalls.HeldCalls,
    gates: yield* Gates,
    defaults: yield* Defaults,
    credentials: (yield* Providers).credentials,
    ended: yield* endedCalls,
    redact: Secrets.make(Secrets.ofConfig(config)).redact
  })
})

/** The waits that the last process left, and the calls that it gave up. */
const recalled = Effect.fnUntraced(function* (turns: HeldTurns["Service"]) {
  const waits = new LocalWaits((id) => Effect.ignore(turns.conversations.abort(id)), yield* Effect.scope)
  for (const { conversationId, turnId } of yield* turns.unsealed) {
    const known = HeldCallIds.read(conversationId)
    if (known !== undefined) yield* waits.left({ key: known.key, conversationId, turnId })
  }
  const since = (yield* Clock.currentTimeMillis) - KEPT_MS
  const lists = yield* Lists
  const { rows } = yield* lists.turns({ status: "failed", since }, undefined, MOST_RECALLED)
  waits.recall(
    rows.flatMap(({ turn: { conversationId, end } }) => {
      const known = HeldCallIds.read(conversationId)
      return known === undefined || end?.error === undefined
        ? []
        : [{ key: known.key, failure: end.error, at: end.endedAt }]
    })
  )
  return waits
})

/** Counts calls that became no turn: for metrics and health, and for the report those that were answered. */
const endedCalls = Effect.gen(function* () {
  const { add } = yield* AnsweredCalls
  const answered = yield* AnsweredCounts.make(add)
  const config = yield* Config
  const recent = Option.getOrUndefined(yield* Effect.serviceOption(RecentCalls))
  const { redact } = Secrets.make(Secrets.ofConfig(config))
  const { models, providers, targets } = KnownLabels.of(config, redact)
  // Clients make up names: beyond so many they are kept as one.
  const names = new MetricLabels.Labels(
    targets.map(({ model }) => model),
    redact,
    MOST_NAMES
  )
  const count = GatewayMetrics.counter(providers, models, targets, yield* Effect.context<never>())
  return (call: GatewayMetrics.EndedCall, at: number): void => {
    count(call)
    const { failure } = call
    const target = { provider: call.target.provider, model: names.of(call.target.model) }
    recent?.count({ target, endedAt: at, failure, isAnswered: failure === undefined })
    if (failure === undefined) answered(target, call.usage, at)
  }
})

/** Names of models that are kept in reports, beside the configured ones. */
const MOST_NAMES = 200

/** Calls that gave up, and are known again after a restart. */
const MOST_RECALLED = 1_000

const answer = (
  parts: Parts,
  request: HttpServerRequest.HttpServerRequest
): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.suspend(() => {
    const share = parts.bodies.open()
    // What was read to decide is not kept while the call is held: its body as a value would be larger than its bytes.
    const answered = Effect.flatMap(planned(parts, request, share), (plan) => {
      switch (plan._tag) {
        case "Refuse":
          return Effect.succeed(plan.response)
        case "Hold":
          return Effect.map(held(parts, plan), () => written(plan.client))
        case "Pass":
          return passed(parts, plan)
      }
    })
    return Effect.ensuring(answered, Effect.sync(share.release))
  })

/** What is done with a call. */
type Plan =
  | { readonly _tag: "Refuse"; readonly response: HttpServerResponse.HttpServerResponse }
  | {
      readonly _tag: "Hold"
      readonly holding: Holding
      readonly client: Passage.Client
      readonly call: GatedCall
      readonly userAgent: string | undefined
    }
  | {
      readonly _tag: "Pass"
      readonly client: Passage.Client
      readonly provider: string
      readonly upstream: Omit<RawCall.Request, "body">
      readonly body: Buffer | undefined
      readonly refuse: (status: number, message: string) => HttpServerResponse.HttpServerResponse
    }

const planned = Effect.fnUntraced(function* (
  parts: Parts,
  request: HttpServerRequest.HttpServerRequest,
  share: BodyBudget.Share
): Effect.fn.Return<Plan> {
  const { drain, endpoints, holding, isOwn, keyOf, maxBodyBytes } = parts
  const address = Address.read(request.url, Array.from(endpoints.keys()))
  const path = "unknown" in address ? request.url : address.rest
  const refuse = (status: number, message: string): Plan => ({
    _tag: "Refuse",
    response: refusal(path, status, message)
  })
  if (Address.hasDotSegment(request.url)) {
    return refuse(400, 'The path has a segment "." or "..", which would leave the base URL. Send the path without it.')
  }
  if ("unknown" in address) return refuse(404, address.unknown)
  const endpoint = endpoints.get(address.provider)
  if (endpoint === undefined) return refuse(404, `There is no provider ${address.provider}.`)
  if (isOwn(endpoint.baseUrl)) {
    const advice =
      "Is the variable of its base URL set for the service, too? It belongs to the program that calls Holdfast."
    return refuse(502, `The base URL of ${address.provider} is Holdfast itself, ${endpoint.baseUrl}. ${advice}`)
  }
  if (request.headers["upgrade"] !== undefined) {
    return refuse(426, "WebSockets do not pass here. Send the same call as an HTTP request.")
  }
  const client = clientOf(request)
  const { rawHeaders } = client.request
  const key = keyOf(rawHeaders)
  if (key._tag === "Refused") return refuse(401, key.message)
  if (yield* drain.hasBegun) return refuse(503, "Holdfast is shutting down. Send the call again once it is back.")
  if (Descriptors.areFew()) return refuse(503, Descriptors.FEW_LEFT)
  if (Number(request.headers["content-length"] ?? 0) > maxBodyBytes) return refuse(413, tooLarge(maxBodyBytes))
  const passed = Headers.ofRequest(rawHeaders)
  const headers = key._tag === "Client" ? passed : Endpoints.keyed(endpoint, key.in, passed, undefined)
  if (headers === undefined) {
    const names = endpoint.config.apiKeyEnv.join(", ")
    return refuse(401, `Holdfast has no key of ${address.provider}: none of ${names} is set.`)
  }
  const retry = retryOf(address, client.request)
  if (typeof retry === "string") return refuse(400, retry)
  if (request.headers["expect"] !== undefined) client.response.writeContinue()

  const { provider, rest } = address
  const dialect = request.method === "POST" && holding !== undefined ? Dialects.of(rest) : undefined
  const read = dialect === undefined ? undefined : yield* CallReader.read(client.request, maxBodyBytes, share)
  if (read === "too-large") return refuse(413, tooLarge(maxBodyBytes))
  if (read === "no-room") return refuse(503, BodyBudget.NO_ROOM)
  const body = read?.bytes
  const isEncoded = request.headers["content-encoding"] !== undefined
  const outline = read === undefined || isEncoded ? undefined : yield* outlineOf(read)
  if (holding !== undefined && dialect !== undefined && body !== undefined && outline !== undefined) {
    const asked = named(dialect.call(rest, outline.members))
    const { digest } = outline
    const call: GatedCall = { provider, rest, headers: rawHeaders, key, dialect, asked, body, digest, retry }
    return { _tag: "Hold", holding, client, call, userAgent: request.headers["user-agent"] }
  }
  const upstream = { url: Address.below(endpoint.baseUrl, rest), method: request.method, headers }
  return {
    _tag: "Pass",
    client,
    provider,
    upstream,
    body,
    refuse: (status, message) => refusal(path, status, message)
  }
})

/** Holds a call. A shutdown cuts the calls that wait: their clients ask again. */
const held = (
  { clock, drain }: Parts,
  { call, client, holding, userAgent }: Extract<Plan, { readonly _tag: "Hold" }>
): Effect.Effect<void> =>
  Effect.suspend(() => {
    const answer = new ClientAnswer(client.response, { call: call.asked, userAgent })
    const release = answer.hold(clock)
    const forget = drain.onEnded(() => answer.cut())
    return Effect.ensuring(
      holding.answer(call, answer),
      Effect.sync(() => {
        release()
        forget()
      })
    )
  })

/** Passes a call through, once. */
const passed = (
  { drain, maxBodyBytes, send }: Parts,
  { body, client, provider, refuse, upstream }: Extract<Plan, { readonly _tag: "Pass" }>
): Effect.Effect<HttpServerResponse.HttpServerResponse> =>
  Effect.map(
    Effect.raceFirst(Passage.through(send, client, upstream, maxBodyBytes, body), Effect.as(drain.ended, undefined)),
    (outcome) => {
      switch (outcome?._tag) {
        case "Broken":
          return refuse(502, `${provider} could not be reached: ${reasonOf(outcome.cause)}`)
        case "TooLarge":
          return refuse(413, tooLarge(maxBodyBytes))
        default:
          return written(client)
      }
    }
  )

const tooLarge = (mostBytes: number): string =>
  `A body may have ${mostBytes} bytes at most here (gateway.maxBodyBytes).`

/** Gateway.G2 */
const refusal = (path: string, status: number, message: string): HttpServerResponse.HttpServerResponse => {
  const { body, headers, status: answered } = ErrorAnswer.ofProblem({ status, message }, formatOf(path))
  return HttpServerResponse.text(body, { status: answered, headers, contentType: "application/json" })
}

/** The format of a path: that of its call, or of the calls beside it. */
const formatOf = (path: string): Dialect.Format =>
  Dialects.of(path)?.format ??
  (/\/messages(?:[/?]|$)/u.test(path) ? "messages" : /\/v1(?:alpha|beta)\/models/u.test(path) ? "gemini" : "chat")

/** The response that was written to the socket. */
const written = ({ response }: Passage.Client): HttpServerResponse.HttpServerResponse =>
  HttpServerResponse.empty({ status: response.statusCode })

/** The `retry` settings of a call; a text where they are not valid. */
const retryOf = (
  { profile }: Address.Address,
  { headers }: IncomingMessage
): Schema.JsonObject | string | undefined => {
  const named = headers["x-holdfast-retry-profile"]
  const budget = headers["x-holdfast-retry-budget"]
  if (profile === undefined && named === undefined && budget === undefined) return undefined
  const retry = defined({ profile: named?.toString() ?? profile, budget: budget?.toString() })
  return Result.isSuccess(RetrySettings.decode(retry))
    ? retry
    : `x-holdfast-retry-profile: expected one of ${Address.profileNames.join(", ")}. x-holdfast-retry-budget: expected a duration such as "8 hours".`
}

/** A call without a model where its name is none: names are kept and shown, and clients may send any text. Its bytes stay as they came. */
const named = (call: Dialect.Call): Dialect.Call =>
  call.model !== undefined &&
  (call.model.length > LONGEST_NAME || /[\p{Cc}\p{Bidi_Control}\u2028\u2029]/u.test(call.model))
    ? { ...call, model: undefined }
    : call

/** Twice the longest that is known. */
const LONGEST_NAME = 200

/** What a body has of its call. A large one is read in a thread. */
const outlineOf = (
  body: CallReader.Body
): Effect.Effect<{ readonly members: unknown; readonly digest: string | undefined } | undefined> => {
  if (body.isLarge) return CallReader.outline(body)
  if (body.isTooLarge) return Effect.sync(() => CallBody.outline(body.bytes, true))
  const members = CallBody.parse(body.bytes)
  return Effect.succeed(members === undefined ? undefined : { members, digest: undefined })
}

const clientOf = (request: HttpServerRequest.HttpServerRequest): Passage.Client => {
  const source = NodeHttpServerRequest.toIncomingMessage(request)
  const response = NodeHttpServerRequest.toServerResponse(request)
  // The service speaks HTTP/1.1 alone.
  if (source instanceof IncomingMessage && response instanceof ServerResponse) return { request: source, response }
  throw new Error("A call through the gateway is HTTP/1.1.")
}

const reasonOf = (cause: unknown): string => (cause instanceof Error ? cause.message || cause.name : String(cause))
