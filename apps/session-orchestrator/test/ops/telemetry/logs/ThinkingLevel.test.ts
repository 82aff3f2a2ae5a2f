import { describe, expect, it } from "@effect/vitest"
import * as RetryLog from "../../../../src/ops/telemetry/logs/RetryLog.ts"
import * as Configurations from "../../../config/Configurations.ts"

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
    ["no level", { temperature: 0 }, undefined],
    ["a level that is none", { reasoning_effort: 3, thinking: [], reasoning: "high" }, undefined]
  ])("rule M4: is read from where each API has it: %s", (_, body, level) => {
    expect(levelOf(body)).toBe(level)
  })

  it("rule M4: a model's own field overrides its provider's, and null removes that", () => {
    expect(levelOf({ reasoning_effort: "low" }, { reasoning_effort: "high" })).toBe("high")
    expect(levelOf({ reasoning_effort: "low" }, { temperature: 0 })).toBe("low")
    expect(levelOf({ reasoning_effort: "low" }, { reasoning_effort: null })).toBeUndefined()
  })
})
