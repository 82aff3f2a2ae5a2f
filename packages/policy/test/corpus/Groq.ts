import { errorWith, of, type Payload } from "./Payload.ts"

const { response, stream, thrown } = of("groq")
const PAGE = "https://console.groq.com/docs/errors"
const CALL = "Failed to call a function. Please adjust your prompt. See 'failed_generation' for more details."

export const groq: ReadonlyArray<Payload> = [
  response({
    id: "request-larger-than-the-minute",
    kind: "recorded",
    source: "assafelovic/gpt-researcher#985",
    status: 413,
    body: {
      error: {
        message:
          "Request too large for model `llama-3.1-70b-versatile` in organization `org_01hw8` on tokens per minute (TPM): Limit 6000, Requested 14368, please reduce your message size and try again. Visit https://console.groq.com/docs/rate-limits for more information.",
        type: "tokens",
        code: "rate_limit_exceeded"
      }
    },
    expected: { reason: "context-overflow", retryable: false, status: 413, code: "rate_limit_exceeded" }
  }),
  thrown({
    id: "request-larger-than-the-minute-message-only",
    kind: "recorded",
    source: "continuedev/continue#10218",
    error: () =>
      errorWith(
        "413 Request too large for model `llama-3.3-70b-versatile` in organization `org_01kgg` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Requested 14137, please reduce your message size and try again.",
        { status: 413 }
      ),
    expected: { reason: "context-overflow", retryable: false, status: 413 }
  }),
  stream({
    id: "too-large-inside-a-stream",
    kind: "recorded",
    source: "cottongeeks/podscript#20",
    event: "error",
    data: 'error from LLM: unexpected status code: 413, body: {"error":{"message":"Request too large for model `llama-3.3-70b-versatile` in organization `org_01j2g` service tier `on_demand` on tokens per minute (TPM): Limit 6000, Requested 10338, please reduce your message size and try again.","type":"tokens","code":"rate_limit_exceeded"}}',
    expected: { reason: "context-overflow", retryable: false, code: "rate_limit_exceeded" }
  }),
  thrown({
    id: "tokens-per-day",
    kind: "recorded",
    source: "continuedev/continue#10920",
    error: () =>
      errorWith(
        "429 Rate limit reached for model `llama-3.3-70b-versatile` in organization `org_01kjh` service tier `on_demand` on tokens per day (TPD): Limit 100000, Used 97050, Requested 3619. Please try again in 9m38.016s. Need more tokens%3F Upgrade to Dev Tier today at https://console.groq.com/settings/billing",
        { status: 429 }
      ),
    expected: { reason: "quota-exhausted", retryable: true, status: 429, retryAfterMs: 578_016 }
  }),
  response({
    id: "tokens-per-minute",
    kind: "recorded",
    source: "ago19800/HomeMind#29",
    status: 429,
    headers: { "retry-after": "2" },
    body: {
      error: {
        message:
          "Rate limit reached for model `llama-3.3-70b-versatile` in organization `org_01kes` service tier `on_demand` on tokens per minute (TPM): Limit 12000, Used 2542, Requested 9855. Please try again in 1.984999999s. Need more tokens? Upgrade to Dev Tier today at https://console.groq.com/settings/billing",
        type: "tokens",
        code: "rate_limit_exceeded"
      }
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "rate_limit_exceeded", retryAfterMs: 2000 }
  }),
  response({
    id: "model-decommissioned",
    kind: "recorded",
    source: "rashadphz/farfalle#107",
    status: 400,
    body: {
      error: {
        message:
          "The model `llama-3.1-70b-versatile` has been decommissioned and is no longer supported. Please refer to https://console.groq.com/docs/deprecations for a recommendation on which model to use instead.",
        type: "invalid_request_error",
        code: "model_decommissioned"
      }
    },
    expected: { reason: "model-unavailable", retryable: false, status: 400, code: "model_decommissioned" }
  }),
  thrown({
    id: "model-decommissioned-message-only",
    kind: "recorded",
    source: "continuedev/continue#12741",
    error: () =>
      errorWith(
        "400 The model `gemma2-9b-it` has been decommissioned and is no longer supported. Please refer to https://console.groq.com/docs/deprecations for a recommendation on which model to use instead.",
        { status: 400 }
      ),
    expected: { reason: "model-unavailable", retryable: false, status: 400 }
  }),
  response({
    id: "tool-use-failed",
    kind: "recorded",
    source: "groq/groq-typescript#103",
    status: 400,
    body: {
      error: {
        message: CALL,
        type: "invalid_request_error",
        code: "tool_use_failed",
        failed_generation: '<tool-use>\n{"tool_calls": [{"function": {"name": "rate limit 500 prompt is too long"}}]}'
      }
    },
    expected: { reason: "invalid-response", retryable: true, status: 400, code: "tool_use_failed", message: CALL }
  }),
  stream({
    id: "tool-use-failed-in-stream",
    kind: "recorded",
    source: "anomalyco/opencode#1018",
    data: 'event: error\ndata: {"error":{"message":"Failed to call a function. Please adjust your prompt. See \'failed_generation\' for more details.","type":"invalid_request_error","code":"tool_use_failed","failed_generation":"Tool use failed: JSON does not match the expected schema for tool calls","status_code":400}}\n\n',
    expected: { reason: "invalid-response", retryable: true, status: 400, code: "tool_use_failed", message: CALL }
  }),
  response({
    id: "max-tokens-too-large",
    kind: "recorded",
    source: "skapadia3214/groq-moa#8",
    status: 400,
    body: {
      error: {
        message: "max_tokens for `llama-3.1-8b-instant` must be less than or equal to 8000",
        type: "invalid_request_error"
      }
    },
    expected: { reason: "bad-request", retryable: false, status: 400, code: "invalid_request_error" }
  }),
  response({
    id: "flex-capacity",
    kind: "constructed",
    source: "https://console.groq.com/docs/flex-processing (498 capacity_exceeded)",
    status: 498,
    body: { error: { message: "Flex tier capacity exceeded", type: "capacity_exceeded", code: "capacity_exceeded" } },
    expected: { reason: "overloaded", retryable: true, status: 498, code: "capacity_exceeded" }
  }),
  response({
    id: "request-cancelled",
    kind: "constructed",
    source: `${PAGE} (499 Request Cancelled)`,
    status: 499,
    body: { error: { message: "The request was cancelled by the caller.", type: "invalid_request_error" } },
    expected: { reason: "aborted", retryable: true, status: 499 }
  }),
  response({
    id: "unprocessable",
    kind: "constructed",
    source: `${PAGE} (422 Unprocessable Entity)`,
    status: 422,
    body: {
      error: { message: "The request was well-formed but could not be followed.", type: "invalid_request_error" }
    },
    expected: { reason: "bad-request", retryable: false, status: 422, code: "invalid_request_error" }
  }),
  response({
    id: "service-unavailable",
    kind: "constructed",
    source: `${PAGE} (503 Service Unavailable)`,
    status: 503,
    body: { error: { message: "Service Unavailable", type: "internal_server_error" } },
    expected: { reason: "overloaded", retryable: true, status: 503, code: "internal_server_error" }
  })
]
