/**
 * The HTTP server: binds, lets in who may come in, and hands requests to the calls of the API.
 *
 * H1. It is bound to this machine alone unless it has a token; anything else is refused before the socket opens.
 * H2. A request must arrive in time, head and body; its answer may take hours.
 * H3. On the way down it takes no new turns, gives answers that have begun `ANSWER_GRACE`, ends what waits, and gives the rest
 *     `SHUTDOWN_GRACE`.
 * H4. It is bound before there is anything behind it. Requests that come so early wait, and none is lost.
 */
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import { Api } from "@holdfast/wire/api"
import { ByteSize, Duration, Effect, Layer, Predicate, type Redacted, Schema } from "effect"
import { HttpIncomingMessage, HttpRouter, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http"
import * as Condition from "../system/Condition.ts"
import * as Access from "./Access.ts"
import * as ConversationHandlers from "./ConversationHandlers.ts"
import * as DocsRoutes from "./docs/DocsRoutes.ts"
import * as Drain from "../system/Drain.ts"
import * as HttpMetrics from "./HttpMetrics.ts"
import * as Loopback from "../system/Loopback.ts"
import * as ProblemResponse from "./ProblemResponse.ts"
import * as RawProblem from "./RawProblem.ts"
import * as ResponseHeaders from "./body/ResponseHeaders.ts"
import * as SystemHandlers from "./SystemHandlers.ts"
import * as TurnHandlers from "./TurnHandlers.ts"
import * as WorkHandlers from "./WorkHandlers.ts"

/** Where the server listens unless told otherwise. */
export const DEFAULT_HOST = "127.0.0.1"
export const DEFAULT_PORT = 4747

/** The largest body that is taken unless told otherwise. */
export const DEFAULT_MAX_BODY_BYTES = 1024 * 1024

/**
 * How long a model may go on with an answer that it has begun, on the way down. Most are done by then, and with
 * `SHUTDOWN_GRACE` it stays below the 30 s after which Kubernetes kills; systemd and others wait longer.
 */
export const ANSWER_GRACE = Duration.seconds(20)

/** How long connections have to take what was written, on the way down. */
export const SHUTDOWN_GRACE = Duration.seconds(5)

/** When to come back, in seconds, in `Retry-After` (RFC 9110, section 10.2.3): a restart takes about that. */
const RETRY_AFTER_SECONDS = 5

export interface Options {
  readonly host?: string | undefined
  /** 0 takes any that is free. */
  readonly port?: number | undefined
  readonly token?: Redacted.Redacted | undefined
  /** Further names that clients reach the service by, without ports. */
  readonly hostnames?: ReadonlyArray<string> | undefined
  readonly maxBodyBytes?: number | undefined
  /** How long a request's head may take to arrive, in milliseconds. */
  readonly headTimeoutMs?: number | undefined
  /** How long a whole request may take to arrive, its answer not counted, in milliseconds. */
  readonly requestTimeoutMs?: number | undefined
}

/** The server could not start; `message` says where, why, and what to do, in one line. */
export class BindError extends Schema.TaggedError<BindError>()("BindError", { message: Schema.String }) {}

/**
 * Serves the API.
 *
 * **Details**
 *
 * Fails with `BindError` where it may not listen, or cannot. Closing it begins the `Drain`, if nobody has yet.
 */
export const layer = (options: Options = {}) => served(options).pipe(Layer.provideMerge(bound(options)))

/**
 * The socket alone. Built before what `served` needs, it keeps a service that cannot have its port from opening the
 * database of the one that has it, and from running that one's turns a second time (H4).
 */
export const bound = (options: Options = {}) =>
  bind(options.host ?? DEFAULT_HOST, options.port ?? DEFAULT_PORT, options)

/** The calls, on a socket that is bound. */
export const served = (options: Options = {}) => {
  const calls = HttpRouter.serve(Layer.provideMerge(routes, guard(options.host ?? DEFAULT_HOST, options)), {
    disableLogger: true,
    disableListenLog: true
  })
  return Layer.merge(drainOnClose, Layer.effectDiscard(HttpMetrics.create)).pipe(
    Layer.provideMerge(calls),
    Layer.provideMerge([Drain.layer, Condition.layer])
  )
}

// --- internal

const routes = Layer.mergeAll(HttpApiBuilder.layer(Api.Api, { openapiPath: Api.OPENAPI_PATH }), DocsRoutes.layer).pipe(
  Layer.provide([ConversationHandlers.layer, TurnHandlers.layer, WorkHandlers.layer, SystemHandlers.layer])
)

/** Around every call, known or not: who may come in, how much is read, and what failures look like. */
const guard = (host: string, options: Options) => {
  const maxBodyBytes = options.maxBodyBytes ?? DEFAULT_MAX_BODY_BYTES
  const refusalOf = Access.make({
    host,
    hostnames: options.hostnames,
    token: options.token,
    maxBodyBytes,
    openPaths: DocsRoutes.paths
  })
  return HttpRouter.middleware(
    (call) =>
      Effect.flatMap(HttpServerRequest.HttpServerRequest, (request) => {
        const refusal = refusalOf(request)
        const answer =
          refusal === undefined
            ? call.pipe(
                Effect.provideService(HttpIncomingMessage.MaxBodySize, ByteSize.bytes(maxBodyBytes)),
                Effect.catchCause((cause) => ProblemResponse.fromCause(cause, request, maxBodyBytes))
              )
            : ProblemResponse.toResponse(refusal, request)
        return HttpMetrics.counted(
          request.method,
          Effect.map(answer, (response) =>
            HttpServerResponse.setHeaders(response, {
              ...ResponseHeaders.all,
              ...(response.status === 503 ? { "retry-after": String(RETRY_AFTER_SECONDS) } : {}),
              ...response.headers
            })
          )
        )
      }),
    { global: true }
  )
}

/** Built last, so closed first: what waits is told before the socket waits for the rest (H3). */
const drainOnClose = Layer.effectDiscard(
  Effect.gen(function* () {
    const drain = yield* Drain.Drain
    const condition = yield* Condition.Condition
    yield* Effect.addFinalizer(() =>
      drain.begin.pipe(
        Effect.andThen(Effect.timeoutOption(untilQuiet(condition), ANSWER_GRACE)),
        Effect.andThen(drain.end)
      )
    )
  })
)

/** Waits while turns are answering, and then until what they said last has left. */
const untilQuiet = Effect.fnUntraced(function* (condition: Condition.Condition["Service"]) {
  while (yield* condition.isAnswering) yield* Effect.sleep(QUIET_INTERVAL)
})

/** Between two looks; what a person notices of a shutdown is seconds. */
const QUIET_INTERVAL = Duration.millis(50)

const bind = (host: string, port: number, options: Options) =>
  Layer.unwrap(
    Effect.gen(function* () {
      // H1
      if (options.token === undefined && !Loopback.isLoopback(host)) {
        return yield* new BindError({
          message: `Refused to listen on ${at(host, port)} without a token: others could reach it. Set server.token, or listen on ${DEFAULT_HOST}.`
        })
      }
      return NodeHttpServer.layer(() => makeServer(options), {
        host,
        port,
        gracefulShutdownTimeout: SHUTDOWN_GRACE
      }).pipe(Layer.catch((error) => Layer.effectContext(Effect.fail(explain(error.cause, host, port)))))
    })
  )

/** Time for a head: generous on a bad line, too short to hold many connections open with. */
const HEAD_TIMEOUT_MS = 15_000

/** Time for the largest body: 1 MiB at 140 kbit/s. */
const REQUEST_TIMEOUT_MS = 60_000

/** Longer than proxies commonly keep an idle connection (60 s), so that they never write into one that just closed. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000

const makeServer = (options: Options): Server => {
  const headersTimeout = options.headTimeoutMs ?? HEAD_TIMEOUT_MS
  const requestTimeout = Math.max(headersTimeout, options.requestTimeoutMs ?? REQUEST_TIMEOUT_MS)
  const server = createServer({
    // H2. Neither counts the answer.
    headersTimeout,
    requestTimeout,
    connectionsCheckingInterval: Math.min(5_000, Math.ceil(headersTimeout / 2)),
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // A client whose machine vanished is noticed by TCP.
    keepAlive: true,
    keepAliveInitialDelay: 60_000
  })
  RawProblem.install(server)
  holdEarly(server)
  return server
}

/** Keeps requests until somebody listens for them (H4). */
const holdEarly = (server: Server): void => {
  const early: Array<readonly [IncomingMessage, ServerResponse]> = []
  const hold = (request: IncomingMessage, response: ServerResponse) => void early.push([request, response])
  const handOver = (event: string | symbol): void => {
    if (event !== "request") return
    server.off("newListener", handOver)
    server.off("request", hold)
    // Node tells of a listener before it is one.
    queueMicrotask(() => early.forEach((exchange) => server.emit("request", ...exchange)))
  }
  server.on("request", hold)
  server.on("newListener", handOver)
}

const at = (host: string, port: number): string => `${Loopback.inUrl(host)}:${port}`

/** What a failed bind means to the person who started the service. */
const explain = (cause: unknown, host: string, port: number): BindError => {
  const code = Predicate.hasProperty(cause, "code") ? String(cause.code) : undefined
  const advice = code === undefined ? undefined : advices[code]
  const reason = advice ?? (cause instanceof Error ? cause.message : String(cause))
  return new BindError({ message: `Cannot listen on ${at(host, port)}: ${reason}` })
}

const advices: Record<string, string> = {
  EADDRINUSE: "the port is in use. Stop what listens there, or choose another port with --port or server.port.",
  EACCES: "this user may not. Choose a port above 1023 with --port or server.port.",
  EADDRNOTAVAIL: "this machine does not have that address. Set server.host to one that it has.",
  ENOTFOUND: "that host name leads nowhere. Set server.host to an address of this machine."
}
