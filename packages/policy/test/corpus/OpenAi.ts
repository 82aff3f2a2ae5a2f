import { errorWith, of, type Payload } from "./Payload.ts"

const { response, stream, thrown } = of("openai")
const GUIDE = "https://platform.openai.com/docs/guides/error-codes"
const HELP =
  "You can retry your request, or contact us through our help center at help.openai.com if the error persists."

export const openAi: ReadonlyArray<Payload> = [
  response({
    id: "insufficient-quota",
    kind: "recorded",
    source: "ChatGPTNextWeb/NextChat#3123",
    status: 429,
    body: {
      error: {
        message: "You exceeded your current quota, please check your plan and billing details.",
        type: "insufficient_quota",
        param: null,
        code: "insufficient_quota"
      }
    },
    expected: {
      reason: "quota-exhausted",
      retryable: false,
      status: 429,
      code: "insufficient_quota",
      message: "You exceeded your current quota, please check your plan and billing details."
    }
  }),
  response({
    id: "insufficient-quota-without-code",
    kind: "recorded",
    source: "ChatGPTNextWeb/NextChat#1792",
    status: 429,
    body: '{\n  "error": {\n    "message": "You exceeded your current quota, please check your plan and billing details.",\n    "type": "insufficient_quota",\n    "param": null,\n    "code": null\n  }\n}',
    expected: { reason: "quota-exhausted", retryable: false, status: 429, code: "insufficient_quota" }
  }),
  thrown({
    id: "insufficient-quota-message-only",
    kind: "recorded",
    source: "HeyPuter/puter#1977",
    error: () => ({
      success: false,
      error:
        "429 You exceeded your current quota, please check your plan and billing details. For more information on this error, read the docs: https://platform.openai.com/docs/guides/error-codes/api-errors."
    }),
    expected: { reason: "quota-exhausted", retryable: false }
  }),
  response({
    id: "tokens-per-minute",
    kind: "recorded",
    source: "rotemweiss57/gpt-newspaper#10",
    status: 429,
    body: {
      error: {
        message:
          "Rate limit reached for gpt-4 in organization org-********** on tokens per min (TPM): Limit 10000, Used 9348, Requested 5086. Please try again in 26.604s. Visit https://platform.openai.com/account/rate-limits to learn more.",
        type: "tokens",
        param: null,
        code: "rate_limit_exceeded"
      }
    },
    expected: {
      reason: "rate-limited",
      retryable: true,
      status: 429,
      code: "rate_limit_exceeded",
      retryAfterMs: 26_604
    }
  }),
  response({
    id: "tokens-per-minute-milliseconds",
    kind: "recorded",
    source: "Pythagora-io/gpt-pilot#17",
    status: 429,
    body: {
      error: {
        message:
          "Rate limit reached for 10KTPM-200RPM in organization org-WyXXXXXXXXX on tokens per min. Limit: 10000 / min. Please try again in 6ms. Contact us through our help center at help.openai.com if you continue to have issues.",
        type: "tokens",
        param: null,
        code: "rate_limit_exceeded"
      }
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "rate_limit_exceeded", retryAfterMs: 6 }
  }),
  thrown({
    id: "tokens-per-minute-message-only",
    kind: "recorded",
    source: "continuedev/continue#11472",
    error: () =>
      errorWith(
        "429 Rate limit reached for gpt-4.1 in organization org-66tr5 on tokens per min (TPM): Limit 30000, Used 18928, Requested 11159. Please try again in 174ms. Visit https://platform.openai.com/account/rate-limits to learn more.",
        { status: 429 }
      ),
    expected: { reason: "rate-limited", retryable: true, status: 429, retryAfterMs: 174 }
  }),
  response({
    id: "request-larger-than-the-limit",
    kind: "recorded",
    source: "TheR1D/shell_gpt#653",
    status: 429,
    body: {
      error: {
        message:
          "Request too large for gpt-4o in organization org-78asdf87asdf9aaa8976 on tokens per min (TPM): Limit 30000, Requested 31538. The input or output tokens must be reduced in order to run successfully. Visit https://platform.openai.com/account/rate-limits to learn more.",
        type: "tokens",
        param: null,
        code: "rate_limit_exceeded"
      }
    },
    expected: { reason: "context-overflow", retryable: false, status: 429, code: "rate_limit_exceeded" }
  }),
  response({
    id: "context-length-exceeded",
    kind: "recorded",
    source: "Chanzhaoyu/chatgpt-web#372",
    status: 400,
    body: {
      error: {
        message:
          "This model's maximum context length is 4096 tokens. However, you requested 4118 tokens (3118 in the messages, 1000 in the completion). Please reduce the length of the messages or completion.",
        type: "invalid_request_error",
        param: "messages",
        code: "context_length_exceeded"
      }
    },
    expected: { reason: "context-overflow", retryable: false, status: 400, code: "context_length_exceeded" }
  }),
  thrown({
    id: "context-length-text-only",
    kind: "recorded",
    source: "webtimemachine/wtm2#579",
    error: () =>
      new Error(
        "400 This model's maximum context length is 128000 tokens. However, your messages resulted in 204308 tokens. Please reduce the length of the messages."
      ),
    expected: { reason: "context-overflow", retryable: false }
  }),
  response({
    id: "model-not-found",
    kind: "recorded",
    source: "Pythagora-io/gpt-pilot#304",
    status: 404,
    body: {
      error: {
        message: "The model `gpt-3` does not exist",
        type: "invalid_request_error",
        param: null,
        code: "model_not_found"
      }
    },
    expected: { reason: "model-unavailable", retryable: false, status: 404, code: "model_not_found" }
  }),
  response({
    id: "model-does-not-exist-without-code",
    kind: "recorded",
    source: "waylaidwanderer/node-chatgpt-api#49",
    status: 404,
    body: {
      error: { message: "That model does not exist", type: "invalid_request_error", param: null, code: null }
    },
    expected: { reason: "model-unavailable", retryable: false, status: 404 }
  }),
  thrown({
    id: "project-without-model",
    kind: "recorded",
    source: "markuryy/caption-helper#2",
    error: () => errorWith("403 Project  `proj_S4...` does not have access to model `gpt-4o`", { status: 403 }),
    expected: { reason: "model-unavailable", retryable: false, status: 403 }
  }),
  response({
    id: "string-error-429",
    kind: "recorded",
    source: "waylaidwanderer/node-chatgpt-api#49",
    status: 429,
    body: { status: false, error: "You are rate-limited Rate-limited or API key is invalid" },
    expected: {
      reason: "rate-limited",
      retryable: true,
      status: 429,
      message: "You are rate-limited Rate-limited or API key is invalid"
    }
  }),
  response({
    id: "incorrect-api-key",
    kind: "constructed",
    source: `${GUIDE} (401 - Incorrect API key provided)`,
    status: 401,
    body: {
      error: {
        message:
          "Incorrect API key provided: sk-ab****yz. You can find your API key at https://platform.openai.com/account/api-keys.",
        type: "invalid_request_error",
        param: null,
        code: "invalid_api_key"
      }
    },
    expected: { reason: "auth", retryable: false, status: 401, code: "invalid_api_key" }
  }),
  response({
    id: "country-not-supported",
    kind: "constructed",
    source: `${GUIDE} (403 - Country, region, or territory not supported)`,
    status: 403,
    body: {
      error: {
        code: "unsupported_country_region_territory",
        message: "Country, region, or territory not supported",
        param: null,
        type: "request_forbidden"
      }
    },
    expected: {
      reason: "model-unavailable",
      retryable: false,
      status: 403,
      code: "unsupported_country_region_territory"
    }
  }),
  response({
    id: "server-had-an-error",
    kind: "recorded",
    source: "langbot-app/LangBot#126",
    status: 500,
    body: {
      error: {
        message: "The server had an error while processing your request. Sorry about that!",
        type: "server_error",
        param: null,
        code: null
      }
    },
    expected: { reason: "server-error", retryable: true, status: 500, code: "server_error" }
  }),
  response({
    id: "engine-overloaded",
    kind: "constructed",
    source: `${GUIDE} (503 - The engine is currently overloaded, please try again later)`,
    status: 503,
    headers: { "retry-after": "12" },
    body: {
      error: {
        message: "The engine is currently overloaded, please try again later",
        type: "engine_overloaded",
        param: null,
        code: null
      }
    },
    expected: {
      reason: "overloaded",
      retryable: true,
      status: 503,
      code: "engine_overloaded",
      retryAfterMs: 12_000
    }
  }),
  response({
    id: "slow-down",
    kind: "constructed",
    source: "https://www.developersdigest.tech/errors/api/openai-api/429-slow-down",
    status: 429,
    body: {
      error: {
        message: "Your request rate increased faster than the service can safely handle. Please slow down.",
        type: "rate_limit_error",
        param: null,
        code: "slow_down"
      }
    },
    expected: { reason: "overloaded", retryable: true, status: 429, code: "slow_down" }
  }),
  stream({
    id: "server-is-overloaded-in-stream",
    kind: "recorded",
    source: "tontinton/maki#897",
    event: "error",
    data: {
      type: "error",
      error: {
        type: "service_unavailable_error",
        code: "server_is_overloaded",
        message: "Our servers are currently overloaded. Please try again later.",
        param: null
      }
    },
    expected: {
      reason: "overloaded",
      retryable: true,
      code: "server_is_overloaded",
      message: "Our servers are currently overloaded. Please try again later."
    }
  }),
  stream({
    id: "response-failed-overloaded",
    kind: "recorded",
    source: "Soju06/codex-lb#1313",
    event: "response.failed",
    data: {
      type: "response.failed",
      response: {
        status: "failed",
        error: {
          code: "server_is_overloaded",
          message: "Our servers are currently overloaded. Please try again later."
        }
      }
    },
    expected: { reason: "overloaded", retryable: true, code: "server_is_overloaded" }
  }),
  stream({
    id: "response-failed-server-error",
    kind: "recorded",
    source: "Wei-Shaw/sub2api#6714",
    event: "response.failed",
    data: {
      response: {
        background: false,
        error: {
          code: "server_error",
          message: `An error occurred while processing your request. ${HELP} Please include the request ID 05db48fb in your message.`
        },
        id: "resp_063267",
        model: "gpt-6-astra",
        object: "response",
        status: "failed",
        tool_usage: { web_search: { num_requests: 0 } }
      },
      sequence_number: 5,
      type: "response.failed"
    },
    expected: { reason: "server-error", retryable: true, code: "server_error" }
  }),
  response({
    id: "usage-limit-reached",
    kind: "recorded",
    source: "james-6-23/codex2api#9",
    status: 429,
    body: '{"error":{"type":"usage_limit_reached","message":"The usage limit has been reached","plan_type":"free","resets_at":1775317531,"resets_in_seconds":602705}}',
    expected: {
      reason: "quota-exhausted",
      retryable: true,
      status: 429,
      code: "usage_limit_reached",
      retryAfterMs: 602_705_000
    }
  }),
  stream({
    id: "usage-limit-reached-over-a-socket",
    kind: "recorded",
    source: "earendil-works/pi#4172",
    data: {
      type: "error",
      error: {
        type: "usage_limit_reached",
        message: "The usage limit has been reached",
        plan_type: "plus",
        resets_at: 1_777_936_568,
        eligible_promo: null,
        resets_in_seconds: 13_872
      },
      status_code: 429,
      headers: { "X-Codex-Primary-Used-Percent": "100", "X-Codex-Primary-Reset-After-Seconds": "13873" }
    },
    expected: {
      reason: "quota-exhausted",
      retryable: true,
      status: 429,
      code: "usage_limit_reached",
      retryAfterMs: 13_872_000
    }
  }),
  response({
    id: "echoed-value-that-looks-like-an-outage",
    kind: "constructed",
    source: "https://platform.openai.com/docs/guides/error-codes (400: Invalid value, which quotes what was sent)",
    status: 400,
    body: {
      error: {
        message: "Invalid value: 'rate limit 500, please retry, overloaded'. Supported values are: 'low', 'medium'.",
        type: "invalid_request_error",
        param: "reasoning_effort",
        code: "invalid_value"
      }
    },
    expected: { reason: "bad-request", retryable: false, status: 400 }
  }),
  response({
    id: "quota-with-throttle-headers",
    kind: "constructed",
    source: "https://platform.openai.com/docs/guides/rate-limits (headers come with every response)",
    status: 429,
    headers: { "x-ratelimit-remaining-requests": "0", "x-ratelimit-reset-requests": "8.64s" },
    body: {
      error: {
        message: "You exceeded your current quota, please check your plan and billing details.",
        type: "insufficient_quota",
        param: null,
        code: "insufficient_quota"
      }
    },
    expected: { reason: "quota-exhausted", retryable: false, status: 429, code: "insufficient_quota" }
  })
]
