/** Tests that a kept response takes little more memory than its characters, however it arrives. */
import { describe, expect, it } from "@effect/vitest"
import { starved, type Task } from "./harness/Starved.ts"

describe("a thread with little memory", () => {
  it.each<readonly [string, Task, number, number]>([
    ["a text that comes in single characters", "text", 56, 2_000_000],
    ["OpenAI's arguments that come in single characters", "openAiCall", 64, 2_000_000],
    ["Anthropic's arguments that come in single characters", "anthropicCall", 64, 2_000_000],
    ["a frame of two million empty data lines", "dataLines", 64, 1_999_999],
    ["a line that comes in single bytes", "reads", 64, 2_000_000]
  ])("rule C11: holds %s", async (_, task, mebibytes, characters) => {
    expect(await starved(task, mebibytes)).toBeGreaterThanOrEqual(characters)
  })

  it("keeps only the messages of eight failures whose errors had four megabytes", async () => {
    expect(await starved("errors", 1_000)).toBeLessThan(8_000_000)
  })
})
