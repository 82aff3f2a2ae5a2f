/**
 * Maps the error codes of providers to reasons.
 *
 * An exact code decides alone, before status and text (P1). A family decides too, unless the provider's wording names a member of it
 * with another reason: OpenAI and Groq send rate_limit_exceeded for "your request is larger than your limit", and no wait cures that. A
 * vague code, which every error may have, is weaker than the status and than a narrow wording: a 400 with `server_error` is a bad
 * request, or an overflow by its text (C2).
 *
 * Codes are compared without case, punctuation and a final "error" or "exception".
 *
 * Sources: the error pages of OpenAI, Anthropic, Google (google.rpc.Code, ErrorInfo), OpenRouter, Azure OpenAI, Groq, Mistral, xAI,
 * DeepSeek, Amazon Bedrock, GitHub Models and Copilot, Moonshot, Alibaba Model Studio, Z.ai; the corpus of the tests has most of them
 * verbatim.
 */
import type { Failure } from "@holdfast/wire"

/** How strong a code is: exact, of a family, or vague. */
export type Weight = "exact" | "family" | "vague"

/** The reason of a code, and its weight. */
interface Classified {
  readonly reason: Failure.Reason
  readonly weight: Weight
}

/** The codes of each reason, with blanks between them. */
type Table = ReadonlyArray<readonly [reason: Failure.Reason, codes: string]>

const exact: Table = [
  [
    "context-overflow",
    `
      context_length_exceeded context_window_exceeded model_context_window_exceeded exceed_context_size
      request_too_large request_entity_too_large payload_too_large string_above_max_length prompt_too_long
      too_many_tokens too_many_prompt_tokens requested_too_many_tokens tokens_limit_reached
      model_max_prompt_tokens_exceeded
    `
  ],
  [
    "quota-exhausted",
    `
      insufficient_quota quota_exceeded quota_exhausted exceeded_current_quota billing billing_not_active
      billing_hard_limit_reached usage_limit_reached usage_limit usage_limit_exceeded usage_not_included
      enforced_spend_limit_reached go_usage_limit free_usage_limit credits insufficient_balance insufficient_credits
      insufficient_g1_credits_balance insufficient_user_quota payment_required budget_exceeded arrearage
      openrouter_credits openrouter_free_tier_daily openrouter_in_flight_budget in_flight_budget_exhausted
      weight_exceeds_budget credit_balance_exhausted AllocationQuota.FreeTierOnly 1113 1308 1310
    `
  ],
  [
    "overloaded",
    `
      overloaded server_is_overloaded server_overloaded engine_overloaded model_overloaded system_overloaded
      slow_down model_capacity_exhausted capacity_exceeded capacity_limit_exceeded service_tier_capacity_exceeded
      no_capacity service_unavailable provider_unavailable provider_overloaded unavailable model_not_ready
    `
  ],
  ["server-error", "data_loss model_stream_error"],
  ["network", "connection api_connection stream_incomplete transport"],
  ["timeout", "timeout request_timeout gateway_timeout deadline_exceeded model_timeout timed_out"],
  ["aborted", "cancelled canceled request_cancelled request_canceled"],
  ["invalid-response", "tool_use_failed json_validate_failed output_parse_failed invalid_output structured_output"],
  [
    "auth",
    `
      authentication invalid_authentication invalid_api_key incorrect_api_key missing_api_key api_key_invalid
      api_key_expired api_key_service_blocked load_api_key unauthenticated unauthorized token_expired
      token_invalidated token_revoked invalid_token invalid_grant refresh_token_reused expired_token
      unrecognized_client account_deactivated account_disabled organization_restricted consumer_suspended
      service_disabled ip_not_authorized
    `
  ],
  [
    "refused",
    `
      content_filter content_filtered content_policy content_policy_violation content_blocked content_moderation
      responsible_ai_policy_violation image_content_policy_violation data_inspection_failed prohibited_content
      cyber_policy invalid_prompt 1301
    `
  ],
  [
    "model-unavailable",
    `
      model_not_found model_not_available model_not_supported unsupported_model unknown_model no_such_model
      invalid_model model_decommissioned model_deprecated model_not_active deployment_not_found
      unsupported_api_for_model unsupported_country_region_territory 1211
    `
  ],
  ["bad-request", "previous_response_not_found invalid_encrypted_content"]
]

const family: Table = [
  [
    "rate-limited",
    `
      rate_limit rate_limited rate_limit_exceeded rate_limit_reached too_many_requests throttling throttled
      resource_exhausted limit_requests limit_burst_rate requests_limit_exceeded user_model_rate_limited
      user_global_rate_limited upstream_provider_shared_pool request_quota_exceeded token_quota_exceeded
      rpm_rate_limit_exceeded tpm_rate_limit_exceeded 1302 1303 1305 1313
    `
  ]
]

const vague: Table = [
  [
    "server-error",
    `
      server internal internal_server internal_server_exception internal_failure internal_provider api upstream
      provider_response bad_response_status_code
    `
  ],
  ["auth", "permission permission_denied access_denied forbidden"],
  ["model-unavailable", "not_found resource_not_found"],
  [
    "bad-request",
    `
      invalid_request invalid_argument invalid_parameter bad_request failed_precondition out_of_range unimplemented
      validation unprocessable_entity unsupported_parameter unsupported_value
    `
  ]
]

/**
 * Whether a code only means too many tokens: in one request (Cohere's `TOO_MANY_TOKENS`), or, at 429, within a minute (Cerebras'
 * `too_many_tokens_error`).
 */
export const countsTokens = (code: string): boolean => keyOf(code) === "toomanytokens"

/** Normalises a code: case, punctuation and suffixes are removed. */
export const keyOf = (code: string): string =>
  code
    .toLowerCase()
    .replaceAll(/[^a-z0-9]/g, "")
    .replace(/(?:error|exception)$/, "")

/** Returns every code of a weight, in the spelling of its table. */
export const known = (weight: Weight): ReadonlyArray<readonly [code: string, reason: Failure.Reason]> =>
  ({ exact, family, vague })[weight].flatMap(([reason, codes]) =>
    codes
      .trim()
      .split(/\s+/)
      .map((code) => [code, reason] as const)
  )

/** A code that is in several tables has the strongest weight. */
const byCode = new Map<string, Classified>(
  (["vague", "family", "exact"] as const).flatMap((weight) =>
    known(weight).map(([code, reason]) => [keyOf(code), { reason, weight }] as const)
  )
)

/** Returns the reason and weight of a code; `undefined`: it is unknown. */
export const classifiedOf = (code: string): Classified | undefined => byCode.get(keyOf(code))

/** Returns the strongest result among codes, the first of equally strong ones, with its code. */
export const strongest = (
  codes: ReadonlyArray<string>
): { readonly code: string; readonly classified: Classified } | undefined => {
  let found: { readonly code: string; readonly classified: Classified } | undefined
  for (const code of codes) {
    const classified = classifiedOf(code)
    if (classified === undefined) continue
    if (classified.weight === "exact") return { code, classified }
    if (found === undefined || (classified.weight === "family" && found.classified.weight === "vague"))
      found = { code, classified }
  }
  return found
}
