/**
 * Runs the HTTP server: binds, checks access, and dispatches requests to the API's calls.
 *
 * Without a token the server binds to a loopback address only; any other address is refused before the socket opens. A request has a time
 * limit for its head and for its body. Its answer may take hours.
 *
 * HttpServer.H3. A shutdown accepts no new turns, begins no answer, gives those that have begun `ANSWER_GRACE`, ends requests that wait, and gives the other
 *     connections `SHUTDOWN_GRACE`.
 * HttpServer.H4. The socket is bound before the service behind it is ready. Requests that arrive before that wait, and none is lost.
 */
import { DefaultAddress, JsonShape, LongJson } from "@holdfast/wire"
import * as NodeHttpServer from "@effect/platform-node/NodeHttpServer"
import * as NodeHttpServerRequest from "@effect/platform-node/NodeHttpServerRequest"
import { Api, Problem } from "@holdfast/wire/api"
import { Clock, Duration, Effect, Layer, Option, Predicate, Schema, Stream } from "effect"
import { HttpRouter, HttpServer, HttpServerError, HttpServerRequest, HttpServerResponse } from "effect/http"
import { HttpApiBuilder } from "effect/http-api"
import { createServer, type IncomingMessage, type Server } from "node:http"
import type { ListenOptions } from "node:net"
import * as BodyBudget from "../base/system/BodyBudget.ts"
import * as Condition from "../base/system/Condition.ts"
import * as Access from "./Access.ts"
import * as UiHandlers from "./ui/UiHandlers.ts"
import * as ConversationHandlers from "./ConversationHandlers.ts"
import type { Values } from "../config/Config.ts"
import * as DocsPage from "./docs/DocsPage.ts"
import * as Descriptors from "../base/system/Descriptors.ts"
import * as Drain from "../base/system/Drain.ts"
import * as Address from "../gateway/Address.ts"
import { Gateway } from "../gateway/Gateway.ts"
import * as Passage from "../gateway/Passage.ts"
import * as ServiceMetrics from "../ops/telemetry/metrics/ServiceMetrics.ts"
import * as Loopback from "../base/system/Loopback.ts"
import * as PageRoutes from "./page/PageRoutes.ts"
import * as ProblemResponse from "./ProblemResponse.ts"
import * as ResponseHeaders from "./body/ResponseHeaders.ts"
import * as SocketHandlers from "./socket/SocketHandlers.ts"
import * as SocketServer from "./socket/SocketServer.ts"
import * as SystemHandlers from "./SystemHandlers.ts"
import * as TurnHandlers from "./TurnHandlers.ts"

/**
 * How long a shutdown waits for answers that have begun. Most end by then. Together with `SHUTDOWN_GRACE` it stays below the 30 s
 * after which Kubernetes kills a process; systemd and others wait longer.
 */
export const ANSWER_GRACE = Duration.seconds(20)

/** How long a shutdown waits for connections to take the data that was written to them. */
export const SHUTDOWN_GRACE = Duration.seconds(5)

/** `Retry-After` of a shutdown, in seconds (RFC 9110, section 10.2.3): a restart takes about that long. */
const RETRY_AFTER_SECONDS = 5

type ServerSettings = Values["server"]

/** How to bind the server, and its limits: the section `server` of the configuration. Calls without a prompt take `Access.MOST_BYTES` at most. */
export interface Options extends ServerSettings {
  /** How long a request's head may take to arrive, in milliseconds. */
  readonly headTimeoutMs?: number | undefined
  /** How long a whole request may take to arrive, its answer not counted, in milliseconds. */
  readonly requestTimeoutMs?: number | undefined
  /** The folder of the built page; by default that of this program. */
  readonly pageFolder?: string | undefined
}

/** The server could not start. `message` has the address, the cause and what to do, in one line. */
export class BindError extends Schema.TaggedError<BindError>()("BindError", { message: Schema.String }) {}

/**
 * The socket alone. It is built before the layers that `served` needs. So a service whose port is in use never opens the database
 * of the service that has the port, and never runs its turns a second time (HttpServer.H4).
 *
 * **Details**
 *
 * Fails with `BindError` if the server may not or cannot listen there.
 */
export const bound = (options: Options) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const { host, maxBodyBytes, port, token } = options
      if (token === undefined && !Loopback.isLoopback(host)) return yield* refusal(host, port)
      const socket = listening(host, port)
      if (typeof socket === "string") return yield* new BindError({ message: socket })
      const server = NodeHttpServer.layer(() => makeServer(options), {
        ...socket,
        gracefulShutdownTimeout: SHUTDOWN_GRACE,
        websocket: SocketServer.options(maxBodyBytes)
      }).pipe(Layer.catch((error) => Layer.effectContext(Effect.fail(explain(error.cause, host, port)))))
      return Layer.provideMerge(Layer.effectDiscard(own(options)), server)
    })
  )

/** The API's calls, on a bound socket. Closing the layer begins the `Drain` if it has not begun. */
export const served = (options: Options) => {
  const calls = HttpRouter.serve(Layer.provideMerge(Layer.merge(routes, PageRoutes.layer(options)), guard(options)), {
    disableLogger: true,
    disableListenLog: true
  })
  return drainOnClose.pipe(Layer.provideMerge(calls), Layer.provideMerge([Drain.layer, Condition.layer]))
}

// --- internal

const routes = Layer.mergeAll(HttpApiBuilder.layer(Api.Api, { openapiPath: Api.OPENAPI_PATH }), DocsPage.layer).pipe(
  Layer.provide([
    ConversationHandlers.conversations,
    ConversationHandlers.work,
    TurnHandlers.layer,
    UiHandlers.layer,
    SocketHandlers.layer,
    SystemHandlers.system,
    SystemHandlers.health,
    SystemHandlers.policies
  ])
)

/** Wraps every request, known path or not: access, the limit of the body, and the form of failures. */
const guard = (options: Options) =>
  Layer.unwrap(
    Effect.gen(function* () {
      const gateway = Option.getOrUndefined(yield* Effect.serviceOption(Gateway))
      const bodies = yield* BodyBudget.Bodies
      const countedRequest = yield* ServiceMetrics.requestCount
      const cors = Access.corsOf(options.allowedOrigins)
      const refusalOf = Access.make({ ...options, cors, openPaths: [...DocsPage.paths, ...PageRoutes.openPaths] })
      const answered = <E, R>(request: HttpServerRequest.HttpServerRequest, call: Call<E, R>) => {
        // A client that disconnects ends its call, as it does a route's.
        if (gateway !== undefined && Address.isOurs(request.url)) return Effect.interruptible(gateway.answer(request))
        if (!Passage.hasBody(request)) return call
        return bounded(bodies, Access.bodyLimit(request.url, options.maxBodyBytes), request, call)
      }
      return HttpRouter.middleware(
        (call) =>
          Effect.flatMap(
            Effect.all([HttpServerRequest.HttpServerRequest, Clock.currentTimeMillis]),
            ([request, now]) => {
              const refusal = refusalOf(request, now) ?? crowded(request.url)
              shareWith(cors, request)
              const preflight = refusal === undefined ? cors.preflight(request, methodsOf) : undefined
              if (preflight !== undefined)
                return Effect.succeed(HttpServerResponse.empty({ status: 204, headers: preflight }))
              const answer =
                refusal === undefined
                  ? Effect.catchCause(answered(request, call), (cause) => ProblemResponse.fromCause(cause, request))
                  : ProblemResponse.toResponse(refusal, request)
              return countedRequest(
                request.method,
                Effect.map(answer, (response) =>
                  HttpServerResponse.setHeaders(response, {
                    ...ResponseHeaders.all,
                    ...(response.status === 503 ? { "retry-after": String(RETRY_AFTER_SECONDS) } : {}),
                    ...response.headers
                  })
                )
              )
            }
          ),
        { global: true }
      )
    })
  )

type Call<E, R> = Effect.Effect<HttpServerResponse.HttpServerResponse, E, R>

/** Made once: clients that are refused come in crowds, and a new error has a trace. */
const NO_ROOM = new Problem.Busy({ detail: BodyBudget.NO_ROOM })
const FEW_LEFT = new Problem.Busy({ detail: Descriptors.FEW_LEFT })

/** Every call but those of the health needs a free descriptor. The gateway refuses in the format of its calls. */
const crowded = (url: string): Problem.Busy | undefined =>
  Access.isHealth(url) || Address.isOurs(url) || !Descriptors.areFew() ? undefined : FEW_LEFT

/** Sets headers of all answers on Node's response, because streams write to it directly. A connection that is upgraded has none. */
const shareWith = (cors: Access.Cors, request: HttpServerRequest.HttpServerRequest): void => {
  const headers = [
    ...Object.entries(Address.isOurs(request.url) ? ResponseHeaders.provider : {}),
    ...Object.entries(cors.headersOf(request))
  ]
  if (headers.length === 0 || SocketServer.isUpgrade(NodeHttpServerRequest.toIncomingMessage(request))) return
  const response = NodeHttpServerRequest.toServerResponse(request)
  for (const [name, value] of headers) response.setHeader(name, value)
}

/** The methods of a path; those of a provider are not known. */
const methodsOf = (url: string): ReadonlyArray<string> => {
  const methods = ProblemResponse.methodsOf(url)
  return methods.length === 0 ? ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE"] : methods
}

/** Refuses a body that has no room, and one of more bytes, values or levels than any call takes at the byte that is too many. */
const bounded = <E, R>(
  bodies: BodyBudget.BodyBudget,
  limitBytes: number,
  request: HttpServerRequest.HttpServerRequest,
  call: Call<E, R>
): Call<E | HttpServerError.HttpServerError, R> =>
  Effect.suspend(() => {
    const share = bodies.open()
    if (!share.take(BodyBudget.TEXT * Number(request.headers["content-length"] ?? limitBytes)))
      return ProblemResponse.toResponse(NO_ROOM, request)
    const answer = Effect.matchEffect(textOf(request, limitBytes), {
      onFailure: (error) =>
        HttpServerError.isHttpServerError(error)
          ? Effect.fail(error)
          : Effect.map(ProblemResponse.toResponse(error, request), unread),
      onSuccess: (text) => {
        // It was read: the call gets its text.
        const known = Object.create(request, { text: { value: Effect.succeed(text) } })
        const answer = Effect.provideService(call, HttpServerRequest.HttpServerRequest, known)
        return LongJson.isLong(text) ? Effect.andThen(Effect.yieldNow, answer) : answer
      }
    })
    return Effect.ensuring(answer, Effect.sync(share.release))
  })

/** The rest of the body is not read, so there is no further request on the connection. */
const unread = HttpServerResponse.setHeader("connection", "close")

/** Reads a body, and measures it while it arrives. Until its end it is bytes outside of V8's heap; then it becomes text. */
const textOf = (
  request: HttpServerRequest.HttpServerRequest,
  limitBytes: number
): Effect.Effect<string, HttpServerError.HttpServerError | Problem.InvalidRequest | Problem.BodyTooLarge> =>
  Effect.suspend(() => {
    const scan = new JsonShape.Scan(JsonShape.MOST_VALUES, JsonShape.MOST_LEVELS)
    const pieces: Array<Uint8Array> = []
    let bytes = 0
    const read = (piece: Uint8Array): Effect.Effect<void, Problem.InvalidRequest | Problem.BodyTooLarge> => {
      bytes += piece.length
      if (bytes > limitBytes) return Effect.fail(Access.tooLarge(limitBytes))
      pieces.push(piece)
      const excess = scan.push(Buffer.from(piece.buffer, piece.byteOffset, piece.length).toString("latin1"))
      if (excess === undefined) return Effect.void
      return Effect.fail(new Problem.InvalidRequest({ detail: `The body has ${excess}.` }))
    }
    return Effect.map(Stream.runForEach(request.stream, read), () => new TextDecoder().decode(Buffer.concat(pieces)))
  })

/** Built last, so closed first: clients that wait are released before the socket waits for the other connections (HttpServer.H3). */
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

/** Waits until no turn is streaming an answer; none begins from here on. */
const untilQuiet = ({ settle }: Condition.Condition["Service"]) =>
  Effect.whileLoop({ while: () => !settle(), body: () => Effect.sleep(QUIET_INTERVAL), step: () => {} })

/** Between two checks; a shutdown takes seconds, so a person does not notice it. */
const QUIET_INTERVAL = Duration.millis(50)

/** A socket that was handed over has an address of its own. */
const own = Effect.fnUntraced(function* ({ token }: Options) {
  const { address } = yield* HttpServer.HttpServer
  if (token !== undefined || address._tag === "UnixPathAddress") return
  const { hostname, port } = new URL(HttpServer.formatAddress(address))
  if (!Loopback.isLoopback(hostname)) return yield* refusal(hostname, Number(port))
})

const refusal = (host: string, port: number) =>
  new BindError({
    message: `Refused to listen on ${at(host, port)} without a token: others could reach it. Set server.token, or listen on ${DefaultAddress.HOST}.`
  })

/** The limit for a head: long enough for a bad line, too short to hold many connections open. */
const HEAD_TIMEOUT_MS = 15_000

/** The limit for a whole request: 1 MiB, the largest body, at 140 kbit/s. */
const REQUEST_TIMEOUT_MS = 60_000

/** Longer than proxies commonly keep an idle connection (60 s), so that they never write to a connection that has just closed. */
const KEEP_ALIVE_TIMEOUT_MS = 65_000

const makeServer = ({
  headTimeoutMs: headersTimeout = HEAD_TIMEOUT_MS,
  requestTimeoutMs = REQUEST_TIMEOUT_MS
}: Options): Server => {
  const server = createServer({
    // Neither limit includes the answer.
    headersTimeout,
    requestTimeout: Math.max(headersTimeout, requestTimeoutMs),
    connectionsCheckingInterval: Math.min(5_000, Math.ceil(headersTimeout / 2)),
    keepAliveTimeout: KEEP_ALIVE_TIMEOUT_MS,
    // TCP detects a client whose machine is gone.
    keepAlive: true,
    keepAliveInitialDelay: 60_000,
    shouldUpgradeCallback: SocketServer.isUpgrade
  })
  ProblemResponse.answerMalformed(server)
  withPort(server)
  holdEarly(server)
  return server
}

/** Keeps requests and upgrades until the server has a listener for them (HttpServer.H4). */
const holdEarly = (server: Server): void => {
  for (const held of ["request", "upgrade"]) {
    const early: Array<ReadonlyArray<unknown>> = []
    const hold = (request: IncomingMessage, ...rest: ReadonlyArray<unknown>) => {
      early.push([request, ...rest])
      // A connection that waits for its upgrade has no listener of Node's.
      if (held === "upgrade") request.socket.on("error", () => request.socket.destroy())
    }
    const handOver = (event: string | symbol): void => {
      if (event !== held) return
      server.off("newListener", handOver)
      server.off(held, hold)
      // Node emits `newListener` before it adds the listener.
      queueMicrotask(() => early.forEach((exchange) => server.emit(held, ...exchange)))
    }
    server.on(held, hold)
    server.on("newListener", handOver)
  }
}

/** The first descriptor after those of every process. */
const DESCRIPTOR = 3

/**
 * How to listen: on the socket that another process keeps open for the service, as systemd does (`sd_listen_fds`), where connections wait while the service
 * restarts; or else on the host and the port. A text: why it cannot.
 */
const listening = (host: string, port: number): (ListenOptions & { readonly fd?: number }) | string => {
  const { LISTEN_FDS: given, LISTEN_PID: receiver } = process.env
  const sockets = receiver === String(process.pid) ? given : undefined
  if (sockets === undefined || sockets === "0") return { host, port }
  if (sockets === "1") return { fd: DESCRIPTOR }
  return `Cannot listen: LISTEN_FDS is ${JSON.stringify(sockets)}, and Holdfast takes one socket. Give holdfast.socket one ListenStream.`
}

/** Has a server fail to listen on a socket without a port: Node does not know the address of a Unix socket that it was given. */
const withPort = (server: Server): void =>
  void server.once("listening", () => {
    if (server.address() === null) server.emit("error", new Error(NO_PORT))
  })

const NO_PORT = "the socket that was handed over is none of TCP. Give holdfast.socket a ListenStream with a port."

const at = (host: string, port: number): string => `${Loopback.inUrl(host)}:${port}`

/** Explains a failed bind to the person who started the service. */
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
  ENOTFOUND: "that host name cannot be resolved. Set server.host to an address of this machine."
}
