import { errorWith, of, type Payload } from "./Payload.ts"

const { response, thrown } = of("copilot")

export const copilot: ReadonlyArray<Payload> = [
  response({
    id: "token-usage",
    kind: "recorded",
    source: "github/copilot-cli#793",
    status: 429,
    body: {
      message:
        "Sorry, you have exceeded your Copilot token usage. Please review our [Terms of Service](https://docs.github.com/en/site-policy/github-terms/github-terms-of-service).",
      code: "rate_limited"
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "rate_limited" }
  }),
  thrown({
    id: "wait-of-days",
    kind: "recorded",
    source: "github/copilot-cli#2696",
    error: () =>
      errorWith(
        "Sorry, you've hit a rate limit that restricts the number of Copilot model requests you can make within a specific time period. Please try again in 58 hours. Please review our Terms of Service (https://docs.github.com/site-policy/github-terms/github-terms-of-service).",
        { status: 429 }
      ),
    expected: { reason: "rate-limited", retryable: true, status: 429, retryAfterMs: 208800000 }
  }),
  thrown({
    id: "wait-of-seconds",
    kind: "recorded",
    source: "github/copilot-cli#2787",
    error: () =>
      errorWith(
        "You've hit your global rate limit. Please upgrade your plan or wait 6 seconds for your limit to reset.",
        { status: 429 }
      ),
    expected: { reason: "rate-limited", retryable: true, status: 429, retryAfterMs: 6000 }
  }),
  response({
    id: "words-alone",
    kind: "recorded",
    source: "jjleng/copilot-more#34",
    status: 429,
    body: "rate limit exceeded",
    expected: { reason: "rate-limited", retryable: true, status: 429 }
  }),
  thrown({
    id: "model-limit",
    kind: "recorded",
    source: "microsoft/vscode-copilot-release#7132",
    error: () =>
      errorWith(
        "Sorry, you have exhausted this model's rate limit. Please wait a moment before trying again, or switch to a different model.",
        { status: 429 }
      ),
    expected: { reason: "rate-limited", retryable: true, status: 429, scope: "model" }
  }),
  response({
    id: "model-not-supported",
    kind: "recorded",
    source: "caozhiyuan/copilot-api#253",
    status: 400,
    body: {
      error: {
        message: "The requested model is not supported.",
        code: "model_not_supported",
        param: "model",
        type: "invalid_request_error"
      }
    },
    expected: { reason: "model-unavailable", retryable: false, status: 400, code: "model_not_supported" }
  })
]
