import * as fc from "fast-check"
import { describe, expect, it } from "vitest"
import * as WaitText from "../src/wait/WaitText.ts"
import * as Hostile from "./Hostile.ts"

const bare = { attempt: 0, delayMs: 5_000, retryAt: 105_000, message: "Overloaded" }
const wait = { ...bare, code: "529", maxAttempts: 21 }

describe("WaitText", () => {
  it("the countdown has the words of rule P17", () => {
    expect(WaitText.countdown(wait, 100_000)).toBe("Retrying (1/21) in 5s… (esc to cancel)")
    expect(WaitText.countdown(wait, 100_001)).toBe("Retrying (1/21) in 5s… (esc to cancel)")
    expect(WaitText.countdown(wait, 104_001)).toBe("Retrying (1/21) in 1s… (esc to cancel)")
    expect(WaitText.countdown({ ...wait, attempt: 4, delayMs: 750_000, retryAt: 850_000 }, 100_000)).toBe(
      "Retrying (5/21) in 12m 30s… (esc to cancel)"
    )
    expect(WaitText.countdown({ ...bare, code: "529" }, 100_000)).toBe("Retrying (1) in 5s… (esc to cancel)")
  })

  it("the warning has the message, and the code where there is one", () => {
    expect(WaitText.warning(wait)).toBe("⚠ Overloaded (529), retrying in 5s…")
    expect(WaitText.warning({ ...bare, maxAttempts: 21 })).toBe("⚠ Overloaded, retrying in 5s…")
    expect(WaitText.warning({ ...wait, delayMs: 0, credential: "spare" })).toBe(
      "⚠ Overloaded (529), retrying at once with spare…"
    )
  })

  it("the end of a chain counts from 1", () => {
    expect(WaitText.ended({ attempt: 2, finalError: "Retry cancelled" })).toBe(
      "Retry failed after 3 attempts: Retry cancelled"
    )
    expect(WaitText.ended({ attempt: 0, finalError: "Overloaded" })).toBe("Retry failed after 1 attempt: Overloaded")
  })

  it("two minutes are the last time in seconds alone", () => {
    expect(WaitText.duration(120_000)).toBe("120s")
    expect(WaitText.duration(120_001)).toBe("2m 1s")
    expect(WaitText.duration(3_600_000)).toBe("1h 0m 0s")
    expect(WaitText.duration(-5)).toBe("0s")
  })

  it("the time left never exceeds the wait, never grows, and is never negative, whatever the clocks do", () => {
    fc.assert(
      fc.property(fc.integer(), fc.integer(), fc.nat(), fc.nat(), (retryAt, now, delayMs, later) => {
        const left = WaitText.leftMs({ retryAt, delayMs }, now)
        expect(left).toBeGreaterThanOrEqual(0)
        expect(left).toBeLessThanOrEqual(delayMs)
        expect(WaitText.leftMs({ retryAt, delayMs }, now + later)).toBeLessThanOrEqual(left)
      })
    )
  })

  it("a hostile message is one harmless line", () => {
    fc.assert(
      fc.property(Hostile.text, Hostile.text, (message, code) => {
        for (const text of [
          WaitText.warning({ ...wait, message, code }),
          WaitText.ended({ attempt: 1, finalError: message })
        ]) {
          expect(text).not.toMatch(Hostile.FORBIDDEN)
          expect(text).not.toMatch(/\n/)
        }
      }),
      Hostile.RUNS
    )
  })
})
