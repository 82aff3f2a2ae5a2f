import { describe, expect, it } from "@effect/vitest"
import { RetrySettings } from "@holdfast/policy"
import { Result } from "effect"
import * as FormerNames from "../../../src/config/reading/FormerNames.ts"
import * as ConfigProblem from "../../../src/config/reading/ConfigProblem.ts"
import * as Configurations from "../Configurations.ts"

describe("other agents' names of settings", () => {
  it("a number that is too large is replaced by its default", () => {
    const advice = (found: unknown) => FormerNames.adviceFor(["retry", "maxDelayMs"], found)
    expect(advice(JSON.parse("1e999"))).toContain('write "maxDelay": "300 seconds".')
    expect(advice("soon")).toContain('write "maxDelay": "300 seconds".')
    expect(advice(1_500)).toContain('write "maxDelay": "1500 millis".')
  })

  it("a file for incidents is in the database now", () => {
    expect(FormerNames.adviceFor(["telemetry", "notifications", "state"], "./incidents.json")).toContain(
      "in the database"
    )
    expect(FormerNames.adviceFor(["state"], "./incidents.json")).toBeUndefined()
  })

  it.each<[string, unknown, ReadonlyArray<string>]>([
    [
      "in retry",
      {
        retry: {
          baseDelayMs: 2500,
          maxDelayMs: -1,
          fallbackChains: {},
          fallbackRevertPolicy: "never"
        }
      },
      [
        'retry.baseDelayMs: unknown key. Here it is retry.schedule.base: in "retry", write "schedule": { "type": "exponential", "base": "2500 millis" }.',
        'retry.maxDelayMs: unknown key. Here it is retry.maxDelay: in "retry", write "maxDelay": "0 seconds".',
        'retry.fallbackChains: unknown key. Here it is retry.routing.chains: in "retry", write "routing": { "type": "fallback-chain", "chains": ... }.',
        'retry.fallbackRevertPolicy: unknown key. Here it is retry.routing.revert: in "retry", write "routing": { "type": "fallback-chain", "revert": "never" }.'
      ]
    ],
    [
      "beside everything else",
      { maxRetries: 5, maxTurns: 30, llmTimeout: 600000, targets: ["openai/gpt-5"], models: ["openai/gpt-5"] },
      [
        'maxRetries: unknown key. Here it is retry.maxRetries: in "retry", write "maxRetries": 5, "counts": "attempts".',
        'maxTurns: unknown key. Here it is retry.maxTurns: in "retry", write "maxTurns": 30.',
        'llmTimeout: unknown key. Here it is retry.requestTimeout: in "retry", write "requestTimeout": { "firstContent": "600 seconds", "idle": "600 seconds" }.',
        'targets: unknown key. Here it is retry.routing.targets: in "retry", write "routing": { "type": "round-robin", "targets": [...] }.',
        'models: found a list; expected an object. Here it is retry.routing.targets: in "retry", write "routing": { "type": "round-robin", "targets": [...] }.'
      ]
    ],
    [
      "in another section they are unknown keys like any other",
      { gate: { targets: [] } },
      ["gate.targets: unknown key. Known here: enabled."]
    ]
  ])("%s are refused with the key that replaces them", (_, file, expected) => {
    expect(Configurations.problems({ file }).toSorted()).toEqual(expected.toSorted())
  })

  it("a conversation's own settings get the same advice", () => {
    const retry = { llmTimeout: 1000 }
    const problem = Result.match(RetrySettings.decode(retry), {
      onSuccess: () => "",
      onFailure: ({ issue }) =>
        ConfigProblem.firstOf(issue, retry, (path) => ConfigProblem.formatPath(["retry", ...path]))
    })
    expect(problem).toBe(
      'retry.llmTimeout: unknown key. Here it is retry.requestTimeout: in "retry", write "requestTimeout": { "firstContent": "1 seconds", "idle": "1 seconds" }.'
    )
  })

  it.each(Array.from(FormerNames.formerNames).filter(([, { write }]) => !write(undefined).includes("...")))(
    "the advised text for %s is accepted",
    (name, { write }) => {
      for (const found of [undefined, 0, -1, 1500, "never", false]) {
        const retry: unknown = JSON.parse(`{ ${write(found)} }`)
        // A schedule cannot begin with a wait of 0, here or there.
        if (name === "baseDelayMs" && (found === 0 || found === -1)) continue
        if ((name === "maxTurns" || name === "llmTimeout") && (found === 0 || found === -1)) continue
        if (name === "maxRetries" && found === -1) continue
        expect(Result.isSuccess(RetrySettings.decode(retry)), JSON.stringify(retry)).toBe(true)
      }
    }
  )
})
