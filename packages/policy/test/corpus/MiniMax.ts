import { of, type Payload } from "./Payload.ts"

const { response } = of("minimax")

export const miniMax: ReadonlyArray<Payload> = [
  response({
    id: "balance-at-500",
    kind: "recorded",
    source: "MiniMax-AI/MiniMax-M2#62",
    status: 500,
    body: {
      type: "error",
      error: { type: "api_error", message: "insufficient balance (1008)" },
      request_id: "05997465cd2ee4bd50b24b216c911b75"
    },
    expected: { reason: "quota-exhausted", retryable: false, status: 500, code: "api_error" }
  }),
  response({
    id: "balance-at-429",
    kind: "recorded",
    source: "modelscope/modelscope#1691",
    status: 429,
    body: {
      error: { http_code: "429", message: "insufficient balance (1008)", type: "insufficient_balance_error" },
      request_id: "xxxx"
    },
    expected: { reason: "quota-exhausted", retryable: false, status: 429, code: "insufficient_balance_error" }
  }),
  response({
    id: "five-hours-used",
    kind: "recorded",
    source: "MiniMax-AI/MiniMax-M2.7#36",
    status: 429,
    body: {
      type: "error",
      error: {
        type: "rate_limit_error",
        message:
          "usage limit exceeded, 5-hour usage limit reached for Token Plan Starter (0/0 used), resets at 2026-03-01T15:00:00Z (2056)"
      },
      request_id: "065651beccc4579e5c7e66c939d1987e"
    },
    expected: {
      reason: "quota-exhausted",
      retryable: true,
      status: 429,
      code: "rate_limit_error",
      retryAfterMs: 10800000
    }
  })
]
