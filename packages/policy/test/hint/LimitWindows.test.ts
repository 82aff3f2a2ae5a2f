import { describe, expect, it } from "@effect/vitest"
import * as fc from "fast-check"
import { LimitWindows } from "../../src/index.ts"

const NOW = Date.UTC(2026, 10, 24, 22)
const AT = NOW + 3 * 3_600_000

describe("the windows of an answer", () => {
  it.each([
    [
      "a subscription of Anthropic",
      {
        "anthropic-ratelimit-unified-status": "allowed_warning",
        "anthropic-ratelimit-unified-5h-utilization": "0.93",
        "anthropic-ratelimit-unified-5h-reset": String(AT / 1000),
        "anthropic-ratelimit-unified-7d-utilization": "0.81"
      },
      [
        { name: "5h", used: 0.93, resetAt: AT },
        { name: "7d", used: 0.81 }
      ]
    ],
    [
      "a key of Anthropic",
      {
        "anthropic-ratelimit-input-tokens-limit": "1000",
        "anthropic-ratelimit-input-tokens-remaining": "250",
        "anthropic-ratelimit-input-tokens-reset": new Date(AT).toISOString()
      },
      [{ name: "input-tokens", used: 0.75, resetAt: AT }]
    ],
    [
      "a key of OpenAI",
      {
        "x-ratelimit-limit-requests": "60",
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-reset-requests": "1s"
      },
      [{ name: "requests", used: 1 - 59 / 60, resetAt: NOW + 1_000 }]
    ],
    [
      "a plan of Codex",
      {
        "x-codex-primary-used-percent": "42",
        "x-codex-primary-window-minutes": "300",
        "x-codex-primary-reset-after-seconds": "10800",
        "x-codex-secondary-used-percent": "7.5",
        "x-codex-secondary-window-minutes": "10080",
        "x-codex-secondary-reset-at": String(AT / 1000)
      },
      [
        { name: "5h", used: 0.42, resetAt: AT },
        { name: "7d", used: 0.075, resetAt: AT }
      ]
    ],
    [
      "figures that are none",
      {
        "x-ratelimit-remaining-requests": "59",
        "x-ratelimit-limit-tokens": "0",
        "x-ratelimit-remaining-tokens": "0",
        "anthropic-ratelimit-unified-5h-utilization": "much",
        "x-codex-primary-used-percent": "-3"
      },
      []
    ]
  ] as const)("of %s", (_what, headers, windows) => {
    expect(LimitWindows.read(headers, NOW)).toEqual(windows)
  })

  it("are finite, whatever a provider sends", () => {
    const name = fc.constantFrom(
      "anthropic-ratelimit-unified-5h-utilization",
      "anthropic-ratelimit-unified-5h-reset",
      "x-ratelimit-limit-a",
      "x-ratelimit-remaining-a",
      "x-ratelimit-reset-a",
      "x-codex-primary-used-percent",
      "x-codex-primary-window-minutes"
    )
    const value = fc.oneof(fc.string(), fc.double().map(String), fc.integer().map(String))
    fc.assert(
      fc.property(fc.dictionary(name, value), (headers) => {
        for (const { resetAt = NOW, used } of LimitWindows.read(headers, NOW)) {
          expect([Number.isFinite(used), used >= 0, Number.isFinite(resetAt), resetAt >= NOW]).not.toContain(false)
        }
      })
    )
  })
})
