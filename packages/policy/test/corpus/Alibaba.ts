import { errorWith, of, type Payload } from "./Payload.ts"

const { response, thrown } = of("alibaba")

export const alibaba: ReadonlyArray<Payload> = [
  response({
    id: "free-tier-only",
    kind: "recorded",
    source: "666ghj/BettaFish#609",
    status: 403,
    body: {
      error: {
        message:
          'The free tier of the model has been exhausted. If you wish to continue access the model on a paid basis, please disable the "use free tier only" mode in the management console.',
        type: "AllocationQuota.FreeTierOnly",
        param: null,
        code: "AllocationQuota.FreeTierOnly"
      },
      id: "chatcmpl-d4397d9d",
      request_id: "d4397d9d"
    },
    expected: {
      reason: "quota-exhausted",
      retryable: false,
      status: 403,
      code: "AllocationQuota.FreeTierOnly",
      scope: "model"
    }
  }),
  thrown({
    id: "free-tier-only-message-only",
    kind: "recorded",
    source: "APIParkLab/APIPark#394",
    error: () =>
      errorWith(
        '400 The free tier of the model has been exhausted. If you wish to continue access the model on a paid basis, please disable the "use free tier only" mode in the management console.',
        { status: 400 }
      ),
    expected: { reason: "quota-exhausted", retryable: false, status: 400, scope: "model" }
  }),
  thrown({
    id: "free-quota",
    kind: "recorded",
    source: "QwenLM/qwen-code#1742",
    error: () => errorWith("429 Free allocated quota exceeded.", { status: 429 }),
    expected: { reason: "quota-exhausted", retryable: false, status: 429 }
  }),
  response({
    id: "invalid-parameter",
    kind: "recorded",
    source: "aptdnfapt/qwen-code-oai-proxy#14",
    status: 400,
    body: {
      error: { code: "invalid_parameter_error", message: "bad request", param: null, type: "invalid_request_error" },
      request_id: "f2ce8b99"
    },
    expected: { reason: "bad-request", retryable: false, status: 400, code: "invalid_parameter_error" }
  })
]
