/**
 * The key of a call: by it a client that asks again goes on in the wait that it left.
 *
 * Clients repeat a call with the same body (`CallBody`). A client that sends `Idempotency-Key` names its call itself. The credential is part of
 * the key: a client cannot join a call that has another one.
 */
import type { RawHeaders } from "@holdfast/providers/raw"
import { createHash } from "node:crypto"
import { KEY_LENGTH } from "../storage/HeldCallIds.ts"
import * as Credentials from "../redaction/Credentials.ts"
import * as Headers from "./Headers.ts"

/** A call, as far as its key depends on it. */
export interface Keyed {
  /** Provider, and path with query below it. */
  readonly target: string
  readonly headers: RawHeaders
  /** The digest of the body (`CallBody`). */
  readonly digest: () => string
}

/** The key of a call. */
export const of = (call: Keyed): string => keyFor(call, Credentials.inHeaders(call.headers))

/**
 * The key of a call of a session whose login may be renewed: the same after the renewal. `undefined`: its client names no session, or has a key
 * instead of a login. Names of sessions are chance, so no other client has one.
 */
export const ofSession = (call: Keyed): string | undefined => {
  const isLogin = Headers.valuesOf(call.headers, "authorization").length > 0
  return isLogin && valuesOf(call, SESSIONS).length > 0 ? keyFor(call, []) : undefined
}

// --- internal

const valuesOf = ({ headers }: Keyed, names: ReadonlyArray<string>): ReadonlyArray<string> =>
  names.flatMap((name) => Headers.valuesOf(headers, name))

const keyFor = (call: Keyed, credentials: ReadonlyArray<unknown>): string => {
  const named = valuesOf(call, ["idempotency-key"])
  const parts = [call.target, credentials, valuesOf(call, SESSIONS), named.length > 0 ? named : call.digest()]
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, KEY_LENGTH)
}

/** Headers by which clients name the session of a call. */
const SESSIONS = ["session-id", "session_id", "x-session-id", "x-claude-code-session-id"]
