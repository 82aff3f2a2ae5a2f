/**
 * The service that this page is of: its client, and the session of a browser with a token.
 *
 * The session is in the storage of this origin, which no other port of the machine can read, as it could a cookie.
 */
import { HoldfastClient } from "@holdfast/client"
import type { QueryClient } from "@tanstack/react-query"
import type { AttachmentLimits } from "../attach/Draft.ts"
import * as BrowserStorage from "./BrowserStorage.ts"

/** How long a call is tried while the service does not answer. The page shows that it does not; a person need not wait for longer. */
const CALL_RETRY_MS = 4_000

/** Makes calls. */
export const client = new HoldfastClient({ fetch: call, retryForMs: CALL_RETRY_MS })

/** Makes streams: they are connected again for as long as the page is open. */
export const streams = new HoldfastClient({ fetch: call, retryForMs: Number.POSITIVE_INFINITY })

/** Whether this browser may call the service. */
type Access = "granted" | "token-needed"

/** The service's clock minus this one, in milliseconds, as `readAccess` has seen it. */
export const clockSkewMs = (): number => skewMs

/** The service's limits of files, as `readAccess` has seen them. */
export const limits = (): AttachmentLimits => shownLimits

/** Asks the service whether this browser may call it. Rejects where the service does not answer. */
export const readAccess = async (): Promise<Access> => {
  const response = await call(SESSION, { cache: "no-store" })
  const shown = Date.parse(response.headers.get("date") ?? "")
  // The header has whole seconds, so a smaller difference means nothing.
  if (Math.abs(shown - Date.now()) > LEAST_SKEW_MS) skewMs = shown - Date.now()
  shownLimits = {
    fileBytes: numberOf(response, "holdfast-max-file-bytes") ?? shownLimits.fileBytes,
    bodyBytes: numberOf(response, "holdfast-max-body-bytes") ?? shownLimits.bodyBytes
  }
  return accessOf(response)
}

/** Exchanges the token for a session of this browser. */
export const enter = async (token: string): Promise<Access> => {
  const response = await fetch(SESSION, { method: "POST", headers: { authorization: `Bearer ${token}` } })
  if (response.status === 200) keep(await response.text())
  return accessOf(response)
}

/** The most items of a list that one call has. */
export const MOST_OF_CALL = 200

/** The first items of a list that the service has page by page. */
export const first = async <A>(all: AsyncIterable<A>, most: number): Promise<ReadonlyArray<A>> => {
  const items: Array<A> = []
  for await (const item of all) {
    items.push(item)
    if (items.length >= most) break
  }
  return items
}

/**
 * Reads anew what a change has made old.
 *
 * A read that is under way may have been answered before the change, and the cache would wait for it where it has nothing yet.
 */
export const readAgain = async (queries: QueryClient, ...queryKey: ReadonlyArray<string>): Promise<void> => {
  await queries.cancelQueries({ queryKey })
  await queries.invalidateQueries({ queryKey })
}

// --- internal

const SESSION = "/page/session"

/** Of the storage. */
const KEY = "holdfast.session"

/** The session where the browser has no storage. */
let session: string | null = null

const keep = (given: string): void => {
  session = given
  BrowserStorage.write("localStorage", KEY, given)
}

/** Another tab may have a newer one. */
const kept = (): string | null => BrowserStorage.read("localStorage", KEY) ?? session

/** `fetch` with the session. */
function call(input: string, init: RequestInit = {}): Promise<Response> {
  const headers = new Headers(init.headers)
  const session = kept()
  if (session !== null) headers.set("authorization", `Bearer ${session}`)
  return fetch(input, { ...init, headers })
}

const LEAST_SKEW_MS = 2_000

let skewMs = 0

/** Until the service has been asked: its defaults. */
let shownLimits: AttachmentLimits = { fileBytes: 10_485_760, bodyBytes: 33_554_432 }

const numberOf = ({ headers }: Response, name: string): number | undefined => {
  const value = Number(headers.get(name) ?? Number.NaN)
  return Number.isFinite(value) ? value : undefined
}

const accessOf = ({ ok, status }: Response): Access => {
  if (ok) return "granted"
  if (status === 401) return "token-needed"
  throw new Error(`The service answered with the status ${status}.`)
}
