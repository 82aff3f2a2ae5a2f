import { errorWith, of, type Payload } from "./Payload.ts"

const { response, stream, thrown } = of("openrouter")
const PAGE = "https://openrouter.ai/docs/api/reference/errors-and-debugging"
const CREDITS =
  "This request requires more credits, or fewer max_tokens. You requested up to 32000 tokens, but can only afford 27342. To increase, visit https://openrouter.ai/settings/credits and upgrade to a paid account"

export const openRouter: ReadonlyArray<Payload> = [
  response({
    id: "rate-limited-upstream",
    kind: "recorded",
    source: "open-webui/computer#293",
    status: 429,
    body: {
      error: {
        message: "Provider returned error",
        code: 429,
        metadata: {
          raw: "z-ai/glm-5.3-flash is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits",
          provider_name: "BaseTen",
          limit_source: "upstream_provider_shared_pool",
          remedy_hint: "Retry shortly, add your own provider key, or route to another provider"
        }
      }
    },
    expected: {
      reason: "rate-limited",
      retryable: true,
      status: 429,
      code: "upstream_provider_shared_pool",
      message:
        "z-ai/glm-5.3-flash is temporarily rate-limited upstream. Please retry shortly, or add your own key to accumulate your rate limits"
    }
  }),
  response({
    id: "rate-limited-with-error-type",
    kind: "recorded",
    source: "digiogithub/pando#8",
    status: 429,
    body: { error: { message: "Provider returned error", code: 429, metadata: { error_type: "rate_limit_exceeded" } } },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "rate_limit_exceeded" }
  }),
  thrown({
    id: "rate-limited-message-only",
    kind: "recorded",
    source: "continuedev/continue#10442",
    error: () => errorWith("429 Provider returned error", { status: 429 }),
    expected: { reason: "rate-limited", retryable: true, status: 429, message: "Provider returned error" }
  }),
  response({
    id: "free-models-per-day",
    kind: "recorded",
    source: "Gitlawb/openclaude#936",
    status: 429,
    body: {
      error: {
        message: "Rate limit exceeded: free-models-per-day. Add 10 credits to unlock 1000 free model requests per day",
        code: 429,
        metadata: {
          headers: {
            "X-RateLimit-Limit": "50",
            "X-RateLimit-Remaining": "0",
            "X-RateLimit-Reset": String(Date.UTC(2026, 2, 2))
          },
          provider_name: null
        }
      }
    },
    expected: { reason: "quota-exhausted", retryable: true, status: 429, retryAfterMs: 12 * 3_600_000 }
  }),
  response({
    id: "free-models-per-day-without-reset",
    kind: "recorded",
    source: "Gitlawb/openclaude#1549",
    status: 429,
    body: '{"error":{"message":"Rate limit exceeded: free-models-per-day-high-balance.","type":"rate_limit_error","code":"429"}}',
    expected: { reason: "quota-exhausted", retryable: false, status: 429, code: "rate_limit_error" }
  }),
  response({
    id: "more-credits",
    kind: "recorded",
    source: "Gitlawb/openclaude#1125",
    status: 402,
    body: { error: { message: CREDITS, code: 402, metadata: { provider_name: null } }, user_id: "user_3D0IV" },
    expected: { reason: "quota-exhausted", retryable: false, status: 402, message: CREDITS }
  }),
  response({
    id: "insufficient-credits",
    kind: "recorded",
    source: "open-assistant-org/open-assistant#80",
    status: 402,
    body: {
      error: {
        message: "Insufficient credits. Add more using https://openrouter.ai/settings/credits",
        code: 402,
        metadata: {
          limit_source: "openrouter_credits",
          remedy_hint: "Add credits at https://openrouter.ai/settings/credits, or lower max_tokens / prompt size."
        }
      }
    },
    expected: { reason: "quota-exhausted", retryable: false, status: 402, code: "openrouter_credits" }
  }),
  response({
    id: "error-in-error",
    kind: "recorded",
    source: "tailcallhq/forgecode#571",
    status: 402,
    body: {
      error: {
        error: {
          message:
            "More credits are required to run this request. 128000 token capacity required, 19484 available. To increase, visit https://openrouter.ai/settings/keys and create a key with a higher limit",
          code: 402
        },
        code: 402
      }
    },
    expected: { reason: "quota-exhausted", retryable: false, status: 402 }
  }),
  response({
    id: "credits-in-flight",
    kind: "constructed",
    source: "https://openrouter.ai/docs/projects/docs/api_reference/errors-and-debugging (in-flight spending budget)",
    status: 402,
    headers: { "retry-after": "5" },
    body: {
      error: {
        message: "In-flight spending budget exhausted",
        code: 402,
        metadata: { limit_source: "openrouter_in_flight_budget" }
      }
    },
    expected: {
      reason: "quota-exhausted",
      retryable: true,
      status: 402,
      code: "openrouter_in_flight_budget",
      retryAfterMs: 5000
    }
  }),
  response({
    id: "no-endpoint-with-tools",
    kind: "recorded",
    source: "Routstr/routstr-core#554",
    status: 404,
    body: {
      error: {
        message:
          "No endpoints found that support tool use. To learn more about provider routing, visit: https://openrouter.ai/docs/guides/routing/provider-selection",
        code: 404
      }
    },
    expected: { reason: "model-unavailable", retryable: false, status: 404 }
  }),
  response({
    id: "no-endpoint-for-model",
    kind: "recorded",
    source: "vyancharuk/nodejs-api-boilerplate#16",
    status: 404,
    body: { error: { message: "No endpoints found for nousresearch/hermes-3-llama-3.1-405b:free.", code: 404 } },
    expected: { reason: "model-unavailable", retryable: false, status: 404 }
  }),
  response({
    id: "no-allowed-providers",
    kind: "recorded",
    source: "farion1231/cc-switch#995",
    status: 404,
    body: {
      error: {
        message: "No allowed providers are available for the selected model.",
        code: 404,
        metadata: { available_providers: ["z-ai"], requested_providers: ["anthropic"] }
      }
    },
    expected: { reason: "model-unavailable", retryable: false, status: 404 }
  }),
  response({
    id: "no-endpoint-through-router",
    kind: "recorded",
    source: "musistudio/claude-code-router#251",
    status: 404,
    body: {
      error: {
        message:
          'Error from provider: {"error":{"message":"No endpoints found that support cache control","code":404}}',
        type: "api_error",
        code: "provider_response_error"
      }
    },
    expected: {
      reason: "model-unavailable",
      retryable: false,
      status: 404,
      message: "No endpoints found that support cache control"
    }
  }),
  response({
    id: "moderation",
    kind: "constructed",
    source: `${PAGE} (403 and the shape of moderation errors)`,
    status: 403,
    body: {
      error: {
        message: "Input was flagged",
        code: 403,
        metadata: {
          reasons: ["violence"],
          flagged_input: "rate limit 500 overloaded",
          provider_name: "OpenAI",
          model_slug: "openai/gpt-5"
        }
      }
    },
    expected: { reason: "refused", retryable: false, status: 403 }
  }),
  response({
    id: "invalid-credentials",
    kind: "constructed",
    source: `${PAGE} (401)`,
    status: 401,
    body: { error: { message: "No auth credentials found", code: 401 } },
    expected: { reason: "auth", retryable: false, status: 401 }
  }),
  response({
    id: "timed-out",
    kind: "constructed",
    source: `${PAGE} (408)`,
    status: 408,
    body: { error: { message: "Your request timed out", code: 408 } },
    expected: { reason: "timeout", retryable: true, status: 408 }
  }),
  response({
    id: "model-down",
    kind: "constructed",
    source: `${PAGE} (502)`,
    status: 502,
    body: { error: { message: "Provider returned error", code: 502, metadata: { raw: null, provider_name: "X" } } },
    expected: { reason: "server-error", retryable: true, status: 502, message: "Provider returned error" }
  }),
  response({
    id: "no-provider-available",
    kind: "constructed",
    source: `${PAGE} (503)`,
    status: 503,
    headers: { "retry-after": "30" },
    body: {
      error: { message: "There is no available model provider that meets your routing requirements", code: 503 }
    },
    expected: { reason: "overloaded", retryable: true, status: 503, retryAfterMs: 30_000 }
  }),
  stream({
    id: "error-chunk",
    kind: "recorded",
    source: "diegosouzapw/OmniRoute#8210",
    data: {
      id: "gen-1",
      object: "chat.completion.chunk",
      choices: [],
      error: {
        code: 502,
        message: "Worker local total request limit reached (33/32)",
        metadata: { error_type: "provider_unavailable" }
      }
    },
    expected: { reason: "overloaded", retryable: true, status: 502, code: "provider_unavailable" }
  }),
  stream({
    id: "error-chunk-with-finish-reason",
    kind: "constructed",
    source: `${PAGE} (errors during streaming)`,
    data: {
      id: "cmpl-abc123",
      object: "chat.completion.chunk",
      model: "gpt-5",
      error: { code: "server_error", message: "Provider disconnected unexpectedly" },
      choices: [{ index: 0, delta: { content: "" }, finish_reason: "error" }]
    },
    expected: { reason: "server-error", retryable: true, code: "server_error" }
  }),
  response({
    id: "error-in-choice-of-200",
    kind: "constructed",
    source: `${PAGE} (errors after processing began come with 200)`,
    status: 200,
    body: {
      id: "gen-2",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: "The prompt is too long, said the rate limit." },
          error: { code: 429, message: "Rate limit exceeded", metadata: {} },
          finish_reason: "error"
        }
      ]
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, message: "Rate limit exceeded" }
  }),
  response({
    id: "overflow-behind-placeholder",
    kind: "constructed",
    source: `${PAGE} (provider errors: metadata.raw)`,
    status: 400,
    body: {
      error: {
        message: "Provider returned error",
        code: 400,
        metadata: {
          raw: '{"type":"error","error":{"type":"invalid_request_error","message":"prompt is too long: 210000 tokens > 200000 maximum"}}',
          provider_name: "Anthropic"
        }
      }
    },
    expected: {
      reason: "context-overflow",
      retryable: false,
      status: 400,
      code: "invalid_request_error",
      message: "prompt is too long: 210000 tokens > 200000 maximum"
    }
  }),
  response({
    id: "deepinfra-overflow-as-502",
    kind: "recorded",
    source: "ai-christianson/RA.Aid#41",
    status: 502,
    body: {
      error: {
        message:
          'ConnectionError: {"object":"error","message":"This model\'s maximum context length is 16000 tokens. However, you requested 17165 tokens (13069 in the messages, 4096 in the completion). Please reduce the length of the messages or completion.","type":"BadRequestError","param":null,"code":400}',
        code: 502,
        metadata: {
          provider_name: "DeepInfra",
          raw: { error_type: "validation_error", error_message: "ConnectionError: {...}" }
        }
      }
    },
    expected: { reason: "context-overflow", retryable: false, status: 502 }
  })
]
