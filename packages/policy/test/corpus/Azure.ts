import { of, type Payload } from "./Payload.ts"

const { response, thrown } = of("azure")
const PAGE = "https://learn.microsoft.com/azure/ai-foundry/openai/reference"

const throttled = (seconds: number) =>
  `Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2024-08-01-preview have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after ${seconds} seconds. Please go here: https://aka.ms/oai/quotaincrease if you would like to further increase the default rate limit.`
const FILTERED =
  "The response was filtered due to the prompt triggering Azure OpenAI's content management policy. Please modify your prompt and retry. To learn more about our content filtering policies please read our documentation: https://go.microsoft.com/fwlink/?linkid=2198766"

export const azure: ReadonlyArray<Payload> = [
  response({
    id: "token-rate-limit-for-a-day",
    kind: "recorded",
    source: "vanderschaarlab/climb#1",
    status: 429,
    body: { error: { code: "429", message: throttled(86_400) } },
    expected: {
      reason: "rate-limited",
      retryable: true,
      status: 429,
      message: throttled(86_400),
      retryAfterMs: 86_400_000
    }
  }),
  response({
    id: "token-rate-limit-with-header",
    kind: "recorded",
    source: "DmitryKatson/bc-code-interpreter#2",
    status: 429,
    headers: { "retry-after": "60", "retry-after-ms": "59500" },
    body: { error: { code: "429", message: throttled(60) } },
    expected: { reason: "rate-limited", retryable: true, status: 429, retryAfterMs: 59_500 }
  }),
  thrown({
    id: "token-rate-limit-text-only",
    kind: "recorded",
    source: "microsoft/sample-app-aoai-chatGPT#406",
    error: () =>
      new Error(
        "Requests to the Creates a completion for the chat message Operation under Azure OpenAI API version 2023-03-15-preview have exceeded token rate limit of your current OpenAI S0 pricing tier. Please retry after 9 seconds."
      ),
    expected: { reason: "rate-limited", retryable: true, retryAfterMs: 9000 }
  }),
  response({
    id: "throttled-through-litellm",
    kind: "recorded",
    source: "jasonacox/TinyLLM#17",
    status: 429,
    body: {
      error: {
        message:
          "litellm.RateLimitError: AzureException RateLimitError - Error code: 429 - {'error': {'code': '429', 'message': 'Requests to the ChatCompletions_Create Operation under Azure OpenAI API version 2023-05-15 have exceeded token rate limit of your current AIServices S0 pricing tier.'}}\nReceived Model Group=azure-gpt-4o-mini\nAvailable Model Group Fallbacks=None",
        type: "throttling_error",
        param: null,
        code: "429"
      }
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "throttling_error" }
  }),
  response({
    id: "content-filter",
    kind: "recorded",
    source: "openai/openai-python#331",
    status: 400,
    body: { error: { message: FILTERED, type: null, param: "prompt", code: "content_filter", status: 400 } },
    expected: { reason: "refused", retryable: false, status: 400, code: "content_filter" }
  }),
  response({
    id: "content-filter-with-details",
    kind: "recorded",
    source: "Gitlawb/openclaude#273",
    status: 400,
    body: {
      error: {
        message: FILTERED,
        type: null,
        param: "prompt",
        code: "content_filter",
        status: 400,
        innererror: {
          code: "ResponsibleAIPolicyViolation",
          content_filter_result: { jailbreak: { filtered: true, detected: true } }
        }
      }
    },
    expected: { reason: "refused", retryable: false, status: 400, code: "content_filter" }
  }),
  response({
    id: "content-filter-through-litellm",
    kind: "recorded",
    source: "BerriAI/litellm#16231",
    status: 400,
    body: {
      error: {
        message: `litellm.BadRequestError: litellm.ContentPolicyViolationError: AzureException - ${FILTERED}\nmodel=azure/gpt-4o-new-test. content_policy_fallback=None. fallbacks=None.`,
        type: null,
        param: null,
        code: "400",
        provider_specific_fields: { innererror: { code: "ResponsibleAIPolicyViolation" } }
      }
    },
    expected: { reason: "refused", retryable: false, status: 400 }
  }),
  response({
    id: "deployment-not-found",
    kind: "recorded",
    source: "chatboxai/chatbox#861",
    status: 404,
    body: {
      error: {
        code: "DeploymentNotFound",
        message:
          "The API deployment for this resource does not exist. If you created the deployment within the last 5 minutes, please wait a moment and try again."
      }
    },
    expected: { reason: "model-unavailable", retryable: false, status: 404, code: "DeploymentNotFound" }
  }),
  response({
    id: "wrong-path",
    kind: "constructed",
    source: `${PAGE} (404: the path or the API version does not exist)`,
    status: 404,
    body: { error: { code: "404", message: "Resource not found" } },
    expected: { reason: "bad-request", retryable: false, status: 404 }
  }),
  response({
    id: "wrong-key",
    kind: "constructed",
    source: `${PAGE} (401 Access denied)`,
    status: 401,
    body: {
      error: {
        code: "401",
        message:
          "Access denied due to invalid subscription key or wrong API endpoint. Make sure to provide a valid key for an active subscription and use a correct regional API endpoint for your resource."
      }
    },
    expected: { reason: "auth", retryable: false, status: 401 }
  }),
  response({
    id: "gateway-without-token",
    kind: "constructed",
    source: "https://learn.microsoft.com/azure/api-management (validate-jwt: statusCode and message)",
    status: 401,
    body: {
      statusCode: 401,
      message: "Unauthorized. Access token is missing, invalid, audience is incorrect, or have expired."
    },
    expected: { reason: "auth", retryable: false, status: 401 }
  }),
  response({
    id: "operation-timeout",
    kind: "constructed",
    source: `${PAGE} (408 Timeout)`,
    status: 408,
    body: { error: { code: "Timeout", message: "The operation was timeout." } },
    expected: { reason: "timeout", retryable: true, status: 408, code: "Timeout" }
  }),
  response({
    id: "high-demand-through-reseller",
    kind: "recorded",
    source: "pollinations/pollinations#6260",
    status: 429,
    body: {
      success: false,
      error: {
        message:
          "azure-openai error: The system is currently experiencing high demand and cannot process your request. Your request exceeds the maximum usage size allowed during peak load. Please retry after 20 seconds. For improved latency reliability, consider switching to Provisioned Throughput.",
        code: "RATE_LIMITED",
        timestamp: "2025-12-21T01:27:42.111Z"
      },
      status: 429
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "RATE_LIMITED", retryAfterMs: 20_000 }
  }),
  thrown({
    id: "high-demand-text-only",
    kind: "recorded",
    source: "markusylisiurunen/tau#79",
    error: () =>
      new Error(
        "The system is currently experiencing high demand and cannot process your request. Your request exceeds the maximum usage size allowed during peak load. For improved capacity reliability, consider switching to Provisioned Throughput."
      ),
    expected: { reason: "overloaded", retryable: true }
  })
]
