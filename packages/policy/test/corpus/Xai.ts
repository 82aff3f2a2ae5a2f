import { errorWith, of, type Payload } from "./Payload.ts"

const { response, stream, thrown } = of("xai")
const PAGE = "https://docs.x.ai/developers/debugging"
const SPENT =
  "Your team 16f2151a has either used all available credits or reached its monthly spending limit. To continue making API requests, please purchase more credits or raise your spending limit."

export const xai: ReadonlyArray<Payload> = [
  response({
    id: "credits-used",
    kind: "constructed",
    source: `${PAGE} (429), in the words of continuedev/continue#10740`,
    status: 429,
    body: { code: "Some resource has been exhausted", error: SPENT },
    expected: { reason: "quota-exhausted", retryable: false, status: 429, message: SPENT }
  }),
  thrown({
    id: "credits-used-message-only",
    kind: "recorded",
    source: "continuedev/continue#10373",
    error: () => errorWith(`429 "${SPENT}"`, { status: 429 }),
    expected: { reason: "quota-exhausted", retryable: false, status: 429, message: SPENT }
  }),
  stream({
    id: "credits-used-403",
    kind: "recorded",
    source: "Anantys-oss/koan#2412",
    data: {
      type: "error",
      message: `Internal error: ${JSON.stringify({
        message: `API error (status 403 Forbidden): permission-denied: ${SPENT}

Request URL: https://cli-chat-proxy.grok.com/v1/responses`,
        http_status: 403
      })}`
    },
    expected: { reason: "quota-exhausted", retryable: false, status: 403 }
  }),
  response({
    id: "out-of-credits",
    kind: "recorded",
    source: "Wei-Shaw/sub2api#4069",
    status: 403,
    body: {
      code: "***",
      error:
        "You have run out of credits or need a Grok subscription. Add credits at https://grok.com/?_s=usage or upgrade at https://grok.com/supergrok."
    },
    expected: { reason: "quota-exhausted", retryable: false, status: 403 }
  }),
  response({
    id: "new-team-without-credits",
    kind: "recorded",
    source: "griptape-ai/griptape-nodes-engine#1079",
    status: 403,
    body: {
      code: "The caller does not have permission to execute the specified operation",
      error:
        "Your newly created teams doesn't have any credits yet. You can purchase credits on https://console.x.ai/team/c853730f."
    },
    expected: { reason: "quota-exhausted", retryable: false, status: 403 }
  }),
  thrown({
    id: "prompt-too-long",
    kind: "recorded",
    source: "cline/cline#3120",
    error: () =>
      errorWith('400 "This model\'s maximum prompt length is 131072 but the request contains 136973 tokens."', {
        status: 400
      }),
    expected: {
      reason: "context-overflow",
      retryable: false,
      status: 400,
      message: "This model's maximum prompt length is 131072 but the request contains 136973 tokens."
    }
  }),
  response({
    id: "prompt-too-long-body",
    kind: "constructed",
    source: `${PAGE} (400: a body specified an invalid argument), in the words of cline/cline#3120`,
    status: 400,
    body: {
      code: "Client specified an invalid argument",
      error: "This model's maximum prompt length is 131072 but the request contains 136973 tokens."
    },
    expected: { reason: "context-overflow", retryable: false, status: 400 }
  }),
  response({
    id: "wrong-key-at-400",
    kind: "constructed",
    source: `${PAGE} (400: an incorrect API key is supplied)`,
    status: 400,
    body: {
      code: "Client specified an invalid argument",
      error: "Incorrect API key provided: xa***bc. You can obtain an API key from https://console.x.ai."
    },
    expected: { reason: "auth", retryable: false, status: 400 }
  }),
  response({
    id: "no-authorization",
    kind: "constructed",
    source: `${PAGE} (401 Unauthorized)`,
    status: 401,
    body: { error: "No authorization header or an invalid authorization token is provided." },
    expected: { reason: "auth", retryable: false, status: 401 }
  }),
  response({
    id: "model-not-found",
    kind: "constructed",
    source: `${PAGE} (404 Not Found: the model does not exist)`,
    status: 404,
    body: {
      code: "Some requested entity was not found",
      error: "The model grok-9 does not exist or your team 16f2151a does not have access to it."
    },
    expected: { reason: "model-unavailable", retryable: false, status: 404 }
  }),
  response({
    id: "too-many-requests",
    kind: "constructed",
    source: `${PAGE} (429 Too Many Requests)`,
    status: 429,
    body: { code: "Some resource has been exhausted", error: "Too many requests, you are being rate limited." },
    expected: { reason: "rate-limited", retryable: true, status: 429 }
  })
]
