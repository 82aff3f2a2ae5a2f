import { of, type Payload } from "./Payload.ts"

const { response } = of("cohere")

export const cohere: ReadonlyArray<Payload> = [
  response({
    id: "too-many-tokens",
    kind: "recorded",
    source: "cohere-ai/sandbox-topically#4",
    status: 400,
    body: {
      message:
        "too many tokens: total number of tokens (prompt and prediction) cannot exceed 2048 - received 6354. Try using a shorter prompt or a smaller max_tokens value."
    },
    expected: { reason: "context-overflow", retryable: false, status: 400 }
  }),
  response({
    id: "too-many-output-tokens",
    kind: "constructed",
    source: "https://docs.cohere.com/errors-reference (400, an example message)",
    status: 400,
    body: {
      message:
        "too many tokens: max tokens must be less than or equal to 4096, the maximum output for this model - received 8192."
    },
    expected: { reason: "bad-request", retryable: false, status: 400 }
  }),
  response({
    id: "model-removed",
    kind: "recorded",
    source: "pydantic/pydantic-ai#3201",
    status: 404,
    body: {
      id: "b078a1f9-b421-4344-b9b3-be955075b0b0",
      message:
        "model 'command' was removed on September 15, 2025. See https://docs.cohere.com/docs/models#command for a list of models you can use instead."
    },
    expected: { reason: "model-unavailable", retryable: false, status: 404 }
  }),
  response({
    id: "model-removed-in-a-notebook",
    kind: "recorded",
    source: "wandb/edu#164",
    status: 404,
    body: { message: "model 'command-r-plus' was removed on September 15, 2025" },
    expected: { reason: "model-unavailable", retryable: false, status: 404 }
  }),
  response({
    id: "api-removed",
    kind: "recorded",
    source: "sinanuozdemir/quick-start-guide-to-llms#35",
    status: 404,
    body: {
      message:
        "Generate API was removed on September 15 2025. Please migrate to Chat API. See https://docs.cohere.com/docs/migrating-from-cogenerate-to-cochat for details."
    },
    expected: { reason: "model-unavailable", retryable: false, status: 404 }
  }),
  response({
    id: "model-not-found",
    kind: "recorded",
    source: "MaartenGr/BERTopic#1864",
    status: 404,
    body: {
      message:
        "model 'xlarge' not found, make sure the correct model ID was used and that you have access to the model."
    },
    expected: { reason: "model-unavailable", retryable: false, status: 404 }
  })
]
