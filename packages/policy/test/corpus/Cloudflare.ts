import { of, type Payload } from "./Payload.ts"

const { response, thrown } = of("cloudflare")
const PAGE = "https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/"
const HTML = { "content-type": "text/html; charset=UTF-8", server: "cloudflare" }

const page = (title: string): string => `<!DOCTYPE html>
<!--[if lt IE 7]> <html class="no-js ie6 oldie" lang="en-US"> <![endif]-->
<!--[if gt IE 8]><!--> <html class="no-js" lang="en-US"> <!--<![endif]-->
<head>


<title>${title}</title>
<meta charset="UTF-8" />
<meta http-equiv="Content-Type" content="text/html; charset=UTF-8" />
</head>
<body>
<div id="cf-wrapper"><h2>What can I do?</h2><p>Please try again in a few minutes.</p></div>
</body>
</html>`

export const cloudflare: ReadonlyArray<Payload> = [
  response({
    id: "bad-gateway-short",
    kind: "recorded",
    source: "n3d1117/chatgpt-telegram-bot#637",
    status: 502,
    headers: HTML,
    body: "<html>\r\n<head><title>502 Bad Gateway</title></head>\r\n<body>\r\n<center><h1>502 Bad Gateway</h1></center>\r\n<hr><center>cloudflare</center>\r\n</body>\r\n</html>",
    expected: {
      reason: "server-error",
      retryable: true,
      status: 502,
      message: "502 Bad Gateway (HTTP 502, an HTML page)"
    }
  }),
  response({
    id: "bad-gateway",
    kind: "recorded",
    source: "yoheinakajima/babyagi#64",
    status: 502,
    headers: HTML,
    body: page("api.openai.com | 502: Bad gateway"),
    expected: {
      reason: "server-error",
      retryable: true,
      status: 502,
      message: "api.openai.com | 502: Bad gateway (HTTP 502, an HTML page)"
    }
  }),
  response({
    id: "unknown-error-520",
    kind: "recorded",
    source: "anthropics/claude-code#3197",
    status: 520,
    headers: HTML,
    body: page("api.anthropic.com | 520: Web server is returning an unknown error"),
    expected: {
      reason: "server-error",
      retryable: true,
      status: 520,
      message: "api.anthropic.com | 520: Web server is returning an unknown error (HTTP 520, an HTML page)"
    }
  }),
  thrown({
    id: "unknown-error-520-from-sdk",
    kind: "recorded",
    source: "anthropics/claude-code#3197",
    error: () =>
      Object.assign(new Error(`520 ${page("api.anthropic.com | 520: Web server is returning an unknown error")}`), {
        status: 520,
        headers: HTML
      }),
    expected: {
      reason: "server-error",
      retryable: true,
      status: 520,
      message: "api.anthropic.com | 520: Web server is returning an unknown error (HTTP 520, an HTML page)"
    }
  }),
  response({
    id: "server-down-521",
    kind: "constructed",
    source: `${PAGE}error-521/`,
    status: 521,
    headers: HTML,
    body: page("api.example.com | 521: Web server is down"),
    expected: { reason: "server-error", retryable: true, status: 521 }
  }),
  response({
    id: "connection-timed-out-522",
    kind: "recorded",
    source: "Helicone/helicone#798",
    status: 522,
    headers: HTML,
    body: page("oai.hconeai.com | 522: Connection timed out"),
    expected: { reason: "timeout", retryable: true, status: 522 }
  }),
  response({
    id: "unreachable-523",
    kind: "constructed",
    source: `${PAGE}error-523/`,
    status: 523,
    headers: HTML,
    body: page("api.example.com | 523: Origin is unreachable"),
    expected: { reason: "server-error", retryable: true, status: 523 }
  }),
  response({
    id: "timeout-524",
    kind: "recorded",
    source: "langgenius/dify#12276",
    status: 524,
    headers: HTML,
    body: page("api.dify.ai | 524: A timeout occurred"),
    expected: {
      reason: "timeout",
      retryable: true,
      status: 524,
      message: "api.dify.ai | 524: A timeout occurred (HTTP 524, an HTML page)"
    }
  }),
  response({
    id: "timeout-524-other-host",
    kind: "recorded",
    source: "anthropics/claude-code#16737",
    status: 524,
    headers: HTML,
    body: page("newcli.com | 524: A timeout occurred"),
    expected: { reason: "timeout", retryable: true, status: 524 }
  }),
  response({
    id: "plain-error-code",
    kind: "constructed",
    source: `${PAGE} (plain text for clients that accept no HTML)`,
    status: 522,
    body: "error code: 522",
    expected: { reason: "timeout", retryable: true, status: 522, message: "error code: 522" }
  }),
  response({
    id: "rate-limited-1015",
    kind: "constructed",
    source:
      "https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-1xxx-errors/error-1015/",
    status: 429,
    headers: { ...HTML, "retry-after": "10" },
    body: "error code: 1015",
    expected: { reason: "rate-limited", retryable: true, status: 429, retryAfterMs: 10_000 }
  }),
  response({
    id: "challenge",
    kind: "constructed",
    source: "https://developers.cloudflare.com/cloudflare-challenges/ (challenge pages are 403)",
    status: 403,
    headers: HTML,
    body: page("Just a moment..."),
    expected: { reason: "auth", retryable: false, status: 403, message: "Just a moment... (HTTP 403, an HTML page)" }
  })
]
