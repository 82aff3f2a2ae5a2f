/** Servers that people run themselves: Ollama, vLLM, SGLang, llama.cpp and its Python binding, LM Studio. */
import { errorWith, of, type Payload } from "./Payload.ts"

const { response, thrown } = of("local")

export const local: ReadonlyArray<Payload> = [
  response({
    id: "sglang-too-long",
    kind: "recorded",
    source: "QwenLM/Qwen3#1321",
    status: 400,
    body: {
      object: "error",
      message: "The input (61709 tokens) is longer than the model's context length (40960 tokens).",
      type: "BadRequestError",
      param: null,
      code: 400
    },
    expected: { reason: "context-overflow", retryable: false, status: 400, code: "BadRequestError" }
  }),
  thrown({
    id: "llama-cpp-python-too-long",
    kind: "recorded",
    source: "rllm-team/rllm#55",
    error: () => errorWith("Requested tokens (516) exceed context window of 512", { status: 400 }, "ValueError"),
    expected: { reason: "context-overflow", retryable: false, status: 400 }
  }),
  thrown({
    id: "llama-cpp-python-without-status",
    kind: "recorded",
    source: "fedora-copr/logdetective-website#193",
    error: () => errorWith("Requested tokens (2285) exceed context window of 2048", {}, "ValueError"),
    expected: { reason: "context-overflow", retryable: false }
  }),
  response({
    id: "vllm-prompt-too-long",
    kind: "recorded",
    source: "Gabesarch/grounded-rl#16",
    status: 400,
    body: {
      object: "error",
      message:
        "The decoder prompt (length 10127) is longer than the maximum model length of 8192. Make sure that `max_model_len` is no smaller than the number of text tokens plus multimodal tokens. For image inputs, the number of image tokens depends on the number of images, and possibly their aspect ratios as well.",
      type: "BadRequestError",
      param: null,
      code: 400
    },
    expected: { reason: "context-overflow", retryable: false, status: 400, code: "BadRequestError" }
  }),
  response({
    id: "vllm-model-not-found",
    kind: "recorded",
    source: "vllm-project/vllm#3485",
    status: 404,
    body: {
      object: "error",
      message: "The model `Qwen1.5-14B-Chat-GPTQ-Int8` does not exist.",
      type: "NotFoundError",
      param: null,
      code: 404
    },
    expected: { reason: "model-unavailable", retryable: false, status: 404 }
  }),
  thrown({
    id: "llama-cpp-too-long",
    kind: "recorded",
    source: "ItzCrazyKns/Vane#1031",
    error: () =>
      errorWith("400 request (481909 tokens) exceeds the available context size (32768 tokens), try increasing it", {
        status: 400
      }),
    expected: { reason: "context-overflow", retryable: false, status: 400 }
  }),
  response({
    id: "ollama-model-not-found",
    kind: "recorded",
    source: "ollama/ollama#15319",
    status: 404,
    body: { error: { message: 'model "gemma4:cloud" not found', type: "not_found_error", param: null, code: null } },
    expected: { reason: "model-unavailable", retryable: false, status: 404, code: "not_found_error" }
  }),
  response({
    id: "ollama-model-not-pulled",
    kind: "recorded",
    source: "PromptEngineer48/Ollama#9",
    status: 404,
    body: { error: "model '7430' not found, try pulling it first" },
    expected: { reason: "model-unavailable", retryable: false, status: 404 }
  }),
  response({
    id: "ollama-subscription",
    kind: "recorded",
    source: "ollama/ollama#15990",
    status: 403,
    body: {
      type: "error",
      error: { type: "permission_error", message: "this model requires a subscription, upgrade for access:" }
    },
    expected: { reason: "auth", retryable: false, status: 403, code: "permission_error" }
  }),
  response({
    id: "ollama-session-limit",
    kind: "recorded",
    source: "continuedev/continue#11444",
    status: 429,
    body: {
      error:
        "you (ae2055838) have reached your session usage limit, upgrade for higher limits: https://ollama.com/upgrade"
    },
    expected: { reason: "quota-exhausted", retryable: false, status: 429 }
  }),
  response({
    id: "ollama-memory",
    kind: "recorded",
    source: "continuedev/continue#11478",
    status: 500,
    body: { error: "model requires more system memory (2.7 GiB) than is available (2.3 GiB)" },
    expected: { reason: "server-error", retryable: true, status: 500 }
  }),
  response({
    id: "ollama-runner-stopped",
    kind: "recorded",
    source: "continuedev/continue#10984",
    status: 500,
    body: {
      error:
        "model runner has unexpectedly stopped, this may be due to resource limitations or an internal error, check ollama server logs for details"
    },
    expected: { reason: "server-error", retryable: true, status: 500 }
  }),
  response({
    id: "ollama-unavailable",
    kind: "recorded",
    source: "continuedev/continue#10319",
    status: 503,
    body: "Service Temporarily Unavailable",
    expected: { reason: "overloaded", retryable: true, status: 503 }
  }),
  thrown({
    id: "lm-studio-model-does-not-load",
    kind: "recorded",
    source: "continuedev/continue#10150",
    error: () => errorWith('400 Failed to load model "gpt-oss-20b". Error: Error loading model.', { status: 400 }),
    expected: { reason: "bad-request", retryable: false, status: 400 }
  }),
  response({
    id: "llama-cpp-context-size-exceeded-at-500",
    kind: "recorded",
    source: "ggml-org/llama.cpp#19774",
    status: 500,
    body: '{"error":{"code":500,"message":"Context size has been exceeded.","type":"server_error"}}',
    expected: { reason: "context-overflow", retryable: false, status: 500, code: "server_error" }
  })
]
