import { errorWith, of, type Payload } from "./Payload.ts"

const { response, thrown } = of("mistral")

export const mistral: ReadonlyArray<Payload> = [
  response({
    id: "rate-limited",
    kind: "recorded",
    source: "raycast/extensions#31107",
    status: 429,
    body: {
      object: "error",
      message: "Rate limit exceeded",
      type: "rate_limited",
      param: null,
      code: "1300",
      raw_status_code: 429
    },
    expected: {
      reason: "rate-limited",
      retryable: true,
      status: 429,
      code: "rate_limited",
      message: "Rate limit exceeded"
    }
  }),
  thrown({
    id: "rate-limited-from-sdk",
    kind: "recorded",
    source: "cline/cline#9085",
    error: () =>
      errorWith(
        'API error occurred: Status 429 Content-Type application/json Body \n{"object":"error","message":"Rate limit exceeded","type":"rate_limited","param":null,"code":"1300"}',
        {
          statusCode: 429,
          body: '{"object":"error","message":"Rate limit exceeded","type":"rate_limited","param":null,"code":"1300"}'
        },
        "SDKError"
      ),
    expected: {
      reason: "rate-limited",
      retryable: true,
      status: 429,
      code: "rate_limited",
      message: "Rate limit exceeded"
    }
  }),
  response({
    id: "service-tier-capacity",
    kind: "recorded",
    source: "continuedev/continue#6185",
    status: 429,
    body: {
      object: "error",
      message: "Service tier capacity exceeded for this model.",
      type: "invalid_request_error",
      param: null,
      code: null
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "invalid_request_error" }
  }),
  response({
    id: "service-tier-capacity-typed",
    kind: "constructed",
    source: "https://docs.mistral.ai/api (429; type and code as public clients match them)",
    status: 429,
    body: {
      object: "error",
      message: "Service tier capacity exceeded for this model.",
      type: "service_tier_capacity_exceeded",
      param: null,
      code: "3505"
    },
    expected: { reason: "overloaded", retryable: true, status: 429, code: "service_tier_capacity_exceeded" }
  }),
  response({
    id: "too-many-tokens-in-batch",
    kind: "recorded",
    source: "aurelio-labs/semantic-router#297",
    status: 400,
    body: {
      object: "error",
      message: "Too many tokens in batch. Max is 16384 got 17555",
      type: "invalid_request_error",
      param: null,
      code: null
    },
    expected: { reason: "bad-request", retryable: false, status: 400, code: "invalid_request_error" }
  }),
  response({
    id: "unauthorized",
    kind: "recorded",
    source: "coolcline/CoolCline#36",
    status: 401,
    body: { message: "Unauthorized", request_id: "933f233947ff6d346065bb297e4a4d56" },
    expected: { reason: "auth", retryable: false, status: 401, message: "Unauthorized" }
  }),
  response({
    id: "prompt-too-large",
    kind: "constructed",
    source: "https://docs.mistral.ai/resources/known-limitations (too large for model with X maximum context length)",
    status: 400,
    body: {
      object: "error",
      message: "Prompt contains 40035 tokens and 0 draft tokens, too large for model with 32768 maximum context length",
      type: "invalid_request_prompt",
      param: null,
      code: "3051"
    },
    expected: { reason: "context-overflow", retryable: false, status: 400 }
  }),
  response({
    id: "invalid-model",
    kind: "recorded",
    source: "mistralai/mistral-vibe#617",
    status: 400,
    body: {
      object: "error",
      message: "Invalid model: mistral-medium-3.5",
      type: "invalid_model",
      param: null,
      code: "1500",
      raw_status_code: 400
    },
    expected: { reason: "model-unavailable", retryable: false, status: 400, code: "invalid_model" }
  }),
  response({
    id: "validation-list",
    kind: "recorded",
    source: "Gitlawb/openclaude#739",
    status: 422,
    body: {
      detail: [
        { type: "extra_forbidden", loc: ["body", "store"], msg: "Extra inputs are not permitted", input: false },
        {
          type: "extra_forbidden",
          loc: ["body", "max_completion_tokens"],
          msg: "Extra inputs are not permitted",
          input: 8192
        }
      ]
    },
    expected: { reason: "bad-request", retryable: false, status: 422, message: "Extra inputs are not permitted" }
  })
]
