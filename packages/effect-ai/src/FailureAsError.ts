/** Makes Effect AI's error of a failure. */
import type { Provider } from "@holdfast/kernel"
import { defined, type Failure } from "@holdfast/wire"
import * as Duration from "effect/Duration"
import * as AiError from "effect/ai/AiError"

/** The error, by the reason of its failure. The failure goes with it: the classifier takes it as it is. */
export const errorOf = (method: string, failure: Provider.EmittedFailure): AiError.AiError => {
  const fields = { description: failure.message, retryAfterMs: failure.hint?.retryAfterMs }
  const reason = REASONS[failure.reason]?.(fields) ?? new AiError.InternalProviderError(fields)
  const classified: Failure.Failure = { retryable: false, ...failure }
  return Object.assign(AiError.make({ module: "Holdfast", method, reason }), { failure: classified })
}

// --- internal

interface Fields {
  readonly description: string
  readonly retryAfterMs: number | undefined
}

const invalid = (fields: Fields) => new AiError.InvalidRequestError(fields)

/** All other failures are the provider's own. */
const REASONS: { readonly [reason in Failure.Reason]?: (fields: Fields) => AiError.AiErrorReason } = {
  "rate-limited": ({ retryAfterMs: ms }) =>
    new AiError.RateLimitError(defined({ retryAfter: ms === undefined ? ms : Duration.millis(ms) })),
  "quota-exhausted": () => new AiError.QuotaExhaustedError({}),
  auth: (fields) => new AiError.AuthenticationError({ kind: "Unknown", ...fields }),
  refused: (fields) => new AiError.ContentPolicyError(fields),
  "invalid-response": (fields) => new AiError.InvalidOutputError(fields),
  "context-overflow": invalid,
  "model-unavailable": invalid,
  "bad-request": invalid
}
