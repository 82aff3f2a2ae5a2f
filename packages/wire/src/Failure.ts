/**
 * A classified error (rules, section C).
 *
 * Errors are classified once, where they enter. Inside, decisions read `reason` and `retryable`, never text.
 *
 * `message` is the endpoint's message, verbatim apart from redacted secrets. `retryAfterMs` is a lower bound counted from the moment of
 * the failure; it is finite and never negative.
 */
import * as Data from "effect/Data"
import * as Schema from "effect/Schema"
import { isWithin } from "./values/Checks.ts"

/** Why a call of a provider failed (C1). */
export const Reason = Schema.Literals([
  "rate-limited",
  "quota-exhausted",
  "overloaded",
  "server-error",
  "network",
  "timeout",
  "invalid-response",
  "auth",
  "context-overflow",
  "refused",
  "model-unavailable",
  "bad-request",
  "aborted",
  "unknown"
])
export type Reason = typeof Reason.Type

/** The owner of a limit as the error named it: one model, the credential, or the account behind it (C12). */
export const Scope = Schema.Literals(["model", "credential", "account"])
export type Scope = typeof Scope.Type

/** A delay that the endpoint asked for. */
export const Hint = Schema.Struct({
  /** Milliseconds from the failure on; a lower bound for the next attempt (P5). */
  retryAfterMs: Schema.Finite.check(isWithin(0, "Expected 0 or more")),
  /** The source of the delay: a header's name, or `body`. */
  source: Schema.String
})
export type Hint = typeof Hint.Type

const fields = {
  reason: Reason,
  message: Schema.String,
  retryable: Schema.Boolean,
  /** The HTTP status, when there was a response. */
  status: Schema.optionalKey(Schema.Int),
  /** The provider's own code or type, e.g. `overloaded_error`, `ECONNRESET`. */
  code: Schema.optionalKey(Schema.String),
  hint: Schema.optionalKey(Hint),
  /** Set for a rate limit or a used-up quota; absent where the error named no owner. */
  scope: Schema.optionalKey(Scope),
  /**
   * Response headers, by lower-case name, kept for the record (X9): those that decisions use, and those that identify the
   * request at the provider.
   */
  evidence: Schema.optionalKey(Schema.Record(Schema.String, Schema.String)),
  /**
   * No call was made: another turn's call of the same endpoint had just failed this way (X5), or a limit of spending was reached (the code
   * is `spend-limit` then). `turn-end` does not count it as an attempt, but it uses one of the retries that the schedule allows.
   */
  shared: Schema.optionalKey(Schema.Literal(true)),
  /** The failure is a bug of the program itself, not of an endpoint (C10). */
  defect: Schema.optionalKey(Schema.Literal(true))
}

/** A failure as a plain value, as events, messages and records carry it. */
export const Failure = Schema.Struct(fields)
export type Failure = typeof Failure.Type

/** The most characters of an endpoint's response that are kept beside a failure. */
export const MOST_OF_BODY = 8 * 1024

/**
 * A failure as an error: a provider's stream fails with it.
 *
 * **Details**
 *
 * `body` is the endpoint's whole response, where that holds more than the failure: `MOST_OF_BODY` characters at most, without
 * secrets. It goes into the turn's record for `explain` (D5), and into no event, log line or notice.
 */
export class ProviderFailure extends Data.TaggedError("ProviderFailure")<{
  readonly failure: Failure
  readonly body?: string
}> {
  override get message(): string {
    return this.failure.message
  }
}

/** The code of a failure that stands for a call that a limit of spending did not allow. */
export const SPEND_LIMIT = "spend-limit"

/** Whether no call was made because a limit of spending was reached. */
export const isOfSpendLimit = ({ code, shared }: Pick<Failure, "code" | "shared">): boolean =>
  shared === true && code === SPEND_LIMIT

/** The code shown to people and in `code` fields: the HTTP status, or else the provider's code (D5, D13). */
export const codeOf = (failure: Failure): string | undefined =>
  failure.status === undefined ? failure.code : String(failure.status)
