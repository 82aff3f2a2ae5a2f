import { describe, expect, it } from "@effect/vitest"
import type { Failure } from "@holdfast/wire"
import * as Classification from "../../src/classification/Classification.ts"
import { corpus } from "../corpus/Corpus.ts"
import { NOW } from "../corpus/Payload.ts"

/** Payloads of the corpus, and the scope that each of them names. */
const NAMED: Readonly<Record<string, Failure.Scope | undefined>> = {
  "openai-tokens-per-minute": "model",
  "openai-insufficient-quota": undefined,
  "anthropic-rate-limit": "account",
  "anthropic-spend-limit-429": "account",
  "anthropic-credit-balance": undefined,
  "google-quota-per-minute": "model",
  "google-quota-per-day": "model",
  "google-vertex-requests-per-minute": "model",
  "google-quota-exhausted-with-reset": "model",
  "google-resource-has-been-exhausted": undefined,
  // A model in an organization: the narrower one.
  "groq-tokens-per-day": "model",
  "mistral-service-tier-capacity": "model",
  "mistral-rate-limited": undefined,
  "xai-credits-used": "account",
  "deepseek-insufficient-balance": undefined,
  "openrouter-free-models-per-day": undefined
}

const words = (message: string, status = 429) =>
  Classification.ofResponse({ status, headers: {}, body: JSON.stringify({ error: { message } }), now: NOW })

describe("the scope of a limit", () => {
  for (const [id, scope] of Object.entries(NAMED)) {
    it(`rule C12: ${id} names ${scope ?? "nothing"}`, () => {
      const input = corpus.find((payload) => payload.id === id)?.input
      const failure =
        input?.via === "response"
          ? Classification.ofResponse({ ...input, now: NOW })
          : input?.via === "thrown"
            ? Classification.ofThrown(input.error(), NOW)
            : expect.unreachable(id)
      expect(failure.scope).toBe(scope)
    })
  }

  it("rule C12: OpenRouter's message about a key names the credential", () => {
    expect(words("Key limit exceeded (weekly limit). Manage it using https://openrouter.ai/settings/keys").scope).toBe(
      "credential"
    )
  })

  it("rule C12: only limits have a scope, and only the provider's own text names one (C4)", () => {
    expect(words("Your account has no access to this model's quota", 401)).not.toHaveProperty("scope")
    expect(words('Rate limit exceeded for "your organization\'s quota for model x"')).not.toHaveProperty("scope")
    expect(words("The quota will reset after 3h.")).toMatchObject({ reason: "quota-exhausted" })
    expect(words("The quota will reset after 3h.")).not.toHaveProperty("scope")
  })

  it("rule C12: if several quotas are violated, a quota without a model names the account", () => {
    const violated = (...quotaIds: ReadonlyArray<string>) =>
      Classification.ofResponse({
        status: 429,
        headers: {},
        body: JSON.stringify({
          error: { code: 429, details: [{ violations: quotaIds.map((quotaId) => ({ quotaId })) }] }
        }),
        now: NOW
      }).scope
    expect(violated("RequestsPerMinutePerProjectPerModel")).toBe("model")
    expect(violated("RequestsPerMinutePerProjectPerModel", "RequestsPerDayPerProject")).toBe("account")
    expect(violated("RequestsPerMinute")).toBeUndefined()
  })
})
