/** Tests costs of tokens, and the prices of well-known models. */
import { Prices } from "@holdfast/policy"
import { describe, expect, it } from "vitest"

const tokens = (input: number, output: number, cachedInput = 0, cacheWrite = 0): Prices.Tokens => ({
  input,
  output,
  cachedInput,
  cacheWrite
})

describe("Prices", () => {
  it("costs tokens at the price of each kind", () => {
    const price = { input: 3, output: 15, cachedInput: 0.3, cacheWrite: 3.75 }
    expect(Prices.costOf(price, tokens(1_000_000, 100_000))).toBe(4.5)
    expect(Prices.costOf(price, tokens(1_000_000, 0, 500_000, 100_000))).toBeCloseTo(1.2 + 0.15 + 0.375, 12)
  })

  it("costs cached tokens as input where they have no price of their own", () => {
    expect(Prices.costOf({ input: 2, output: 8 }, tokens(1_000_000, 0, 400_000, 100_000))).toBe(2)
  })

  it("finds the configured price first, then the known one, with the date of a version left out", () => {
    const configured = { "openai/gpt-5": { input: 1, output: 1 } }
    expect(Prices.find(configured, "openai/gpt-5")).toEqual({ input: 1, output: 1 })
    expect(Prices.find(configured, "openai/gpt-5-2025-08-07")).toEqual({ input: 1, output: 1 })
    expect(Prices.find({}, "anthropic/claude-sonnet-4-5-20250929")).toMatchObject({ input: 3, output: 15 })
  })

  it("has no price for an unknown model, and none for a name that every object has", () => {
    expect(Prices.find({}, "openai/gpt-99")).toBeUndefined()
    expect(Prices.find({}, "constructor")).toBeUndefined()
  })

  it("knows sensible prices only: output no cheaper than input, cached input no dearer", () => {
    for (const { cachedInput = 0, input, output } of Object.values(Prices.known)) {
      expect(input).toBeGreaterThan(0)
      expect(output).toBeGreaterThanOrEqual(input)
      expect(cachedInput).toBeLessThanOrEqual(input)
    }
  })
})
