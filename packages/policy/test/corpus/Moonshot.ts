import { of, type Payload } from "./Payload.ts"

const { response } = of("moonshot")

export const moonshot: ReadonlyArray<Payload> = [
  response({
    id: "no-plan",
    kind: "recorded",
    source: "MoonshotAI/Kimi-K2#5",
    status: 403,
    body: {
      error: {
        message:
          "Your account org-xx<ak-xx> is not active, organization <org-xx> exceeded current quota, please check your plan and billing details",
        type: "exceeded_current_quota_error"
      }
    },
    expected: {
      reason: "quota-exhausted",
      retryable: false,
      status: 403,
      code: "exceeded_current_quota_error",
      scope: "account"
    }
  }),
  response({
    id: "tokens-per-day",
    kind: "recorded",
    source: "MoonshotAI/kimi-cli#1599",
    status: 429,
    body: {
      error: {
        message:
          "Your account org-78cd / proj-a418 <ak-f94z> request reached organization TPD rate limit, current: 1526210, limit: 1500000",
        type: "rate_limit_reached_error"
      }
    },
    expected: {
      reason: "quota-exhausted",
      retryable: false,
      status: 429,
      code: "rate_limit_reached_error",
      scope: "account"
    }
  }),
  response({
    id: "requests-per-minute",
    kind: "recorded",
    source: "LLM-Red-Team/kimi-cc#16",
    status: 429,
    body: {
      error: {
        message:
          "Your account org-e664<ak-f3t8> request reached organization max RPM: 3, please try again after 1 seconds",
        type: "rate_limit_reached_error"
      }
    },
    expected: {
      reason: "rate-limited",
      retryable: true,
      status: 429,
      code: "rate_limit_reached_error",
      retryAfterMs: 1000,
      scope: "account"
    }
  }),
  response({
    id: "project-tokens-per-minute",
    kind: "recorded",
    source: "LLM-Red-Team/kimi-cc#41",
    status: 429,
    body: {
      error: {
        type: "rate_limit_reached_error",
        message:
          "Your account xxxxx / proj-xxxxxx <ak-xxxxx> request reached project TPM rate limit, current: 1410, limit: 100, see https://platform.moonshot.cn/docs/pricing/limits"
      }
    },
    expected: {
      reason: "rate-limited",
      retryable: true,
      status: 429,
      code: "rate_limit_reached_error",
      scope: "account"
    }
  }),
  response({
    id: "too-many-requests-of-all",
    kind: "recorded",
    source: "MoonshotAI/kimi-cli#901",
    status: 429,
    body: {
      error: {
        message: "We're receiving too many requests at the moment. Please wait a moment and try again.",
        type: "rate_limit_reached_error"
      }
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "rate_limit_reached_error" }
  }),
  response({
    id: "engine-overloaded",
    kind: "recorded",
    source: "666ghj/BettaFish#292",
    status: 429,
    body: {
      error: { message: "The engine is currently overloaded, please try again later", type: "engine_overloaded_error" }
    },
    expected: { reason: "overloaded", retryable: true, status: 429, code: "engine_overloaded_error" }
  }),
  response({
    id: "balance-through-a-proxy",
    kind: "recorded",
    source: "Alishahryar1/free-claude-code#1223",
    status: 429,
    body: {
      message:
        "Your account org-abe2 <ak-fbfj> is suspended due to insufficient balance, please recharge your account or check your plan and billing details",
      type: "exceeded_current_quota_error"
    },
    expected: {
      reason: "quota-exhausted",
      retryable: false,
      status: 429,
      code: "exceeded_current_quota_error",
      scope: "account"
    }
  })
]
