import { assert, describe, it } from "@effect/vitest"
import { Count } from "../src/index.ts"

describe("Count", () => {
  it("separates thousands, and has the word for one thing or several", () => {
    assert.strictEqual(Count.format(1_234_567), "1,234,567")
    assert.strictEqual(Count.of(1, "turn"), "1 turn")
    assert.strictEqual(Count.of(0, "turn"), "0 turns")
    assert.strictEqual(Count.of(1_000, "retry", "retries"), "1,000 retries")
  })
})
