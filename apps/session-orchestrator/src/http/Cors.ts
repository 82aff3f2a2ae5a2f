/**
 * Lets pages of configured origins call the service (CORS, as the Fetch standard defines it). Pure.
 *
 * Cors.C1. Only an origin that is listed, character by character, gets the headers that let a page read a response. There is no wildcard.
 * Cors.C2. No response allows credentials, and there is no cookie: a page sends the token itself.
 * Cors.C3. A preflight has no token. It is answered here, and reaches no call.
 */
import type { Headers } from "effect/http"

/** The parts of a request that are needed. */
export interface Head {
  readonly method: string
  readonly headers: Headers.Headers
}

/** The rules for a list of origins. */
export interface Cors {
  readonly allows: (origin: string) => boolean
  /** The headers of every response to this request. */
  readonly headersOf: (head: Head) => Readonly<Record<string, string>>
  /** The headers of the answer to a preflight of an allowed origin; `undefined`: it is none. */
  readonly preflight: (head: Head, methods: ReadonlyArray<string>) => Readonly<Record<string, string>> | undefined
}

/** Makes the rules. */
export const make = (origins: ReadonlyArray<string> = []): Cors => {
  const allowed = new Set(origins)
  const originOf = ({ headers }: Head): string | undefined => {
    const { origin } = headers
    return origin !== undefined && allowed.has(origin) ? origin : undefined
  }
  return {
    allows: (origin) => allowed.has(origin),
    headersOf: (head) => {
      const origin = originOf(head)
      // A cache must not give one origin's response to another.
      const vary = allowed.size === 0 ? {} : { vary: "Origin" }
      return origin === undefined ? vary : { ...vary, "access-control-allow-origin": origin, ...EXPOSED }
    },
    preflight: (head, methods) => {
      if (!isPreflight(head) || originOf(head) === undefined) return undefined
      const wanted = head.headers["access-control-request-headers"]
      return {
        "access-control-allow-methods": methods.join(", "),
        "access-control-max-age": String(MAX_AGE_SECONDS),
        ...(wanted !== undefined && HEADER_NAMES.test(wanted) ? { "access-control-allow-headers": wanted } : {})
      }
    }
  }
}

/** Whether a request is a browser's question before a call of a page. */
export const isPreflight = ({ headers, method }: Head): boolean =>
  method === "OPTIONS" && headers["origin"] !== undefined && headers["access-control-request-method"] !== undefined

// --- internal

/** As long as browsers keep an answer at most. */
const MAX_AGE_SECONDS = 7_200

/** The headers, besides the usual ones, that a page may read. `Date` corrects its countdowns. */
const EXPOSED = {
  "access-control-expose-headers": "Date, Location, Preference-Applied, Retry-After, X-Vercel-AI-UI-Message-Stream"
}

/** Names of headers, with commas between them (RFC 9110, section 5.6.2). */
const HEADER_NAMES = /^[\w!#$%&'*+.^`|~-]+(?: *, *[\w!#$%&'*+.^`|~-]+)*$/
