/** Errors of web proxies and load balancers, most of them as pages. */
import { of, type Payload } from "./Payload.ts"

const { response, stream, thrown } = of("proxies")
const NGINX = "nginx/nginx src/http/ngx_http_special_response.c"
const ENVOY = "upstream connect error or disconnect/reset before headers. reset reason:"

const nginx = (title: string): string =>
  `<html>\r\n<head><title>${title}</title></head>\r\n<body>\r\n<center><h1>${title}</h1></center>\r\n<hr><center>nginx</center>\r\n</body>\r\n</html>\r\n`

export const proxies: ReadonlyArray<Payload> = [
  response({
    id: "nginx-502",
    kind: "constructed",
    source: NGINX,
    status: 502,
    body: nginx("502 Bad Gateway"),
    expected: {
      reason: "server-error",
      retryable: true,
      status: 502,
      message: "502 Bad Gateway (HTTP 502, an HTML page)"
    }
  }),
  response({
    id: "nginx-503",
    kind: "constructed",
    source: NGINX,
    status: 503,
    body: nginx("503 Service Temporarily Unavailable"),
    expected: { reason: "overloaded", retryable: true, status: 503 }
  }),
  response({
    id: "nginx-504",
    kind: "constructed",
    source: NGINX,
    status: 504,
    body: nginx("504 Gateway Time-out"),
    expected: { reason: "timeout", retryable: true, status: 504 }
  }),
  response({
    id: "nginx-413",
    kind: "constructed",
    source: NGINX,
    status: 413,
    body: nginx("413 Request Entity Too Large"),
    expected: { reason: "context-overflow", retryable: false, status: 413 }
  }),
  response({
    id: "nginx-404",
    kind: "constructed",
    source: NGINX,
    status: 404,
    body: nginx("404 Not Found"),
    expected: { reason: "bad-request", retryable: false, status: 404 }
  }),
  response({
    id: "nginx-499",
    kind: "constructed",
    source: "nginx/nginx src/http/ngx_http_request.h (NGX_HTTP_CLIENT_CLOSED_REQUEST), passed on by a second proxy",
    status: 499,
    body: "",
    expected: { reason: "aborted", retryable: true, status: 499, message: "No error message (HTTP 499, an empty body)" }
  }),
  response({
    id: "alb-503",
    kind: "constructed",
    source:
      "https://docs.aws.amazon.com/elasticloadbalancing/latest/application/load-balancer-troubleshooting.html (HTTP 503)",
    status: 503,
    headers: { server: "awselb/2.0" },
    body: "<html>\r\n<head><title>503 Service Temporarily Unavailable</title></head>\r\n<body>\r\n<center><h1>503 Service Temporarily Unavailable</h1></center>\r\n</body>\r\n</html>\r\n",
    expected: { reason: "overloaded", retryable: true, status: 503 }
  }),
  response({
    id: "google-front-end-502",
    kind: "constructed",
    source: "https://cloud.google.com/load-balancing/docs/https/https-logging-monitoring (502 of the front end)",
    status: 502,
    body: "<!DOCTYPE html>\n<html lang=en>\n  <meta charset=utf-8>\n  <title>Error 502 (Server Error)!!1</title>\n  <p><b>502.</b> <ins>That’s an error.</ins>\n  <p>The server encountered a temporary error and could not complete your request.",
    expected: {
      reason: "server-error",
      retryable: true,
      status: 502,
      message: "Error 502 (Server Error)!!1 (HTTP 502, an HTML page)"
    }
  }),
  response({
    id: "envoy-connection-refused",
    kind: "recorded",
    source: "anthropics/claude-code#8803",
    status: 503,
    body: `${ENVOY} remote connection failure, transport failure reason: delayed connect error: Connection refused`,
    expected: {
      reason: "overloaded",
      retryable: true,
      status: 503,
      message: `${ENVOY} remote connection failure, transport failure reason: delayed connect error: Connection refused`
    }
  }),
  response({
    id: "envoy-overflow-is-no-context-overflow",
    kind: "recorded",
    source: "anthropics/claude-code#7044",
    status: 503,
    body: `${ENVOY} overflow`,
    expected: { reason: "overloaded", retryable: true, status: 503 }
  }),
  thrown({
    id: "envoy-text-only",
    kind: "recorded",
    source: "jetstreamapp/jetstream#692",
    error: () => new Error(`${ENVOY} connection termination`),
    expected: { reason: "network", retryable: true }
  }),
  stream({
    id: "envoy-inside-a-stream",
    kind: "recorded",
    source: "istio/istio#45910",
    event: "error",
    data: `${ENVOY} connection termination`,
    expected: { reason: "network", retryable: true, message: `${ENVOY} connection termination` }
  }),
  response({
    id: "envoy-no-healthy-upstream",
    kind: "constructed",
    source: "https://www.envoyproxy.io/docs/envoy/latest/faq/debugging/why_is_envoy_sending_internal_responses",
    status: 503,
    body: "no healthy upstream",
    expected: { reason: "overloaded", retryable: true, status: 503, message: "no healthy upstream" }
  }),
  response({
    id: "envoy-upstream-timeout",
    kind: "constructed",
    source: "https://www.envoyproxy.io/docs/envoy/latest/faq/configuration/timeouts",
    status: 504,
    body: "upstream request timeout",
    expected: { reason: "timeout", retryable: true, status: 504 }
  }),
  response({
    id: "higress-503",
    kind: "recorded",
    source: "higress-group/higress#2811",
    status: 503,
    body: "upstream_reset_before_response_started{connection_termination}",
    expected: { reason: "overloaded", retryable: true, status: 503 }
  }),
  response({
    id: "page-at-200",
    kind: "constructed",
    source: "https://www.rfc-editor.org/rfc/rfc8952 (a captive portal answers for the server)",
    status: 200,
    headers: { "content-type": "text/html" },
    body: "<!doctype html><html><head><title>Sign in to Hotel &amp; Bar WiFi</title></head><body>503 rate limit</body></html>",
    expected: {
      reason: "invalid-response",
      retryable: true,
      message: "Sign in to Hotel & Bar WiFi (HTTP 200, an HTML page)"
    }
  }),
  response({
    id: "empty-at-200",
    kind: "constructed",
    source: "https://www.rfc-editor.org/rfc/rfc9110#name-200-ok (content of length zero)",
    status: 200,
    body: "",
    expected: { reason: "invalid-response", retryable: true, message: "No error message (HTTP 200, an empty body)" }
  }),
  response({
    id: "empty-at-502",
    kind: "constructed",
    source: "https://www.rfc-editor.org/rfc/rfc9110#name-502-bad-gateway",
    status: 502,
    body: "  \n",
    expected: {
      reason: "server-error",
      retryable: true,
      status: 502,
      message: "No error message (HTTP 502, an empty body)"
    }
  }),
  response({
    id: "too-early",
    kind: "constructed",
    source: "https://www.rfc-editor.org/rfc/rfc8470 (425 Too Early)",
    status: 425,
    body: "Too Early",
    expected: { reason: "server-error", retryable: true, status: 425 }
  }),
  response({
    id: "redirect",
    kind: "constructed",
    source: "https://www.rfc-editor.org/rfc/rfc9110#name-redirection-3xx",
    status: 302,
    headers: { location: "https://portal.example/login" },
    body: "",
    expected: { reason: "bad-request", retryable: false, status: 302 }
  }),
  stream({
    id: "page-inside-a-stream",
    kind: "constructed",
    source: "https://developers.cloudflare.com/support/troubleshooting/http-status-codes/cloudflare-5xx-errors/",
    data: "<html><head><title>502 Bad Gateway</title></head></html>",
    expected: {
      reason: "invalid-response",
      retryable: true,
      message: "502 Bad Gateway (an HTML page in the stream)"
    }
  }),
  response({
    id: "problem-details",
    kind: "recorded",
    source: "Alishahryar1/free-claude-code#1228",
    status: 429,
    body: { status: 429, title: "Too Many Requests" },
    expected: { reason: "rate-limited", retryable: true, status: 429 }
  })
]
