/** The service that this page is of: its client, and the session of a browser with a token. */
import { HoldfastClient } from "@holdfast/client"

/** How long a call is tried while the service does not answer. The page shows that it does not; a person need not wait for longer. */
const CALL_RETRY_MS = 4_000

/** Makes calls. */
export const client = new HoldfastClient({ url: location.origin, retryForMs: CALL_RETRY_MS })

/** Makes streams: they are connected again for as long as the page is open. */
export const streams = new HoldfastClient({ url: location.origin, retryForMs: Number.POSITIVE_INFINITY })

/** Whether this browser may call the service. */
export type Access = "granted" | "token-needed"

/** Asks the service whether this browser may call it. Rejects where the service does not answer. */
export const readAccess = async (): Promise<Access> => accessOf(await fetch(SESSION, { cache: "no-store" }))

/** Exchanges the token for the cookie of this browser. */
export const enter = async (token: string): Promise<Access> =>
  accessOf(await fetch(SESSION, { method: "POST", headers: { authorization: `Bearer ${token}` } }))

/** Deletes the cookie of this browser. */
export const leave = async (): Promise<void> => {
  await fetch(SESSION, { method: "DELETE" })
}

// --- internal

const SESSION = "/page/session"

const accessOf = ({ ok, status }: Response): Access => {
  if (ok) return "granted"
  if (status === 401) return "token-needed"
  throw new Error(`The service answered with the status ${status}.`)
}
