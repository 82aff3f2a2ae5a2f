/**
 * Chooses how a request reaches its server: directly, or through an HTTP proxy.
 *
 * - An https server is reached through a tunnel (CONNECT), an http server by a request in absolute form.
 * - When a proxy rejects a request, the request fails with the proxy's status, so the failure is classified by it.
 * - One call is one request in both cases (C9): a rejected tunnel is not requested again.
 */
import * as Effect from "effect/Effect"
import type * as Scope from "effect/Scope"
import type { Dispatcher } from "undici"

/** URLs of proxies by the scheme of the server; they may contain a user and a password. */
export interface Proxies {
  readonly http: string | undefined
  /** Absent: https servers use the proxy for http. */
  readonly https: string | undefined
  /** Hosts that are reached directly, as `NO_PROXY` lists them. */
  readonly exceptions: string
}

/** A dispatcher with its own connections, which close with the scope. */
export const dispatcher = (proxies: Proxies | undefined): Effect.Effect<Dispatcher, never, Scope.Scope> =>
  Effect.map(
    Effect.acquireRelease(
      // Loaded on the first use: it takes a while, and most commands make no request.
      Effect.map(
        Effect.promise(() => import("undici")),
        ({ Agent, EnvHttpProxyAgent }) =>
          proxies === undefined
            ? new Agent()
            : // All keys are set: undici reads absent ones from the process's environment.
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
        : agent.compose((dispatch) => (options, handler) => dispatch(options, new Explained(handler, proxies)))
  )

// --- internal

type Controller = Dispatcher.DispatchController

/** Turns a proxy's rejection into an error with its status, and names a proxy that is not reached. */
class Explained implements Dispatcher.DispatchHandler {
  private readonly handler: Dispatcher.DispatchHandler
  private readonly proxies: Proxies

  constructor(handler: Dispatcher.DispatchHandler, proxies: Proxies) {
    this.handler = handler
    this.proxies = proxies
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
    if (status === undefined) return this.handler.onResponseError?.(controller, ofProxy(cause, this.proxies) ?? cause)
    this.handler.onResponseError?.(controller, Object.assign(new Error(wordsFor(status)), { status }))
  }
}

/** The status in undici's error texts for a rejected tunnel, and for a 407 to a request in absolute form. */
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
    ? "The proxy requires a user and a password, or rejected them (HTTP 407)."
    : `The proxy refused the connection (HTTP ${status}).`

/** The error of a connection to a proxy, with its name: otherwise a person would look for the fault at the provider. */
const ofProxy = (cause: Error, { http, https }: Proxies): Error | undefined => {
  const { address, code, hostname, port } = cause as NodeJS.ErrnoException & Place
  const found = [http, https]
    .flatMap((url) => (url !== undefined && URL.canParse(url) ? [new URL(url)] : []))
    .find(
      (proxy) =>
        hostname === proxy.hostname ||
        (address === proxy.hostname.replace(/^\[|\]$/g, "") &&
          String(port) === (proxy.port || DEFAULT_PORTS[proxy.protocol]))
    )
  if (found === undefined) return undefined
  return Object.assign(new Error(`The proxy ${found.host} is not reached: ${cause.message}`, { cause }), { code })
}

/** Where a connection was to go: the name that was looked up, or the address. */
interface Place {
  readonly hostname?: string
  readonly address?: string
  readonly port?: number
}

const DEFAULT_PORTS: Readonly<Record<string, string>> = { "http:": "80", "https:": "443" }
