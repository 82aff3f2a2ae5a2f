/**
 * The cookie by which a browser's page calls a service that has a token.
 *
 * A person enters the token once. The page sends it to `PATH` as any client does, and the response sets the cookie.
 *
 * PageSession.S1. The cookie does not hold the token. Its value is derived from the token, so it is valid over restarts, and until the token changes.
 * PageSession.S2. No script can read it (`HttpOnly`), and no other site can send it (`SameSite=Strict`). A page of another port of this machine is the
 *     same site: its calls have another `Origin`, which `Access.A1` refuses, and its other requests have a `Sec-Fetch-Site` that is refused here.
 */
import { Redacted } from "effect"
import { createHmac } from "node:crypto"

/** The path of the calls that set and delete the cookie. */
export const PATH = "/page/session"

/** The header that sets the cookie. `origin` is the page's; over TLS the cookie is sent over TLS alone. */
export const setCookie = (token: Redacted.Redacted, origin: string | undefined): string =>
  `${NAME}=${valueOf(token)}; Max-Age=${LASTS_SECONDS}; ${ATTRIBUTES}${isSecure(origin) ? "; Secure" : ""}`

/** The header that deletes the cookie. */
export const deleteCookie = (): string => `${NAME}=; Max-Age=0; ${ATTRIBUTES}`

/** The value that a valid cookie has. */
export const valueOf = (token: Redacted.Redacted): string =>
  createHmac("sha256", Redacted.value(token)).update("holdfast page").digest("base64url")

/** The value of the cookie of a request that the page itself made; `undefined` for any other request. */
export const receivedOf = (headers: Readonly<Record<string, string | undefined>>): string | undefined => {
  const site = headers["sec-fetch-site"]
  if (site !== undefined && site !== "same-origin" && site !== "none") return undefined
  for (const pair of (headers["cookie"] ?? "").split(";")) {
    const [name, value] = pair.trim().split("=", 2)
    if (name === NAME) return value
  }
  return undefined
}

// --- internal

const NAME = "holdfast_page"

/** After that a person enters the token again. */
const LASTS_SECONDS = 30 * 24 * 3600

const ATTRIBUTES = "Path=/; HttpOnly; SameSite=Strict"

const isSecure = (origin: string | undefined): boolean => origin?.startsWith("https:") ?? false
