/**
 * Decides by a request's head alone whether it may call the service, before any of the body is read.
 *
 * - A web page that a person visits must not reach a service on their machine: `Host` must be a name of the service, and `Origin` its own
 *   or one of `server.allowedOrigins` (`Cors`).
 * - A call through the gateway has a provider's credential, any body, and its own checks of both (`gateway/Upstreams.ts`). Its answer must
 *   not become a page of this origin.
 * - If there is a token, every call needs it except `/healthz`, the page at `/` and the pages about the API, which hold no data.
 * - A body is JSON and its content type declares it. Browsers send JSON to other origins only after a preflight request, which is refused.
 *
 * The checks run in this order, so a request from another origin learns nothing about tokens or calls.
 */
import { Quote } from "@holdfast/wire"
import { Problem } from "@holdfast/wire/api"
import { SocketMessages } from "@holdfast/wire/rpc"
import { Redacted } from "effect"
import type { Headers } from "effect/http"
import type { Values } from "../config/Config.ts"
import * as Credentials from "../config/redaction/Credentials.ts"
import * as Address from "../gateway/Address.ts"
import * as Passage from "../gateway/Passage.ts"
import * as Loopback from "../base/system/Loopback.ts"
import * as PageSession from "./page/PageSession.ts"

/** The conditions of access. */
export interface Policy extends Pick<Values["server"], "host" | "hostnames" | "token" | "maxBodyBytes"> {
  /** The pages of other origins that may call. */
  readonly cors: Pick<Cors, "allows">
  /**
   * Paths that may be read without the token: a browser sends none by itself, and a person enters it on those pages. An entry that ends with
   * `/*` stands for the names in that folder.
   */
  readonly openPaths: ReadonlyArray<string>
}

/** The parts of a request that the decision needs. */
interface Head {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: Headers.Headers
}

/** The problem of a refused request. */
type Refusal = Problem.Forbidden | Problem.Unauthorized | Problem.UnsupportedMediaType | Problem.BodyTooLarge

/** Makes the check for a policy. `undefined` means that the request may pass. `now` is in epoch milliseconds. */
export const make = (policy: Policy): ((head: Head, now: number) => Refusal | undefined) => {
  const names = new Set([policy.host, ...policy.hostnames].map((name) => name.toLowerCase()))
  const openPaths = [OPEN_PATH, ...policy.openPaths]
  const open = new Set(openPaths)
  const openFolders = new Set(openPaths.filter((path) => path.endsWith("/*")).map((path) => path.slice(0, -1)))
  const isOpen = (path: string): boolean => open.has(path) || openFolders.has(path.replace(/[^/]+$/, ""))
  const { token } = policy
  const isToken = token && Credentials.matching(Redacted.value(token))

  // If DNS was rebound so that a page's name resolves to this machine, `Host` is a name that the service does not have. An address
  // passes: no DNS server can rebind it.
  const isOurs = (host: string): boolean =>
    Loopback.isLoopback(host) || Loopback.isAddress(host) || names.has(host.toLowerCase())

  return (head, now) => {
    const { headers } = head

    const authority = headers["host"]
    const host = authority === undefined ? undefined : Loopback.hostOf(authority)
    if (authority === undefined || host === undefined || !isOurs(host)) {
      return new Problem.Forbidden({
        detail: `This service does not accept the host ${quoted(authority)}. If clients reach it by that name, add it to server.hostnames.`
      })
    }
    const origin = headers["origin"]
    const isForeign =
      origin !== undefined && origin.replace(/^https?:\/\//i, "").toLowerCase() !== authority.toLowerCase()
    if (isForeign && !policy.cors.allows(origin)) {
      return new Problem.Forbidden({
        detail: `Pages of ${quoted(origin)} may not call this service. If they are yours, add it to server.allowedOrigins.`
      })
    }
    if (isForeign && isPreflight(head)) return undefined // answered by `Cors`, it reaches no call
    if (Address.isOurs(head.url)) return isPart(headers, isForeign) ? partOfPage : undefined

    const isReadable = READ_METHODS.has(head.method) && isOpen(Address.pathOf(head.url))
    // A page cannot set a header on a WebSocket, so there the token may be a subprotocol; it is never read from an address.
    const offered = isSocket(head) ? headers["sec-websocket-protocol"] : undefined
    const credential = tokenOf(headers["authorization"])
    // The page at `/` exchanges the token for a session, which begins no other session.
    const beginsSession = head.method === "POST" && Address.pathOf(head.url) === PageSession.PATH
    const isKnown =
      token === undefined ||
      isToken === undefined ||
      isToken(credential) ||
      isToken(offeredToken(offered)) ||
      (!beginsSession && PageSession.isValid(token, credential, now))
    if (!isReadable && !isKnown) {
      return new Problem.Unauthorized({
        detail:
          "Send `Authorization: Bearer` with the token of server.token." +
          (isSocket(head)
            ? ` A page offers it as the subprotocol ${SocketMessages.TOKEN_PREFIX}TOKEN, in base64url.`
            : "")
      })
    }

    if (!BODY_METHODS.has(head.method)) return undefined
    const length = Number(headers["content-length"] ?? 0)
    const type = headers["content-type"]
    if (type === undefined ? Passage.hasBody(head) : !JSON_TYPE.test(type)) {
      return new Problem.UnsupportedMediaType({
        detail: `The body has ${type === undefined ? "no content type" : `the content type ${quoted(type)}`}. Send it with \`Content-Type: application/json\`.`
      })
    }
    const limitBytes = bodyLimit(head.url, policy.maxBodyBytes)
    return length > limitBytes ? tooLarge(limitBytes) : undefined
  }
}

/** Whether a request asks for the health of the service. */
export const isHealth = (url: string): boolean =>
  Address.pathOf(url) === OPEN_PATH || Address.pathOf(url) === "/v1/health"

/** The largest accepted body of a call without a prompt, in bytes. */
export const MOST_BYTES = 1024 * 1024

/** The largest accepted body of a call: prompts may have files. */
export const bodyLimit = (url: string, maxBodyBytes: number): number =>
  TAKES_PROMPT.test(Address.pathOf(url)) ? maxBodyBytes : Math.min(maxBodyBytes, MOST_BYTES)

/** The problem of a body that is larger than the limit. */
export const tooLarge = (limitBytes: number): Problem.BodyTooLarge =>
  new Problem.BodyTooLarge({
    limitBytes,
    detail:
      `A body may have ${limitBytes} bytes at most` +
      (limitBytes === MOST_BYTES ? "." : " (server.maxBodyBytes), files as base64 included.")
  })

/** Whether a request is for the WebSocket. */
export const isSocket = ({ method, url }: Pick<Head, "method" | "url">): boolean =>
  method === "GET" && SOCKET_PATH.test(Address.pathOf(url))

/**
 * Lets pages of configured origins call the service (CORS, as the Fetch standard defines it). Only an origin that is listed, character by character,
 * gets the headers that let a page read a response: there is no wildcard. No response allows credentials, and there is no cookie: a page sends
 * the token itself.
 */
export type Cors = ReturnType<typeof corsOf>

/** Makes the rules. */
export const corsOf = (origins: ReadonlyArray<string>) => {
  const allowed = new Set(origins)
  const allowedIn = ({ origin }: Headers.Headers) => (origin !== undefined && allowed.has(origin) ? origin : undefined)
  return {
    allows: (origin: string): boolean => allowed.has(origin),
    /** The headers of every response to this request. */
    headersOf: ({ headers }: Pick<Head, "headers">): Readonly<Record<string, string>> => {
      const origin = allowedIn(headers)
      // A cache must not give one origin's response to another.
      const vary = allowed.size === 0 ? {} : { vary: "Origin" }
      return origin === undefined ? vary : { ...vary, "access-control-allow-origin": origin, ...EXPOSED }
    },
    /** The headers of the answer to a preflight of an allowed origin; `undefined`: it is none. */
    preflight: (
      head: Head,
      methodsOf: (url: string) => ReadonlyArray<string>
    ): Readonly<Record<string, string>> | undefined => {
      if (!isPreflight(head) || allowedIn(head.headers) === undefined) return undefined
      const wanted = head.headers["access-control-request-headers"]
      return {
        "access-control-allow-methods": methodsOf(head.url).join(", "),
        "access-control-max-age": String(MAX_AGE_SECONDS),
        ...(wanted !== undefined && HEADER_NAMES.test(wanted) ? { "access-control-allow-headers": wanted } : {})
      }
    }
  }
}

/** Whether a request is a browser's question before a call of a page. */
export const isPreflight = ({ headers, method }: Pick<Head, "method" | "headers">): boolean =>
  method === "OPTIONS" && headers["origin"] !== undefined && headers["access-control-request-method"] !== undefined

// --- internal

/** The one call of the API that never needs a token: supervisors use it. */
const OPEN_PATH = "/healthz"

/**
 * Whether a browser requests a page or a part of one, or calls for a page that may not call. An answer from below `/to/` is a provider's, and
 * never a document, a script or a worker of this origin. Agents send no `Sec-Fetch-*`, `cors` alone (Node's `fetch`), or those of a call of no
 * page (Electron).
 */
const isPart = (headers: Headers.Headers, isAllowed: boolean): boolean => {
  const { "sec-fetch-dest": dest = "empty", "sec-fetch-mode": mode, "sec-fetch-site": site = "none" } = headers
  return (
    dest !== "empty" ||
    mode === "navigate" ||
    !(isAllowed || site === "none" || site === "same-origin") ||
    headers["service-worker"] !== undefined
  )
}

const partOfPage = new Problem.Forbidden({
  detail:
    "A provider's answer is no page, and no part of one. Open / for the page of Holdfast; programs call /to/ without a browser's Sec-Fetch headers."
})

const READ_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"])

const SOCKET_PATH = new RegExp(`^${SocketMessages.PATH}/?$`)

const BODY_METHODS: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"])

/** The calls that take a prompt. */
const TAKES_PROMPT = /^\/v1\/(?:turns|chat|conversations\/[^/]+\/turns)\/?$/

/** The media type of JSON, with any parameters. */
const JSON_TYPE = /^\s*application\/json\s*(;|$)/i

const tokenOf = (authorization = ""): string | undefined => /^Bearer +(.+)$/i.exec(authorization)?.[1]

/** The token that one of the subprotocols has. */
const offeredToken = (protocols: string | undefined): string | undefined => {
  const protocol = protocols?.split(",").find((name) => name.trim().startsWith(SocketMessages.TOKEN_PREFIX))
  if (protocol === undefined) return undefined
  return Buffer.from(protocol.trim().slice(SocketMessages.TOKEN_PREFIX.length), "base64url").toString()
}

/** Text of a client, cut and escaped for a message. */
const quoted = (text: string | undefined): string => (text === undefined ? "(none)" : Quote.of(text))

/** As long as browsers keep an answer at most. */
const MAX_AGE_SECONDS = 7_200

/** The headers, besides the usual ones, that a page may read. `Date` corrects its countdowns. */
const EXPOSED = {
  "access-control-expose-headers": "Date, Location, Preference-Applied, Retry-After, X-Vercel-AI-UI-Message-Stream"
}

/** Names of headers, with commas between them (RFC 9110, section 5.6.2). */
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(?: *, *[\w!#$%&'*+.^`|~-]+)*$/
