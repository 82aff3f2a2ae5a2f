/**
 * Classifies network errors by the codes and names of runtimes and SDKs (C5).
 *
 * These errors have no response: Node's system errors, undici's, TLS, and error classes. A certificate that does not fit its host, its
 * issuer or its purpose needs a changed setting: no retry. An expired or not yet valid certificate may be renewed, or the clock may be set:
 * retried. A name that does not resolve is a typing error or a missing network; because of the latter it is retried.
 */
import type { Failure } from "@holdfast/wire"

/** The meaning of a code or a name; `retryable` only if it differs from the reason's default. */
export interface Entry {
  readonly reason: Failure.Reason
  readonly retryable?: boolean
  readonly defect?: true
}

const NETWORK: Entry = { reason: "network" }
const MISCONFIGURED: Entry = { reason: "network", retryable: false }
const TIMEOUT: Entry = { reason: "timeout" }
const INVALID: Entry = { reason: "invalid-response" }
const BAD_REQUEST: Entry = { reason: "bad-request" }
const ABORTED: Entry = { reason: "aborted" }
const DEFECT: Entry = { reason: "unknown", defect: true }

const entries = (entry: Entry, names: string): ReadonlyArray<readonly [string, Entry]> =>
  names.split(" ").map((name) => [name, entry] as const)

/** By `code`: nodejs.org/api/errors.html, undici's docs/api/Errors.md, nodejs.org/api/tls.html#x509-certificate-error-codes, Bun. */
const byCode: ReadonlyMap<string, Entry> = new Map([
  ...entries(
    NETWORK,
    "ECONNREFUSED ECONNRESET ECONNABORTED ENOTFOUND EAI_AGAIN EAI_FAIL EAI_NODATA EAI_NONAME EPIPE ENETUNREACH ENETDOWN ENETRESET EHOSTUNREACH EHOSTDOWN ENOTCONN EADDRNOTAVAIL EPROTO ESOCKET"
  ),
  ...entries(NETWORK, "UND_ERR_SOCKET UND_ERR_CLOSED UND_ERR_DESTROYED UND_ERR_INFO UND_ERR_PRX_TLS UND_ERR_PRX_CONN"),
  ...entries(NETWORK, "ERR_STREAM_PREMATURE_CLOSE ERR_STREAM_DESTROYED ERR_SOCKET_CLOSED ERR_HTTP2_STREAM_ERROR"),
  ...entries(NETWORK, "ERR_HTTP2_GOAWAY_SESSION ERR_HTTP2_SESSION_ERROR ERR_HTTP2_INVALID_SESSION"),
  ...entries(NETWORK, "ConnectionRefused ConnectionClosed ConnectionReset FailedToOpenSocket"),
  ...entries(NETWORK, "CERT_HAS_EXPIRED CERT_NOT_YET_VALID CRL_HAS_EXPIRED CRL_NOT_YET_VALID"),
  ...entries(
    MISCONFIGURED,
    "SELF_SIGNED_CERT_IN_CHAIN DEPTH_ZERO_SELF_SIGNED_CERT UNABLE_TO_GET_ISSUER_CERT UNABLE_TO_GET_ISSUER_CERT_LOCALLY UNABLE_TO_VERIFY_LEAF_SIGNATURE CERT_SIGNATURE_FAILURE CERT_CHAIN_TOO_LONG CERT_REVOKED CERT_UNTRUSTED CERT_REJECTED INVALID_CA INVALID_PURPOSE HOSTNAME_MISMATCH ERR_TLS_CERT_ALTNAME_INVALID"
  ),
  // https to a server that speaks http
  ...entries(MISCONFIGURED, "ERR_SSL_WRONG_VERSION_NUMBER ERR_SSL_PACKET_LENGTH_TOO_LONG"),
  ...entries(TIMEOUT, "ETIMEDOUT ESOCKETTIMEDOUT ERR_SOCKET_CONNECTION_TIMEOUT ERR_TLS_HANDSHAKE_TIMEOUT"),
  ...entries(TIMEOUT, "UND_ERR_CONNECT_TIMEOUT UND_ERR_HEADERS_TIMEOUT UND_ERR_BODY_TIMEOUT"),
  ...entries(INVALID, "UND_ERR_HEADERS_OVERFLOW UND_ERR_RES_CONTENT_LENGTH_MISMATCH UND_ERR_RES_EXCEEDED_MAX_SIZE"),
  ...entries(
    INVALID,
    "HPE_INVALID_CONSTANT HPE_INVALID_VERSION HPE_INVALID_HEADER_TOKEN HPE_INVALID_CHUNK_SIZE Z_DATA_ERROR Z_BUF_ERROR"
  ),
  ...entries(BAD_REQUEST, "ERR_INVALID_URL ERR_INVALID_PROTOCOL ERR_INVALID_CHAR ERR_UNESCAPED_CHARACTERS"),
  ...entries(ABORTED, "ABORT_ERR UND_ERR_ABORTED ERR_CANCELED ERR_ABORTED"),
  ...entries(
    DEFECT,
    "UND_ERR_INVALID_ARG UND_ERR_INVALID_RETURN_VALUE UND_ERR_REQ_CONTENT_LENGTH_MISMATCH ERR_ASSERTION"
  )
])

/** By class: `name`, `_tag` or the constructor's, of DOM, undici, openai, @anthropic-ai/sdk, AI SDK and Effect. */
const byName: ReadonlyMap<string, Entry> = new Map([
  ...entries(
    TIMEOUT,
    "TimeoutError TimeoutException APIConnectionTimeoutError HeadersTimeoutError BodyTimeoutError ConnectTimeoutError"
  ),
  ...entries(NETWORK, "APIConnectionError SocketError FetchError TransportError NetworkError GatewayConnectionError"),
  ...entries(INVALID, "AI_JSONParseError AI_TypeValidationError AI_InvalidResponseDataError AI_EmptyResponseBodyError"),
  ...entries(
    INVALID,
    "AI_NoContentGeneratedError AI_NoOutputGeneratedError DecodeError EmptyBodyError InvalidOutputError"
  ),
  ...entries(INVALID, "StructuredOutputError SchemaError"),
  ...entries({ reason: "auth" }, "AI_LoadAPIKeyError AuthenticationError"),
  ...entries(
    { reason: "model-unavailable" },
    "AI_NoSuchModelError AI_NoSuchProviderError AI_UnsupportedModelVersionError"
  ),
  ...entries({ reason: "refused" }, "ContentPolicyError"),
  ...entries({ reason: "rate-limited" }, "RateLimitError"),
  ...entries({ reason: "quota-exhausted" }, "QuotaExhaustedError"),
  ...entries({ reason: "server-error" }, "InternalProviderError InternalServerError"),
  ...entries(BAD_REQUEST, "AI_InvalidPromptError AI_InvalidArgumentError AI_UnsupportedFunctionalityError"),
  ...entries(BAD_REQUEST, "AI_LoadSettingError AI_NoSuchProviderReferenceError"),
  ...entries(BAD_REQUEST, "EncodeError InvalidUrlError InvalidRequestError UnsupportedSchemaError"),
  ...entries(ABORTED, "AbortError APIUserAbortError ResponseAborted CanceledError")
])

/** Returns the meaning of a code of the system, undici or TLS; `undefined`: it is unknown. */
export const ofCode = (code: string): Entry | undefined => byCode.get(code)

/** Returns the meaning of an error's class; `undefined`: it is unknown. */
export const ofName = (name: string): Entry | undefined => byName.get(name)
