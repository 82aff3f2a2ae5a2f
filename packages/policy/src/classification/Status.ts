/**
 * Maps an HTTP status to a reason (C2), after typed codes.
 *
 * 503 and 529 mean overload: RFC 9110 section 15.6.4 defines 503 by it. 504, 522 and 524 are gateways that gave up waiting (522 and 524:
 * Cloudflare's 5xx pages). 499 is the status of nginx and Google for a cancelled request, and the user did not cancel it (M3). 498 is
 * Groq's "flex tier capacity exceeded". 409 and 425 mean that the server cannot take this request right now; Anthropic's and OpenAI's own
 * clients retry 409.
 *
 * A 404 that names no model is a wrong address: retrying it all night would hide a typing error from its author. OpenAI is known to send
 * 404 for existing models while it deploys; such a response does not differ from that of a missing model, so both are model-unavailable,
 * after which a policy may use another target.
 *
 * A redirect is a wrong address too, and no outage: it is not followed, because the key would go to another host or the body would be lost.
 */
import type { Failure } from "@holdfast/wire"

const named: Readonly<Record<number, Failure.Reason>> = {
  401: "auth",
  402: "quota-exhausted",
  403: "auth",
  407: "auth",
  408: "timeout",
  409: "server-error",
  410: "model-unavailable",
  413: "context-overflow",
  425: "server-error",
  429: "rate-limited",
  451: "refused",
  498: "overloaded",
  499: "aborted",
  503: "overloaded",
  504: "timeout",
  522: "timeout",
  524: "timeout",
  529: "overloaded"
}

/** Returns the reason by status alone; `undefined`: success, or no error status. */
export const reasonOf = (status: number | undefined): Failure.Reason | undefined => {
  if (status === undefined || !isStatus(status)) return undefined
  const reason = named[status]
  if (reason !== undefined) return reason
  if (status >= 500) return "server-error"
  if (status >= 400 || isRedirect(status)) return "bad-request"
  return isSuccess(status) ? undefined : "invalid-response"
}

/** Whether a status refers to another address. */
export const isRedirect = (status: number): boolean => status >= 300 && status < 400

/** Whether a number can be an HTTP status. Some servers go beyond 599 (LinkedIn's 999). */
export const isStatus = (status: number): boolean => Number.isInteger(status) && status >= 100 && status <= 999

/** Whether a status promises a stream. */
export const isSuccess = (status: number): boolean => status >= 200 && status < 300

/** Returns an error status in a number or a string; OpenRouter and LiteLLM put it into `code`. */
export const errorStatusOf = (value: unknown): number | undefined => {
  const status =
    typeof value === "number" ? value : typeof value === "string" && /^\d{3}$/.test(value) ? Number(value) : 0
  return Number.isInteger(status) && status >= 400 && status <= 599 ? status : undefined
}
