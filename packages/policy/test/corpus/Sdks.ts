/** Errors as SDKs throw them. */
import { AiError } from "effect/ai"
import { HttpClientError, HttpClientRequest, HttpClientResponse } from "effect/http"
import { errorWith, of, type Payload } from "./Payload.ts"

const { thrown } = of("sdks")
const AI_SDK = "https://ai-sdk.dev/docs/reference/ai-sdk-errors/"
const OPENAI = "https://github.com/openai/openai-node#handling-errors"
const EFFECT = "Effect-TS/effect packages/effect/src"

const request = HttpClientRequest.post("https://api.example.com/v1/chat/completions")
const OVERLOADED = '{"type":"error","error":{"type":"overloaded_error","message":"Overloaded"}}'

const apiCallError = (fields: Record<string, unknown>): Error =>
  errorWith(
    "Overloaded",
    { url: "https://api.example.com", requestBodyValues: { prompt: "prompt is too long, rate limit 500" }, ...fields },
    "AI_APICallError"
  )

export const sdks: ReadonlyArray<Payload> = [
  thrown({
    id: "ai-sdk-api-call",
    kind: "constructed",
    source: `${AI_SDK}ai-api-call-error`,
    error: () =>
      apiCallError({
        statusCode: 529,
        responseHeaders: { "Retry-After": "4" },
        responseBody: OVERLOADED,
        isRetryable: true
      }),
    expected: { reason: "overloaded", retryable: true, status: 529, code: "overloaded_error", retryAfterMs: 4000 }
  }),
  thrown({
    id: "ai-sdk-api-call-404",
    kind: "recorded",
    source: "Kilo-Org/kilocode#9006",
    error: () =>
      errorWith(
        'No endpoints found that support tool use. Try disabling "question". To learn more about provider routing, visit: https://openrouter.ai/docs/guides/routing/provider-selection',
        {
          statusCode: 404,
          isRetryable: false,
          responseHeaders: { server: "Vercel", "content-type": "application/json" },
          responseBody:
            '{"error":{"message":"No endpoints found that support tool use. Try disabling \\"question\\".","code":404}}'
        },
        "AI_APICallError"
      ),
    expected: { reason: "model-unavailable", retryable: false, status: 404 }
  }),
  thrown({
    id: "ai-sdk-retries-used-up",
    kind: "constructed",
    source: `${AI_SDK}ai-retry-error`,
    error: () => {
      const last = apiCallError({ statusCode: 503, responseBody: "", isRetryable: true })
      return errorWith(
        "Failed after 3 attempts. Last error: Overloaded",
        { reason: "maxRetriesExceeded", lastError: last, errors: [last] },
        "AI_RetryError"
      )
    },
    expected: { reason: "overloaded", retryable: true, status: 503 }
  }),
  thrown({
    id: "ai-sdk-connection",
    kind: "constructed",
    source: `${AI_SDK}ai-api-call-error`,
    error: () =>
      apiCallError({
        isRetryable: true,
        cause: errorWith("connect ECONNREFUSED 127.0.0.1:1", { code: "ECONNREFUSED" })
      }),
    expected: { reason: "network", retryable: true, code: "ECONNREFUSED" }
  }),
  thrown({
    id: "ai-sdk-unfit-chunk",
    kind: "constructed",
    source: `${AI_SDK}ai-type-validation-error`,
    error: () =>
      errorWith(
        "Type validation failed: Value: {...}",
        { value: { error: { code: 429, message: "Rate limit exceeded" } } },
        "AI_TypeValidationError"
      ),
    expected: { reason: "rate-limited", retryable: true, status: 429, message: "Rate limit exceeded" }
  }),
  thrown({
    id: "ai-sdk-unreadable-chunk",
    kind: "constructed",
    source: `${AI_SDK}ai-json-parse-error`,
    error: () =>
      errorWith(
        'JSON parsing failed: Text: {"cho.',
        { cause: new SyntaxError("Unterminated string in JSON at position 7") },
        "AI_JSONParseError"
      ),
    expected: { reason: "invalid-response", retryable: true }
  }),
  thrown({
    id: "ai-sdk-missing-key",
    kind: "constructed",
    source: `${AI_SDK}ai-load-api-key-error`,
    error: () =>
      errorWith(
        "OpenAI API key is missing. Pass it using the 'apiKey' parameter or the OPENAI_API_KEY environment variable.",
        {},
        "AI_LoadAPIKeyError"
      ),
    expected: { reason: "auth", retryable: false }
  }),
  thrown({
    id: "ai-sdk-says-not-retryable",
    kind: "constructed",
    source: `${AI_SDK}ai-api-call-error (isRetryable)`,
    error: () => errorWith("Something odd", { isRetryable: false }, "AI_APICallError"),
    expected: { reason: "unknown", retryable: false, message: "Something odd" }
  }),
  thrown({
    id: "openai-status-error",
    kind: "constructed",
    source: OPENAI,
    error: () =>
      errorWith("429 Rate limit reached for gpt-5 on requests per min (RPM)", {
        status: 429,
        headers: new Headers({ "Retry-After-Ms": "1500" }),
        error: {
          message: "Rate limit reached for gpt-5 on requests per min (RPM)",
          type: "requests",
          param: null,
          code: "rate_limit_exceeded"
        },
        code: "rate_limit_exceeded",
        type: "requests"
      }),
    expected: {
      reason: "rate-limited",
      retryable: true,
      status: 429,
      code: "rate_limit_exceeded",
      message: "Rate limit reached for gpt-5 on requests per min (RPM)",
      retryAfterMs: 1500
    }
  }),
  thrown({
    id: "openai-connection-error",
    kind: "constructed",
    source: OPENAI,
    error: () =>
      errorWith("Connection error.", {
        cause: new TypeError("fetch failed", { cause: errorWith("read ECONNRESET", { code: "ECONNRESET" }) })
      }),
    expected: { reason: "network", retryable: true, code: "ECONNRESET", message: "read ECONNRESET" }
  }),
  thrown({
    id: "openai-connection-error-alone",
    kind: "constructed",
    source: OPENAI,
    error: () => new Error("Connection error."),
    expected: { reason: "network", retryable: true, message: "Connection error." }
  }),
  thrown({
    id: "openai-timeout",
    kind: "constructed",
    source: OPENAI,
    error: () => new Error("Request timed out."),
    expected: { reason: "timeout", retryable: true, message: "Request timed out." }
  }),
  thrown({
    id: "openai-aborted",
    kind: "recorded",
    source: "anthropics/claude-code#35783",
    error: () => new Error("Request was aborted."),
    expected: { reason: "aborted", retryable: true, message: "Request was aborted." }
  }),
  thrown({
    id: "openai-status-without-body",
    kind: "constructed",
    source: OPENAI,
    error: () => errorWith("503 status code (no body)", { status: 503 }),
    expected: { reason: "overloaded", retryable: true, status: 503, message: "status code (no body)" }
  }),
  thrown({
    id: "effect-transport-error",
    kind: "constructed",
    source: `${EFFECT}/http/HttpClientError.ts`,
    error: () =>
      new HttpClientError.HttpClientError({
        reason: new HttpClientError.TransportError({
          request,
          cause: new TypeError("fetch failed", {
            cause: errorWith("getaddrinfo EAI_AGAIN api.example.com", { code: "EAI_AGAIN" })
          })
        })
      }),
    expected: { reason: "network", retryable: true, code: "EAI_AGAIN" }
  }),
  thrown({
    id: "effect-status-error",
    kind: "constructed",
    source: `${EFFECT}/http/HttpClientError.ts`,
    error: () =>
      new HttpClientError.HttpClientError({
        reason: new HttpClientError.StatusCodeError({
          request,
          response: HttpClientResponse.fromWeb(
            request,
            new Response(null, { status: 429, headers: { "retry-after": "9" } })
          )
        })
      }),
    expected: { reason: "rate-limited", retryable: true, status: 429, retryAfterMs: 9000 }
  }),
  thrown({
    id: "effect-decode-error",
    kind: "constructed",
    source: `${EFFECT}/http/HttpClientError.ts`,
    error: () =>
      new HttpClientError.HttpClientError({
        reason: new HttpClientError.DecodeError({
          request,
          response: HttpClientResponse.fromWeb(request, new Response("{", { status: 200 })),
          cause: new SyntaxError("Expected property name or '}' in JSON at position 1")
        })
      }),
    expected: { reason: "invalid-response", retryable: true }
  }),
  thrown({
    id: "effect-ai-rate-limit",
    kind: "constructed",
    source: `${EFFECT}/ai/AiError.ts`,
    error: () =>
      AiError.make({
        module: "OpenAiLanguageModel",
        method: "streamText",
        reason: new AiError.RateLimitError({
          http: {
            response: { status: 429, headers: { "retry-after": "20" } },
            body: '{"error":{"message":"Slow down","type":"rate_limit_error","code":null}}'
          }
        })
      }),
    expected: {
      reason: "rate-limited",
      retryable: true,
      status: 429,
      code: "rate_limit_error",
      message: "Slow down",
      retryAfterMs: 20_000
    }
  }),
  thrown({
    id: "effect-ai-internal-without-response",
    kind: "constructed",
    source: `${EFFECT}/ai/AiError.ts`,
    error: () =>
      AiError.make({
        module: "AnthropicLanguageModel",
        method: "streamText",
        reason: new AiError.InternalProviderError({ description: "it broke" })
      }),
    expected: { reason: "server-error", retryable: true }
  }),
  thrown({
    id: "five-causes-deep",
    kind: "constructed",
    source: "https://nodejs.org/api/errors.html#errorcause",
    error: () => {
      let error = errorWith("read ECONNRESET", { code: "ECONNRESET" })
      for (let depth = 0; depth < 5; depth++) error = new Error(`layer ${depth}`, { cause: error })
      return error
    },
    expected: { reason: "network", retryable: true, code: "ECONNRESET" }
  }),
  thrown({
    id: "refused-header-value",
    kind: "constructed",
    source: "https://undici.nodejs.org (Headers.append with a value that HTTP does not allow)",
    error: () => new TypeError('Headers.append: "Bearer sk-planted-key\n" is an invalid header value.'),
    expected: {
      reason: "unknown",
      retryable: true,
      defect: true,
      message: 'TypeError: Headers.append: "…" is an invalid header value.'
    }
  }),
  thrown({
    id: "string-thrown",
    kind: "constructed",
    source: "https://developer.mozilla.org/docs/Web/JavaScript/Reference/Statements/throw",
    error: () => "503 Service Unavailable",
    expected: { reason: "overloaded", retryable: true, message: "503 Service Unavailable" }
  }),
  thrown({
    id: "nothing-known",
    kind: "constructed",
    source: "https://developer.mozilla.org/docs/Web/JavaScript/Reference/Statements/throw",
    error: () => new Error("the flux capacitor is cold"),
    expected: { reason: "unknown", retryable: true, message: "the flux capacitor is cold" }
  })
]
