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
export const of = ({ digest, headers, target }: Keyed): string => {
  const first = (names: ReadonlyArray<string>) => names.flatMap((name) => Headers.valuesOf(headers, name))
  const named = first(["idempotency-key"])
  const parts = [target, Credentials.inHeaders(headers), first(SESSIONS), named.length > 0 ? named : digest()]
  return createHash("sha256").update(JSON.stringify(parts)).digest("base64url").slice(0, KEY_LENGTH)
}

// --- internal

/** Headers by which clients name the session of a call. */
const SESSIONS = ["session-id", "session_id", "x-session-id", "x-claude-code-session-id"]
