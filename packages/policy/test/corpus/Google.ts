import { of, type Payload } from "./Payload.ts"

const { response, stream, thrown } = of("google")
const PAGE = "https://ai.google.dev/gemini-api/docs/troubleshooting"

const quotaFailure = (...quotaIds: ReadonlyArray<string>) => ({
  "@type": "type.googleapis.com/google.rpc.QuotaFailure",
  violations: quotaIds.map((quotaId) => ({
    quotaMetric: "generativelanguage.googleapis.com/generate_content_free_tier_requests",
    quotaId,
    quotaDimensions: { location: "global", model: "gemini-2.5-flash" }
  }))
})
const retryInfo = (retryDelay: string) => ({ "@type": "type.googleapis.com/google.rpc.RetryInfo", retryDelay })
const errorInfo = (reason: string, metadata: object = {}) => ({
  "@type": "type.googleapis.com/google.rpc.ErrorInfo",
  reason,
  domain: "cloudcode-pa.googleapis.com",
  metadata
})
const EXCEEDED =
  "You exceeded your current quota, please check your plan and billing details. For more information on this error, head to: https://ai.google.dev/gemini-api/docs/rate-limits."
const OVERFLOW = "The input token count (1200293) exceeds the maximum number of tokens allowed (1048576)."

export const google: ReadonlyArray<Payload> = [
  response({
    id: "quota-per-minute",
    kind: "constructed",
    source:
      "google-gemini/gemini-cli#8437 (its per-minute violation) with https://cloud.google.com/apis/design/errors (RetryInfo)",
    status: 429,
    body: {
      error: {
        code: 429,
        message: EXCEEDED,
        status: "RESOURCE_EXHAUSTED",
        details: [quotaFailure("GenerateRequestsPerMinutePerProjectPerModel-FreeTier"), retryInfo("34.07s")]
      }
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "RESOURCE_EXHAUSTED", retryAfterMs: 34_070 }
  }),
  response({
    id: "quota-per-day-and-minute",
    kind: "recorded",
    source: "google-gemini/gemini-cli#8437",
    status: 429,
    body: {
      error: {
        code: 429,
        message: EXCEEDED,
        status: "RESOURCE_EXHAUSTED",
        details: [
          quotaFailure(
            "GenerateContentInputTokensPerModelPerMinute-FreeTier",
            "GenerateRequestsPerMinutePerProjectPerModel-FreeTier",
            "GenerateRequestsPerDayPerProjectPerModel-FreeTier"
          )
        ]
      }
    },
    expected: { reason: "quota-exhausted", retryable: false, status: 429, code: "RESOURCE_EXHAUSTED" }
  }),
  response({
    id: "quota-per-day",
    kind: "recorded",
    source: "langgenius/dify#19838",
    status: 429,
    body: {
      error: {
        code: 429,
        message:
          "You exceeded your current quota. Go to https://aistudio.google.com/apikey to upgrade your quota tier, or submit a quota increase request in https://ai.google.dev/gemini-api/docs/rate-limits#request-rate-limit-increase",
        status: "RESOURCE_EXHAUSTED",
        details: [
          {
            "@type": "type.googleapis.com/google.rpc.QuotaFailure",
            violations: [
              {
                quotaMetric: "generativelanguage.googleapis.com/generate_requests_per_model_per_day",
                quotaId: "GenerateRequestsPerDayPerProjectPerModel"
              }
            ]
          }
        ]
      }
    },
    expected: { reason: "quota-exhausted", retryable: false, status: 429 }
  }),
  thrown({
    id: "quota-without-details-through-cli",
    kind: "recorded",
    source: "gke-labs/gemini-for-kubernetes-development#1215",
    error: () =>
      new Error(
        JSON.stringify({
          error: {
            message: JSON.stringify({
              error: {
                code: 429,
                message: `${EXCEEDED} To monitor your current usage, head to: https://ai.dev/rate-limit. `,
                status: "RESOURCE_EXHAUSTED",
                details: [
                  {
                    "@type": "type.googleapis.com/google.rpc.Help",
                    links: [{ description: "Learn more about Gemini API quotas" }]
                  }
                ]
              }
            }),
            code: 429,
            status: "Too Many Requests"
          }
        })
      ),
    expected: { reason: "quota-exhausted", retryable: false, status: 429, code: "RESOURCE_EXHAUSTED" }
  }),
  response({
    id: "resource-exhausted-in-array",
    kind: "recorded",
    source: "google-gemini/gemini-cli#14831",
    status: 429,
    body: [
      {
        error: {
          code: 429,
          message:
            "Resource exhausted. Please try again later. Please refer to https://cloud.google.com/vertex-ai/generative-ai/docs/error-code-429 for more details.",
          errors: [
            { message: "Resource exhausted. Please try again later.", domain: "global", reason: "rateLimitExceeded" }
          ],
          status: "RESOURCE_EXHAUSTED"
        }
      }
    ],
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "RESOURCE_EXHAUSTED" }
  }),
  response({
    id: "resource-has-been-exhausted",
    kind: "recorded",
    source: "googleapis/python-genai#2065",
    status: 429,
    body: {
      error: { code: 429, message: "Resource has been exhausted (e.g. check quota).", status: "RESOURCE_EXHAUSTED" }
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "RESOURCE_EXHAUSTED" }
  }),
  response({
    id: "vertex-requests-per-minute",
    kind: "recorded",
    source: "felixbinder/introspection_self_prediction#66",
    status: 429,
    body: {
      error: {
        code: 429,
        message:
          "Quota exceeded for aiplatform.googleapis.com/generate_content_requests_per_minute_per_project_per_base_model with base model: gemini-pro. Please submit a quota increase request. https://cloud.google.com/vertex-ai/docs/generative-ai/quotas-genai.",
        status: "RESOURCE_EXHAUSTED"
      }
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "RESOURCE_EXHAUSTED" }
  }),
  response({
    id: "model-capacity-exhausted",
    kind: "recorded",
    source: "google-gemini/gemini-cli#25179",
    status: 429,
    body: [
      {
        error: {
          code: 429,
          message: "No capacity available for model gemini-3.1-pro-preview on the server",
          errors: [
            {
              message: "No capacity available for model gemini-3.1-pro-preview on the server",
              domain: "global",
              reason: "rateLimitExceeded"
            }
          ],
          status: "RESOURCE_EXHAUSTED",
          details: [errorInfo("MODEL_CAPACITY_EXHAUSTED", { model: "gemini-3.1-pro-preview" })]
        }
      }
    ],
    expected: { reason: "overloaded", retryable: true, status: 429, code: "MODEL_CAPACITY_EXHAUSTED" }
  }),
  response({
    id: "quota-exhausted-with-reset",
    kind: "recorded",
    source: "Wei-Shaw/claude-relay-service#746",
    status: 429,
    body: {
      error: {
        code: 429,
        message: "You have exhausted your capacity on this model. Your quota will reset after 5h59m59s.",
        status: "RESOURCE_EXHAUSTED",
        details: [
          errorInfo("QUOTA_EXHAUSTED", {
            uiMessage: "true",
            model: "gemini-3-pro-preview",
            quotaResetDelay: "5h59m59.960323804s"
          }),
          retryInfo("21599.960323804s")
        ]
      }
    },
    expected: {
      reason: "quota-exhausted",
      retryable: true,
      status: 429,
      code: "QUOTA_EXHAUSTED",
      retryAfterMs: 21_599_961
    }
  }),
  thrown({
    id: "quota-reset-through-relay",
    kind: "recorded",
    source: "Wei-Shaw/claude-relay-service#746",
    error: () =>
      new Error(
        JSON.stringify({
          error: {
            message: "You have exhausted your capacity on this model. Your quota will reset after 5h59m59s.",
            type: "api_error",
            upstreamStatus: 429
          }
        })
      ),
    expected: { reason: "quota-exhausted", retryable: true, retryAfterMs: 21_599_000 }
  }),
  response({
    id: "overflow-in-array",
    kind: "recorded",
    source: "google-gemini/gemini-cli#6678",
    status: 400,
    body: [
      {
        error: {
          code: 400,
          message: OVERFLOW,
          errors: [{ message: OVERFLOW, domain: "global", reason: "badRequest" }],
          status: "INVALID_ARGUMENT"
        }
      }
    ],
    expected: { reason: "context-overflow", retryable: false, status: 400, message: OVERFLOW }
  }),
  thrown({
    id: "overflow-nested-in-message",
    kind: "recorded",
    source: "google-gemini/gemini-cli#4231",
    error: () =>
      new Error(
        '{"error":{"message":"{\\n  \\"error\\": {\\n    \\"code\\": 400,\\n    \\"message\\": \\"The input token count (3475108) exceeds the maximum number of tokens allowed (1048576).\\",\\n    \\"status\\": \\"INVALID_ARGUMENT\\"\\n  }\\n}\\n","code":400,"status":"Bad Request"}}'
      ),
    expected: {
      reason: "context-overflow",
      retryable: false,
      status: 400,
      message: "The input token count (3475108) exceeds the maximum number of tokens allowed (1048576)."
    }
  }),
  response({
    id: "invalid-key-at-400",
    kind: "recorded",
    source: "zeroclaw-labs/zeroclaw#194",
    status: 400,
    body: {
      error: {
        code: 400,
        message: "API key not valid. Please pass a valid API key.",
        status: "INVALID_ARGUMENT",
        details: [
          {
            ...errorInfo("API_KEY_INVALID", { service: "generativelanguage.googleapis.com" }),
            domain: "googleapis.com"
          },
          {
            "@type": "type.googleapis.com/google.rpc.LocalizedMessage",
            locale: "en-US",
            message: "API key not valid. Please pass a valid API key."
          }
        ]
      }
    },
    expected: { reason: "auth", retryable: false, status: 400, code: "API_KEY_INVALID" }
  }),
  response({
    id: "invalid-argument",
    kind: "constructed",
    source: `${PAGE} (400 INVALID_ARGUMENT)`,
    status: 400,
    body: { error: { code: 400, message: "Request contains an invalid argument.", status: "INVALID_ARGUMENT" } },
    expected: { reason: "bad-request", retryable: false, status: 400, code: "INVALID_ARGUMENT" }
  }),
  response({
    id: "permission-denied",
    kind: "constructed",
    source: `${PAGE} (403 PERMISSION_DENIED)`,
    status: 403,
    body: {
      error: { code: 403, message: "Your API key doesn't have the required permissions.", status: "PERMISSION_DENIED" }
    },
    expected: { reason: "auth", retryable: false, status: 403, code: "PERMISSION_DENIED" }
  }),
  response({
    id: "model-not-found",
    kind: "constructed",
    source: `${PAGE} (404 NOT_FOUND)`,
    status: 404,
    body: {
      error: {
        code: 404,
        message:
          "models/gemini-9 is not found for API version v1beta, or is not supported for generateContent. Call ListModels to see the list of available models and their supported methods.",
        status: "NOT_FOUND"
      }
    },
    expected: { reason: "model-unavailable", retryable: false, status: 404, code: "NOT_FOUND" }
  }),
  response({
    id: "internal",
    kind: "recorded",
    source: "PublicAffairs/openai-gemini#15",
    status: 500,
    body: {
      error: {
        code: 500,
        message:
          "An internal error has occurred. Please retry or report in https://developers.generativeai.google/guide/troubleshooting",
        status: "INTERNAL"
      }
    },
    expected: { reason: "server-error", retryable: true, status: 500, code: "INTERNAL" }
  }),
  thrown({
    id: "internal-nested",
    kind: "recorded",
    source: "google-gemini/gemini-cli#3665",
    error: () =>
      new Error(
        JSON.stringify({
          error: {
            message: JSON.stringify({
              error: { code: 500, message: "An internal error has occurred.", status: "INTERNAL" }
            }),
            code: 500,
            status: "Internal Server Error"
          }
        })
      ),
    expected: {
      reason: "server-error",
      retryable: true,
      status: 500,
      code: "INTERNAL",
      message: "An internal error has occurred."
    }
  }),
  response({
    id: "unavailable",
    kind: "constructed",
    source: `${PAGE} (503 UNAVAILABLE)`,
    status: 503,
    body: { error: { code: 503, message: "The model is overloaded. Please try again later.", status: "UNAVAILABLE" } },
    expected: { reason: "overloaded", retryable: true, status: 503, code: "UNAVAILABLE" }
  }),
  stream({
    id: "unavailable-in-stream",
    kind: "constructed",
    source: `${PAGE} (503 UNAVAILABLE), as a chunk of streamGenerateContent?alt=sse`,
    data: { error: { code: 503, message: "The model is overloaded. Please try again later.", status: "UNAVAILABLE" } },
    expected: { reason: "overloaded", retryable: true, status: 503, code: "UNAVAILABLE" }
  }),
  response({
    id: "deadline-exceeded",
    kind: "constructed",
    source: `${PAGE} (504 DEADLINE_EXCEEDED)`,
    status: 504,
    body: {
      error: { code: 504, message: "Deadline expired before operation could complete.", status: "DEADLINE_EXCEEDED" }
    },
    expected: { reason: "timeout", retryable: true, status: 504, code: "DEADLINE_EXCEEDED" }
  }),
  response({
    id: "cancelled",
    kind: "constructed",
    source: "https://cloud.google.com/apis/design/errors (499 CANCELLED)",
    status: 499,
    body: { error: { code: 499, message: "The operation was cancelled.", status: "CANCELLED" } },
    expected: { reason: "aborted", retryable: true, status: 499, code: "CANCELLED" }
  }),
  response({
    id: "vertex-input-tokens",
    kind: "recorded",
    source: "google-gemini/gemini-cli#19727",
    status: 400,
    body: {
      error: {
        code: 400,
        message:
          "Unable to submit request because the input token count is 1251952 but model only supports up to 1048576. Reduce the input token count and try again.",
        status: "INVALID_ARGUMENT"
      }
    },
    expected: { reason: "context-overflow", retryable: false, status: 400, code: "INVALID_ARGUMENT" }
  }),
  response({
    id: "payload-size",
    kind: "recorded",
    source: "MaKTaiL/gemini-srt-translator#63",
    status: 400,
    body: {
      error: {
        code: 400,
        message: "Request payload size exceeds the limit: 314572800 bytes.",
        status: "INVALID_ARGUMENT"
      }
    },
    expected: { reason: "context-overflow", retryable: false, status: 400, code: "INVALID_ARGUMENT" }
  }),
  response({
    id: "location-not-supported",
    kind: "recorded",
    source: "google-gemini/gemini-cli#24641",
    status: 400,
    body: {
      error: { code: 400, message: "User location is not supported for the API use.", status: "FAILED_PRECONDITION" }
    },
    expected: { reason: "model-unavailable", retryable: false, status: 400, code: "FAILED_PRECONDITION" }
  })
]
