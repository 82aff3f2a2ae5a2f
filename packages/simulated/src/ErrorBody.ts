/**
 * The literal error bodies of Anthropic, OpenAI and the gateways before them.
 *
 * The wording is the providers' own where they publish it (Anthropic: "Errors", docs.claude.com/en/api/errors; OpenAI:
 * "Error codes", platform.openai.com/docs/guides/error-codes), so that classifiers are tested against real texts. No body names a
 * delay: a script sets one only by a header.
 */
import type * as Schema from "effect/Schema"

/** The two wire formats. */
export type ErrorFormat = "openai" | "anthropic"

interface Wording {
  /** A short description of the error, for people. */
  readonly words: string
  /** The provider's status for it, also used for requests that do not stream. */
  readonly status: number
  readonly anthropic: readonly [type: string, message: string]
  readonly openai: { readonly message: string; readonly type: string; readonly code: string | null }
}

const wordings = {
  overloaded: {
    words: "overloaded",
    status: 529,
    anthropic: ["overloaded_error", "Overloaded"],
    openai: {
      message: "Our servers are currently overloaded. Please try again later.",
      type: "service_unavailable_error",
      code: "server_is_overloaded"
    }
  },
  "rate-limit": {
    words: "rate limit",
    status: 429,
    anthropic: ["rate_limit_error", "This request would exceed your organization's rate limit."],
    openai: { message: "Rate limit reached for requests", type: "requests", code: "rate_limit_exceeded" }
  },
  quota: {
    words: "quota exhausted",
    status: 429,
    anthropic: [
      "billing_error",
      "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
    ],
    openai: {
      message: "You exceeded your current quota, please check your plan and billing details.",
      type: "insufficient_quota",
      code: "insufficient_quota"
    }
  },
  "server-error": {
    words: "server error",
    status: 500,
    anthropic: ["api_error", "Internal server error"],
    openai: {
      message: "The server had an error while processing your request. Sorry about that!",
      type: "server_error",
      code: null
    }
  },
  unavailable: {
    words: "service unavailable",
    status: 503,
    anthropic: ["api_error", "Service unavailable"],
    openai: {
      message: "The engine is currently overloaded, please try again later",
      type: "service_unavailable",
      code: null
    }
  },
  timeout: {
    words: "timeout",
    status: 504,
    anthropic: ["timeout_error", "Request timed out"],
    openai: { message: "The operation was timeout.", type: "server_error", code: "Timeout" }
  },
  auth: {
    words: "wrong key",
    status: 401,
    anthropic: ["authentication_error", "invalid x-api-key"],
    openai: {
      message: "Incorrect API key provided. You can find your API key at https://platform.openai.com/account/api-keys.",
      type: "invalid_request_error",
      code: "invalid_api_key"
    }
  },
  forbidden: {
    words: "forbidden",
    status: 403,
    anthropic: ["permission_error", "Your API key does not have permission to use the specified resource."],
    openai: {
      message: "You have insufficient permissions for this operation. Missing scopes: model.request.",
      type: "invalid_request_error",
      code: "missing_scope"
    }
  },
  model: {
    words: "no such model",
    status: 404,
    anthropic: ["not_found_error", "model: simulated"],
    openai: {
      message: "The model `simulated` does not exist or you do not have access to it.",
      type: "invalid_request_error",
      code: "model_not_found"
    }
  },
  "too-long": {
    words: "prompt too long",
    status: 400,
    anthropic: ["invalid_request_error", "prompt is too long: 210000 tokens > 200000 maximum"],
    openai: {
      message:
        "This model's maximum context length is 128000 tokens. However, your messages resulted in 210000 tokens. " +
        "Please reduce the length of the messages.",
      type: "invalid_request_error",
      code: "context_length_exceeded"
    }
  },
  "too-large": {
    words: "request too large",
    status: 413,
    anthropic: ["request_too_large", "Request exceeds the maximum size"],
    openai: { message: "Request body too large.", type: "invalid_request_error", code: null }
  },
  "bad-request": {
    words: "bad request",
    status: 400,
    anthropic: ["invalid_request_error", "messages: at least one message is required"],
    openai: {
      message: "Invalid value for 'messages': expected a non-empty array.",
      type: "invalid_request_error",
      code: null
    }
  }
} as const satisfies Record<string, Wording>

/** The errors with a provider's own wording. */
export type ErrorName = keyof typeof wordings

/** A body that a script can name: a provider's error, a gateway's page, an empty body, or any text. */
export type ErrorBody = ErrorName | "html" | "empty" | { readonly text: string }

/** Whether a text is the name of an error. */
export const isName = (name: string): name is ErrorName => Object.hasOwn(wordings, name)

/** The values of `body=`. */
export const NAMES: ReadonlyArray<string> = [...Object.keys(wordings), "html", "empty"]

/** Parses a value of `body=`. */
export const fromName = (name: string): ErrorName | "html" | "empty" | undefined =>
  name === "html" || name === "empty" || isName(name) ? name : undefined

/** The default body of a status. */
export const ofStatus = (status: number): ErrorName | "html" =>
  // Gateways send 502, 504 and Cloudflare's 520-524 with a page.
  NAMES_OF_STATUSES[status] ?? (status >= 500 ? "html" : "bad-request")

const NAMES_OF_STATUSES: { readonly [status: number]: ErrorName | undefined } = {
  401: "auth",
  402: "quota",
  403: "forbidden",
  404: "model",
  408: "timeout",
  413: "too-large",
  429: "rate-limit",
  500: "server-error",
  503: "unavailable",
  529: "overloaded"
}

/** The status of an error outside a stream. */
export const statusOf = (name: ErrorName): number => wordings[name].status

/** A description of a body, for `Description`. */
export const words = (body: ErrorBody): string => {
  if (typeof body === "object") return JSON.stringify(body.text)
  if (body === "html") return "an HTML page"
  return body === "empty" ? "no body" : wordings[body].words
}

/** A provider's error object, as sent alone or inside a stream; `message` replaces the wording. */
export const envelope = (name: ErrorName, format: ErrorFormat, message?: string): Schema.JsonObject => {
  const { anthropic, openai } = wordings[name]
  return format === "anthropic"
    ? { type: "error", error: { type: anthropic[0], message: message ?? anthropic[1] } }
    : { error: { message: message ?? openai.message, type: openai.type, param: null, code: openai.code } }
}

/** The HTML page of nginx for a status. */
export const page = (status: number): string => {
  const title = `${status} ${status === 502 ? "Bad Gateway" : status === 504 ? "Gateway Time-out" : "Unavailable"}`
  return (
    `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n` +
    "<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n"
  )
}

/** A body with its content type. */
export interface Rendered {
  readonly contentType: string
  readonly text: string
}

/** Renders the body of a response with this status. */
export const render = (body: ErrorBody, status: number, format: ErrorFormat): Rendered => {
  if (typeof body === "object") {
    return { contentType: /^\s*[[{]/.test(body.text) ? "application/json" : "text/plain", text: body.text }
  }
  if (body === "html") return { contentType: "text/html", text: page(status) }
  if (body === "empty") return { contentType: "application/json", text: "" }
  return { contentType: "application/json", text: JSON.stringify(envelope(body, format)) }
}
