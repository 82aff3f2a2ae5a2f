/**
 * Decides whose credential a call through the gateway has: the client's own, or Holdfast's.
 *
 * A client's own credential, OAuth included, goes up as it came, and is never stored. Holdfast's token, or the word `holdfast` where no token is
 * configured, stands for the provider's key, which is put in its place. On an address that others can reach, the token is required: as the
 * credential, or in `x-holdfast-token`.
 */
import type { RawHeaders } from "@holdfast/providers/raw"
import type { Redacted } from "effect"
import { Redacted as Secret } from "effect"
import { createHash, timingSafeEqual } from "node:crypto"
import * as Credentials from "../redaction/Credentials.ts"
import * as Headers from "./Headers.ts"

/** The conditions of the service. */
export interface Policy {
  /** The service can be reached from this machine alone. */
  readonly isLoopback: boolean
  readonly token: Redacted.Redacted | undefined
}

/** Whose credential a call has. */
export type Decision =
  | { readonly _tag: "Client" }
  /** The provider's key replaces the header `in`. */
  | { readonly _tag: "Holdfast"; readonly in: KeyHeader | undefined }
  | { readonly _tag: "Refused"; readonly message: string }

/** A header that carries a credential. */
export type KeyHeader = "authorization" | "x-api-key" | "x-goog-api-key" | "api-key"

/** Makes the decision for a service. */
export const make = ({ isLoopback, token }: Policy): ((headers: RawHeaders) => Decision) => {
  const expected = digest(token === undefined ? "holdfast" : Secret.value(token))
  const isExpected = (value: string): boolean => timingSafeEqual(digest(value), expected)
  return (headers) => {
    const credentials = KEY_HEADERS.flatMap((name) => {
      const [value] = Headers.valuesOf(headers, name)
      if (value === undefined) return []
      return [{ name, value: name === "authorization" ? value.replace(/^Bearer +/iu, "") : value }]
    })
    const ours = credentials.find(({ value }) => isExpected(value))
    if (ours !== undefined) return { _tag: "Holdfast", in: ours.name }
    const [own] = Headers.valuesOf(headers, "x-holdfast-token")
    if (own !== undefined) {
      if (!isExpected(own)) return { _tag: "Refused", message: "x-holdfast-token is not the token of server.token." }
      return hasOwn(headers) ? { _tag: "Client" } : { _tag: "Holdfast", in: undefined }
    }
    if (isLoopback) return { _tag: "Client" }
    return {
      _tag: "Refused",
      message: "Send the token of server.token as the API key, or in x-holdfast-token beside the provider's own key."
    }
  }
}

/** The headers that carry credentials. */
export const KEY_HEADERS: ReadonlyArray<KeyHeader> = ["authorization", "x-api-key", "x-goog-api-key", "api-key"]

// --- internal

/** Whether a client has a credential of its own, of any provider. A cookie alone is none: clients keep what they were given before. */
const hasOwn = (headers: RawHeaders): boolean =>
  headers.some((name, i) => i % 2 === 0 && Credentials.isHeader(name) && !/^(?:x-holdfast-token|cookie)$/iu.test(name))

/** Digests have one length, as a comparison in constant time requires. */
const digest = (text: string): Buffer => createHash("sha256").update(text).digest()
