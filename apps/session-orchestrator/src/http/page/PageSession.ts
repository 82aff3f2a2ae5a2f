/**
 * The session by which a browser's page calls a service that has a token.
 *
 * A person enters the token once. The page sends it to `PATH` as any client does, and the response has a session, which the page sends in its place.
 *
 * A session is random, ends by itself, and does not hold the token. It is signed with the token, so it is valid at every runner and over
 * restarts, and another token ends it. It is no cookie: browsers send a cookie to all ports of a machine. The page keeps it in the storage
 * of its origin, which has a port.
 */
import { Redacted } from "effect"
import { createHmac } from "node:crypto"
import * as Credentials from "../../config/redaction/Credentials.ts"

/** The path of the call that begins a session. */
export const PATH = "/page/session"

/** After that a person enters the token again. */
export const LASTS_MS = 7 * 24 * 3600_000

/** Makes a session. `nonce` is random; `now` is in epoch milliseconds. */
export const make = (token: Redacted.Redacted, nonce: string, now: number): string => {
  const named = `${PREFIX}${(now + LASTS_MS).toString(36)}.${nonce}`
  return `${named}.${signed(token, named)}`
}

/** Whether a credential is a session that has not ended. */
export const isValid = (token: Redacted.Redacted, credential: string | undefined, now: number): boolean => {
  if (credential?.startsWith(PREFIX) !== true) return false
  const end = credential.lastIndexOf(".")
  const isSigned = Credentials.matching(signed(token, credential.slice(0, end)))
  return isSigned(credential.slice(end + 1)) && now < Number.parseInt(credential.slice(PREFIX.length), 36)
}

// --- internal

const PREFIX = "page."

const signed = (token: Redacted.Redacted, text: string): string =>
  createHmac("sha256", Redacted.value(token)).update(`holdfast ${text}`).digest("base64url")
