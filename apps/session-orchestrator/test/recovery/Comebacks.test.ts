import { describe, expect, it } from "@effect/vitest"
import { Comebacks, FIRST_MS, MOST_MS, SETTLED_MS } from "../../src/recovery/Comebacks.ts"
import * as Given from "../storage/Given.ts"

const [one, two] = [Given.conversationId(1), Given.conversationId(2)]

/** What one waits that is stopped as soon as it is back, so many times. */
const waitsOf = (comebacks: Comebacks, times: number): ReadonlyArray<number> => {
  let now = 0
  return Array.from({ length: times }, () => {
    const delayMs = comebacks.stopped(one, now)
    now += delayMs
    return delayMs
  })
}

describe("Comebacks", () => {
  it("the first time at once, then in growing distances up to the longest", () => {
    expect(waitsOf(new Comebacks(), 6)).toEqual([0, FIRST_MS, 2_000, 4_000, 8_000, 16_000])
    expect(waitsOf(new Comebacks(), 20).slice(-2)).toEqual([MOST_MS, MOST_MS])
  })

  it("one does not wait for what another has met", () => {
    const comebacks = new Comebacks()
    waitsOf(comebacks, 10)
    expect(comebacks.stopped(two, 0)).toBe(0)
  })

  it("one that has run for a while comes back at once", () => {
    const comebacks = new Comebacks()
    expect(waitsOf(comebacks, 3)).toEqual([0, 1_000, 2_000])
    expect(comebacks.stopped(one, 3_000 + SETTLED_MS - 1)).toBe(4_000)
    expect(comebacks.stopped(one, 7_000 + 2 * SETTLED_MS)).toBe(0)
  })

  it("one has run for a while when it has run for a minute", () => {
    for (const [ranMs, delayMs] of [
      [SETTLED_MS - 1, FIRST_MS],
      [SETTLED_MS, 0]
    ] as const) {
      const comebacks = new Comebacks()
      comebacks.stopped(one, 5)
      expect(comebacks.stopped(one, 5 + ranMs)).toBe(delayMs)
    }
  })

  it("nothing is kept of those that have settled", () => {
    const comebacks = new Comebacks()
    for (let n = 0; n < 1_000; n++) comebacks.stopped(Given.conversationId(n), n)
    expect(comebacks.size).toBe(1_000)
    comebacks.stopped(one, 1_000 + SETTLED_MS)
    expect(comebacks.size).toBe(1)
  })

  it("one that is stopped again does not keep those that have settled since its first stop", () => {
    const comebacks = new Comebacks()
    comebacks.stopped(one, 0)
    comebacks.stopped(two, 1)
    comebacks.stopped(one, 2)
    comebacks.stopped(Given.conversationId(3), SETTLED_MS + 500)
    expect(comebacks.size).toBe(2)
  })
})
