/**
 * Who may talk to the service: decides by the head of a request alone, before anything of its body is read.
 *
 * A1. A page that a person visits must not reach a service on their own machine. Its requests carry its `Origin`, which
 *     must be the service's own; and where DNS was bent so that the page's name leads here, `Host` is a name that the
 *     service does not have. Addresses as `Host` pass: no DNS server can bend those.
 * A2. With a token, every call needs it but `/healthz` and the pages about the API, which hold no data: a browser brings no token
 *     of its own, and enters it there. Comparing takes the same time wherever two tokens differ.
 * A3. A body is JSON and says so. Browsers send that to other origins only after asking, and they are refused.
 *
 * The order is that of the checks below: a request from elsewhere learns nothing about tokens or calls.
 */
import { Quote } from "@holdfast/wire"
import { Problem } from "@holdfast/wire/api"
import { Redacted } from "effect"
import type { Headers } from "effect/http"
import { createHash, timingSafeEqual } from "node:crypto"
import * as Loopback from "../system/Loopback.ts"

export interface Policy {
  /** The address that the service is bound to. */
  readonly host: string
  /** Further names that clients reach it by, such as that of a proxy before it; without ports. */
  readonly hostnames?: ReadonlyArray<string> | undefined
  readonly token?: Redacted.Redacted | undefined
  /** Paths that may be read without the token. */
  readonly openPaths?: ReadonlyArray<string> | undefined
  /** The largest body that is taken, in bytes. */
  readonly maxBodyBytes: number
}

/** What a decision needs of a request. */
export interface Head {
  readonly method: string
  /** Path and query. */
  readonly url: string
  readonly headers: Headers.Headers
}

export type Refusal = Problem.Forbidden | Problem.Unauthorized | Problem.UnsupportedMediaType | Problem.BodyTooLarge

/** Makes the decision that a policy means: `undefined` lets a request pass. */
export const make = (policy: Policy): ((head: Head) => Refusal | undefined) => {
  const names = new Set([policy.host, ...(policy.hostnames ?? [])].map((name) => name.toLowerCase()))
  const open = new Set([OPEN_PATH, ...(policy.openPaths ?? [])])
  const expected = policy.token === undefined ? undefined : digest(Redacted.value(policy.token))

  const isOurs = (host: string): boolean =>
    Loopback.isLoopback(host) || Loopback.isAddress(host) || names.has(host.toLowerCase())

  return (head) => {
    const { headers } = head
    // A1
    const authority = headers["host"]
    const host = authority === undefined ? undefined : Loopback.hostOf(authority)
    if (authority === undefined || host === undefined || !isOurs(host)) {
      return new Problem.Forbidden({
        detail: `This service does not answer to the host ${quoted(authority)}. If it is reached by that name, add it to server.hostnames.`
      })
    }
    const origin = headers["origin"]
    if (origin !== undefined && origin.replace(/^https?:\/\//i, "").toLowerCase() !== authority.toLowerCase()) {
      return new Problem.Forbidden({ detail: `Pages of ${quoted(origin)} may not call this service.` })
    }
    // A2
    const isOpen = READ_METHODS.has(head.method) && open.has(pathOf(head.url))
    if (expected !== undefined && !isOpen && !carries(headers["authorization"], expected)) {
      return new Problem.Unauthorized({ detail: "Send `Authorization: Bearer` with the token of server.token." })
    }
    // A3
    if (!BODY_METHODS.has(head.method)) return undefined
    const length = Number(headers["content-length"] ?? 0)
    const type = headers["content-type"]
    const hasBody = length > 0 || headers["transfer-encoding"] !== undefined
    if (type === undefined ? hasBody : !JSON_TYPE.test(type)) {
      return new Problem.UnsupportedMediaType({
        detail: `The body is ${type === undefined ? "of no stated type" : quoted(type)}. Send it with \`Content-Type: application/json\`.`
      })
    }
    return length > policy.maxBodyBytes ? tooLarge(policy.maxBodyBytes) : undefined
  }
}

/** A body that is larger than what is taken. */
export const tooLarge = (limitBytes: number): Problem.BodyTooLarge =>
  new Problem.BodyTooLarge({ limitBytes, detail: `A body may have ${limitBytes} bytes at most.` })

// --- internal

/** The one call that never needs a token: what supervisors ask. */
const OPEN_PATH = "/healthz"

const READ_METHODS: ReadonlySet<string> = new Set(["GET", "HEAD"])

const BODY_METHODS: ReadonlySet<string> = new Set(["POST", "PUT", "PATCH", "DELETE"])

/** JSON by its one name, with whatever parameters. */
const JSON_TYPE = /^\s*application\/json\s*(;|$)/i

const pathOf = (url: string): string => url.split("?", 1)[0] ?? url

/** Digests are of one length, which is what a comparison in constant time needs. */
const digest = (text: string): Buffer => createHash("sha256").update(text).digest()

const carries = (authorization: string | undefined, expected: Buffer): boolean => {
  const token = authorization === undefined ? undefined : /^Bearer +(.+)$/i.exec(authorization)?.[1]
  return token !== undefined && timingSafeEqual(digest(token), expected)
}

/** What a client sent, cut short, fit to stand in a message. */
const quoted = (text: string | undefined): string => (text === undefined ? "(none)" : Quote.of(text))
