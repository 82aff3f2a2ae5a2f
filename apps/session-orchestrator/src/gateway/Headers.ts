/**
 * Selects the headers that pass through the gateway: all but those of one connection, Holdfast's own, and those by which an answer has power over
 * the origin that it comes from, which is Holdfast's.
 *
 * Headers are lists of name, value, name, value …, as they were on the wire: order, case and repetition stay.
 */

import type { RawHeaders } from "@holdfast/providers/raw"
import * as Credentials from "../config/redaction/Credentials.ts"

/** The headers of a request that go up. A browser's cookies are those of this machine's pages, of any port, and no provider's. */
export const ofRequest = (raw: RawHeaders): Array<string> => {
  const isBrowser = valuesOf(raw, "origin").length + valuesOf(raw, "sec-fetch-site").length > 0
  return passing(raw, (name) => !OWN_REQUEST.has(name) && !(isBrowser && name === "cookie"))
}

/** The headers of a response that go down. `isWhole`: its body is passed on as it came, so its length still holds. */
export const ofResponse = (raw: RawHeaders, isWhole: boolean): Array<string> =>
  passing(raw, (name) => !OF_ORIGIN.test(name) && (isWhole || name !== "content-length"))

/** The values of a header, which is given in lower case. */
export const valuesOf = (raw: RawHeaders, name: string): ReadonlyArray<string> =>
  Credentials.pairsOf(raw).flatMap((pair) => (pair[0].toLowerCase() === name ? [pair[1]] : []))

/** The headers without those of some names, which are given in lower case. */
export const without = (raw: RawHeaders, names: ReadonlyArray<string>): Array<string> =>
  kept(raw, (name) => !names.includes(name))

/** The headers by lower-case name, for the classifier. */
export const record = (raw: RawHeaders): Record<string, string> => {
  const headers: Record<string, string> = {}
  for (const [given, value] of Credentials.pairsOf(raw)) {
    const name = given.toLowerCase()
    headers[name] = headers[name] === undefined ? value : `${headers[name]}, ${value}`
  }
  return headers
}

// --- internal

/** Headers of one connection (RFC 9110, section 7.6.1). */
const HOP_BY_HOP: ReadonlySet<string> = new Set([
  "connection",
  "keep-alive",
  "proxy-authenticate",
  "proxy-authorization",
  "proxy-connection",
  "te",
  "trailer",
  "transfer-encoding",
  "upgrade"
])

/** Headers that the gateway's own request sets, or answers itself. An answer that is not compressed can be read. */
const OWN_REQUEST: ReadonlySet<string> = new Set(["host", "expect", "accept-encoding"])

/** Headers of an answer that are about its origin: what it keeps, who may read it, what its documents may do, and where it is served. */
const OF_ORIGIN =
  /^(?:set-cookie2?|clear-site-data|service-worker-allowed|refresh|access-control-.*|content-security-policy.*|x-content-type-options|x-frame-options|cross-origin-.*|permissions-policy|document-policy|origin-agent-cluster|speculation-rules|strict-transport-security|alt-svc|nel|report-to|reporting-endpoints)$/u

/** The headers of no connection, those that the `Connection` header names included, and none of Holdfast's. */
const passing = (raw: RawHeaders, isPassing: (name: string) => boolean): Array<string> => {
  const named = new Set(valuesOf(raw, "connection").flatMap((value) => value.toLowerCase().split(/\s*,\s*/)))
  return kept(
    raw,
    (name) => !HOP_BY_HOP.has(name) && !named.has(name) && !name.startsWith("x-holdfast-") && isPassing(name)
  )
}

const kept = (raw: RawHeaders, isKept: (name: string) => boolean): Array<string> =>
  Credentials.pairsOf(raw)
    .filter(([name]) => isKept(name.toLowerCase()))
    .flat()
