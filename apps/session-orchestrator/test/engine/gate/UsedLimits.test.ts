import { describe, expect, it } from "@effect/vitest"
import { UsedLimits } from "../../../src/engine/gate/UsedLimits.ts"

const NOW = Date.UTC(2026, 10, 24, 22)
const HOUR = 3_600_000

const headers = (used: number, resetAt: number, name = "5h") => ({
  [`anthropic-ratelimit-unified-${name}-utilization`]: String(used),
  [`anthropic-ratelimit-unified-${name}-reset`]: String(resetAt / 1_000)
})

describe("the used limits", () => {
  it("are news at 80 and at 95 %, once each, until they begin anew", () => {
    const limits = new UsedLimits()
    const take = (used: number, now: number, resetAt = NOW + 5 * HOUR, credential = "client a") =>
      limits.take("anthropic", () => credential, headers(used, resetAt), now).map(({ level }) => level)
    expect([take(0.5, NOW), take(0.8, NOW), take(0.94, NOW), take(0.79, NOW), take(0.81, NOW)]).toEqual(
      [undefined, 0.8, undefined, undefined, undefined].map((level) => [level])
    )
    expect([take(0.97, NOW), take(1, NOW), take(0.97, NOW, NOW + 5 * HOUR, "client b")]).toEqual([
      [0.95],
      [undefined],
      [0.95]
    ])
    const next = NOW + 6 * HOUR
    const sooner = [HOUR / 4 - 1_000, HOUR / 4].map((ms) => take(0.9, next, next + ms, "client c"))
    expect([take(0.96, next, next + 5 * HOUR), ...sooner]).toEqual([[0.95], [undefined], [0.8]])
  })

  it("are known until they begin anew, the most used first, and their credential is not asked for without a limit", () => {
    const limits = new UsedLimits()
    const used = { ...headers(0.2, NOW + HOUR), ...headers(0.7, NOW + 9 * HOUR, "7d") }
    limits.take("anthropic", () => "client a", used, NOW)
    const names = (at: number) => limits.read(at).map(({ name, used }) => `${name} ${used}`)
    expect([names(NOW), names(NOW + HOUR), names(NOW + 9 * HOUR)]).toEqual([["7d 0.7", "5h 0.2"], ["7d 0.7"], []])
    const ended = (at: number) => limits.ended(at).map(({ name }) => name)
    expect([ended(NOW), ended(NOW + HOUR), ended(NOW + HOUR), names(NOW).length]).toEqual([[], ["5h"], [], 1])
    const asked = () => expect.fail("it has no limit")
    expect(limits.take("anthropic", asked, { "content-type": "text/event-stream" }, NOW)).toEqual([])
  })

  it("are of 200 at most: those without an answer for the longest time go", () => {
    const limits = new UsedLimits()
    for (let n = 0; n <= 250; n++) limits.take("anthropic", () => `client ${n}`, headers(0.1, NOW + HOUR), NOW)
    const known = limits.read(NOW).map(({ credential }) => credential)
    expect([known.length, known.includes("client 250"), known.includes("client 50")]).toEqual([200, true, false])
  })
})
