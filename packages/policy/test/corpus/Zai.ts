import { errorWith, of, type Payload } from "./Payload.ts"

const { response, thrown } = of("zai")

export const zai: ReadonlyArray<Payload> = [
  response({
    id: "five-hours-used",
    kind: "recorded",
    source: "hugalafutro/model-hotel#955",
    status: 429,
    body: {
      error: { code: "1308", message: "Usage limit reached for 5 hour. Your limit will reset at 2026-03-01 23:38:28" }
    },
    expected: { reason: "quota-exhausted", retryable: true, status: 429, code: "1308", retryAfterMs: 13108000 }
  }),
  response({
    id: "five-hours-used-chinese",
    kind: "recorded",
    source: "dirge-code/dirge#818",
    status: 429,
    body: { error: { code: "1308", message: "已达到 5\n小时的使用上限。您的限额将在 2026-03-01 23:41:44 重置。" } },
    expected: { reason: "quota-exhausted", retryable: true, status: 429, code: "1308", retryAfterMs: 13304000 }
  }),
  response({
    id: "week-used",
    kind: "recorded",
    source: "Yeachan-Heo/gajae-code#1821",
    status: 429,
    body: {
      type: "error",
      error: {
        type: "rate_limit_error",
        code: "1310",
        message: "[1310][Weekly/Monthly Limit Exhausted. Your limit will reset at 2026-03-07 07:49:08]"
      }
    },
    expected: { reason: "quota-exhausted", retryable: true, status: 429, code: "1310", retryAfterMs: 474548000 }
  }),
  thrown({
    id: "five-hours-used-message-only",
    kind: "recorded",
    source: "NousResearch/hermes-agent#103038",
    error: () =>
      errorWith("Usage limit reached for 5 hour. Your limit will reset at 2026-03-01 23:01:25", { status: 429 }),
    expected: { reason: "quota-exhausted", retryable: true, status: 429, retryAfterMs: 10885000 }
  }),
  thrown({
    id: "fair-usage",
    kind: "recorded",
    source: "zai-org/GLM-5#77",
    error: () =>
      errorWith(
        "[1313][Your account's current usage pattern does not comply with the Fair Usage Policy, and your request frequency has been limited. For details, please refer to the Subscription Service Agreement. To restore access, please submit a request.][20260610204201088e4da7a3644b8c]",
        { status: 429 }
      ),
    expected: { reason: "rate-limited", retryable: true, status: 429 }
  }),
  response({
    id: "high-concurrency",
    kind: "recorded",
    source: "kaitranntt/ccs#402",
    status: 429,
    body: {
      error: {
        code: "1302",
        message:
          "High concurrency usage of this API, please reduce concurrency or contact customer service to increase limits"
      }
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "1302" }
  }),
  response({
    id: "rate-limit",
    kind: "recorded",
    source: "kaitranntt/ccs#536",
    status: 429,
    body: {
      error: { code: "1302", message: "Rate limit reached for requests" },
      request_id: "20260212064144579f5b8f457f4e06"
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "1302" }
  }),
  response({
    id: "rate-limit-of-an-account-chinese",
    kind: "recorded",
    source: "zhukunpenglinyutong/jetbrains-cc-gui#897",
    status: 429,
    body: {
      error: { code: "1302", message: "您的账户已达到速率限制，请您控制请求频率" },
      request_id: "2026041314372115099c8b3a024339"
    },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "1302", scope: "account" }
  }),
  response({
    id: "busy-model-chinese",
    kind: "recorded",
    source: "HKUDS/nanobot#3864",
    status: 429,
    body: { error: { code: "1305", message: "该模型当前访问量过大，请您稍后再试" } },
    expected: { reason: "rate-limited", retryable: true, status: 429, code: "1305" }
  })
]
