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
    source: "https://docs.mistral.ai/deployment/ai-studio/tier (service_tier_capacity_exceeded, 3505)",
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
    kind: "constructed",
    source: "https://docs.mistral.ai/api (401 Unauthorized)",
    status: 401,
    body: { message: "Unauthorized", request_id: "6bf3c7a0" },
    expected: { reason: "auth", retryable: false, status: 401, message: "Unauthorized" }
  }),
  response({
    id: "prompt-too-large",
    kind: "constructed",
    source: "https://docs.mistral.ai/api (400: the prompt exceeds the model's context)",
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
    kind: "constructed",
    source: "https://docs.mistral.ai/api (400 invalid_model, 1500)",
    status: 400,
    body: { object: "error", message: "Invalid model: mistral-huge", type: "invalid_model", param: null, code: "1500" },
    expected: { reason: "model-unavailable", retryable: false, status: 400, code: "invalid_model" }
  }),
  response({
    id: "validation-list",
    kind: "constructed",
    source: "https://docs.mistral.ai/api (422 HTTPValidationError)",
    status: 422,
    body: {
      detail: [
        {
          type: "less_than_equal",
          loc: ["body", "temperature"],
          msg: "Input should be less than or equal to 1.5",
          input: 500
        }
      ]
    },
    expected: {
      reason: "bad-request",
      retryable: false,
      status: 422,
      message: "Input should be less than or equal to 1.5"
    }
  })
]
