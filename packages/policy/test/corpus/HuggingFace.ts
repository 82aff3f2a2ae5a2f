/** Hugging Face's router, and its text-generation-inference (TGI). */
import { errorWith, of, type Payload } from "./Payload.ts"

const { response, thrown } = of("huggingface")

export const huggingFace: ReadonlyArray<Payload> = [
  response({
    id: "tgi-too-long",
    kind: "recorded",
    source: "bytedance/UI-TARS-desktop#626",
    status: 422,
    body: {
      error:
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 65537. Given: 79993 `inputs` tokens and 1024 `max_new_tokens`",
      error_type: "validation"
    },
    expected: { reason: "context-overflow", retryable: false, status: 422, code: "validation" }
  }),
  thrown({
    id: "tgi-too-long-without-numbers",
    kind: "recorded",
    source: "barun-saha/slide-deck-ai#44",
    error: () =>
      errorWith(
        "Input validation error: `inputs` tokens + `max_new_tokens` must be <= 32768. Given: X `inputs` tokens and Y `max_new_tokens`",
        { status: 422 },
        "ValidationError"
      ),
    expected: { reason: "context-overflow", retryable: false, status: 422 }
  }),
  response({
    id: "tgi-overloaded",
    kind: "recorded",
    source: "philschmid/easyllm#34",
    status: 429,
    body: { error: "Model is overloaded", error_type: "overloaded" },
    expected: { reason: "overloaded", retryable: true, status: 429, code: "overloaded" }
  }),
  response({
    id: "credits-used",
    kind: "recorded",
    source: "huggingface/agents-course#386",
    status: 402,
    body: {
      error:
        "You have exceeded your monthly included credits for Inference Providers. Subscribe to PRO to get 20x more monthly included credits."
    },
    expected: { reason: "quota-exhausted", retryable: false, status: 402 }
  }),
  thrown({
    id: "model-without-provider",
    kind: "recorded",
    source: "cline/cline#5098",
    error: () =>
      errorWith(
        "400 The requested model 'moonshotai/Kimi-K2-Instruct' is not supported by any provider you have enabled.",
        { status: 400 }
      ),
    expected: { reason: "model-unavailable", retryable: false, status: 400 }
  }),
  response({
    id: "model-not-at-provider",
    kind: "recorded",
    source: "huggingface/huggingface.js#2225",
    status: 400,
    body: { error: "Model not supported by provider together" },
    expected: { reason: "model-unavailable", retryable: false, status: 400 }
  }),
  response({
    id: "endpoint-paused",
    kind: "recorded",
    source: "huggingface/agents-course#568",
    status: 400,
    body: "Bad Request: The endpoint is paused, ask a maintainer to restart it",
    expected: { reason: "bad-request", retryable: false, status: 400 }
  })
]
