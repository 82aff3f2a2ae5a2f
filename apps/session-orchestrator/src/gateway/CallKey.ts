/**
 * The key of a call: by it a client that asks again goes on in the wait that it left.
 *
 * CallKey.K1. Clients repeat a call with the same body, apart from the fields in `VOLATILE` and the order of names: Codex writes its metadata in another
 *     order each time. A client that sends `Idempotency-Key` names its call itself.
 * CallKey.K2. The credential is part of it: a client cannot join a call that has another key.
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
  /** The parsed body. */
  readonly body: unknown
}

/** The key of a call. */
export const of = ({ body, headers, target }: Keyed): string => {
  const first = (names: ReadonlyArray<string>) => names.flatMap((name) => Headers.valuesOf(headers, name))
  const named = first(["idempotency-key"])
  const parts = [target, Credentials.inHeaders(headers), first(SESSIONS), named.length > 0 ? named : stable(body)]
  return createHash("sha256").update(JSON.stringify(parts, ordered)).digest("base64url").slice(0, KEY_LENGTH)
}

// --- internal

/** Headers by which clients name the session of a call. */
const SESSIONS = ["session-id", "session_id", "x-session-id", "x-claude-code-session-id"]

/** Fields that a client changes when it asks again: Claude Code falls back to a call that does not stream. */
const VOLATILE: ReadonlySet<string> = new Set(["stream", "max_tokens", "max_output_tokens"])

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const stable = (body: unknown): unknown =>
  isObject(body) ? Object.fromEntries(Object.entries(body).filter(([name]) => !VOLATILE.has(name))) : body

/** For `JSON.stringify`: every object has its names in order. */
const ordered = (_name: string, value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value
