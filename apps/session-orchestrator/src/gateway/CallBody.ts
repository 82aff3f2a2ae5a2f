/**
 * Reads the body of a call: its members that name the call, and the digest by which the same body is known.
 *
 * A thread reads large bodies (`CallReader`), so this file imports nothing that takes long to load.
 */
import * as JsonMembers from "@holdfast/providers/members"
import { createHash } from "node:crypto"

/** What a body has of its call. */
export interface Outline {
  /** An object with the members that a dialect reads. */
  readonly members: unknown
  /** Absent: it is computed when it is asked for. */
  readonly digest?: string
}

/** The value of a body; `undefined`: it is no JSON. */
export const parse = (body: Buffer): unknown => {
  try {
    return JSON.parse(body.toString())
  } catch {
    return undefined
  }
}

/**
 * The digest of a parsed body. Clients repeat a call with the same body, apart from the fields in `VOLATILE` and the order of names: Codex writes its
 * metadata in another order each time. It recurses: the value has no more levels than `JsonShape.MOST_LEVELS`.
 */
export const digestOf = (value: unknown): string =>
  createHash("sha256")
    .update(JSON.stringify(stable(value), ordered) ?? "")
    .digest("base64url")

/** Reads a large body: digests its bytes where it is too large or too deep to be normalised. `undefined`: the body is not JSON. */
export const outline = (body: Buffer, isTooLarge: boolean): Outline | undefined => {
  if (isTooLarge) {
    const members = { model: memberOf(body, "model"), stream: memberOf(body, "stream") }
    return { members, digest: createHash("sha256").update(body).digest("base64url") }
  }
  const value = parse(body)
  if (value === undefined) return undefined
  const { model, stream }: { readonly model?: unknown; readonly stream?: unknown } = isObject(value) ? value : {}
  return { members: { model, stream }, digest: digestOf(value) }
}

// --- internal

/** Fields that a client changes when it asks again: Claude Code falls back to a call that does not stream. */
const VOLATILE: ReadonlySet<string> = new Set(["stream", "max_tokens", "max_output_tokens"])

const isObject = (value: unknown): value is object =>
  typeof value === "object" && value !== null && !Array.isArray(value)

const stable = (body: unknown): unknown =>
  isObject(body) ? Object.fromEntries(Object.entries(body).filter(([name]) => !VOLATILE.has(name))) : body

/** For `JSON.stringify`: every object has its names in order. */
const ordered = (_name: string, value: unknown): unknown =>
  isObject(value) ? Object.fromEntries(Object.entries(value).sort(([a], [b]) => (a < b ? -1 : 1))) : value

/** Longer values of a member are no model and no switch. */
const MOST_BYTES = 1_000

const memberOf = (body: Buffer, name: string): unknown => {
  const place = JsonMembers.valuesOf(body, name).at(-1)
  if (place === undefined || place.end - place.start > MOST_BYTES) return undefined
  const value = parse(body.subarray(place.start, place.end))
  return typeof value === "object" ? undefined : value
}
