import { errorWith, of, type Payload } from "./Payload.ts"

const { response, thrown } = of("perplexity")

export const perplexity: ReadonlyArray<Payload> = [
  response({
    id: "too-many-prompt-tokens",
    kind: "constructed",
    source: "symfony/ai (the HttpTransport of its Perplexity bridge, and its test)",
    status: 400,
    body: {
      error: { message: "The total length of all messages is too long.", type: "too_many_prompt_tokens", code: 400 }
    },
    expected: { reason: "context-overflow", retryable: false, status: 400, code: "too_many_prompt_tokens" }
  }),
  response({
    id: "prompt-and-output-too-long",
    kind: "recorded",
    source: "OpenRouterTeam/ai-sdk-provider#121",
    status: 400,
    body: {
      error: {
        message:
          "Requested 115120 to generate tokens, following a prompt of length 40055, which exceeds the max limit of 128000 tokens.",
        type: "requested_too_many_tokens",
        code: 400
      }
    },
    expected: { reason: "context-overflow", retryable: false, status: 400, code: "requested_too_many_tokens" }
  }),
  response({
    id: "invalid-model",
    kind: "recorded",
    source: "FerroxLabs/wayland#603",
    status: 400,
    body: {
      error: {
        message:
          "Invalid model 'perplexity/sonar'. Permitted models can be found in the documentation at https://docs.perplexity.ai/docs/getting-started/models.",
        type: "invalid_model",
        code: 400
      }
    },
    expected: { reason: "model-unavailable", retryable: false, status: 400, code: "invalid_model" }
  }),
  thrown({
    id: "invalid-model-message-only",
    kind: "recorded",
    source: "mckaywrigley/chatbot-ui#1836",
    error: () =>
      errorWith(
        "400 Invalid model 'sonar-medium-online'. Permitted models can be found in the documentation at https://docs.perplexity.ai/docs/model-cards.",
        { status: 400 }
      ),
    expected: { reason: "model-unavailable", retryable: false, status: 400 }
  }),
  response({
    // The report typed it by hand and lost some of its punctuation, which is put back here.
    id: "max-tokens-too-small",
    kind: "recorded",
    source: "ITSpecialist111/ai_automation_suggester#171",
    status: 400,
    body: { error: { message: "max_tokens must be at least 16 for sonar.", type: "invalid_parameter", code: 400 } },
    expected: { reason: "bad-request", retryable: false, status: 400, code: "invalid_parameter" }
  })
]
