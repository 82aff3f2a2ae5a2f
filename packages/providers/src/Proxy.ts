/**
 * Chooses how a request reaches its server: directly, or through an HTTP proxy.
 *
 * Proxy.X1. An https server is reached through a tunnel (CONNECT), an http server by a request in absolute form.
 * Proxy.X2. A proxy that refuses fails the request with the status that it answered, so that the failure is classified by it.
 * Proxy.X3. One request is one request on either way (C9): a tunnel that is refused is not asked for again.
 */
import { Effect, type Scope } from "effect"
import type { Dispatcher } from "undici"

/** Addresses of proxies by the scheme of the server; a user and a password may stand in them. */
export interface Proxies {
  readonly http: string | undefined
  /** Absent: https servers are reached by the way of http servers. */
  readonly https: string | undefined
  /** Hosts that are reached directly, as `NO_PROXY` lists them. */
  readonly exceptions: string
}

/** Connections of its own, which close with the scope. */
export const dispatcher = (proxies: Proxies | undefined): Effect.Effect<Dispatcher, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      // Loaded where somebody calls: it takes a while, and most commands call nobody.
      Effect.map(
        Effect.promise(() => import("undici")),
        ({ Agent, EnvHttpProxyAgent }) =>
          proxies === undefined
            ? new Agent()
            : // What is left out would be read from the process's own variables.
              new EnvHttpProxyAgent({
                httpProxy: proxies.http ?? "",
                httpsProxy: proxies.https ?? "",
                noProxy: proxies.exceptions
              })
      ),
      (agent) => Effect.promise(() => agent.destroy())
    ),
    (agent) =>
      proxies === undefined
        ? agent
        : agent.compose((dispatch) => (options, handler) => dispatch(options, new Explained(handler)))
  )

// --- internal

type Controller = Dispatcher.DispatchController

/** Turns a proxy's refusal into an error with its status (X2). */
class Explained implements Dispatcher.DispatchHandler {
  private readonly handler: Dispatcher.DispatchHandler

  constructor(handler: Dispatcher.DispatchHandler) {
    this.handler = handler
  }

  onRequestStart(controller: Controller, context: unknown): void {
    this.handler.onRequestStart?.(controller, context)
  }

  onResponseStart(...args: Parameters<NonNullable<Dispatcher.DispatchHandler["onResponseStart"]>>): void {
    this.handler.onResponseStart?.(...args)
  }

  onResponseData(controller: Controller, chunk: Buffer): void {
    this.handler.onResponseData?.(controller, chunk)
  }

  onResponseEnd(...args: Parameters<NonNullable<Dispatcher.DispatchHandler["onResponseEnd"]>>): void {
    this.handler.onResponseEnd?.(...args)
  }

  onResponseError(controller: Controller, cause: Error): void {
    const status = refusalOf(cause)
    if (status === undefined) return this.handler.onResponseError?.(controller, cause)
    this.handler.onResponseError?.(controller, Object.assign(new Error(wordsFor(status)), { status }))
  }
}

/** The status in undici's own words for a refused tunnel, and for a 407 to a request in absolute form. */
const refusalOf = ({ message }: Error): number | undefined => {
  const [, tunnel, absolute] =
    /^Proxy response \((\d{3})\) !== 200 when HTTP Tunneling$|^Proxy Authentication Required \((407)\)$/.exec(
      message
    ) ?? []
  const status = tunnel ?? absolute
  return status === undefined ? undefined : Number(status)
}

const wordsFor = (status: number): string =>
  status === 407
    ? "The proxy asks for a user and a password, or refused them (HTTP 407)."
    : `The proxy refused the connection (HTTP ${status}).`
