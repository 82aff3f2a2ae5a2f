import { errorWith, of, type Payload } from "./Payload.ts"

const { response, thrown } = of("deepseek")
const PAGE = "https://api-docs.deepseek.com/quick_start/error_codes"

const error = (message: string, type: string, code: string = type) => ({ error: { message, type, param: null, code } })

export const deepSeek: ReadonlyArray<Payload> = [
  thrown({
    id: "insufficient-balance",
    kind: "recorded",
    source: "continuedev/continue#11787",
    error: () => errorWith("402 Insufficient Balance", { status: 402 }),
    expected: { reason: "quota-exhausted", retryable: false, status: 402, message: "Insufficient Balance" }
  }),
  response({
    id: "insufficient-balance-body",
    kind: "constructed",
    source: `${PAGE} (402)`,
    status: 402,
    body: error("Insufficient Balance", "unknown_error", "invalid_request_error"),
    expected: { reason: "quota-exhausted", retryable: false, status: 402 }
  }),
  response({
    id: "context-length",
    kind: "recorded",
    source: "NoFxAiOS/nofx#1278",
    status: 400,
    body: error(
      "This model's maximum context length is 131072 tokens. However, you requested 141980 tokens (133980 in the messages, 8000 in the completion). Please reduce the length of the messages or completion.",
      "invalid_request_error"
    ),
    expected: { reason: "context-overflow", retryable: false, status: 400, code: "invalid_request_error" }
  }),
  thrown({
    id: "context-length-through-litellm",
    kind: "recorded",
    source: "BerriAI/litellm#10431",
    error: () =>
      new Error(
        'litellm.ContextWindowExceededError: litellm.BadRequestError: ContextWindowExceededError: DeepseekException - {"error":{"message":"This model\'s maximum context length is 65536 tokens. However, you requested 68161 tokens (68161 in the messages, 0 in the completion). Please reduce the length of the messages or completion.","type":"invalid_request_error","param":null,"code":"invalid_request_error"}}'
      ),
    expected: { reason: "context-overflow", retryable: false }
  }),
  response({
    id: "authentication",
    kind: "constructed",
    source: `${PAGE} (401)`,
    status: 401,
    body: error("Authentication Fails (no such user)", "authentication_error", "invalid_request_error"),
    expected: { reason: "auth", retryable: false, status: 401, code: "authentication_error" }
  }),
  response({
    id: "invalid-parameters",
    kind: "constructed",
    source: `${PAGE} (422)`,
    status: 422,
    body: error("Your request contains invalid parameters", "invalid_request_error"),
    expected: { reason: "bad-request", retryable: false, status: 422 }
  }),
  response({
    id: "rate-limit",
    kind: "constructed",
    source: `${PAGE} (429)`,
    status: 429,
    body: error("You are sending requests too quickly", "rate_limit_reached_error"),
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "rate_limit_reached_error" }
  }),
  response({
    id: "server-error",
    kind: "constructed",
    source: `${PAGE} (500)`,
    status: 500,
    body: error("Our server encounters an issue", "server_error"),
    expected: { reason: "server-error", retryable: true, status: 500, code: "server_error" }
  }),
  response({
    id: "server-overloaded",
    kind: "constructed",
    source: `${PAGE} (503)`,
    status: 503,
    body: "Server overloaded, please try again later.",
    expected: {
      reason: "overloaded",
      retryable: true,
      status: 503,
      message: "Server overloaded, please try again later."
    }
  })
]
