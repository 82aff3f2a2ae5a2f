import { errorWith, of, type Payload } from "./Payload.ts"

const { response, stream, thrown } = of("anthropic")
const PAGE = "https://docs.claude.com/en/api/errors"

const error = (type: string, message: string, details: object = {}) => ({
  type: "error",
  error: { type, message, ...details },
  request_id: "req_011CZAZuCr9h"
})

export const anthropic: ReadonlyArray<Payload> = [
  response({
    id: "overloaded-529",
    kind: "recorded",
    source: "anthropics/claude-code#35783",
    status: 529,
    headers: { "x-should-retry": "true" },
    body: error("overloaded_error", "Overloaded"),
    expected: { reason: "overloaded", retryable: true, status: 529, code: "overloaded_error", message: "Overloaded" }
  }),
  response({
    id: "overloaded-with-status-429",
    kind: "constructed",
    source: `${PAGE} (overloaded_error), at the status that a gateway gave it`,
    status: 429,
    body: error("overloaded_error", "Overloaded"),
    expected: { reason: "overloaded", retryable: true, status: 429, code: "overloaded_error" }
  }),
  stream({
    id: "overloaded-in-200-stream",
    kind: "recorded",
    source: "anthropics/anthropic-sdk-typescript#346",
    event: "error",
    data: '{"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"} }',
    expected: { reason: "overloaded", retryable: true, code: "overloaded_error", message: "Overloaded" }
  }),
  stream({
    id: "overloaded-in-stream-with-subscription-headers",
    kind: "recorded",
    source: "Wei-Shaw/sub2api#5563",
    event: "error",
    headers: {
      "anthropic-ratelimit-unified-status": "allowed",
      "anthropic-ratelimit-unified-5h-status": "allowed",
      "anthropic-ratelimit-unified-5h-reset": "1786553400",
      "anthropic-ratelimit-unified-5h-utilization": "0.33",
      "anthropic-ratelimit-unified-reset": "1786553400"
    },
    data: error("overloaded_error", "Overloaded"),
    expected: { reason: "overloaded", retryable: true, code: "overloaded_error" }
  }),
  stream({
    id: "api-error-in-stream",
    kind: "constructed",
    source: `${PAGE} (api_error)`,
    event: "error",
    data: error("api_error", "Internal server error"),
    expected: { reason: "server-error", retryable: true, code: "api_error" }
  }),
  response({
    id: "internal-server-error",
    kind: "constructed",
    source: `${PAGE} (500 - api_error)`,
    status: 500,
    body: error("api_error", "Internal server error"),
    expected: { reason: "server-error", retryable: true, status: 500, code: "api_error" }
  }),
  response({
    id: "rate-limit",
    kind: "recorded",
    source: "anthropics/claude-code#71279",
    status: 429,
    headers: { "retry-after": "17", "x-should-retry": "true" },
    body: error("rate_limit_error", "This request would exceed your account's rate limit. Please try again later."),
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "rate_limit_error", retryAfterMs: 17_000 }
  }),
  response({
    id: "long-context-needs-extra-usage",
    kind: "recorded",
    source: "anthropics/claude-code#29584",
    status: 429,
    body: error("rate_limit_error", "Extra usage is required for long context requests."),
    expected: { reason: "quota-exhausted", retryable: false, status: 429, code: "rate_limit_error" }
  }),
  response({
    id: "spend-limit-429",
    kind: "constructed",
    source: "https://learn.microsoft.com/microsoft-cloud/dev/dev-proxy/concepts/anthropic-529-overloaded-error",
    status: 429,
    body: error("rate_limit_error", "Your organization has reached its monthly spend limit.", {
      details: { error_code: "enforced_spend_limit_reached" }
    }),
    expected: { reason: "quota-exhausted", retryable: false, status: 429, code: "enforced_spend_limit_reached" }
  }),
  response({
    id: "spend-limit-400",
    kind: "recorded",
    source: "anthropics/claude-code#38035",
    status: 400,
    body: error(
      "invalid_request_error",
      "You have reached your specified API usage limits. You will regain access on 2026-04-01 at 00:00 UTC."
    ),
    expected: {
      reason: "quota-exhausted",
      retryable: true,
      status: 400,
      code: "invalid_request_error",
      retryAfterMs: Date.UTC(2026, 3, 1) - Date.UTC(2026, 2, 1, 12)
    }
  }),
  response({
    id: "credit-balance",
    kind: "recorded",
    source: "anthropics/claude-code#4684",
    status: 400,
    body: error(
      "invalid_request_error",
      "Your credit balance is too low to access the Anthropic API. Please go to Plans & Billing to upgrade or purchase credits."
    ),
    expected: { reason: "quota-exhausted", retryable: false, status: 400, code: "invalid_request_error" }
  }),
  response({
    id: "billing-error",
    kind: "constructed",
    source: "https://www.developersdigest.tech/errors/api/anthropic-api (402 billing_error)",
    status: 402,
    body: error("billing_error", "There is an issue with your billing or payment information."),
    expected: { reason: "quota-exhausted", retryable: false, status: 402, code: "billing_error" }
  }),
  response({
    id: "prompt-too-long",
    kind: "recorded",
    source: "anthropics/claude-code#11281",
    status: 400,
    body: error("invalid_request_error", "prompt is too long: 201130 tokens > 200000 maximum"),
    expected: {
      reason: "context-overflow",
      retryable: false,
      status: 400,
      code: "invalid_request_error",
      message: "prompt is too long: 201130 tokens > 200000 maximum"
    }
  }),
  response({
    id: "prompt-and-answer-too-long",
    kind: "recorded",
    source: "docker/docker-agent#569",
    status: 400,
    body: error(
      "invalid_request_error",
      "input length and `max_tokens` exceed context limit: 178959 + 64000 > 200000, decrease input length or `max_tokens` and try again"
    ),
    expected: { reason: "context-overflow", retryable: false, status: 400 }
  }),
  response({
    id: "request-too-large",
    kind: "constructed",
    source: `${PAGE} (413 - request_too_large)`,
    status: 413,
    headers: { "x-should-retry": "true" },
    body: error("request_too_large", "Request exceeds the maximum allowed number of bytes."),
    expected: { reason: "context-overflow", retryable: false, status: 413, code: "request_too_large" }
  }),
  response({
    id: "output-blocked",
    kind: "recorded",
    source: "anthropics/claude-code#58367",
    status: 400,
    body: error("invalid_request_error", "Output blocked by content filtering policy"),
    expected: { reason: "refused", retryable: false, status: 400, code: "invalid_request_error" }
  }),
  stream({
    id: "output-blocked-in-stream",
    kind: "recorded",
    source: "anthropics/claude-code#55789",
    event: "error",
    data: error("invalid_request_error", "Output blocked by content filtering policy", { details: null }),
    expected: { reason: "refused", retryable: false, code: "invalid_request_error" }
  }),
  response({
    id: "invalid-key",
    kind: "constructed",
    source: `${PAGE} (401 - authentication_error)`,
    status: 401,
    body: error("authentication_error", "invalid x-api-key"),
    expected: { reason: "auth", retryable: false, status: 401, code: "authentication_error" }
  }),
  response({
    id: "permission",
    kind: "constructed",
    source: `${PAGE} (403 - permission_error)`,
    status: 403,
    body: error("permission_error", "Your API key does not have permission to use the specified resource."),
    expected: { reason: "auth", retryable: false, status: 403, code: "permission_error" }
  }),
  response({
    id: "model-not-found",
    kind: "constructed",
    source: `${PAGE} (404 - not_found_error)`,
    status: 404,
    body: error("not_found_error", "model: claude-3-opus-latest-x"),
    expected: { reason: "model-unavailable", retryable: false, status: 404, code: "not_found_error" }
  }),
  response({
    id: "address-not-found",
    kind: "constructed",
    source: `${PAGE} (404 - not_found_error)`,
    status: 404,
    body: error("not_found_error", "The requested resource was not found."),
    expected: { reason: "bad-request", retryable: false, status: 404, code: "not_found_error" }
  }),
  response({
    id: "conflict",
    kind: "constructed",
    source: "https://www.developersdigest.tech/errors/api/anthropic-api (409 conflict_error, to be retried)",
    status: 409,
    body: error("conflict_error", "The request conflicts with the current state of the resource."),
    expected: { reason: "server-error", retryable: true, status: 409, code: "conflict_error" }
  }),
  response({
    id: "timeout",
    kind: "constructed",
    source: `${PAGE} (504 - timeout_error)`,
    status: 504,
    body: error("timeout_error", "Request timed out"),
    expected: { reason: "timeout", retryable: true, status: 504, code: "timeout_error" }
  }),
  response({
    id: "told-not-to-retry",
    kind: "constructed",
    source: "anthropics/anthropic-sdk-typescript client (x-should-retry overrides the status)",
    status: 500,
    headers: { "x-should-retry": "false" },
    body: error("api_error", "Internal server error"),
    expected: { reason: "server-error", retryable: false, status: 500, code: "api_error" }
  }),
  response({
    id: "told-to-retry",
    kind: "constructed",
    source: "anthropics/anthropic-sdk-typescript client (x-should-retry overrides the status)",
    status: 400,
    headers: { "x-should-retry": "true" },
    body: error("invalid_request_error", "Something about this request could not be handled right now."),
    expected: { reason: "bad-request", retryable: true, status: 400, code: "invalid_request_error" }
  }),
  response({
    id: "prompt-that-talks-about-outages",
    kind: "constructed",
    source: `${PAGE} (400 - invalid_request_error), with the request echoed beside the error by a proxy`,
    status: 400,
    body: {
      ...error("invalid_request_error", "messages.0: unexpected role"),
      request: { messages: [{ role: "x", content: "HTTP 503, rate limit 500, overloaded_error, prompt is too long" }] }
    },
    expected: { reason: "bad-request", retryable: false, status: 400, code: "invalid_request_error" }
  }),
  thrown({
    id: "sdk-529",
    kind: "recorded",
    source: "anthropics/anthropic-sdk-typescript#616",
    error: () =>
      errorWith('529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}', {
        status: 529,
        headers: { "cf-cache-status": "DYNAMIC", "retry-after": "3", "x-should-retry": "true" },
        request_id: "req_01RCc7",
        error: { type: "error", error: { type: "overloaded_error", message: "Overloaded" } }
      }),
    expected: {
      reason: "overloaded",
      retryable: true,
      status: 529,
      code: "overloaded_error",
      message: "Overloaded",
      retryAfterMs: 3000
    }
  }),
  thrown({
    id: "sdk-error-of-a-stream",
    kind: "recorded",
    source: "anthropics/anthropic-sdk-typescript#346",
    error: () =>
      new Error(
        'SSE Error: {"type":"error","error":{"details":null,"type":"overloaded_error","message":"Overloaded"} }'
      ),
    expected: { reason: "overloaded", retryable: true, code: "overloaded_error", message: "Overloaded" }
  }),
  thrown({
    id: "error-object-passed-on",
    kind: "recorded",
    source: "anomalyco/opencode#163",
    error: () => ({ type: "overloaded_error", message: "Overloaded" }),
    expected: { reason: "overloaded", retryable: true, code: "overloaded_error", message: "Overloaded" }
  }),
  thrown({
    id: "sdk-message-only",
    kind: "recorded",
    source: "rysweet/amplihack#2463",
    error: () =>
      new Error('API Error: 529 {"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'),
    expected: { reason: "overloaded", retryable: true, code: "overloaded_error" }
  }),
  thrown({
    id: "claude-code-usage-limit-with-epoch",
    kind: "recorded",
    source: "cline/cline#4616",
    error: () => new Error("Claude AI usage limit reached|1772373600"),
    expected: { reason: "quota-exhausted", retryable: true, retryAfterMs: 7_200_000 }
  }),
  thrown({
    id: "claude-code-usage-limit-with-zone",
    kind: "recorded",
    source: "anthropics/claude-code#6119",
    error: () => new Error("Claude usage limit reached. Your limit will reset at 5pm (Europe/Warsaw)."),
    expected: { reason: "quota-exhausted", retryable: true, retryAfterMs: 14_400_000 }
  })
]
