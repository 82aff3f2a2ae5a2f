import { errorWith, of, type Payload } from "./Payload.ts"

const { response, stream, thrown } = of("bedrock")

export const bedrock: ReadonlyArray<Payload> = [
  response({
    id: "model-identifier",
    kind: "recorded",
    source: "iOfficeAI/AionCore#377",
    status: 400,
    headers: { "x-amzn-errortype": "ValidationException:http://internal.amazon.com/coral/com.amazon.bedrock/" },
    body: { message: "The provided model identifier is invalid." },
    expected: { reason: "model-unavailable", retryable: false, status: 400 }
  }),
  thrown({
    id: "model-identifier-from-sdk",
    kind: "recorded",
    source: "earendil-works/pi#4993",
    error: () =>
      errorWith(
        "Validation error: The provided model identifier is invalid.",
        { $metadata: { httpStatusCode: 400 } },
        "ValidationException"
      ),
    expected: { reason: "model-unavailable", retryable: false, status: 400 }
  }),
  thrown({
    id: "tokens-per-day",
    kind: "recorded",
    source: "minorun365/agent-book#29",
    error: () =>
      errorWith(
        "Too many tokens per day, please wait before trying again.",
        { $metadata: { httpStatusCode: 429 } },
        "ThrottlingException"
      ),
    expected: { reason: "quota-exhausted", retryable: false, status: 429 }
  }),
  response({
    id: "tokens-per-minute",
    kind: "recorded",
    source: "aws-samples/amazon-bedrock-client-for-mac#99",
    status: 429,
    headers: { "x-amzn-errortype": "ThrottlingException:http://internal.amazon.com/coral/com.amazon.bedrock/" },
    body: { message: "Too many tokens, please wait before trying again." },
    expected: { reason: "rate-limited", retryable: true, status: 429 }
  }),
  thrown({
    id: "throttled-without-words",
    kind: "recorded",
    source: "posit-dev/positron#7844",
    error: () =>
      errorWith(
        "",
        { $fault: "client", $metadata: { httpStatusCode: 429, attempts: 3, totalRetryDelay: 787 } },
        "ThrottlingException"
      ),
    expected: { reason: "rate-limited", retryable: true, status: 429 }
  }),
  thrown({
    id: "on-demand-model",
    kind: "recorded",
    source: "anthropics/claude-code#1466",
    error: () =>
      errorWith(
        "Invocation of model ID anthropic.claude-sonnet-4-20250514-v1:0 with on-demand throughput isn’t supported. Retry your request with the ID or ARN of an inference profile that contains this model.",
        { $metadata: { httpStatusCode: 400 } },
        "ValidationException"
      ),
    expected: { reason: "model-unavailable", retryable: false, status: 400 }
  }),
  thrown({
    id: "max-tokens-too-large",
    kind: "recorded",
    source: "RooCodeInc/Roo-Code#248",
    error: () =>
      errorWith(
        "The maximum tokens you requested exceed the model limit of 4096. Try again with a maximum tokens value lower than 4096.",
        { $metadata: { httpStatusCode: 400 } },
        "ValidationException"
      ),
    expected: { reason: "bad-request", retryable: false, status: 400 }
  }),
  stream({
    id: "tokens-in-a-stream",
    kind: "recorded",
    source: "ranxianglei/billion-context-pi#169",
    data: { message: "Too many tokens, please wait before trying again." },
    expected: { reason: "rate-limited", retryable: true }
  })
]
