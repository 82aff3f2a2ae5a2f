/**
 * The names under which requests carry credentials: one list for the key of a held call, for redaction, and for what is stored.
 *
 * A header is known by the end of its name, since every provider and proxy has a name of its own: `x-api-key`, `api-key` (Azure),
 * `ocp-apim-subscription-key`, `cf-aig-authorization`.
 */
import type { RawHeaders } from "@holdfast/providers/raw"
import { Redaction } from "@holdfast/wire"
import { createHash, timingSafeEqual } from "node:crypto"

/** The source of a pattern for the ends of names of headers, behind the boundary of a word (`\b`). */
export const HEADER =
  "api[-_]?key|subscription-key|authorization|cookie2?|-(?:token|secret|auth|access-key|functions-key)"

/** The source of a pattern for the names of query parameters. */
export const PARAMETER = String.raw`key|(?:x-goog-)?api[-_]?key|subscription-key|access_token|token|secret|(?:x-(?:amz|goog)-)?(?:signature|credential)|x-amz-security-token|sig`

/** Whether a header carries a credential. */
export const isHeader = (name: string): boolean => A_HEADER.test(name)

/** Whether a text is the expected one; takes the same time wherever they differ. Digests have one length, as that requires. */
export const matching = (expected: string): ((given: string | undefined) => boolean) => {
  const digest = digestOf(expected)
  return (given) => given !== undefined && timingSafeEqual(digestOf(given), digest)
}

/** The headers that carry credentials, as `name: value` in the order of their names. */
export const inHeaders = (headers: RawHeaders): ReadonlyArray<string> =>
  pairsOf(headers)
    .filter(([name]) => isHeader(name))
    .map(([name, value]) => `${name.toLowerCase()}: ${value}`)
    .toSorted()

/** The secrets of a request with these headers, and this path and query: to be kept out of texts. */
export const secretsOf = (headers: RawHeaders, address: string): ReadonlyArray<string> => {
  const query = new URLSearchParams(address.split("?").slice(1).join("?"))
  return [
    ...pairsOf(headers).flatMap(([name, value]) => {
      if (!isHeader(name)) return []
      if (!A_COOKIE.test(name)) return [value, value.replace(/^\S+ +/u, "")]
      return [value, ...value.split(";").map((pair) => pair.slice(pair.indexOf("=") + 1))]
    }),
    ...Array.from(query).flatMap(([name, value]) => (A_PARAMETER.test(name) ? [value] : []))
  ]
    .map((secret) => secret.trim())
    .filter(({ length }) => length >= Redaction.SHORTEST)
}

/** Headers as pairs, in their order. */
export const pairsOf = (headers: RawHeaders): ReadonlyArray<readonly [name: string, value: string]> =>
  headers.flatMap((name, i) => (i % 2 === 0 ? [[name, headers[i + 1] ?? ""] as const] : []))

// --- internal

const digestOf = (text: string): Buffer => createHash("sha256").update(text).digest()

const A_HEADER = new RegExp(`\\b(?:${HEADER})$`, "iu")

const A_PARAMETER = new RegExp(`^(?:${PARAMETER})$`, "iu")

const A_COOKIE = /cookie2?$/iu
