/** Writes the gateway's own refusals in the wire format of the path that was called. */

/** The formats of errors. */
export type ErrorFormat = "openai" | "anthropic" | "gemini"

/** The format of a path: that of its call, or of the calls beside it. */
export const formatOf = (path: string): ErrorFormat =>
  /\/messages(?:\/|$)/u.test(path)
    ? "anthropic"
    : /:(?:stream)?generateContent$|\/v1(?:alpha|beta)\/models/iu.test(path)
      ? "gemini"
      : "openai"

/** The body of an error. */
export const body = (format: ErrorFormat, status: number, message: string): string => {
  const kind = kinds[status] ?? kinds[500]
  switch (format) {
    case "anthropic":
      return JSON.stringify({ type: "error", error: { type: kind?.anthropic, message } })
    case "gemini":
      return JSON.stringify({ error: { code: status, message, status: kind?.gemini } })
    case "openai":
      return JSON.stringify({ error: { message, type: kind?.openai, param: null, code: null } })
    default:
      return format satisfies never
  }
}

// --- internal

type Kind = {
  readonly [Format in ErrorFormat]: string
}

const kinds: Readonly<Record<number, Kind>> = {
  401: { anthropic: "authentication_error", gemini: "UNAUTHENTICATED", openai: "invalid_request_error" },
  404: { anthropic: "not_found_error", gemini: "NOT_FOUND", openai: "invalid_request_error" },
  413: { anthropic: "request_too_large", gemini: "INVALID_ARGUMENT", openai: "invalid_request_error" },
  426: { anthropic: "invalid_request_error", gemini: "FAILED_PRECONDITION", openai: "invalid_request_error" },
  500: { anthropic: "api_error", gemini: "INTERNAL", openai: "server_error" },
  502: { anthropic: "api_error", gemini: "UNAVAILABLE", openai: "server_error" },
  503: { anthropic: "overloaded_error", gemini: "UNAVAILABLE", openai: "server_error" }
}
