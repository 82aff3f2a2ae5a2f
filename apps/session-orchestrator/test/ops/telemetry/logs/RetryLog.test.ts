import { describe, expect, it } from "@effect/vitest"
import type { Route } from "@holdfast/kernel"
import * as RetryLog from "../../../../src/ops/telemetry/logs/RetryLog.ts"
import * as Configurations from "../../../config/Configurations.ts"
import * as Observations from "../Observations.ts"

const surroundings: RetryLog.ServiceFacts = {
  cwd: "/work",
  apiOf: () => "openai-compatible",
  thinkingOf: () => undefined
}

const ofDecision = (given?: Parameters<typeof Observations.decision>[0]) =>
  RetryLog.ofDecision(Observations.decision(given), surroundings)

describe("a line of the retry log", () => {
  it("rule M4: has the thinking level of the request, if one is set", () => {
    const thinking = { ...surroundings, thinkingOf: ({ model }: { readonly model: string }) => `${model}: high` }
    expect(RetryLog.ofDecision(Observations.decision(), thinking)).toMatchObject({ thinkingLevel: "gpt-5: high" })
    expect(ofDecision()).not.toHaveProperty("thinkingLevel")
  })

  it("rule A1, M4: has of a retry provider, model, API, stop reason, error, attempt, delay, directory and session", () => {
    expect(ofDecision()).toEqual({
      type: "retry",
      time: "1970-01-01T00:00:02.000Z",
      provider: "openai",
      model: "gpt-5",
      api: "openai-compatible",
      action: "retry",
      logMessage: "openai/gpt-5 failed (overloaded, 529): retry 1 after 5000 ms",
      sources: ["openai/gpt-5", "overloaded", "HTTP 529"],
      stopReason: "error",
      errorMessage: "Overloaded",
      reason: "overloaded",
      status: 529,
      latencyMs: 500,
      attempt: 0,
      delayMs: 5_000,
      retryAt: "1970-01-01T00:00:07.000Z",
      step: 0,
      cwd: "/work",
      sessionId: "c1",
      turnId: "t1"
    })
  })

  it("rule A1, M4: has the target and the credential of a retry that goes to another target", () => {
    const failure = { ...Observations.overloaded, code: "overloaded_error" }
    const ofRoute = (route: Route.Route) =>
      ofDecision({ failure, directive: { _tag: "Retry", attempt: 0, delayMs: 0, retryAt: 2_000, route } })
    const elsewhere = ofRoute({ target: { provider: "anthropic", model: "claude" }, role: "default" })
    expect(elsewhere).toMatchObject({ provider: "openai", model: "gpt-5", to: "anthropic/claude" })
    expect(elsewhere).toMatchObject({
      action: "skip-provider",
      logMessage: "openai/gpt-5 failed (overloaded, 529): retry 1 at once on anthropic/claude"
    })
    const otherKey = ofRoute({ target: Observations.place.target, credential: "SECOND_KEY" })
    expect(otherKey).toMatchObject({
      credential: "SECOND_KEY",
      action: "retry",
      logMessage: "openai/gpt-5 failed (overloaded, 529): retry 1 at once with another credential",
      sources: ["openai/gpt-5", "overloaded", "HTTP 529", "overloaded_error"]
    })
    expect(otherKey).not.toHaveProperty("to")
  })

  it("rule M4: reports that a retry was answered, and by which target", () => {
    const answered = Observations.attempt({ attempt: 1, retry: 0, outcome: Observations.completed })
    const line = { type: "retry_succeeded", attempt: 0, stopReason: "stop" }
    expect(RetryLog.ofAttempt(answered, surroundings)).toMatchObject([line])
  })

  it("rule A1, M4: reports that there is no further retry, and why", () => {
    const failure = { reason: "quota-exhausted", message: "Used up.", retryable: true } as const
    const exhausted = { _tag: "GiveUp", because: "exhausted" } as const
    expect(ofDecision({ retry: 20, failure, directive: exhausted })).toMatchObject({
      type: "retry_exhausted",
      attempt: 20,
      action: "abort",
      because: "exhausted",
      logMessage: "openai/gpt-5 failed (quota-exhausted): giving up, exhausted",
      sources: ["openai/gpt-5", "quota-exhausted"]
    })
    expect(ofDecision({ directive: exhausted })).toMatchObject({ type: "retry_exhausted", attempt: 0 })
    expect(ofDecision({ directive: { _tag: "GiveUp", because: "not-retryable" } })).toBeUndefined()
  })

  it("rule M4: reports a manual retry", () => {
    const byHand = Observations.attempt({ isManualRetry: true, startedAt: 3_000 }) // the clock went back
    expect(RetryLog.ofAttempt(byHand, surroundings)).toMatchObject([
      { type: "manual_retry", time: "1970-01-01T00:00:03.000Z", stopReason: "error", attempt: 0, latencyMs: 0 }
    ])
  })

  it("rule A16: has of the end of a turn that met a failure its attempts, its status, and its time in the retry loop", () => {
    const failed = Observations.seal({ status: "failed", error: Observations.overloaded })
    expect(RetryLog.ofSeal(failed, surroundings)).toEqual({
      type: "turn_ended",
      time: "1970-01-01T00:00:09.000Z",
      provider: "openai",
      model: "gpt-5",
      api: "openai-compatible",
      step: 0,
      cwd: "/work",
      sessionId: "c1",
      turnId: "t1",
      finalStatus: "failed",
      totalAttempts: 2,
      retryLoopDurationMs: 1_000,
      waitedMs: 800,
      errorMessage: "Overloaded",
      reason: "overloaded",
      status: 529
    })
    expect(RetryLog.ofSeal(Observations.seal(), surroundings)).toMatchObject({ finalStatus: "completed" })
    expect(RetryLog.ofSeal({ ...Observations.seal(), retryLoopMs: 0 }, surroundings)).toBeUndefined()
  })

  it("does not exist for other observations", () => {
    expect(RetryLog.ofAttempt(Observations.attempt({ outcome: Observations.completed }), surroundings)).toEqual([])
    expect(ofDecision({ directive: { _tag: "GiveUp", because: "not-retryable" } })).toBeUndefined()
  })

  it("rule M3: reports an abort that no person asked for as such", () => {
    const failure = { ...Observations.overloaded, reason: "aborted" as const }
    const directive = { _tag: "Retry", attempt: 0, delayMs: 5_000, retryAt: 7_000, resumes: true } as const
    expect(ofDecision({ failure, directive })).toMatchObject({
      stopReason: "aborted",
      logMessage:
        "openai/gpt-5 failed (aborted, 529): retry 1 at the end of its wait, which the early attempt does not change,"
    })
  })
})

/** The level of `p/m` with fields for the provider's bodies and for the model's. */
const levelOf = (body: object, modelBody?: object): string | undefined => {
  const config = Configurations.config({
    file: {
      model: "p/m",
      providers: { p: { type: "openai-compatible", baseUrl: "https://x.example/v1", body } },
      ...(modelBody === undefined ? {} : { models: { "p/m": { body: modelBody } } })
    }
  })
  return RetryLog.thinkingLevelOf(config.providers.get("p"), "m")
}

describe("the thinking level", () => {
  it.each<[string, object, string | undefined]>([
    ["chat completions", { reasoning_effort: "high" }, "high"],
    ["Responses and OpenRouter", { reasoning: { effort: "low" } }, "low"],
    ["Anthropic, by effort", { output_config: { effort: "max" } }, "max"],
    ["Anthropic, by budget", { thinking: { type: "enabled", budget_tokens: 4096 } }, "4096 tokens"],
    ["Anthropic, by type", { thinking: { type: "adaptive" } }, "adaptive"],
    ["Gemini, by level", { generationConfig: { thinkingConfig: { thinkingLevel: "high" } } }, "high"],
    ["Gemini, by budget", { generationConfig: { thinkingConfig: { thinkingBudget: 512 } } }, "512 tokens"],
    ["no level", { temperature: 0 }, undefined],
    ["a level that is none", { reasoning_effort: 3, thinking: [], reasoning: "high" }, undefined]
  ])("rule M4: is read from where each API has it: %s", (_, body, level) => {
    expect(levelOf(body)).toBe(level)
  })

  it("rule M4: a model's own field overrides its provider's, and null removes that", () => {
    expect(levelOf({ reasoning_effort: "low" }, { reasoning_effort: "high" })).toBe("high")
    expect(levelOf({ reasoning_effort: "low" }, { temperature: 0 })).toBe("low")
    expect(levelOf({ reasoning_effort: "low" }, { reasoning_effort: null })).toBeUndefined()
    expect(RetryLog.thinkingLevelOf({ type: "simulated", name: "p" }, "m")).toBeUndefined()
    expect(RetryLog.thinkingLevelOf(undefined, "m")).toBeUndefined()
  })
})
