/** Errors of model gateways between a client and a provider. */
import { of, type Payload } from "./Payload.ts"

const { response, stream, thrown } = of("gateways")

/** Resellers, local servers, and what speaks an OpenAI dialect without being one of the others. */
export const gateways: ReadonlyArray<Payload> = [
  response({
    id: "zen-upstream-429",
    kind: "recorded",
    source: "anomalyco/opencode#29912",
    status: 429,
    body: {
      error: { code: "429", message: "Error from provider (Xiaomi): Too many requests", type: "limitation" }
    },
    expected: {
      reason: "rate-limited",
      retryable: true,
      status: 429,
      message: "Error from provider (Xiaomi): Too many requests"
    }
  }),
  response({
    id: "command-code-500",
    kind: "recorded",
    source: "CommandCodeAI/command-code#785",
    status: 500,
    body: {
      success: false,
      error: {
        code: "INTERNAL_SERVER_ERROR",
        status: 500,
        message: "An unexpected error occurred. Please try again later.",
        docs: "https://commandcode.ai/docs/reference/errors/internal_server_error"
      }
    },
    expected: { reason: "server-error", retryable: true, status: 500, code: "INTERNAL_SERVER_ERROR" }
  }),
  stream({
    id: "provider-disconnected",
    kind: "recorded",
    source: "Augustas11/macprovider#186",
    data: {
      error: {
        message: "Provider disconnected during streaming",
        type: "server_error",
        code: "provider_disconnected"
      }
    },
    expected: { reason: "server-error", retryable: true, code: "server_error" }
  }),
  stream({
    id: "ai-gateway-anthropic-overload",
    kind: "recorded",
    source: "envoyproxy/ai-gateway#2698",
    data: { error: { type: "overloaded_error", message: "Overloaded" } },
    expected: { reason: "overloaded", retryable: true, code: "overloaded_error" }
  }),
  response({
    id: "max-output-tokens",
    kind: "recorded",
    source: "DaviRain-Su/hyper-grok-build#44",
    status: 400,
    body: {
      error: {
        type: "invalid_request_error",
        message: "max_tokens (384000) exceeds model's maximum output tokens (65536) for model deepseek-v4-flash:0731"
      }
    },
    expected: { reason: "bad-request", retryable: false, status: 400, code: "invalid_request_error" }
  }),
  thrown({
    id: "litellm-anthropic-overflow",
    kind: "recorded",
    source: "Aider-AI/aider#3618",
    error: () =>
      new Error(
        'litellm.BadRequestError: AnthropicException - b\'{"type":"error","error":{"type":"invalid_request_error","message":"input length and `max_tokens` exceed context limit: 182831 + 64000 > 200000, decrease input length or `max_tokens` and try again"}}\''
      ),
    expected: { reason: "context-overflow", retryable: false }
  }),
  thrown({
    id: "stream-closed-before-completed",
    kind: "recorded",
    source: "router-for-me/CLIProxyAPI#3153",
    error: () =>
      new Error("stream error: stream disconnected before completion: stream closed before response.completed"),
    expected: { reason: "network", retryable: true }
  }),
  thrown({
    id: "stream-closed-before-finish-reason",
    kind: "recorded",
    source: "ranxianglei/billion-context-omp#105",
    error: () => new Error("OpenAI completions stream closed before a finish_reason was received"),
    expected: { reason: "network", retryable: true }
  }),
  thrown({
    id: "provider-finish-network-error",
    kind: "recorded",
    source: "anomalyco/opencode#44376",
    error: () => new Error("Provider finish_reason: network_error"),
    expected: { reason: "network", retryable: true }
  }),
  response({
    id: "curl-timeout-in-detail",
    kind: "recorded",
    source: "realasfngl/Grok-Api#5",
    status: 500,
    body: {
      detail:
        "Error: Failed to perform, curl: (28) Connection timed out after 30002 milliseconds. See https://curl.se/libcurl/c/libcurl-errors.html first for more details."
    },
    expected: { reason: "server-error", retryable: true, status: 500 }
  }),
  response({
    id: "one-api-upstream-error-of-a-bad-request",
    kind: "recorded",
    source: "songquanpeng/one-api#1290",
    status: 422,
    body: {
      error: {
        message: " (request id: 2024040714324820864326815777479)",
        type: "upstream_error",
        param: "422",
        code: "bad_response_status_code"
      }
    },
    expected: { reason: "bad-request", retryable: false, status: 422 }
  }),
  thrown({
    id: "lm-studio-context",
    kind: "recorded",
    source: "cline/cline#3664",
    error: () =>
      new Error(
        "Trying to keep the first 10136 tokens when context the overflows. However, the model is loaded with context length of only 7866 tokens, which is not enough. Try to load the model with a larger context length, or provide a shorter input."
      ),
    expected: { reason: "context-overflow", retryable: false }
  }),
  response({
    id: "ollama-string-error",
    kind: "constructed",
    source: 'https://github.com/ollama/ollama/blob/main/docs/api.md (errors are {"error": "..."})',
    status: 404,
    body: { error: "model 'llama9' not found" },
    expected: { reason: "model-unavailable", retryable: false, status: 404, message: "model 'llama9' not found" }
  }),
  response({
    id: "llama-cpp-context",
    kind: "constructed",
    source: "ggml-org/llama.cpp tools/server/README.md (exceed_context_size_error)",
    status: 400,
    body: {
      error: {
        code: 400,
        message: "the request exceeds the available context size, try increasing it",
        type: "exceed_context_size_error",
        n_prompt_tokens: 9000,
        n_ctx: 8192
      }
    },
    expected: { reason: "context-overflow", retryable: false, status: 400, code: "exceed_context_size_error" }
  }),
  stream({
    id: "half-a-frame",
    kind: "constructed",
    source: "https://html.spec.whatwg.org/multipage/server-sent-events.html (a frame cut off by a proxy)",
    data: '{"choices":[{"delta":{"content":"The error was: rate limit 500, prompt is too lo',
    expected: { reason: "invalid-response", retryable: true }
  }),
  response({
    id: "answer-instead-of-stream",
    kind: "constructed",
    source: "https://platform.openai.com/docs/api-reference/chat/create (a server that ignores stream: true)",
    status: 200,
    body: {
      id: "chatcmpl-1",
      object: "chat.completion",
      choices: [
        { index: 0, message: { role: "assistant", content: "429 rate limit, overloaded" }, finish_reason: "stop" }
      ]
    },
    expected: { reason: "invalid-response", retryable: true }
  }),
  response({
    id: "fault-at-200",
    kind: "constructed",
    source: "https://platform.minimax.io/docs/api-reference/errorcode (base_resp at HTTP 200)",
    status: 200,
    body: { base_resp: { status_code: 1002, status_msg: "rate limit" } },
    expected: { reason: "rate-limited", retryable: true, message: "rate limit" }
  })
]
