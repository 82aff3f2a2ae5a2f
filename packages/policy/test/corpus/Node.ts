/** Errors of Node's network and of undici. */
import { errorWith, of, type Payload } from "./Payload.ts"

const { thrown } = of("node")
const ERRORS = "https://nodejs.org/api/errors.html#common-system-errors"
const TLS = "https://nodejs.org/api/tls.html#x509-certificate-error-codes"

const fetchFailed = (cause: unknown): TypeError => new TypeError("fetch failed", { cause })
const system = (code: string, message: string): Error => errorWith(message, { code, errno: -1, syscall: "connect" })

export const node: ReadonlyArray<Payload> = [
  thrown({
    id: "connection-refused",
    kind: "constructed",
    source: ERRORS,
    error: () => fetchFailed(system("ECONNREFUSED", "connect ECONNREFUSED 127.0.0.1:8080")),
    expected: {
      reason: "network",
      retryable: true,
      code: "ECONNREFUSED",
      message: "connect ECONNREFUSED 127.0.0.1:8080"
    }
  }),
  thrown({
    id: "connection-refused-twice",
    kind: "constructed",
    source:
      "https://nodejs.org/api/net.html#socketconnectoptions-connectlistener (autoSelectFamily fails with an AggregateError)",
    error: () =>
      fetchFailed(
        Object.assign(
          new AggregateError([
            system("ECONNREFUSED", "connect ECONNREFUSED ::1:8080"),
            system("ECONNREFUSED", "connect ECONNREFUSED 127.0.0.1:8080")
          ]),
          { code: "ECONNREFUSED" }
        )
      ),
    expected: { reason: "network", retryable: true, code: "ECONNREFUSED" }
  }),
  thrown({
    id: "aggregate-without-code",
    kind: "constructed",
    source: "https://developer.mozilla.org/docs/Web/JavaScript/Reference/Global_Objects/AggregateError",
    error: () => new AggregateError([new Error("first"), system("EHOSTUNREACH", "connect EHOSTUNREACH 10.0.0.1:443")]),
    expected: { reason: "network", retryable: true, code: "EHOSTUNREACH" }
  }),
  thrown({
    id: "other-side-closed",
    kind: "recorded",
    source: "nodejs/undici#3300",
    error: () => fetchFailed(errorWith("other side closed", { code: "UND_ERR_SOCKET" }, "SocketError")),
    expected: { reason: "network", retryable: true, code: "UND_ERR_SOCKET", message: "other side closed" }
  }),
  thrown({
    id: "terminated",
    kind: "constructed",
    source: "https://undici.nodejs.org/#/docs/api/Errors (a body that ends early rejects with terminated)",
    error: () =>
      new TypeError("terminated", { cause: errorWith("other side closed", { code: "UND_ERR_SOCKET" }, "SocketError") }),
    expected: { reason: "network", retryable: true, code: "UND_ERR_SOCKET" }
  }),
  thrown({
    id: "terminated-alone",
    kind: "constructed",
    source: "https://undici.nodejs.org/#/docs/api/Errors",
    error: () => new TypeError("terminated"),
    expected: { reason: "network", retryable: true, message: "terminated" }
  }),
  thrown({
    id: "fetch-failed-alone",
    kind: "recorded",
    source: "nodejs/undici#1248",
    error: () => new TypeError("fetch failed"),
    expected: { reason: "network", retryable: true, message: "fetch failed" }
  }),
  thrown({
    id: "headers-timeout",
    kind: "recorded",
    source: "nodejs/undici#1922",
    error: () =>
      fetchFailed(errorWith("Headers Timeout Error", { code: "UND_ERR_HEADERS_TIMEOUT" }, "HeadersTimeoutError")),
    expected: { reason: "timeout", retryable: true, code: "UND_ERR_HEADERS_TIMEOUT", message: "Headers Timeout Error" }
  }),
  thrown({
    id: "socket-connection-timeout",
    kind: "recorded",
    source: "nodejs/undici#2182",
    error: () => fetchFailed(errorWith("Socket connection timeout", { code: "ERR_SOCKET_CONNECTION_TIMEOUT" })),
    expected: { reason: "timeout", retryable: true, code: "ERR_SOCKET_CONNECTION_TIMEOUT" }
  }),
  thrown({
    id: "timed-out",
    kind: "constructed",
    source: ERRORS,
    error: () => system("ETIMEDOUT", "connect ETIMEDOUT 104.18.6.192:443"),
    expected: { reason: "timeout", retryable: true, code: "ETIMEDOUT" }
  }),
  thrown({
    id: "connection-reset",
    kind: "recorded",
    source: "anthropics/claude-code#39743",
    error: () =>
      errorWith(
        "The socket connection was closed unexpectedly. For more information, pass `verbose: true` in the second argument to fetch()",
        {
          code: "ECONNRESET"
        }
      ),
    expected: { reason: "network", retryable: true, code: "ECONNRESET" }
  }),
  thrown({
    id: "socket-hang-up",
    kind: "constructed",
    source: ERRORS,
    error: () => new Error("socket hang up"),
    expected: { reason: "network", retryable: true, message: "socket hang up" }
  }),
  thrown({
    id: "broken-pipe",
    kind: "constructed",
    source: ERRORS,
    error: () => system("EPIPE", "write EPIPE"),
    expected: { reason: "network", retryable: true, code: "EPIPE" }
  }),
  thrown({
    id: "name-not-found",
    kind: "constructed",
    source: ERRORS,
    error: () => fetchFailed(system("ENOTFOUND", "getaddrinfo ENOTFOUND api.openai.com")),
    expected: { reason: "network", retryable: true, code: "ENOTFOUND" }
  }),
  thrown({
    id: "name-server-away",
    kind: "constructed",
    source: "https://nodejs.org/api/dns.html#error-codes",
    error: () => fetchFailed(system("EAI_AGAIN", "getaddrinfo EAI_AGAIN api.openai.com")),
    expected: { reason: "network", retryable: true, code: "EAI_AGAIN" }
  }),
  thrown({
    id: "certificate-self-signed",
    kind: "constructed",
    source: TLS,
    error: () =>
      fetchFailed(errorWith("self-signed certificate in certificate chain", { code: "SELF_SIGNED_CERT_IN_CHAIN" })),
    expected: { reason: "network", retryable: false, code: "SELF_SIGNED_CERT_IN_CHAIN" }
  }),
  thrown({
    id: "certificate-of-another-host",
    kind: "constructed",
    source: "https://nodejs.org/api/errors.html#err_tls_cert_altname_invalid",
    error: () =>
      fetchFailed(
        errorWith(
          "Hostname/IP does not match certificate's altnames: Host: api.example.com. is not in the cert's altnames",
          {
            code: "ERR_TLS_CERT_ALTNAME_INVALID"
          }
        )
      ),
    expected: { reason: "network", retryable: false, code: "ERR_TLS_CERT_ALTNAME_INVALID" }
  }),
  thrown({
    id: "certificate-expired",
    kind: "constructed",
    source: TLS,
    error: () => fetchFailed(errorWith("certificate has expired", { code: "CERT_HAS_EXPIRED" })),
    expected: { reason: "network", retryable: true, code: "CERT_HAS_EXPIRED" }
  }),
  thrown({
    id: "invalid-url",
    kind: "constructed",
    source: "https://nodejs.org/api/errors.html#err_invalid_url",
    error: () =>
      new TypeError("Failed to parse URL from htp:/api", {
        cause: Object.assign(new TypeError("Invalid URL"), { code: "ERR_INVALID_URL", input: "htp:/api" })
      }),
    expected: { reason: "bad-request", retryable: false, code: "ERR_INVALID_URL", message: "Invalid URL" }
  }),
  thrown({
    id: "abort-nobody-asked-for",
    kind: "constructed",
    source: "https://developer.mozilla.org/docs/Web/API/DOMException#aborterror",
    error: () => new DOMException("This operation was aborted", "AbortError"),
    expected: { reason: "aborted", retryable: true, message: "This operation was aborted" }
  }),
  thrown({
    id: "signal-timeout",
    kind: "constructed",
    source: "https://developer.mozilla.org/docs/Web/API/AbortSignal/timeout_static",
    error: () => new DOMException("The operation was aborted due to timeout", "TimeoutError"),
    expected: { reason: "timeout", retryable: true }
  }),
  thrown({
    id: "page-parsed-as-json",
    kind: "constructed",
    source: "https://developer.mozilla.org/docs/Web/JavaScript/Reference/Errors/JSON_bad_parse",
    error: () => new SyntaxError("Unexpected token '<', \"<!DOCTYPE \"... is not valid JSON"),
    expected: { reason: "invalid-response", retryable: true }
  }),
  thrown({
    id: "bug-type-error",
    kind: "constructed",
    source: "https://developer.mozilla.org/docs/Web/JavaScript/Reference/Errors/Unexpected_type",
    error: () => new TypeError("Cannot read properties of undefined (reading 'timeout')"),
    expected: {
      reason: "unknown",
      retryable: true,
      defect: true,
      message: "TypeError: Cannot read properties of undefined (reading 'timeout')"
    }
  }),
  thrown({
    id: "bug-wrapped",
    kind: "constructed",
    source: "https://developer.mozilla.org/docs/Web/JavaScript/Reference/Errors/Not_a_function",
    error: () =>
      errorWith("Connection error.", { cause: new TypeError("options.fetch is not a function") }, "APIConnectionError"),
    expected: { reason: "unknown", retryable: true, defect: true }
  })
]
