/** Services that serve open models, and resellers: each payload's id begins with its provider's name. */
import { errorWith, of, type Payload } from "./Payload.ts"

const { response, thrown } = of("hosts")

export const hosts: ReadonlyArray<Payload> = [
  thrown({
    id: "together-too-long",
    kind: "recorded",
    source: "stanford-crfm/helm#2079",
    error: () =>
      errorWith(
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 2048. Given: 2019 `inputs` tokens and 30 `max_new_tokens`",
        { status: 422 }
      ),
    expected: { reason: "context-overflow", retryable: false, status: 422 }
  }),
  response({
    id: "together-per-minute",
    kind: "recorded",
    source: "togethercomputer/MoA#27",
    status: 429,
    body: {
      error: {
        message:
          "You have been rate limited. Your rate limit is 60 queries per minute. Please navigate to https://api.together.xyz/settings/billing to upgrade to a paid plan.",
        type: "credit_limit",
        param: null,
        code: null
      }
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "credit_limit" }
  }),
  thrown({
    id: "together-model-limit",
    kind: "recorded",
    source: "xtekky/gpt4free#3032",
    error: () =>
      errorWith(
        "You have reached the rate limit specific to this model black-forest-labs/FLUX.1-kontext-pro. The maximum rate limit for this model is 9.0 queries per minute. This limit differs from the general rate limits published at Together AI rate limits documentation (https://docs.together.ai/docs/rate-limits).",
        { status: 429 }
      ),
    expected: { reason: "rate-limited", retryable: true, status: 429, scope: "model" }
  }),
  response({
    id: "fireworks-suspended",
    kind: "recorded",
    source: "pollinations/pollinations#12136",
    status: 412,
    body: {
      error: {
        message:
          "Account pollinations is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices. Please go to https://fireworks.ai/account/billing for more information.",
        param: null,
        code: "PRECONDITION_FAILED",
        type: "error"
      },
      request_id: "11650e2f"
    },
    expected: {
      reason: "quota-exhausted",
      retryable: false,
      status: 412,
      code: "PRECONDITION_FAILED",
      scope: "account"
    }
  }),
  response({
    id: "fireworks-suspended-through-litellm",
    kind: "recorded",
    source: "FerroxLabs/wayland#545",
    status: 412,
    body: {
      error: {
        message:
          'Flux.APIError: APIError: Fireworks_aiException - {"error":{"message":"Account ferroxlabs is suspended, possibly due to reaching the monthly spending limit or failure to pay past invoices. Please go to https://fireworks.ai/account/billing for more information.","param":null,"code":"PRECONDITION_FAILED","type":"error"},"request_id":"chatcmpl-ebdf"}. Received Model Group=glm-5-2\nAvailable Model Group Fallbacks=None',
        type: null,
        param: null,
        code: "412"
      }
    },
    expected: {
      reason: "quota-exhausted",
      retryable: false,
      status: 412,
      code: "PRECONDITION_FAILED",
      scope: "account"
    }
  }),
  response({
    id: "fireworks-too-many",
    kind: "recorded",
    source: "GordeyZuev/LEAP#6",
    status: 429,
    body: {
      error: "Too Many Requests",
      message:
        "You have exceeded your usage limits. Please try again later or contact Fireworks to explore dedicated capacity."
    },
    expected: { reason: "quota-exhausted", retryable: true, status: 429 }
  }),
  response({
    id: "cerebras-requests",
    kind: "recorded",
    source: "nminaya/grammar-nazi-bot#958",
    status: 429,
    body: {
      message: "Requests per minute limit exceeded - too many requests sent.",
      type: "too_many_requests_error",
      param: "quota",
      code: "request_quota_exceeded"
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "request_quota_exceeded" }
  }),
  thrown({
    id: "cerebras-tokens",
    kind: "recorded",
    source: "continuedev/continue#9800",
    error: () => errorWith("Tokens per minute limit exceeded - too many tokens processed.", { status: 429 }),
    expected: { reason: "rate-limited", retryable: true, status: 429 }
  }),
  thrown({
    id: "deepinfra-busy-through-a-gateway",
    kind: "recorded",
    source: "truefoundry/models#862",
    error: () =>
      errorWith(
        "Error code: 429 - {'status': 'failure', 'message': 'Invalid response received from deepinfra: {\"error\":{\"message\":\"Model busy, retry later\"}}', 'error': {'message': 'Invalid response received from deepinfra: {\"error\":{\"message\":\"Model busy, retry later\"}}', 'type': 'APIError', 'code': '429'}, 'error_origin_level': 'api_error', 'provider': 'deepinfra'}",
        { status: 429 }
      ),
    expected: { reason: "rate-limited", retryable: true, status: 429 }
  }),
  response({
    id: "siliconflow-too-long",
    kind: "recorded",
    source: "chatboxai/chatbox#2060",
    status: 400,
    body: {
      code: 20015,
      message: "length of prompt_tokens (68957) must be less than max_seq_len (65536).",
      data: null
    },
    expected: { reason: "context-overflow", retryable: false, status: 400, code: "20015" }
  }),
  response({
    id: "siliconflow-tokens-per-minute",
    kind: "recorded",
    source: "AIDotNet/OpenDeepWiki#269",
    status: 429,
    body: { message: "Request was rejected due to rate limiting. Details: TPM limit reached.", data: null },
    expected: { reason: "rate-limited", retryable: true, status: 429 }
  }),
  response({
    id: "venice-balance",
    kind: "recorded",
    source: "osaurus-ai/osaurus#2431",
    status: 402,
    body: {
      error:
        "Insufficient USD or Diem balance to complete request. Visit https://venice.ai/settings/api to add credits."
    },
    expected: { reason: "quota-exhausted", retryable: false, status: 402 }
  }),
  response({
    id: "chutes-balance",
    kind: "recorded",
    source: "DaWe35/image-router#33",
    status: 402,
    body: {
      detail:
        "Quota exceeded and account balance is $0.0, please pay with fiat or send tao to 5HYBen2PFLSttiG8zpsZJatDXcnVEdUoiyf7qQGPaSh6czyD"
    },
    expected: { reason: "quota-exhausted", retryable: false, status: 402, scope: "account" }
  }),
  response({
    id: "nvidia-without-key",
    kind: "recorded",
    source: "continuedev/continue#11173",
    status: 500,
    body: "Missing request extension: Extension of type `headers::common::authorization::Authorization<headers::common::authorization::Bearer>` was not found. Perhaps you forgot to add it%3F See `axum::Extension`.",
    expected: { reason: "server-error", retryable: true, status: 500 }
  }),
  response({
    id: "meta-tokens",
    kind: "recorded",
    source: "meta-llama/llama-models#354",
    status: 429,
    body: {
      title: "Too Many Requests",
      detail:
        "You have exceeded the maximum number of tokens allowed within a given time frame. Wait a bit and try again.",
      status: 429
    },
    expected: { reason: "rate-limited", retryable: true, status: 429 }
  }),
  response({
    id: "mimo-funds",
    kind: "recorded",
    source: "XiaomiMiMo/MiMo#99",
    status: 402,
    body: { type: "server_error", message: "Upstream request failed: Insufficient account funds" },
    expected: { reason: "quota-exhausted", retryable: false, status: 402 }
  }),
  response({
    id: "kiro-month",
    kind: "recorded",
    source: "chaogei/Kiro-account-manager#27",
    status: 402,
    body: { message: "You have reached the limit.", reason: "MONTHLY_REQUEST_COUNT" },
    expected: { reason: "quota-exhausted", retryable: false, status: 402, code: "MONTHLY_REQUEST_COUNT" }
  }),
  response({
    id: "sub2api-balance",
    kind: "recorded",
    source: "Wei-Shaw/sub2api#890",
    status: 403,
    body: { code: "INSUFFICIENT_BALANCE", message: "Insufficient account balance" },
    expected: { reason: "quota-exhausted", retryable: false, status: 403, code: "INSUFFICIENT_BALANCE" }
  }),
  response({
    id: "databricks-exhausted",
    kind: "recorded",
    source: "ecmwf/WeatherGenerator#1482",
    status: 429,
    body: {
      error_code: "RESOURCE_EXHAUSTED",
      message:
        "Too many requests. Please wait a moment and try again. If the issue persists, consider adjusting your request frequency or reaching out to support for assistance."
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "RESOURCE_EXHAUSTED" }
  }),
  response({
    id: "databricks-max-tokens",
    kind: "recorded",
    source: "databricks/databricks-sdk-go#1183",
    status: 400,
    body: "Bad request: rpc error: code = InvalidArgument desc = max_tokens (10000) cannot exceed 8192. Please reduce the length of max output tokens generated.",
    expected: { reason: "bad-request", retryable: false, status: 400 }
  }),
  response({
    id: "baidu-requests",
    kind: "recorded",
    source: "PaddlePaddle/ERNIE#1031",
    status: 429,
    body: {
      error: { code: "rpm_rate_limit_exceeded", message: "Rate limit reached for RPM", type: "rate_limit_exceeded" },
      id: "as-wbx23eriqh"
    },
    expected: { reason: "rate-limited", retryable: true, status: 429 }
  }),
  response({
    id: "volcengine-model-not-found",
    kind: "recorded",
    source: "cloudwego/eino#107",
    status: 404,
    body: {
      code: "InvalidEndpointOrModel.NotFound",
      message:
        "The model or endpoint doubao-1.5-pro-32k does not exist or you do not have access to it. Request id: 0217",
      param: "",
      type: "NotFound",
      request_id: "2025031221360700005D8F8DE42A327157"
    },
    expected: { reason: "model-unavailable", retryable: false, status: 404 }
  }),
  thrown({
    id: "volcengine-inference-limit",
    kind: "recorded",
    source: "volcengine/MineContext#328",
    error: () =>
      errorWith(
        'Your account ［2100334555］ has reached the set inference limit for the ［doubao-seed-1-6-flash］ model, and the model service has been paused. To continue using this model, please visit the Model Activation page to adjust or close the "Safe Experience Mode"',
        { status: 429 }
      ),
    expected: { reason: "quota-exhausted", retryable: false, status: 429, scope: "model" }
  })
]
